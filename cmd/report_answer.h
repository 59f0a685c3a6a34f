/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_answer: one answer of `ebpfrec report` about one trace: heading, rows, picture, database.
 *
 * Threads: one. Prints errors.
 */
#pragma once

#include "analyze/engine/report_view.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"

/* Rows of a table unless --limit is given. */
#define REPORT_BIN_ROWS	  5 /* of each bin */

#define REPORT_MISSING_BYTES 400

/* The options of `ebpfrec report`. */
struct report_options {
	struct input in;
	struct report_request q;
	const struct report_view *view;
	struct lists_ids pids, tids;
	char sort[64];
	char without[1024];		/* causes of --without, a line each */
	struct lists_strings paths; /* of the traces, as -i and operands gave them */
	const char *db;
	const char *request; /* why: the id of one request of a program */
	const char *show; /* name of a view of the view; NULL: the view itself */
	const char *wide_by; /* columns that become columns; NULL: none */
	uint64_t limit_wide; /* of columns */
	bool has_limit, force, list, sparklines, phases, notes, align, machine, fetch;
	uint64_t follow_ns; /* 0: once */
	bool has_window; /* the window is in q already */
	const struct row_sink *rows; /* gets the rows, and stdout nothing; NULL: there is none */
	char missing[REPORT_MISSING_BYTES]; /* of the answer's window; "": nothing */
	/*
	 * Bins that are followed have an end, an instant up to which all was known last time, and a
	 * number of events that were known to be lost before that.
	 */
	uint64_t until_ns, known_ns, lost_cnt;
};

/* Each bin is printed once, with its host and trace. */
static inline bool report_streams(const struct report_options *o)
{
	return o->follow_ns && o->in.format == RENDER_JSONL;
}

/*
 * "--comm 'cc*' --from 1s -i a.ebpfrec": options that ask another view about the same window and
 * traces and, with_who, the same processes. malloc'd, or NULL.
 */
char *report_scope(const struct report_options *o, bool with_who);
/* Sets the window in q from --from, --until and --align. 0 or an exit status. */
int report_window(struct report_options *o);
/* Answers o about the trace open in it, to stdout. 0 or an exit status. */
int report_answer(struct report_options *o);
/*
 * Answers a command line of report (argv[0] is "report") about the trace open in `in`. The rows go
 * to a sink, as for json. ret: the answer's window, and its missing parts. 0 or an exit status.
 */
struct report_window {
	uint64_t from_ns, to_ns; /* of the trace's clock; both 0: no answer */
	char missing[REPORT_MISSING_BYTES];
};
int report_collect(char **argv, struct input *in, const struct row_sink *rows,
		   struct report_window *ret);
/* Prints below a table the sentence about its view, or with --notes all notes of the view. */
void report_print_notes(const struct report_options *o, const char *below);
