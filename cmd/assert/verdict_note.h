/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * verdict_note: keeps verdicts as notes of the trace, which its summary, pages, cuts and bundles
 * have. The note assert says in words what was judged, and when. assert.01 and so on are the rules,
 * each an object of JSON with its verdict, figure and window, which the summary reads.
 *
 * Threads: one. Errors: -errno with text; the trace is as it was then.
 */
#pragma once

#include "cmd/assert/verdict_file.h"

#define VERDICT_NOTES_MAX 99 /* of a trace; the note assert counts further rules */

/* trace: its place in paths. Its recording must be over. Earlier notes of verdicts are replaced. */
int verdict_keep(unsigned int trace, const struct verdict_line *v, unsigned int cnt, struct err *e);
