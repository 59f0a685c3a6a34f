/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * verdict: does a rule hold for these traces, or can that not be known?
 *
 *     rows of a view --[finding]--> a figure of one trace
 *     figures of all traces --[verdict]--> PASS, FAIL, INDETERMINATE
 *
 * A figure that is not complete never passes. It fails if it is too large already, and its column
 * is one that missing data can only make smaller (`floor` in schema/columns.decl). A rule of
 * several traces is about the median of their figures, or about each of them. Threads: one.
 */
#pragma once

#include <stdio.h>

#include "analyze/context/analysis.h"
#include "cmd/assert/rule.h"

enum verdict { VERDICT_PASS, VERDICT_INDETERMINATE, VERDICT_FAIL };

#define FINDING_COLUMNS_MAX 100 /* no view has as many */

/* The result of a rule for one trace. `why` and `which` are initially "". */
struct finding {
	const struct rule *rule;
	bool has; /* there is a figure */
	bool is_complete;
	bool is_floor; /* the true figure is not smaller */
	double figure; /* of the row that breaks the rule most, or of all rows */
	uint64_t rows; /* that match */
	char which[160]; /* that row's keys: "comm=server" */
	char why[400]; /* the missing parts */
	char window[64], started[40]; /* "1 .. 2 s", and when the trace began; "": unknown */
	char error[300]; /* the rule is wrong for this view */
	/* used while rows are read */
	int col, complete, unowned, filters[RULE_FILTERS_MAX];
	bool of_rows;
	unsigned int col_cnt;
	double scale; /* the column's units that make one of the rule's */
	char *names[FINDING_COLUMNS_MAX]; /* copies: those of begin() are freed earlier */
};

void finding_init(struct finding *f, const struct rule *rule);
/* Collects the rows. After an error is set, its begin() returns -EPIPE, which is not printed. */
struct row_sink finding_sink(struct finding *f);
/*
 * Call it after the last row, or if no row will follow; missing: missing parts of the window, or
 * "".
 */
void finding_end(struct finding *f, const char *missing);

struct verdict_result {
	enum verdict verdict;
	bool has;
	double figure;
	unsigned int trace; /* the one that decides; of a median, one that is not complete, or 0 */
	bool of_median;
	const char *why, *which; /* may be "" */
};
/* cnt > 0. room holds cnt numbers. */
struct verdict_result verdict_of(const struct finding *f, unsigned int cnt, double *room);

const char *verdict_name(enum verdict v);
/* "< 60.0 %"; valid until the next call. */
const char *verdict_limit(const struct rule *r);
/* "7.20 ms": a figure or a limit of a rule. */
void verdict_format(char *buf, size_t size, const struct rule *r, double v);

/*
 * verdict_file: verdicts as continuous integration wants them: JUnit's XML, and annotations of a
 * job of GitHub. Text of a trace can end neither an element nor an annotation. Threads: one.
 */
/* A rule and its result, in words. */
struct verdict_line {
	const char *file; /* of rules */
	const struct rule *rule;
	enum verdict verdict;
	const char *text; /* "12.3 % in a.ebpfrec (comm=server), limit < 10 %" */
	const char *command;
	const struct verdict_result *result;
	const struct finding *findings; /* by trace */
	const char *const *paths;
	unsigned int traces;
};

void verdict_write_junit(FILE *f, const char *file, const struct verdict_line *v, unsigned int cnt);
void verdict_write_github(FILE *f, const struct verdict_line *v, unsigned int cnt);

/*
 * verdict_note: keeps verdicts as notes of the trace, which its summary, pages, cuts and bundles
 * have. The note assert says in words what was judged, and when. assert.01 and so on are the rules,
 * each an object of JSON with its verdict, figure and window, which the summary reads.
 *
 * Threads: one. Errors: -errno with text; the trace is as it was then.
 */
#define VERDICT_NOTES_MAX 99 /* of a trace; the note assert counts further rules */

/* trace: its place in paths. Its recording must be over. Earlier notes of verdicts are replaced. */
int verdict_keep(unsigned int trace, const struct verdict_line *v, unsigned int cnt, struct err *e);
