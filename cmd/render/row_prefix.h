/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * row_prefix: a sink that prepends columns to the rows of one or several queries.
 *
 *     analyze --rows--> [row_prefix] --longer rows--> a renderer
 *
 * Threads: one. Errors: -ENOMEM, and those of the next sink.
 */
#pragma once

#include "analyze/context/analysis.h"

#define ROW_PREFIX_MAX 4

struct row_prefix {
	const struct row_sink *next; /* must outlive this struct */
	unsigned int cnt; /* number of prefix columns */
	const char *names[ROW_PREFIX_MAX];
	/* prefix values; the owner may change them between rows */
	struct value before[ROW_PREFIX_MAX];
	bool joins; /* joins the results of several queries into one result */
	/* Returns whether change() needs the column of this name (sets picked); may be NULL. */
	bool (*picks)(const char *name);
	/* May change the col_cnt values of row before they are passed to next; may be NULL. */
	void (*change)(const struct row_prefix *p, struct value *row);
	void *ctx; /* for change() */

	struct row_sink sink; /* for the queries, after row_prefix_init() */
	bool *picked; /* per column: result of picks() */
	unsigned int col_cnt; /* number of columns, including the prefix; 0: not begun */
	struct value *row;
};

/* Initializes p->sink. The caller has set the members from next to ctx. */
void row_prefix_init(struct row_prefix *p);
/*
 * Ends the result, unless r < 0 or no result was begun, and frees the memory of p. Returns r, or
 * the error of the end.
 */
int row_prefix_end(struct row_prefix *p, int r);
