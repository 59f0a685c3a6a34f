/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * analysis: a trace as a SQLite database, and the canned reports.
 *
 *     trace, fold --> [virtual tables, table-valued functions] --> schema/x.sql --> rows --> cmd
 *
 * Nothing is copied into SQLite to answer a question: event tables and window functions are
 * virtual and read the trace. analysis_export_sqlite() writes real tables.
 *
 * Threads: one. Errors: 0 or -errno and struct err. Never prints: rows go to a sink.
 */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/trace.h"

struct analysis;

enum value_type { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT };
struct value {
	enum value_type type;
	int64_t i;
	double r;
	const char *text;	/* UTF-8 not guaranteed: bytes come from the trace */
	size_t text_bytes;
};

/*
 * Receives rows. Values are valid during the call. A negative return ends the query with that
 * error.
 */
struct row_sink {
	void *ctx;
	/* The names are valid until end(). */
	int (*begin)(void *ctx, unsigned int col_cnt, const char *const *col_names);
	int (*row)(void *ctx, const struct value *values);
	int (*end)(void *ctx);
	/*
	 * May be NULL. A report of several parts ("summary") calls it before each part, and calls
	 * begin, row and end for each part. Without it such a report is one result with the columns
	 * section, row, name and value: a row per value.
	 */
	int (*section)(void *ctx, const char *title);
};

/* Takes no ownership of t, which must outlive the analysis. */
int analysis_open(struct analysis **ret, struct trace *t, struct err *e);
void analysis_close(struct analysis *a);

/*
 * Lets answers come from an index (schema/FORMAT.md, "The index"), which is made when first needed.
 * Answers are the same with and without, except that order statistics of many values are within
 * 0.4 % instead of exact. An analysis uses no index before this call.
 */
struct analysis_index_use {
	bool use;
	bool always;	/* even where the trace is so small that it does not pay */
	bool save;	/* keep it beside the trace, or in the user's cache */
	/* While it is made, some times a second; may be NULL. */
	void (*progress)(void *ctx, uint64_t done_events, uint64_t all_events);
	void *ctx;
};
void analysis_use_index(struct analysis *a, const struct analysis_index_use *use);
/* Makes the index now that the first question would make. One that cannot be made is no error. */
int analysis_prepare(struct analysis *a, struct err *e);
/* Block i was read whole, and found good, when the index in use was made. */
bool analysis_knows_block(struct analysis *a, size_t block);

/* Any single SQL statement. Statements that would write to a file are refused. */
int analysis_sql(struct analysis *a, const char *sql, const struct row_sink *sink, struct err *e);

enum report_by {
	REPORT_BY_PROCESS,
	REPORT_BY_THREAD,
	REPORT_BY_COMM,
	REPORT_BY_CGROUP,
	REPORT_BY_CPU,
	REPORT_BY_DEVICE,
	REPORT_BY_VECTOR	/* of interrupts */
};

struct report_request {
	const char *
		view; /* "summary", "cpu", "sched", "alloc", "spikes", "io", "latency", "pattern",
			 * "devices", "loss", "cost", ...: report_views() */
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC, half-open; may lie outside the trace */
	uint64_t every_ns;		/* 0: one answer for the window */
	enum report_by by;
	bool by_set;			/* false: the view's own default */
	const uint32_t *pids;		/* filter; NULL: all */
	unsigned int pid_cnt;
	const char *comm;		/* filter by exact name or GLOB pattern; NULL: all */
	const char *sort;		/* column, "-col" ascending; NULL: the view's default */
	uint64_t limit;			/* 0: all */
	/* of each section of the summary; 0: the first ten, -1: all */
	int64_t summary_rows;
	bool histogram;			/* latency: counts by powers of two instead */
	bool with_recorder;
	bool with_idle; /* cpu: rows of the idle task, [unknown], [filtered]: needed for sums */
	uint64_t spike_window_ns;	/* 0: 100 ms */
	uint64_t spike_min_bytes;	/* 0: ten times the median rate, at least 16 MiB */
};

struct report_view {
	const char *name;
	const char *question;		/* one line, ends with a question mark */
	const char *notes;		/* approximations and their bounds; may be "" */
	unsigned int by_mask;		/* 1u << REPORT_BY_x that make sense; 0: it has no --by */
	enum report_by by_default;
	bool whole_only;		/* no --every */
	/* the recorder and idle time are in it unless a filter says otherwise */
	bool whole_machine;
};
/* The views there are. Returns their number. */
unsigned int report_views(const struct report_view **ret);

/* Runs a view. The sink sees the columns DESIGN names, in that order, then what the view adds. */
int analysis_report(struct analysis *a, const struct report_request *r, const struct row_sink *sink,
		    struct err *e);

/* The documented tables, in schema order, for `export`. */
struct schema_table {
	const char *name;
	const char *doc;		/* one line */
	bool is_event_table;		/* has as many rows as events: export streams it */
};
unsigned int schema_tables(const struct schema_table **ret);

/* Streams one table within the window as rows ordered by time. */
int analysis_table(struct analysis *a, const char *table, uint64_t from_ns, uint64_t to_ns,
		   const struct row_sink *sink, struct err *e);

/*
 * Writes all documented tables of the window as a real SQLite file with types and indexes, texts
 * made safe (base/textsafe.h). The file gets its name when it is complete (base/atomic_output.h).
 *
 * force replaces any file that exists. Without force, the export of a whole trace replaces an
 * earlier export of a whole trace; any other file is refused: -EEXIST, with the reason.
 */
struct export_request {
	const char *path;
	uint64_t from_ns, to_ns;
	bool force;
	/* Called some times a second; may be NULL. all_rows is an estimate. */
	void (*progress)(void *ctx, uint64_t rows, uint64_t all_rows);
	void *ctx;
};
/* *ret_rows: rows written. */
int analysis_export_sqlite(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			   struct err *e);

/* SQLite's version at run time: "3.40.1". */
const char *analysis_library_version(void);

#endif /* ANALYSIS_H */
