/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table: the declaration of a SQL table that is computed from the trace. Private to analyze/.
 *
 *     [table_def: open, step, close] --rows of cells--> table.c --> SQLite
 *
 * A table fills a rowbuf, some rows at each step. table_query has SQLite's constraints on the rows
 * (time range, cpu, thread, key); a table may use them to read less but need not: SQLite checks
 * again. Arguments of a table-valued function are its hidden columns. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/context/context.h"
#include "analyze/context/scope.h"

enum column_type { COLUMN_INT, COLUMN_REAL, COLUMN_TEXT };

/* How table_row_cells() reads a column from a row's struct. */
enum field_use {
	FIELD_NONE,		/* not a field */
	FIELD_NUMBER,
	FIELD_NOT_ZERO,		/* a number; 0 is NULL */
	FIELD_FLAG,		/* whether the number has a bit of mask */
	FIELD_INSTANT,		/* from the trace's start */
	FIELD_KNOWN_INSTANT,	/* the same; 0 is NULL */
	FIELD_THREAD, FIELD_PROCESS,	/* an id, shown as in the tables threads or processes */
	FIELD_TEXT,
	FIELD_NOT_EMPTY,	/* a text; "" is NULL */
};

struct table_column {
	const char *name;
	enum column_type type;
	uint16_t take;		/* of a view: enum view_take (view.h) */
	uint16_t offset;	/* of the field, or of the sum that a view reads */
	uint8_t use;		/* enum field_use */
	uint8_t bytes;		/* of the field */
	uint32_t mask;
};

struct cell {
	enum value_type type;		/* VALUE_NULL is 0: a zeroed cell */
	union {
		int64_t i;
		double r;
		const char *s;		/* valid until the table's next step */
	};
};

struct rowbuf {
	struct cell *cells;
	unsigned int col_cnt;
	size_t row_cnt, row_cap;
	bool failed;	/* out of memory; the step fails */
};

enum { TABLE_ARG_MAX = 6 };
#define TABLE_BATCH_ROWS 256	/* of a step, if the table has more */

struct table_query {
	int64_t from_ns,
		to_ns; /* requested range of the time column, [from, to), from the trace's start */
	bool has_cpu, has_utid, has_key;
	int64_t cpu, utid;
	struct cell key;
	uint64_t cols_used;		/* bit per column; a table has at most 63 */
	struct cell args[TABLE_ARG_MAX];	/* VALUE_NULL: not given */
	/* of thread_states(): time asleep or stopped may be left out, which saves rows */
	bool is_of_activity;
	const struct group_merge *merge;	/* of groups that are tasks; or NULL */
};

/* Conditions for `window`: rows with an instant, and with an interval. */
#define WINDOW_INSTANT "ts_ns >= :from AND ts_ns < :to"
#define WINDOW_INTERVAL "from_ns < :to AND to_ns > :from"

struct table_def {
	const char *name;
	const char *doc;			/* one line */
	const struct table_column *cols;	/* hidden ones last */
	unsigned int col_cnt;			/* without the hidden ones */
	unsigned int arg_cnt;			/* hidden ones */
	int time_col, cpu_col, utid_col, key_col;	/* -1: none */
	/*
	 * The column with the ends of adjacent intervals, if a query may need only the last one; 0:
	 * none.
	 */
	int end_col;
	bool is_ordered;			/* rows come in ascending order of time_col */
	bool is_exported;
	bool fills_all;		/* rows have all columns, independent of the query's */
	const char *window;	/* condition for rows of the window :from to :to; NULL: all rows */
	unsigned int kind;			/* for tables of one family */
	const void *data;
	/*
	 * a row is made from this many events of these kinds; 0: not from events, row_cnt may
	 * estimate
	 */
	uint32_t kinds;
	unsigned int events_per_row;
	double (*row_cnt)(const struct analysis *a, const struct table_def *def);
	/*
	 * The state is passed to all of these functions: zeros for open, which returns 0 or -errno.
	 */
	size_t state_bytes;
	int (*open)(struct analysis *a, const struct table_def *def, const struct table_query *q,
		    void *state, struct err *e);
	/* 1: continue (rows may have been added), 0: end, -errno. */
	int (*step)(void *state, struct rowbuf *out, struct err *e);
	/* Frees the state's memory, also after a failed open. NULL: it has none. */
	void (*close)(void *state);
};

/* Adds a row of zeroed cells, valid until the next one. Never returns NULL. */
struct cell *rowbuf_add(struct rowbuf *rb);

/*
 * Fills the cells of those columns of cols_used that are fields; the others stay unchanged. For
 * tables with at most 31 columns.
 */
void table_row_cells(const struct analysis *a, const struct table_def *def, uint64_t cols_used,
		     const void *row, struct cell *c);

/* Estimates the number of rows. */
double table_row_cnt(const struct analysis *a, const struct table_def *def);

/* Iterates over the rows of a table. All zeros: closed. */
struct table_scan {
	struct analysis *a;
	const struct table_def *def;
	void *state;
	struct rowbuf rows;
	size_t at;
	bool more;
	bool has_key;	/* the scan is limited to the rows of one key */
	bool is_first;	/* rows has not been filled yet */
	bool is_whole;	/* rows has all rows of the scan */
	bool is_kept;	/* scan_memo keeps its rows if they are whole */
	struct table_query query;	/* if is_kept */
};

int table_scan_open(struct table_scan *s, struct analysis *a, const struct table_def *def,
		    const struct table_query *q, struct err *e);
/* Makes the next rows. 1: there are some; 0: end; -errno. */
int table_scan_fill(struct table_scan *s, struct err *e);
/* 1 and a row, valid until the next call; 0: end; -errno. */
static inline int table_scan_next(struct table_scan *s, const struct cell **ret, struct err *e)
{
	int more = s->at < s->rows.row_cnt ? 1 : table_scan_fill(s, e);

	if (more > 0)
		*ret = &s->rows.cells[s->at++ * s->rows.col_cnt];
	return more;
}
/* Restarts with the first row, if all rows were made at once and are still there. */
static inline bool table_scan_rewind(struct table_scan *s)
{
	if (s->is_whole)
		s->at = 0;
	return s->is_whole;
}

/* Keeps the memory for the next scan. */
void table_scan_done(struct table_scan *s);

static inline void cell_int(struct cell *c, int64_t v)
{
	c->type = VALUE_INT;
	c->i = v;
}

static inline void cell_real(struct cell *c, double v)
{
	c->type = VALUE_REAL;
	c->r = v;
}

/* s must outlive the row; NULL is SQL's NULL. */
static inline void cell_text(struct cell *c, const char *s)
{
	c->type = s ? VALUE_TEXT : VALUE_NULL;
	c->s = s;
}

/* Tables of a kind; each list ends with an entry without name. */
extern const struct table_def tables_of_lists[], tables_of_events[];
/* Tables that are made from events, and table-valued functions, in the order of table_at(). */
#define TABLES_OTHER(X)                                                                            \
	X(sched_slices) X(allocations) X(block_requests) X(request_parts) X(cpu_usage)             \
	X(open_requests) X(sched_waits) X(wait_kinds)                                              \
	X(thread_states) X(parallel_usage) X(throttled_periods) X(woken_by) X(wait_ends)           \
	X(blocking_chain) X(offcpu_waits) X(alloc_usage) X(lifetime_usage) X(spikes) X(io_usage)   \
	X(memory_spikes) X(window_loss) X(io_pattern) X(latency_hist) X(cpu_profile)               \
	X(device_usage) X(memory_levels) X(irq_usage) X(totals) X(memory_stalls) X(causes)     \
	X(requests) X(request_steps) X(request_threads) X(request_time) X(slow_requests) \
	X(whatif) X(growth_sites)
#define X(name) extern const struct table_def table_##name;
TABLES_OTHER(X)
#undef X

/* Registers all of them with a->db. */
int table_vtab_register(struct analysis *a, struct err *e);

/* Finds a table by name, ignoring case; NULL: not found. */
const struct table_def *table_find(const char *name);
/* Returns the n-th of all tables, NULL after the last. */
const struct table_def *table_at(unsigned int n);

/* ---- windows ---- */

/*
 * Reads arguments 0..2 of q; defaults: the whole trace, one bin. -EINVAL, or -E2BIG for too many
 * bins.
 */
int window_init(struct window *w, const struct analysis *a, const struct table_query *q,
		struct err *e);

/* Reads argument i of q, a number of nanoseconds; if it is missing, *v stays unchanged. -EINVAL. */
int window_arg_ns(const struct table_query *q, unsigned int i, const char *name, int64_t *v,
		  struct err *e);

/* Fills three cells: t_ns, t_end_ns, span_ns, from the trace's start. */
void window_cells(const struct window *w, uint64_t bin, struct cell *c);

/* Reads argument "by" of such a function: the grouping; default: by process. -EINVAL. */
int window_grouping(struct grouping *g, const struct analysis *a, const struct cell *arg,
		    struct err *e);

/*
 * scan_memo: the rows of small tables of windows that the sections of one report ask for more than
 * once, such as causes() and memory_spikes(). Only whole results of table-valued functions are
 * kept; an analysis has at most one memo, while it answers a report. Threads: one.
 */
struct scan_memo;

/* Begins and ends the time in which a's results are kept. Without memory nothing is kept. */
void scan_memo_begin(struct analysis *a);
void scan_memo_end(struct analysis *a);
/* Forgets all rows: they may have come from a damaged index. */
void scan_memo_clear(struct analysis *a);

/* Returns whether the rows of this query may be kept. */
bool scan_memo_takes(const struct analysis *a, const struct table_def *def,
		     const struct table_query *q);
/* Returns the kept rows, valid until scan_memo_end() or scan_memo_clear(); NULL: none. */
const struct rowbuf *scan_memo_find(const struct analysis *a, const struct table_def *def,
				    const struct table_query *q);
/* Keeps a copy of all rows of a query, if they are few. */
void scan_memo_keep(struct analysis *a, const struct table_def *def, const struct table_query *q,
		    const struct rowbuf *rows);
