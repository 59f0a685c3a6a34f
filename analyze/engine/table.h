/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table: the declaration of a SQL table that is computed from the trace. Private to analyze/.
 *
 *     [table_def: open, step, close] --rows of cells--> table.c --> SQLite
 *
 * At each step a table adds some rows to a rowbuf. table_query contains SQLite's constraints on the
 * rows (time range, cpu, thread, key). A table may use them to read less, but need not, because
 * SQLite checks them again. Arguments of a table-valued function are hidden columns. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/context/context.h"
#include "analyze/context/scope.h"

enum column_type { COLUMN_INT, COLUMN_REAL, COLUMN_TEXT };

/* The way in which table_row_cells() reads a column from a row's struct. */
enum field_use {
	FIELD_NONE,		/* not a field */
	FIELD_NUMBER,
	FIELD_NOT_ZERO,		/* a number; 0 is shown as NULL */
	FIELD_FLAG,		/* 1 if the number has a bit of mask, else 0 */
	FIELD_INSTANT,		/* an absolute time, shown from the trace's start */
	FIELD_KNOWN_INSTANT,	/* as FIELD_INSTANT; 0 is shown as NULL */
	FIELD_THREAD, FIELD_PROCESS,	/* an id, shown as in the table threads or processes */
	FIELD_TEXT,
	FIELD_NOT_EMPTY,	/* a text; "" is shown as NULL */
};

struct table_column {
	const char *name;
	enum column_type type;
	uint16_t take;		/* enum view_take (view.h); for columns of views */
	uint16_t offset;	/* offset of the field, or of the sum that a view reads */
	uint8_t use;		/* enum field_use */
	uint8_t bytes;		/* size of the field */
	uint32_t mask;
};

struct cell {
	enum value_type type;		/* zero is VALUE_NULL */
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
	bool failed;	/* out of memory: the step must fail */
};

enum { TABLE_ARG_MAX = 6 };
#define TABLE_BATCH_ROWS 256	/* typical number of rows per step */

struct table_query {
	int64_t from_ns,
		to_ns; /* requested range of the time column, [from, to), from the trace's start */
	bool has_cpu, has_utid, has_key;
	int64_t cpu, utid;
	struct cell key;
	uint64_t cols_used;		/* bit per column; a table has at most 63 columns */
	struct cell args[TABLE_ARG_MAX];	/* VALUE_NULL: missing */
	/* for thread_states(): time asleep or stopped may be omitted, which saves rows */
	bool is_of_activity;
	const struct group_merge *merge;	/* merges groups that are tasks; may be NULL */
};

/* Values for table_def.window: rows with an instant, and rows with an interval. */
#define WINDOW_INSTANT "ts_ns >= :from AND ts_ns < :to"
#define WINDOW_INTERVAL "from_ns < :to AND to_ns > :from"

struct table_def {
	const char *name;
	const char *doc;			/* one line */
	const struct table_column *cols;	/* hidden columns are last */
	unsigned int col_cnt;			/* number of columns that are not hidden */
	unsigned int arg_cnt;			/* number of hidden columns */
	int time_col, cpu_col, utid_col, key_col;	/* -1: none */
	/*
	 * Column with the end of an interval, in tables of adjacent intervals of which queries may
	 * need only the last; 0: none.
	 */
	int end_col;
	bool is_ordered;			/* rows are in ascending order of time_col */
	bool is_exported;
	bool fills_all;		/* rows contain all columns, whatever the query uses */
	/* SQL condition for rows in the window :from to :to; NULL: all rows */
	const char *window;
	unsigned int kind;			/* distinguishes tables that share functions */
	const void *data;
	/*
	 * Kinds of events from which rows are made, and number of events per row. kinds 0: no
	 * events; row_cnt, if set, estimates the number of rows.
	 */
	uint32_t kinds;
	unsigned int events_per_row;
	double (*row_cnt)(const struct analysis *a, const struct table_def *def);
	/*
	 * Size of the state that is passed to the following functions, zeroed before open(). open()
	 * returns 0 or -errno.
	 */
	size_t state_bytes;
	int (*open)(struct analysis *a, const struct table_def *def, const struct table_query *q,
		    void *state, struct err *e);
	/* Makes rows. 1: call again (even without new rows); 0: end; -errno. */
	int (*step)(void *state, struct rowbuf *out, struct err *e);
	/* Frees the state's members; also called after open() failed. May be NULL. */
	void (*close)(void *state);
};

/* Adds a row of zeroed cells, valid until the next call. Never returns NULL. */
struct cell *rowbuf_add(struct rowbuf *rb);

/* Sets the cells of columns in cols_used that are fields; other cells are unchanged. */
void table_row_cells(const struct analysis *a, const struct table_def *def, uint64_t cols_used,
		     const void *row, struct cell *c);

/* Estimates the number of rows. */
double table_row_cnt(const struct analysis *a, const struct table_def *def);

/* Iterates over the rows of a table. All zeros: a closed scan. */
struct table_scan {
	struct analysis *a;
	const struct table_def *def;
	void *state;
	struct rowbuf rows;
	size_t at;
	bool more;
	bool has_key;	/* the scan is limited to rows with one key */
	bool is_first;	/* rows has never been filled */
	bool is_whole;	/* rows contains all rows of the scan */
	struct scan_memo *memo;	/* receives a copy of the rows if is_whole; NULL: no copy */
	struct table_query query;	/* valid if memo is set */
};

int table_scan_open(struct table_scan *s, struct analysis *a, const struct table_def *def,
		    const struct table_query *q, struct err *e);
/* Makes the next rows. 1: rows were made; 0: end; -errno. */
int table_scan_fill(struct table_scan *s, struct err *e);
/* Returns the next row, valid until the next call. 1: *ret is set; 0: end; -errno. */
static inline int table_scan_next(struct table_scan *s, const struct cell **ret, struct err *e)
{
	int more = s->at < s->rows.row_cnt ? 1 : table_scan_fill(s, e);

	if (more > 0)
		*ret = &s->rows.cells[s->at++ * s->rows.col_cnt];
	return more;
}
/* Restarts at the first row, which is possible if all rows are in memory. False: not possible. */
static inline bool table_scan_rewind(struct table_scan *s)
{
	if (s->is_whole)
		s->at = 0;
	return s->is_whole;
}

/* Closes the scan, if open, and frees its memory. */
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

/* s must outlive the row. NULL becomes SQL's NULL. */
static inline void cell_text(struct cell *c, const char *s)
{
	c->type = s ? VALUE_TEXT : VALUE_NULL;
	c->s = s;
}

/* Families of similar tables; each list ends with an entry without name. */
extern const struct table_def tables_of_lists[], tables_of_events[];
/* All other tables, in the order of table_at(). */
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

/* Registers all tables with a->db. */
int table_vtab_register(struct analysis *a, struct err *e);
/*
 * TABLE_ERROR: extended SQLite error code of a table that failed with an errno; TABLE_ERROR_ERRNO:
 * the errno in such a code, or 0.
 */
#define TABLE_ERROR(err)      (SQLITE_ERROR | (1000 + (err)) << 8)
#define TABLE_ERROR_ERRNO(rc) ((rc) > TABLE_ERROR(0) ? ((rc) >> 8) - 1000 : 0)

/* Finds a table by name, ignoring case; NULL: not found. */
const struct table_def *table_find(const char *name);
/* Returns the n-th of all tables; NULL: there are fewer. */
const struct table_def *table_at(unsigned int n);

/* ---- windows ---- */

/*
 * Reads arguments 0..2 of q. Default: the whole trace as one bin. -EINVAL, or -E2BIG: too many
 * bins.
 */
int window_init(struct window *w, const struct analysis *a, const struct table_query *q,
		struct err *e);

/*
 * Reads argument i of q, a number of nanoseconds. If it is missing, *v is unchanged. 0 or -EINVAL.
 */
int window_arg_ns(const struct table_query *q, unsigned int i, const char *name, int64_t *v,
		  struct err *e);

/* Sets three cells, t_ns, t_end_ns and span_ns; the first two are from the trace's start. */
void window_cells(const struct window *w, uint64_t bin, struct cell *c);

/* Reads the argument "by" of a table-valued function; default: by process. -EINVAL or -ENOMEM. */
int window_grouping(struct grouping *g, const struct analysis *a, const struct cell *arg,
		    struct err *e);

/*
 * scan_memo: keeps the rows of small tables that several sections of a report read for the same
 * window, such as causes() and memory_spikes(). Only complete results of table-valued functions are
 * kept. A memo belongs to a question, because rows depend on the question's scope. Threads: one.
 */
struct scan_memo;

/* Returns NULL if memory is short; without a memo, no rows are kept. */
struct scan_memo *scan_memo_new(void);
void scan_memo_free(struct scan_memo *m);
/*
 * Drops all rows, for example because they may come from a damaged index. Their texts stay valid
 * until scan_memo_free(), because a scan that is open may still return them. m may be NULL.
 */
void scan_memo_clear(struct scan_memo *m);

/* Returns whether the rows of the query may be kept. m may be NULL. */
bool scan_memo_takes(const struct scan_memo *m, const struct table_def *def,
		     const struct table_query *q);
/* Returns the kept rows, valid until scan_memo_free() or scan_memo_clear(); NULL: none. */
const struct rowbuf *scan_memo_find(const struct scan_memo *m, const struct table_def *def,
				    const struct table_query *q);
/* Keeps a copy of all rows of a query, unless they are many. */
void scan_memo_keep(struct scan_memo *m, const struct table_def *def, const struct table_query *q,
		    const struct rowbuf *rows);
