/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * row_prefix: a sink that puts columns in front of the rows of a query, or of several queries.
 *
 *     analyze --rows--> [row_prefix] --longer rows--> a renderer
 *
 * Threads: one. Errors: -ENOMEM, and those of the next sink.
 */
#pragma once

#include "analyze/context/analysis.h"

#define ROW_PREFIX_MAX 4

struct row_prefix {
	const struct row_sink *next; /* must outlive it */
	unsigned int cnt; /* columns in front */
	const char *names[ROW_PREFIX_MAX];
	struct value before[ROW_PREFIX_MAX]; /* the owner may change them between rows */
	bool joins; /* makes one result of the results of several queries */
	/* Returns whether change() looks at a column of this name; may be NULL. */
	bool (*picks)(const char *name);
	/* May change row, which has col_cnt values, before it is passed on; may be NULL. */
	void (*change)(const struct row_prefix *p, struct value *row);
	void *ctx; /* for change() */

	struct row_sink sink; /* for the queries, after row_prefix_init() */
	bool *picked; /* by column */
	unsigned int col_cnt; /* including the prefix; 0: not begun */
	struct value *row;
};

/* The members of p above the blank line must be set. */
void row_prefix_init(struct row_prefix *p);
/* Ends the result, unless r < 0 or nothing began, and frees. Returns r, or the error of the end. */
int row_prefix_end(struct row_prefix *p, int r);
