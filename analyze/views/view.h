/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view: a table-valued function over a window: its columns, the keys of its sums, and its rows.
 *
 *     arguments --[view: window, grouping, fold_run, fold_sums]--> rows, bin by bin
 *
 * A view names a fold, and maps each key of the fold's sums to a row. Each column names the member
 * of the row's sum that it shows. A view that carries state from bin to bin keeps its own rows
 * instead, and receives the findings of the fold. Threads: one.
 */
#pragma once

#include "analyze/engine/table.h"
#include "analyze/fold/fold_run.h"
#include "analyze/fold/fold_sums.h"

struct view;

/* The type of the member that a column reads from its row's sum, at the column's offset. */
enum view_take {
	VIEW_TAKES_NOTHING = 0,	/* row() fills the cell, or it is NULL */
	VIEW_TAKES_WINDOW,	/* t_ns, t_end_ns and span_ns of the bin: three columns */
	VIEW_TAKES_NUMBER,	/* uint64_t */
	VIEW_TAKES_LEVEL,	/* int64_t; shown as 0 if negative */
	VIEW_TAKES_INSTANT,	/* uint64_t, CLOCK_MONOTONIC */
	VIEW_TAKES_TEXT,	/* const char * */
	VIEW_TAKES_LABELS,	/* labels of the row's group: view_label_cells() */
	/* VIEW_TAKES_QUANTILE + n: quantile n / 1000 of a struct quantile; NULL if it is empty */
	VIEW_TAKES_QUANTILE,
};

/* The row in which a key is counted. */
struct view_place {
	uint32_t group;
	uint64_t b;	/* distinguishes rows of one group */
};

/* The first member of a row that is carried from bin to bin. */
struct view_carried {
	uint64_t entered;	/* 1 + the last bin for which view_enter() was called */
};

struct view_def {
	bool is_one_bin;		/* the window is one bin: there is no argument every_ns */
	/* Callbacks may be NULL unless marked "required". They return 0 or -errno. */
	/*
	 * Checks the arguments; the window is already set. NULL: the argument "by", if there is
	 * one, is parsed as a grouping.
	 */
	int (*open)(struct view *v, const struct table_query *q, struct err *e);
	void (*close)(struct view *v);

	const struct fold_def *fold;
	const struct fold_sums_def *sums;	/* NULL: the fold's own */
	/* size of a sum with more members than the fold's; 0: the fold's size */
	size_t sum_bytes;
	/* true: a bin's rows are sorted by group and b; false: in order of creation */
	bool is_sorted;
	/* Emits a sum as zero or more rows with view_row(). NULL: one row per sum. */
	void (*row)(struct view *v, const struct view_place *at, void *sum);
	/* row() itself reads the sum's quantiles, and needs no more precision than the index has */
	bool reads_quantiles;

	/* Callbacks of a view of sums: */
	/* Sets *ret to the key's row. Returns 1; 0: the key is not counted; -errno. Required. */
	int (*place)(struct view *v, const struct fold_key *key, struct view_place *ret);
	/* Called after place() found a row: sum is the row's sum. */
	void (*found)(struct view *v, const struct fold_key *key, void *sum);

	/* Callbacks of a view that carries rows, which begin with struct view_carried: */
	/* Adds a finding of the fold to a row of view_carry(); ctx is the view. */
	int (*carry)(void *ctx, const void *found);
	/* Called when a row enters a bin, before its first change there. May be NULL. */
	void (*enter)(struct view *v, void *row);
	/* Called when the bin is complete, before its rows are returned. May be NULL. */
	int (*finish)(struct view *v);

	/* Callbacks of any other view, which may carry rows: */
	int (*begin)(struct view *v, struct err *e);	/* called unless the window is empty */
	/* Processes all of [v->bin_from_ns, v->bin_to_ns). Required. */
	int (*run_bin)(struct view *v, struct err *e);
};

struct view {
	struct analysis *a;
	const struct scope *scope;	/* scope of the running question */
	const struct table_def *table;
	const struct view_def *def;
	struct window w;
	struct grouping groups;
	uint64_t bin;			/* the first bin whose rows are not yet returned */
	uint64_t bin_from_ns, bin_to_ns;	/* the bin being read */
	uint64_t row_bin;		/* the bin of the rows being returned */
	bool is_giving;			/* rows of bins before next_bin are being returned */
	uint64_t next_bin;
	/*
	 * at_ns: the instant for which place() is called. place() lowers at_end_ns to the end of
	 * the time for which its answer holds.
	 */
	uint64_t at_ns, at_end_ns;
	uint64_t cols_used;		/* bit i: column i is used */
	bool is_of_activity;		/* copied from the query */
	struct rowbuf *out;		/* rows of the present step */
	struct fold_target target;	/* used by views of sums */
	/* set by open() to replace the sums of def; else NULL */
	const struct fold_sums_def *own_sums;
	struct fold_sums_def sums_def;
	struct fold_sums sums;		/* sums, or carried rows */
	struct fold_run run;
};

/* Callbacks for a struct table_def whose data is a struct view_def. */
int view_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
	      void *state, struct err *e);
int view_step(void *state, struct rowbuf *out, struct err *e);
void view_close(void *state);

/* A place() for keys (thread, 0): returns the group of a thread in the scope. */
int view_place_thread(struct view *v, const struct fold_key *key, struct view_place *ret);

/* Adds a row for the bin being returned and fills its columns. Never returns NULL. */
struct cell *view_row(struct view *v, uint32_t group, void *sum);

/*
 * Sets a cell to a text that lives as long as the view. NULL means out of memory: the scan fails.
 */
void view_text(struct view *v, struct cell *c, const char *kept);

/* Fills six cells from c on: the group's upid, utid, name, member_upid, comm and thread_name. */
void view_label_cells(struct grouping *g, uint32_t group, struct cell *c);

/* Returns the carried row of (a, b), valid until the next call. NULL: out of memory. */
void *view_carry(struct view *v, uint64_t a, uint64_t b);
/* Enters the row into the present bin, if it is not there yet. Call before changing the row. */
void view_enter(struct view *v, void *row);

/*
 * word: a function of schema/tables.decl, in capitals. key: the column whose value the query may
 * require (has_key and key of struct table_query); -1: none. state begins with a struct view.
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
 * SQL that returns the functions of the user code of a process or thread (:comm) with the most
 * samples in the window, at most VIEW_FUNCTIONS_MAX: name, samples of the function, samples of all
 * functions. If each function covers all samples of its threads, only the innermost one is
 * returned. whatif() can leave out each of them.
 */
#define VIEW_FUNCTIONS_MAX 3
extern const char view_functions_sql[];
