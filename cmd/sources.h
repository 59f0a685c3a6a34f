/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sources: the words that `record -e` accepts, from the session's list of hooks. Threads: one.
 * Functions print errors and return an exit status.
 */
#pragma once

#include <stdbool.h>

/* A source of events, and the number of its hooks that this kernel has. */
struct source_row {
	const char *name;
	bool is_default;
	unsigned int there_cnt;
	char used_for[256];
};
/*
 * Sets *ret to the sources in the order of session_hooks(); the array is static. Returns its
 * length.
 */
unsigned int sources_list(const struct source_row **ret);

/* Prints the table of `record -e list` to stdout. */
int sources_print(void);

/*
 * Checks that every word of list, with or without a sign, is a source, a class, "light" or "all".
 * EXIT_USAGE: prints the nearest known word.
 */
int sources_check(const char *list);
