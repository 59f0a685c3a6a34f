/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bin_groups: the rows of a report with --every, put together by group: a line of figures over time
 * for each.
 *
 *     rows (t_ns, keys, figures) --[bin_groups]--> groups with a cell per bin --> pivot, sparkline
 *
 * Threads: one.
 */
#pragma once

#include "base/hash_map.h"
#include "base/strpool.h"
#include "cmd/render/render.h"

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
	/* the following members are private to bin_groups.c */
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
 * begin and row of a sink whose ctx begins with a struct bin_groups. Rows after an error of begin
 * are ignored. Errors: -ENOMEM; -EINVAL, with the reason in error.
 */
int bin_groups_begin(void *groups, unsigned int col_cnt, const char *const *names);
int bin_groups_row(void *groups, const struct value *v);

/*
 * The groups with the greatest sums first; the first cnt of all, if these are numbers (CPUs), by
 * number. Labels no longer find their groups.
 */
void bin_groups_sort(struct bin_groups *g, size_t cnt);
