/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sparkline: draws the rows of a report with --every: one line per group, one character per bin or
 * per several bins, scaled to the group's highest value.
 *
 *     rows (t_ns, keys, figures) --[sparkline]--> lines
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "cmd/render/render.h"

struct sparkline;

struct sparkline_options {
	const char *metric; /* name of the column to draw */
	/* the window, cut to the trace, relative to the trace's start; from_ns < to_ns */
	int64_t from_ns, to_ns;
	uint64_t every_ns; /* > 0 */
	unsigned int width; /* available characters per line */
	bool utf8; /* draw with Unicode block characters; else ASCII */
	uint64_t limit; /* maximum number of groups, the largest first; 0: all */
};

/* Returns NULL if out of memory. */
struct sparkline *sparkline_new(const struct sparkline_options *o);
void sparkline_free(struct sparkline *s);

/*
 * Returns a sink for a report's columns and rows; its end need not be called. If there is no column
 * o->metric, nothing is drawn. Errors: -ENOMEM.
 */
const struct row_sink *sparkline_sink(const struct sparkline *s);
void sparkline_print(struct sparkline *s, FILE *out);

/*
 * bin_groups: groups the rows of a report with --every. Each group has a series of figures over
 * time.
 *
 *     rows (t_ns, keys, figures) --[bin_groups]--> groups with a cell per bin --> pivot, sparkline
 *
 * Threads: one.
 */
#define BIN_GROUPS_KEYS_MAX 16

struct bin_groups_options {
	/* columns that identify a group: "pid,comm"; NULL: the key columns before the figure */
	const char *by;
	const char *figure;	/* column of the figure, which must not be negative */
	int64_t from_ns;	/* t_ns of the first bin, or an instant within it */
	uint64_t every_ns, bin_cnt;	/* > 0 */
	uint64_t bins_per_cell;	/* > 0 */
	size_t label_bytes;	/* maximum size of a label, with its NUL */
	bool is_safe;		/* escape labels for a terminal */
	bool is_single; /* refuse two rows for a bin and group; else use the higher figure */
	size_t groups_max; /* maximum number of groups; rows of further groups are only counted */
};

struct bin_group {
	const char *label;
	double *cells;		/* NaN: no row */
	double sum;
};

/* The caller sets the options and zeroes all other members. */
struct bin_groups {
	struct bin_groups_options o;
	struct bin_group *v;
	size_t cnt, cap;
	size_t left_out;	/* rows of groups beyond groups_max */
	char error[256];
	/* the following members are private to sparkline.c */
	unsigned int t, figure, key_cnt, keys[BIN_GROUPS_KEYS_MAX];
	char keys_there[128];	/* all key columns: "pid,comm,device,op" */
	struct strpool *labels;
	struct hash_map map;	/* label of the pool -> index in v */
};

void bin_groups_done(struct bin_groups *g);

static inline size_t bin_groups_cells(const struct bin_groups *g)
{
	return (size_t)((g->o.bin_cnt + g->o.bins_per_cell - 1) / g->o.bins_per_cell);
}

/*
 * pivot: turns the rows of a report with --every into a row per bin and a column per group. The
 * figure is 0 if a group has no row in a bin.
 *
 *     rows (t_ns, keys, figures) --[pivot]--> rows (t_ns, a figure of each group) --> a renderer
 *
 * Threads: one.
 */
struct pivot {
	/*
	 * the caller sets the options by, figure, from_ns, every_ns and bin_cnt, and calls
	 * bin_groups_done()
	 */
	struct bin_groups groups;
	const struct row_sink *next;
	uint64_t limit; /* maximum number of columns: the groups with the greatest sums; 0: all */
	bool has_rest; /* adds a last column with the sum of the groups beyond limit */
};

/* Returns a sink for the rows. Errors: those of bin_groups, and of the next sink. */
struct row_sink pivot_sink(struct pivot *p);
