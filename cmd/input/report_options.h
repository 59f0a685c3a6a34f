/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_options: what was asked of `ebpfrec report`.
 *
 * Threads: one. Prints what is wrong with an option.
 */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include "cmd/input/input.h"
#include "cmd/input/lists.h"

/* Rows of a table unless --limit says otherwise. */
#define REPORT_TABLE_ROWS 20

struct report_options {
	struct input in;
	struct report_request q;
	const struct report_view *view;
	uint32_t *pids;
	struct lists_strings paths; /* of the traces, as -i and operands gave them */
	const char *db;
	bool has_limit, force, list, sparklines, phases;
	uint64_t follow_ns; /* 0: once */
};

/* The options, in a struct report_options. */
extern const struct opts_option report_options[];

/* A view, or a trace: a shell makes several names of "report cpu -i *.ebpfrec". */
int report_options_operand(void *options, const char *value);

/*
 * What remains to be done when all options have been taken: defaults, and what excludes each other.
 * 0, an exit status, or OPTS_LEAVE (--list).
 */
int report_options_check(struct report_options *o);
/* Frees, and closes the trace: done() of the command. */
void report_options_done(void *options);

#endif /* REPORT_OPTIONS_H */
