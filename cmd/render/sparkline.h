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
#include "base/hash_map.h"
#include "base/strpool.h"
#include "cmd/render/render.h"

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

/*
 * bin_groups: the rows of a report with --every, put together by group: a line of figures over time
 * for each.
 *
 *     rows (t_ns, keys, figures) --[bin_groups]--> groups with a cell per bin --> pivot, sparkline
 *
 * Threads: one.
 */
#define BIN_GROUPS_KEYS_MAX 16

struct bin_groups_options {
	/* columns that name a group: "pid,comm"; NULL: the keys before the figure */
	const char *by;
	const char *figure;	/* the column with the figure, which is never below 0 */
	int64_t from_ns;	/* t_ns of the first bin, or an instant in it */
	uint64_t every_ns, bin_cnt;	/* > 0 */
	uint64_t bins_per_cell;	/* > 0 */
	size_t label_bytes;	/* of a label at most, with the byte that ends it */
	bool is_safe;		/* labels are safe for a terminal */
	bool is_single;		/* refuses two rows of a bin and group; else the highest counts */
	size_t groups_max;	/* rows of further groups are counted only */
};

struct bin_group {
	const char *label;
	double *cells;		/* NaN: no row */
	double sum;
};

/* All zeros but the options at first. */
struct bin_groups {
	struct bin_groups_options o;
	struct bin_group *v;
	size_t cnt, cap;
	size_t left_out;	/* rows of groups beyond groups_max */
	char error[256];
	/* the following members are private to sparkline.c */
	unsigned int t, figure, key_cnt, keys[BIN_GROUPS_KEYS_MAX];
	char keys_there[128];	/* columns that identify rows: "pid,comm,device,op" */
	struct strpool *labels;
	struct hash_map map;	/* a label of the pool to a place in v */
};

void bin_groups_done(struct bin_groups *g);

static inline size_t bin_groups_cells(const struct bin_groups *g)
{
	return (size_t)((g->o.bin_cnt + g->o.bins_per_cell - 1) / g->o.bins_per_cell);
}

/*
 * pivot: turns the rows of a report with --every into a row per bin and a column per group, with 0
 * where a group has no row.
 *
 *     rows (t_ns, keys, figures) --[pivot]--> rows (t_ns, a figure of each group) --> a renderer
 *
 * Threads: one.
 */
struct pivot {
	/* the caller sets the options by, figure, from_ns, every_ns and bin_cnt, and frees it */
	struct bin_groups groups;
	const struct row_sink *next;
	uint64_t limit; /* groups with the greatest sums; 0: all */
	bool has_rest; /* a last column has the sum of the groups beyond limit */
};

/* Receives the rows. Errors: those of bin_groups, and of the next sink. */
struct row_sink pivot_sink(struct pivot *p);
