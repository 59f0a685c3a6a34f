/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view: a table-valued function about a window: its columns, what its sums go by, and its rows.
 *
 *     arguments --[view: window, grouping, fold_run, fold_sums]--> rows, bin by bin
 *
 * A view names a fold, and says in which row a key of the fold's sums counts. Its columns say what
 * they take from a row's sum. A view that carries something from bin to bin has rows of its own
 * instead, and gets what the fold finds. Threads: one.
 */
#pragma once

#include "analyze/engine/table.h"
#include "analyze/fold/fold_run.h"
#include "analyze/fold/fold_sums.h"

struct view;

/* Says what a column takes from its row's sum, at its offset. */
enum view_take {
	VIEW_TAKES_NOTHING = 0,	/* row() fills the cell, or it is NULL */
	VIEW_TAKES_WINDOW,	/* t_ns, t_end_ns and span_ns of the bin: three columns */
	VIEW_TAKES_NUMBER,	/* uint64_t */
	VIEW_TAKES_LEVEL,	/* int64_t; below 0 it is 0 */
	VIEW_TAKES_INSTANT,	/* uint64_t, CLOCK_MONOTONIC */
	VIEW_TAKES_TEXT,	/* const char * */
	VIEW_TAKES_LABELS,	/* of the row's group: view_label_cells() */
	VIEW_TAKES_QUANTILE,	/* + per mille: of a struct quantile; NULL when it is empty */
};

/* In which row a key counts. */
struct view_place {
	uint32_t group;
	uint64_t b;	/* what tells rows of one group apart */
};

/* The beginning of a row that is carried from bin to bin. */
struct view_carried {
	uint64_t entered;	/* the last bin it was entered in, + 1 */
};

struct view_def {
	bool is_one_bin;		/* the third argument is not every_ns */
	/* All but those marked as needed may be NULL. 0 or -errno. */
	/*
	 * Looks at the arguments; the window is known. NULL: "by" is a grouping, where there is
	 * one.
	 */
	int (*open)(struct view *v, const struct table_query *q, struct err *e);
	void (*close)(struct view *v);

	const struct fold_def *fold;
	const struct fold_sums_def *sums;	/* NULL: the fold's own */
	size_t sum_bytes;	/* of a sum that begins with one of these; 0: it is one */
	/* rows of a bin come by group and b, else in the order in which they arose */
	bool is_sorted;
	/* Gives out a sum, as a row of view_row(), several, or none. NULL: as one row. */
	void (*row)(struct view *v, const struct view_place *at, void *sum);
	/* row() does, beside the columns, and what the index has is exact for it */
	bool reads_quantiles;

	/* A view of sums: */
	/* 1: *ret; 0: not part of the question; -errno. Needed. */
	int (*place)(struct view *v, const struct fold_key *key, struct view_place *ret);
	/* A key's place was found: *sum is the sum there. */
	void (*found)(struct view *v, const struct fold_key *key, void *sum);

	/* A view that carries rows, which begin with struct view_carried: */
	/* Takes a finding of the fold; ctx is the view. It counts in a row of view_carry(). */
	int (*carry)(void *ctx, const void *found);
	/* The row's part of a bin begins, with what it had until now. NULL: not wanted */
	void (*enter)(struct view *v, void *row);
	/* The bin is complete; called before its rows are returned. NULL: not wanted */
	int (*finish)(struct view *v);

	/* Another view, which may carry rows: */
	int (*begin)(struct view *v, struct err *e);	/* the window is not empty */
	/* Everything in [v->bin_from_ns, v->bin_to_ns). Needed. */
	int (*run_bin)(struct view *v, struct err *e);
};

struct view {
	struct analysis *a;
	const struct table_def *table;
	const struct view_def *def;
	struct window w;
	struct grouping groups;
	uint64_t bin;			/* the first that has not been given out */
	uint64_t bin_from_ns, bin_to_ns;	/* of the bin that was asked for last */
	uint64_t row_bin;		/* the bin of the rows being returned */
	bool is_giving;			/* sums of bins before next_bin are returned */
	uint64_t next_bin;
	/* of the sum that place() is asked for; it lowers the end of the time it holds for */
	uint64_t at_ns, at_end_ns;
	uint64_t cols_used;		/* bit per column */
	bool is_of_activity;		/* as the query has it */
	struct rowbuf *out;		/* during a step */
	struct fold_target target;	/* of a view of sums */
	const struct fold_sums_def *own_sums;	/* open() may set other sums than the def's */
	struct fold_sums_def sums_def;
	struct fold_sums sums;		/* or rows that are carried */
	struct fold_run run;
};

/* For struct table_def: data is a struct view_def. */
int view_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
	      void *state, struct err *e);
int view_step(void *state, struct rowbuf *out, struct err *e);
void view_close(void *state);

/* A place() for keys (thread, 0): the group of a thread that is in the scope. */
int view_place_thread(struct view *v, const struct fold_key *key, struct view_place *ret);

/* Adds a row of the bin being returned and fills its columns. Never NULL. */
struct cell *view_row(struct view *v, uint32_t group, void *sum);

/* Shows a text that was kept for the view; NULL: out of memory, and the scan fails. */
void view_text(struct view *v, struct cell *c, const char *kept);

/* upid, utid, name, member_upid, comm and thread_name of a group: the six cells from c on. */
void view_label_cells(struct grouping *g, uint32_t group, struct cell *c);

/* The row of a pair that is carried, valid until the next call. NULL: out of memory. */
void *view_carry(struct view *v, uint64_t a, uint64_t b);
/* Puts the row into the present bin: what follows counts there. */
void view_enter(struct view *v, void *row);

/*
 * word: a function of schema/tables.decl, in capitals. key: the column that open() is given a value
 * of, as has_key and key of the query; -1: none. state begins with a struct view.
 */
#define VIEW_TABLE_BY(key, word, view, state)                                                      \
	{                                                                                          \
		.name = NAME_##word, .cols = (const struct table_column[]){ COLS_##word },         \
		.col_cnt = COL_##word##_CNT, .arg_cnt = ARGS_##word,                               \
		.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = key, .data = &(view),    \
		.state_bytes = sizeof(state),                                                      \
		.open = view_open, .step = view_step, .close = view_close,                         \
	}
#define VIEW_TABLE(word, view, state) VIEW_TABLE_BY(-1, word, view, state)

/*
 * Up to VIEW_FUNCTIONS_MAX functions of the user code of a process or a thread (:comm), those with
 * most samples in the window: name, its samples, all samples. If every function is all the work of
 * its threads, the innermost one. whatif() can leave each of them out.
 */
#define VIEW_FUNCTIONS_MAX 3
extern const char view_functions_sql[];
