/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * analysis: a trace as a SQLite database, and the predefined reports.
 *
 *     trace, fold --> [virtual tables, table-valued functions] --> schema/x.sql --> rows --> cmd
 *
 * A query copies no data into SQLite: event tables and window functions are virtual and read the
 * trace. analysis_export_sqlite() writes real tables.
 *
 * Threads: one. Errors: 0 or -errno and struct err. Never prints: rows go to a sink.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "trace/trace.h"

struct analysis;

enum value_type { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT };
struct value {
	enum value_type type;
	int64_t i;
	double r;
	const char *text;	/* may be invalid UTF-8: bytes come from the trace */
	size_t text_bytes;
};

/* s NULL: SQL's NULL. */
static inline struct value value_text(const char *s)
{
	return (struct value){ .type = s ? VALUE_TEXT : VALUE_NULL,
			       .text = s,
			       .text_bytes = s ? strlen(s) : 0 };
}

static inline struct value value_int(uint64_t i)
{
	return (struct value){ .type = VALUE_INT, .i = (int64_t)i };
}

static inline struct value value_real(double r)
{
	return (struct value){ .type = VALUE_REAL, .r = r };
}

static inline struct value value_null(void)
{
	return (struct value){ .type = VALUE_NULL };
}

/*
 * Receives rows. Values are valid during the call. A negative result ends the query with that
 * error.
 */
struct row_sink {
	void *ctx;
	/* begin and end may be NULL. The names are valid until end(). */
	int (*begin)(void *ctx, unsigned int col_cnt, const char *const *col_names);
	int (*row)(void *ctx, const struct value *values);
	int (*end)(void *ctx);
	/*
	 * May be NULL. A report with several parts ("summary") calls it before each part, and calls
	 * begin, row and end for each part. Without it such a report is one result with the columns
	 * section, row, name and value: a row per value. 1 skips the part.
	 */
	int (*section)(void *ctx, const char *title);
	/*
	 * May be NULL. Called before a part's end(): cnt rows were left out; command shows all of
	 * them.
	 */
	void (*more)(void *ctx, uint64_t cnt, const char *command);
};

/*
 * Calls say before a statement reads rows_max or more rows of an event table one by one, each time
 * it does so. say NULL: never.
 */
struct analysis_scan_watch {
	uint64_t rows_max;
	void (*say)(void *ctx, const char *table, uint64_t rows);
	void *ctx;
};
void analysis_watch_scans(struct analysis *a, const struct analysis_scan_watch *watch);

/* The caller keeps t, which must outlive the analysis. */
int analysis_open(struct analysis **ret, struct trace *t, struct err *e);
void analysis_close(struct analysis *a);
/*
 * The trace was refreshed: adds the new data. An index that follows the trace continues, and
 * queries are about windows from follow_from_ns on, or later. After an error the analysis may only
 * be closed.
 */
int analysis_refresh(struct analysis *a, uint64_t follow_from_ns, struct err *e);

/*
 * Allows the use of an index (schema/FORMAT.md, "The index"), whose parts are made when first
 * needed. Answers are the same with and without, except that order statistics of many values are
 * within 0.4 % instead of exact. An analysis uses no index before this call.
 */
struct analysis_follow;
struct analysis_index_use {
	bool use;
	bool always;	/* even if the trace is so small that it does not pay */
	bool save;	/* save it beside the trace, or in the user's cache */
	/* least number of events between two checkpoints for cuts; 0: chosen by their cost */
	uint64_t checkpoint_events;
	/*
	 * Use the index kept here, in memory. Queries are about windows from follow_from_ns on, or
	 * later, until the end of the blocks whose events are complete. NULL: the trace's own.
	 */
	struct analysis_follow *follow;
	uint64_t follow_from_ns;
	/*
	 * Called some times a second while parts are made, and at the end (both equal); may be
	 * NULL.
	 */
	void (*progress)(void *ctx, uint64_t done_events, uint64_t all_events);
	void *ctx;
};
void analysis_use_index(struct analysis *a, const struct analysis_index_use *use);

/*
 * An index in memory that continues, from refresh to refresh and from analysis to analysis of a
 * live trace, and decodes only new events. This struct keeps its state between two analyses. The
 * first one begins up to a minute before follow_from_ns. The index has the history of threads,
 * requests and memory from that time on, as if the recording had begun there. free(NULL) is fine;
 * -ENOMEM.
 */
int analysis_follow_new(struct analysis_follow **ret);
void analysis_follow_free(struct analysis_follow *f);
/*
 * Makes all parts of the index now that any query may need; otherwise the first query that needs
 * them makes them. If an index cannot be made, this is not an error.
 */
int analysis_prepare(struct analysis *a, struct err *e);
/*
 * Bit, beside those of kinds, for the states of threads: a separate part that other queries about
 * the same kinds do not need.
 */
#define ANALYSIS_STATES (1u << 31)
/* The same for the bytes that processes allocated over time, which suffice for most spikes. */
#define ANALYSIS_RATES (1u << 30)
/* The same for the checkpoints that a cut needs, by enum checkpoint_part up to CHECKPOINT_IRQ. */
#define ANALYSIS_CARRIED(part) (1u << (27 + (part)))
/* All other parts, and the rates. */
#define ANALYSIS_KINDS (ANALYSIS_RATES | (ANALYSIS_CARRIED(0) - 1))
/*
 * The same for queries about events of some kinds (1u << EVENT_x) that need the events in [from_ns,
 * to_ns). If these are few, they are read from the trace, and no part is made.
 */
int analysis_prepare_window(struct analysis *a, uint32_t kinds, uint64_t from_ns, uint64_t to_ns,
			    struct err *e);
/* Returns whether block i was verified when parts of the index in use were made. */
bool analysis_knows_block(struct analysis *a, size_t block);

/*
 * A checkpoint_source (edit/checkpoint.h) of the analysis' trace. With an index in use, events far
 * before at_ns are read only once.
 */
struct checkpoint;
int analysis_checkpoint(void *analysis, uint64_t at_ns, uint32_t kind_mask, struct checkpoint *ret,
			struct err *e);

/*
 * Adds lines of source code to code of user space (symbol/source_lines.h). The source's binaries
 * are below root, or in dirs (may be NULL); both must outlive the analysis. -ENOTSUP: not supported
 * by this program.
 */
struct symbol_dirs;
int analysis_use_lines(struct analysis *a, const char *root, const struct symbol_dirs *dirs);
/* Shows stacks with all frames of interpreters (STACK_RAW). */
void analysis_use_raw_frames(struct analysis *a);
/* Returns the nr-th file without lines, and the reason: as source_lines_missing(). */
bool analysis_lines_missing(const struct analysis *a, unsigned int nr, const char **ret_path,
			    const char **ret_why);

/* Runs any single SQL statement. Statements that would write to a file are refused. */
int analysis_sql(struct analysis *a, const char *sql, const struct row_sink *sink, struct err *e);
/* Ends a running statement with an error. A signal handler may call it. */
void analysis_interrupt(struct analysis *a);
/* Makes all queries end with -EINTR soon, until called with false. A signal handler may call it. */
void analysis_give_up(struct analysis *a, bool is_given_up);
/* Returns whether a text ends with a ";" that ends a statement. */
bool analysis_sql_is_complete(const char *text);

/* Keys by which rows may be grouped. Several make a mask, 1u << REPORT_BY_x. */
enum report_by {
	REPORT_BY_PROCESS,
	REPORT_BY_THREAD,
	REPORT_BY_THREAD_NAME,
	REPORT_BY_COMM,
	REPORT_BY_CGROUP,
	REPORT_BY_CONTAINER,
	REPORT_BY_UNIT,
	REPORT_BY_USER,
	REPORT_BY_TREE,
	REPORT_BY_CPU,
	REPORT_BY_DEVICE,
	REPORT_BY_PARTITION,	/* of a device, or the whole device */
	REPORT_BY_OP,
	REPORT_BY_SIZE,		/* of block requests */
	REPORT_BY_FILE,
	REPORT_BY_VECTOR,	/* of interrupts */
	REPORT_BY_SITE,		/* place that allocated the memory */
	REPORT_BY_WAKER,	/* thread that ended a wait */
	REPORT_BY_FUNCTION,	/* function, or stack of functions, of all processes */
	REPORT_BY_MODULE,	/* file with the code */
	REPORT_BY_NAME, REPORT_BY_STEP,	/* of requests of programs */
	REPORT_BY_CNT
};
/* "process", "thread", ... */
const char *report_key_name(enum report_by key);

#define REPORT_BELOW_BYTES 1200
#define REPORT_SECTION_ROWS 10 /* of each section of a view, by default */

struct report_request {
	const char *
		view; /* "summary", "cpu", "sched", "alloc", "spikes", "io", "latency", "pattern",
			 * "devices", "loss", "cost", ...: report_view.h */
	/* CLOCK_MONOTONIC, half-open; may extend beyond the trace */
	uint64_t from_ns, to_ns;
	uint64_t every_ns;		/* 0: one answer for the window */
	unsigned int by;		/* 1u << REPORT_BY_x, or several; 0: the view's default */
	/*
	 * Filters, all of which must match: ids of processes and of threads, exact names or GLOB
	 * patterns; NULL: all.
	 */
	const uint32_t *pids, *tids;
	unsigned int pid_cnt, tid_cnt;
	const char *comm, *thread;
	bool workload;			/* processes and threads of the workload only */
	const char *sort;		/* column, "-col" ascending; NULL: the view's default */
	uint64_t limit;			/* 0: all */
	/* with every_ns: adds rows of 0 for empty groups or bins */
	enum report_fill { REPORT_FILL_NONE, REPORT_FILL_BINS, REPORT_FILL_GROUPS } fill;
	/*
	 * A buffer of REPORT_BELOW_BYTES for the text below a view with sections, lines after those
	 * that it has. NULL: not wanted.
	 */
	char *ret_below;
	char *ret_above; /* the same for the text above the sections */
	const char *hint_options; /* " -i TRACE --from T", appended to commands in these texts */
	/* workload is set because the trace has a command: mention the other processes */
	bool of_command;
	bool *ret_sparse; /* set if groups have no rows of 0, because there would be too many */
	/*
	 * Rows shown of each section, in views with sections; -1: all; 0: REPORT_SECTION_ROWS, or a
	 * screenful if sections are separate results.
	 */
	int64_t summary_rows;
	unsigned int section; /* only this section of a view with sections, from 1; 0: all */
	bool *ret_has_section; /* whether the view has a section with this number */
	bool histogram;			/* latency: counts by powers of two instead */
	bool continues; /* bins: the previous query was about the window before this one */
	bool stacks_apart; /* leaks: a row per stack, also by site */
	bool merge_unknown; /* io, latency, pattern: one row for [unknown], for all submitters */
	bool merge_alike; /* spikes: of many processes with one name, the largest */
	bool with_recorder;
	bool with_idle; /* cpu: rows of the idle task, [unknown], [filtered]: needed for sums */
	/* GLOB pattern for names of program requests; NULL: all (why: not about requests) */
	const char *requests;
	uint64_t request;	/* why: the id of one; 0: none */
	unsigned int slow_pct;	/* why: slow are those from this percentile on; 0: 99 */
	uint64_t slow_ns;	/* why: slow are those of at least this length; 0: see slow_pct */
	const char *without;	/* whatif: causes, a line each; NULL: those of the path */
	uint64_t slowest;	/* requests: that many of the longest, a row each; 0: sums */
	uint64_t spike_window_ns;	/* 0: 100 ms */
	uint64_t spike_min_bytes;	/* 0: ten times the median rate, at least 16 MiB */
	const char *peaks;	/* of the page: bins to examine, as JSON */
};

/*
 * Runs a view. The sink gets the columns that DESIGN names, in that order, then those that the view
 * adds.
 */
int analysis_report(struct analysis *a, const struct report_request *r, const struct row_sink *sink,
		    struct err *e);

/* Block requests and their bytes. */
struct request_cnt {
	uint64_t ios, bytes;
};

/*
 * Requests of unknown owners in the window of r, which may belong to the processes that r chooses;
 * none if r chooses no processes, or if its view does not count requests.
 */
struct request_cnt analysis_unowned(struct analysis *a, const struct report_request *r);

/* The documented tables, in schema order, for `export`. */
struct schema_table {
	const char *name;
	const char *doc;		/* one line */
	bool is_event_table;		/* it has a row per event: export streams it */
};
unsigned int schema_tables(const struct schema_table **ret);

/* Streams one table within the window as rows ordered by time. */
int analysis_table(struct analysis *a, const char *table, uint64_t from_ns, uint64_t to_ns,
		   const struct row_sink *sink, struct err *e);

/*
 * Writes all documented tables of the window as a real SQLite file with types and indexes, with
 * texts made safe (base/textsafe.h). The file gets its name when it is complete
 * (base/atomic_output.h).
 *
 * force replaces any existing file. Without force, the export of a whole trace replaces an earlier
 * export of a whole trace; any other file is refused: -EEXIST, with the reason.
 */
struct export_request {
	const char *path;
	uint64_t from_ns, to_ns;
	bool force;
	const char *missing; /* data that the window lacks; NULL or "": complete */
	/* Called some times a second; may be NULL. all_rows is an estimate. */
	void (*progress)(void *ctx, uint64_t rows, uint64_t all_rows);
	void *ctx;
};
/*
 * Describes an export, as rows of (key, value): the window, the trace's identity, whether the
 * window is complete, and the lost events of each class in it. CSV, JSON and SQLite have it as the
 * table export_info, Parquet in the footer of each file.
 */
#define EXPORT_INFO "export_info"
int analysis_export_info(struct analysis *a, const struct export_request *r,
			 const struct row_sink *out);
/* The same as texts, pairs of key and value up to a NULL. Free it also after an error. */
#define EXPORT_META_MAX 40
struct export_meta {
	char *v[EXPORT_META_MAX];
	unsigned int cnt;
};
int analysis_export_meta(struct analysis *a, const struct export_request *r,
			 struct export_meta *ret);
void export_meta_done(struct export_meta *m);
/* *ret_rows: number of rows written. */
int analysis_export_sqlite(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			   struct err *e);

/*
 * Writes the window for ui.perfetto.dev and trace_processor. Without force an existing file is
 * refused. -EFBIG: the file would be too large for them.
 */
int analysis_export_perfetto(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			     struct err *e);

/*
 * Writes tables of the window as Apache Parquet: dir/TABLE/name for each, in an existing directory
 * without these files. Rows begin with the columns host and trace_id; instants are timestamps in
 * UTC; other columns are those of the table. The footer describes missing data.
 */
struct parquet_request {
	const char *dir, *name;
	uint64_t from_ns, to_ns;
	const char *const *tables; /* by name */
	unsigned int table_cnt; /* 0: all */
	const char *missing; /* data that the window lacks; "": complete */
	void (*progress)(void *ctx, uint64_t rows, uint64_t all_rows); /* may be NULL */
	void *ctx;
};
int analysis_export_parquet(struct analysis *a, const struct parquet_request *r, uint64_t *ret_rows,
			    struct err *e);

/*
 * Writes the window as rows of the table landing of a fleet's ClickHouse tables, in its format
 * RowBinary (schema/fleet/README.md). -EINVAL: the trace has no trace_id.
 */
struct clickhouse_request {
	uint64_t from_ns, to_ns;
	const char *const *tables; /* by name */
	unsigned int table_cnt; /* 0: all */
	uint64_t every_ns; /* not 0: the rows of `report bins --align`, and no other table */
	unsigned int by; /* of bins: 1u << REPORT_BY_x of a text of processes */
	void (*progress)(void *ctx, uint64_t rows); /* may be NULL */
	void *ctx;
};
int analysis_export_clickhouse(struct analysis *a, const struct clickhouse_request *r, FILE *out,
			       uint64_t *ret_rows, struct err *e);
/* Writes the statements that make these tables; cluster: the servers' cluster name, or NULL. */
int analysis_clickhouse_schema(FILE *f, const char *cluster);

/*
 * Writes the data that a page about a window shows (analyze/page): a JSON object of columns, as
 * text, compressed (zlib's format). also, for a whole page: gets the rows of `report spikes` too,
 * which take long to find, and then the summary, whose section Spikes is empty; else NULL.
 * by_thread: CPU time, waits and states have a row per thread, instead of per process. A second
 * thread helps.
 */
enum page_effort {
	PAGE_WHOLE,	/* a page that is made once, with spikes */
	/* a user waits for it: coarser bins than PAGE_STAY, or only CPU time */
	PAGE_STEP,
	PAGE_STAY,	/* the user stays at the window */
};
struct buf;
int analysis_page(struct analysis *a, uint64_t from_ns, uint64_t to_ns, enum page_effort effort,
		  bool by_thread, const struct row_sink *also, struct buf *ret, struct err *e);

/* SQLite's version at run time: "3.40.1". */
const char *analysis_library_version(void);
