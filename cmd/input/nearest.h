/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * nearest: "did you mean ...": the closest of a list of names to a mistyped one.
 * Threads: any. No errors.
 */
#pragma once

/*
 * The index of the name closest to word (insertions, deletions, replacements and swaps of
 * neighbours each count 1; a name that starts with word counts as near), or -1 when none is near
 * enough to be worth suggesting. names[i] may be NULL and is skipped.
 */
int nearest_find(const char *word, const char *const *names, unsigned int cnt);
