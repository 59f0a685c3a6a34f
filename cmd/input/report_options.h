/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_options: what was asked of `ebpfrec report`.
 *
 * Threads: one. Prints what is wrong with an option.
 */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include "cmd/input/input.h"

/* Rows of a table unless --limit says otherwise. */
#define REPORT_TABLE_ROWS 20

struct report_options {
	struct input in;
	struct report_request q;
	const struct report_view *view;
	uint32_t *pids;
	const char **paths; /* of the traces, as -i and operands gave them */
	size_t path_cap;
	unsigned int path_cnt;
	const char *db;
	bool has_limit, force, list, sparklines, phases;
	uint64_t follow_ns; /* 0: once */
};

/*
 * Takes the command line. 0, or the exit status to leave with; *ret_done: there is nothing more to
 * do (--help, --list). Free with report_options_done() in any case.
 */
int report_options_take(struct report_options *o, int argc, char **argv, bool *ret_done);
void report_options_done(struct report_options *o);

#endif /* REPORT_OPTIONS_H */
