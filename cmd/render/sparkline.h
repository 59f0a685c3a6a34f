/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sparkline: the rows of a report with --every, drawn: one line per group, one character per bin
 * (or per several), from nothing to the group's highest value.
 *
 *     rows (t_ns, keys, figures) --[sparkline]--> lines
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/context/analysis.h"

struct sparkline;

struct sparkline_options {
	const char *metric; /* column to draw */
	int64_t from_ns, to_ns; /* the window, from the trace's start, cut to it; from < to */
	uint64_t every_ns; /* > 0 */
	unsigned int width; /* available characters per line */
	bool utf8; /* blocks of eighths; else ASCII */
	uint64_t limit; /* groups shown, the largest first; 0: all */
};

/* NULL: out of memory. */
struct sparkline *sparkline_new(const struct sparkline_options *o);
void sparkline_free(struct sparkline *s);

/*
 * Receives a report's columns, then its rows, and needs no end. Without the metric's column nothing
 * is drawn. Errors: -ENOMEM.
 */
const struct row_sink *sparkline_sink(const struct sparkline *s);
void sparkline_print(struct sparkline *s, FILE *out);
