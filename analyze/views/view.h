/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view: a table-valued function about a window: its columns, what its sums go by, and its rows.
 *
 *     arguments --[view: window, grouping, fold_run, fold_sums]--> rows, bin by bin
 *
 * A view of sums names a fold, says in which row a key of the fold's sums counts, and fills a row's
 * cells. A view that carries something from bin to bin runs its folds itself, in run_bin().
 * Threads: one.
 */
#ifndef VIEW_H
#define VIEW_H

#include "analyze/engine/table.h"
#include "analyze/fold/fold_run.h"
#include "analyze/fold/fold_sums.h"

struct view;

/* In which row a key counts. */
struct view_place {
	uint32_t group;
	uint64_t b;	/* what tells rows of one group apart */
};

struct view_def {
	size_t bytes;			/* of the view's state, which begins with struct view */
	/* All may be NULL but those that are said to be needed. 0 or -errno. */
	/*
	 * Looks at the arguments; the window is known. NULL: "by" is a grouping, where there is
	 * one.
	 */
	int (*open)(struct view *v, const struct table_query *q, struct err *e);
	void (*close)(struct view *v);

	/* A view of sums: */
	const struct fold_def *fold;
	const struct fold_sums_def *sums;	/* NULL: the fold's own */
	/* rows of a bin come by group and b, else in the order in which they arose */
	bool is_sorted;
	/* 1: *ret; 0: nobody asked for it; -errno. Needed. */
	int (*place)(struct view *v, const struct fold_key *key, struct view_place *ret);
	/* A key's place was found: *sum is the sum there. */
	void (*found)(struct view *v, const struct fold_key *key, void *sum);
	/* Gives out a sum, as a row of view_row() or several. Needed. */
	int (*row)(struct view *v, const struct view_place *at, void *sum);
	void (*bin_is_over)(struct view *v);

	/* Another view: */
	int (*begin)(struct view *v, struct err *e);	/* the window is not empty */
	/* Everything in [v->bin_from_ns, v->bin_to_ns), and the bin's rows. Needed. */
	int (*run_bin)(struct view *v, struct err *e);
};

struct view {
	struct analysis *a;
	const struct view_def *def;
	struct window w;
	struct grouping groups;
	uint64_t bin;			/* the first that has not been given out */
	uint64_t bin_from_ns, bin_to_ns;	/* of the bin that was asked for last */
	uint64_t row_bin;		/* the bin of the rows that are given out */
	struct rowbuf *out;		/* during a step */
	/* of a view of sums */
	struct fold_target target;
	struct fold_sums sums;
	struct fold_run run;
};

/* For struct table_def: data is a struct view_def. */
int view_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
	      void **ret_state, struct err *e);
int view_step(void *state, struct rowbuf *out, struct err *e);
void view_close(void *state);

/* A new row of the bin that is given out, whose window columns are filled. NULL: out of memory. */
struct cell *view_row(struct view *v);

/* upid, utid and name of a group: the three cells from c on. */
void view_label_cells(const struct grouping *g, uint32_t group, struct cell *c);

#define VIEW_TABLE(sql_name, doc_, columns, column_cnt, args, view)                               \
	{                                                                                         \
		.name = sql_name, .doc = doc_, .cols = columns, .col_cnt = column_cnt,            \
		.arg_cnt = args, .time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,    \
		.data = &(view), .open = view_open, .step = view_step, .close = view_close,       \
	}

#endif /* VIEW_H */
