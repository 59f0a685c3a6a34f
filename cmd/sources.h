/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sources: the words that `record -e` accepts, from the session's list of hooks. Threads: one.
 * Print; return an exit status.
 */
#pragma once

#include <stdbool.h>

/* A source of events, and how many of its kernel hooks this kernel has. */
struct source_row {
	const char *name;
	bool is_default;
	unsigned int there_cnt;
	char used_for[256];
};
/* In the order of session_hooks(); the list is static. Returns its length. */
unsigned int sources_list(const struct source_row **ret);

/* The table of `record -e list`, on stdout. */
int sources_print(void);

/*
 * Every word of list, with or without a sign, must be a source, a class, "light" or "all";
 * EXIT_USAGE names the nearest one.
 */
int sources_check(const char *list);
