/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * verdict: parses rules, and decides whether each rule holds, fails or is undecided for one or
 * several traces.
 *
 *     rows of a view --[finding]--> a figure of one trace
 *     figures of all traces --[verdict]--> PASS, FAIL, INDETERMINATE
 *
 * An incomplete figure never passes. It fails if it is already too large and missing data can only
 * have made it smaller (`floor` in schema/columns.decl). With several traces, the rule applies to
 * the median of their figures, or, with "every:", to each figure. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "analyze/engine/column.h"
#include "base/err.h"

/*
 * rule: parses one line of a rule file.
 *
 *     [every:] [if-any:] VIEW [OPTIONS of report] [mark:NAME] [COLUMN=VALUE...] COLUMN OP LIMIT
 *     [every:] sql: SELECT ...
 *
 *     cpu --by comm comm=server util_pct < 60
 *
 * Blanks separate words, unless they are in quotes. An operator needs no blanks around it. VALUE
 * may be a pattern. COLUMN may be "rows" (the number of rows), "sum:COLUMN", or a column in another
 * unit: wait_ms if the view has wait_ns, rss_mib if it has rss_bytes. Threads: one.
 */
#define RULE_WORDS_MAX 48
#define RULE_FILTERS_MAX 8

enum rule_op { RULE_LESS, RULE_AT_MOST, RULE_MORE, RULE_AT_LEAST, RULE_EQUAL, RULE_DIFFERENT };

struct rule {
	const char *text; /* the rule as written, without blanks at its ends */
	unsigned int line;
	bool of_every, if_any;
	const char *sql; /* the statement of a sql: rule; NULL: a rule on a view */
	char *words; /* memory of all words */
	/* arguments of report: "report", the view, its options, NULL */
	char *argv[RULE_WORDS_MAX + 3];
	struct rule_filter {
		const char *column, *pattern;
	} filters[RULE_FILTERS_MAX];
	unsigned int filter_cnt;
	const char *column;
	bool is_sum;
	enum rule_op op;
	const char *limit_text;
	double limit;
	enum column_kind kind; /* kind of the figure and the limit */
	/* the view's column, and the number of its units per unit of the rule */
	char base[64];
	double scale;
	uint64_t took_ns; /* time of evaluating all traces; set by the caller */
};

/* Parses a rule; text must outlive it. -EINVAL with the reason; -ENOMEM. */
int rule_parse(struct rule *ret, const char *text, unsigned int line, struct err *e);
void rule_free(struct rule *r);
const char *rule_op_text(enum rule_op op);	/* the operator as text: "<" */

/* ---- verdict ---- */

enum verdict { VERDICT_PASS, VERDICT_INDETERMINATE, VERDICT_FAIL };

#define FINDING_COLUMNS_MAX 100 /* more than any view has */

/* The result of a rule for one trace. `why` and `which` are initially "". */
struct finding {
	const struct rule *rule;
	bool has; /* the figure is known */
	bool is_complete;
	bool is_floor; /* the true figure may be larger, but not smaller */
	double figure; /* figure of the row furthest beyond the limit, or the sum of all rows */
	uint64_t rows; /* number of matching rows */
	char which[160]; /* keys of the row of the figure: "comm=server" */
	char why[400]; /* why the figure is incomplete or unknown */
	/* "1 .. 2 s", and the time of the trace's start; "": unknown */
	char window[64], started[40];
	char error[300]; /* reason why the rule is invalid for this view; "": valid */
	/* used while rows are read */
	int col, complete, unowned, filters[RULE_FILTERS_MAX];
	bool of_rows;
	unsigned int col_cnt;
	double scale; /* units of the column per unit of the rule */
	char *names[FINDING_COLUMNS_MAX]; /* column names, copied from begin() */
};

void finding_init(struct finding *f, const struct rule *rule);
/*
 * Returns a sink that collects the rows. If begin() sets f->error, it returns -EPIPE, for which no
 * message is printed.
 */
struct row_sink finding_sink(struct finding *f);
/*
 * Completes the finding after the last row, or if there are no rows. missing: missing parts of the
 * window, or "".
 */
void finding_end(struct finding *f, const char *missing);

struct verdict_result {
	enum verdict verdict;
	bool has;
	double figure;
	/* index of the deciding trace; for a median: index of an incomplete trace, or 0 */
	unsigned int trace;
	bool of_median;
	const char *why, *which; /* may be "" */
};
/* Judges a rule from its findings in cnt > 0 traces. room: memory for cnt numbers. */
struct verdict_result verdict_of(const struct finding *f, unsigned int cnt, double *room);

const char *verdict_name(enum verdict v);
/* Returns the rule's limit as text, "< 60.0 %"; valid until the next call. */
const char *verdict_limit(const struct rule *r);
/* Formats a figure or a limit of a rule: "7.20 ms". */
void verdict_format(char *buf, size_t size, const struct rule *r, double v);

/*
 * verdict_file: writes verdicts for continuous integration: JUnit XML, or annotations of a GitHub
 * job. Text of a trace is escaped: it cannot end an element or an annotation. Threads: one.
 */
/* A rule and its result, with texts for people. */
struct verdict_line {
	const char *file; /* the rule file */
	const struct rule *rule;
	enum verdict verdict;
	const char *text; /* "12.3 % in a.ebpfrec (comm=server), limit < 10 %" */
	const char *command;
	const struct verdict_result *result;
	const struct finding *findings; /* one per trace */
	const char *const *paths;
	unsigned int traces;
};

void verdict_write_junit(FILE *f, const char *file, const struct verdict_line *v, unsigned int cnt);
void verdict_write_github(FILE *f, const struct verdict_line *v, unsigned int cnt);

/*
 * verdict_note: stores verdicts as notes in the trace's manifest, from which summary, pages, cuts
 * and bundles show them. The note "assert" is a sentence with time and result. The notes assert.01
 * and following are JSON objects, one per rule, with verdict, figure and window, for the summary.
 *
 * Threads: one. Errors: -errno with text; the trace is then unchanged.
 */
#define VERDICT_NOTES_MAX 99 /* per trace; further rules are only counted in the note "assert" */

/*
 * Stores the verdicts in the trace paths[trace], whose recording must have ended. Replaces earlier
 * verdicts.
 */
int verdict_keep(unsigned int trace, const struct verdict_line *v, unsigned int cnt, struct err *e);
