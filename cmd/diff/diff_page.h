/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_page: figures of two groups of runs as a page of HTML, with a box plot of each. The page has
 * no script and loads nothing; no text of a trace is markup in it. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct diff_page_row {
	const char *role, *figure, *change, *verdict;
	const char *text[2]; /* the medians, for people */
	bool is_worse, is_better;
	const double *values[2]; /* of the runs, least first */
	size_t cnt[2];
};

/* a, b: "base.1 and on, 8 runs". */
void diff_page_begin(FILE *f, const char *a, const char *b);
/* format writes a value of the figure for people. */
void diff_page_row(FILE *f, const struct diff_page_row *r,
		   void (*format)(char *buf, size_t size, const char *figure, double v));
void diff_page_end(FILE *f, const char *legend);
