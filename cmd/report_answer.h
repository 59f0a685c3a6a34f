/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_answer: makes one answer of `ebpfrec report` about one trace: heading, rows, picture,
 * database.
 *
 * Threads: one. Prints errors.
 */
#pragma once

#include "analyze/engine/report_view.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"

#define REPORT_BIN_ROWS	  5 /* default limit of rows of a table, per bin */

#define REPORT_MISSING_BYTES 400

/* The options of `ebpfrec report`. */
struct report_options {
	struct input in;
	struct report_request q;
	const struct report_view *view;
	struct lists_ids pids, tids;
	char sort[64];
	char without[1024];		/* causes given by --without, one per line */
	struct lists_strings paths; /* paths of the traces, from -i and operands */
	const char *db;
	const char *request; /* view why: id of a program's request */
	const char *show; /* name of a subordinate view; NULL: the view itself */
	const char *wide_by; /* key columns whose values become columns; NULL: none */
	uint64_t limit_wide; /* number of columns with --wide-by */
	bool has_limit, force, list, sparklines, phases, notes, align, machine, fetch;
	uint64_t follow_ns; /* interval between answers; 0: a single answer */
	bool has_window; /* the window in q is set */
	const struct row_sink *rows; /* receives the rows instead of stdout; NULL: stdout */
	char missing[REPORT_MISSING_BYTES]; /* missing parts of the window; "": none */
	/*
	 * Progress of --follow: the end of the last bin, the instant before which all events were
	 * known at the last answer, and the number of events lost before that instant.
	 */
	uint64_t until_ns, known_ns, lost_cnt;
};

/* Returns whether each bin is printed once, with its host and trace. */
static inline bool report_streams(const struct report_options *o)
{
	return o->follow_ns && o->in.format == RENDER_JSONL;
}

/*
 * Returns options for a query of another view with the same window and traces and, if with_who, the
 * same processes: "--comm 'cc*' --from 1s -i a.ebpfrec". malloc'ed; NULL: out of memory.
 */
char *report_scope(const struct report_options *o, bool with_who);
/* Sets the window in q from --from, --until and --align. 0 or an exit status. */
int report_window(struct report_options *o);
/* Prints the answer about the trace open in o->in to stdout. 0 or an exit status. */
int report_answer(struct report_options *o);
/*
 * Runs a command line of report (argv[0] is "report") on the trace open in `in`, and passes the
 * rows to a sink, as for json. *ret: the answer's window, and its missing parts. 0 or an exit
 * status.
 */
struct report_window {
	uint64_t from_ns, to_ns; /* by the trace's clock; both 0: no answer */
	char missing[REPORT_MISSING_BYTES];
};
int report_collect(char **argv, struct input *in, const struct row_sink *rows,
		   struct report_window *ret);
/* Prints the explanation of the view below a table, or with --notes all notes of the view. */
void report_print_notes(const struct report_options *o, const char *below);
