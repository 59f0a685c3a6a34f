/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * analyze: the public face of analyze/: a trace as a SQLite database, and the predefined reports.
 *
 *     trace, fold --> [virtual tables, table-valued functions] --> schema/x.sql --> rows --> cmd
 *
 * A query copies no data into SQLite: event tables and window functions are virtual, and read the
 * trace. analysis_export_sqlite() writes real tables.
 *
 * Threads: one. Errors: 0 or -errno and struct err. Never prints: rows are passed to a sink.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/context/index_use.h"
#include "analyze/context/row_sink.h"
#include "base/err.h"
#include "trace/trace.h"

struct analysis;

void analysis_watch_scans(struct analysis *a, const struct analysis_scan_watch *watch);

/*
 * keeps true: keeps the rows of small tables after a report, for later reports with the same
 * request. keeps false: drops these rows, and keeps no further rows.
 */
void analysis_keep_rows(struct analysis *a, bool keeps);

/* t must outlive the analysis and is not closed with it. */
int analysis_open(struct analysis **ret, struct trace *t, struct err *e);
void analysis_close(struct analysis *a);
/*
 * Reads the new data after the trace was refreshed. An index that follows the trace is extended;
 * later queries must be about windows that begin at follow_from_ns or later. After an error the
 * analysis may only be closed.
 */
int analysis_refresh(struct analysis *a, uint64_t follow_from_ns, struct err *e);

/* Before this call no index is used. */
void analysis_use_index(struct analysis *a, const struct analysis_index_use *use);

/*
 * Makes all parts of the index that any query may need, instead of on first use. Failing to make an
 * index is not an error.
 */
int analysis_prepare(struct analysis *a, struct err *e);
/*
 * As analysis_prepare(), for queries about some kinds of events (1u << EVENT_x) in [from_ns,
 * to_ns). If there are few such events, no part is made, and queries read them from the trace.
 */
int analysis_prepare_window(struct analysis *a, uint32_t kinds, uint64_t from_ns, uint64_t to_ns,
			    struct err *e);
/* Returns whether the block was verified when parts of the current index were made. */
bool analysis_knows_block(struct analysis *a, size_t block);

/*
 * Implements checkpoint_source (edit/checkpoint.h) for the trace of the analysis. With an index,
 * events long before at_ns are read only once.
 */
struct checkpoint;
int analysis_checkpoint(void *analysis, uint64_t at_ns, uint32_t kind_mask, struct checkpoint *ret,
			struct err *e);

/*
 * Enables source lines for user-space code (symbol/source_lines.h). Binaries are searched below
 * root and in dirs (may be NULL); both must outlive the analysis. -ENOTSUP: this program was built
 * without support for source lines.
 */
struct symbol_dirs;
int analysis_use_lines(struct analysis *a, const char *root, const struct symbol_dirs *dirs);
/* Shows stacks with all frames of interpreters (STACK_RAW). */
void analysis_use_raw_frames(struct analysis *a);
/* Returns the nr-th file without source lines, and the reason; see source_lines_missing(). */
bool analysis_lines_missing(const struct analysis *a, unsigned int nr, const char **ret_path,
			    const char **ret_why);

/* Runs any single SQL statement. Statements that would write to a file are refused. */
int analysis_sql(struct analysis *a, const char *sql, const struct row_sink *sink, struct err *e);
/* Makes a running statement fail. May be called by a signal handler. */
void analysis_interrupt(struct analysis *a);
/*
 * Makes all queries fail soon with -EINTR, until called with false. May be called by a signal
 * handler.
 */
void analysis_give_up(struct analysis *a, bool is_given_up);
/* Returns whether a text ends with the ";" of a statement. */
bool analysis_sql_is_complete(const char *text);

#define REPORT_BELOW_BYTES 1200
#define REPORT_SECTION_ROWS 10 /* default number of rows per section of a view */

struct report_request {
	const char *
		view; /* "summary", "cpu", "sched", "alloc", "spikes", "io", "latency", "pattern",
			 * "devices", "loss", "cost", ...: report_view.h */
	/* window, CLOCK_MONOTONIC, half-open; may extend beyond the trace */
	uint64_t from_ns, to_ns;
	uint64_t every_ns;		/* length of bins; 0: no bins */
	const uint64_t *edges;	/* with WINDOW_OWN_BINS as every_ns: edges of the bins */
	size_t edge_cnt;
	unsigned int by;		/* mask of keys, 1u << REPORT_BY_x; 0: the view's default */
	/*
	 * Filters, which are combined with "and": process and thread ids; names, exact or as GLOB
	 * pattern. NULL: no filter.
	 */
	const uint32_t *pids, *tids;
	unsigned int pid_cnt, tid_cnt;
	const char *comm, *thread;
	bool workload;			/* only processes and threads of the workload */
	const char *sort;		/* column; "-col": ascending; NULL: the view's default */
	uint64_t limit;			/* maximum number of rows; 0: no limit */
	/* with every_ns: adds rows of zeros for bins, or for groups in bins, without a row */
	enum report_fill { REPORT_FILL_NONE, REPORT_FILL_BINS, REPORT_FILL_GROUPS } fill;
	/*
	 * Buffer of REPORT_BELOW_BYTES for the text below a view with sections; lines are appended.
	 * NULL: the text is not wanted.
	 */
	char *ret_below;
	char *ret_above; /* as ret_below, for the text above the sections */
	const char *hint_options; /* " -i TRACE --from T": appended to commands in these texts */
	/* workload is set by default, because the trace has a command: mention other processes */
	bool of_command;
	bool *ret_sparse; /* set to true if rows of zeros were omitted because there are too many */
	/*
	 * Rows per section of a view; -1: all; 0: REPORT_SECTION_ROWS, or fewer if the sink has
	 * section(), to fit on a screen.
	 */
	int64_t summary_rows;
	unsigned int section; /* show only this section of the view, counted from 1; 0: all */
	bool *ret_has_section; /* set to true if the view has this section */
	bool histogram;			/* latency: show counts by powers of two instead */
	bool continues; /* bins: the window begins where the window of the previous query ended */
	bool stacks_apart; /* leaks: show one row per stack, even if site is a key */
	/* io, latency, pattern: merge rows of [unknown] that differ only in submitter and reason */
	bool merge_unknown;
	bool merge_alike; /* spikes: of processes with the same name, show only the largest spike */
	bool with_recorder;
	/* cpu: include the idle task, [unknown] and [filtered], so that sums are complete */
	bool with_idle;
	/*
	 * GLOB pattern for names of program requests; NULL: all names. In the view "why", NULL
	 * means that requests are not compared.
	 */
	const char *requests;
	uint64_t request;	/* why: id of a program request; 0: none */
	unsigned int slow_pct;	/* why: requests from this percentile on are slow; 0: 99 */
	/* why: requests of at least this length are slow; 0: use slow_pct */
	uint64_t slow_ns;
	/* whatif: causes to leave out, one per line; NULL: each cause on the path */
	const char *without;
	/* requests: number of longest requests to list, one per row; 0: show sums */
	uint64_t slowest;
	uint64_t spike_window_ns;	/* length of a spike's window; 0: 100 ms */
	uint64_t spike_min_bytes;	/* 0: ten times the median rate, at least 16 MiB */
	const char *peaks;	/* page: bins to examine, as JSON */
};

/*
 * Runs a view. The sink receives the columns in the documented order, followed by additional
 * columns of the view.
 */
int analysis_report(struct analysis *a, const struct report_request *r, const struct row_sink *sink,
		    struct err *e);

/* Number and bytes of block requests. */
struct request_cnt {
	uint64_t ios, bytes;
};

/*
 * Counts the requests in the window of r whose owner is unknown, so that they may belong to the
 * processes that r selects. Returns zeros if r does not select processes, or if its view does not
 * count requests.
 */
struct request_cnt analysis_unowned(struct analysis *a, const struct report_request *r);

/* Documented tables, in the order of the schema, for `export`. */
struct schema_table {
	const char *name;
	const char *doc;		/* one line */
	bool is_event_table;		/* one row per event; export streams the table */
};
unsigned int schema_tables(const struct schema_table **ret);

/* Passes the rows of a table in the window to the sink, ordered by time. */
int analysis_table(struct analysis *a, const char *table, uint64_t from_ns, uint64_t to_ns,
		   const struct row_sink *sink, struct err *e);

/*
 * Writes all documented tables of the window to a SQLite file, with types and indexes. Unsafe bytes
 * in texts are escaped (base/textsafe.h). The file appears under its name when it is complete
 * (base/atomic_output.h).
 *
 * Without force, an existing file is replaced only if the old and the new file are exports of whole
 * traces; otherwise -EEXIST, with the reason. force: replace any file.
 */
struct export_request {
	const char *path;
	uint64_t from_ns, to_ns;
	bool force;
	const char *missing; /* description of data missing in the window; NULL or "": none */
	/* Called a few times per second; may be NULL. all_rows is an estimate. */
	void (*progress)(void *ctx, uint64_t rows, uint64_t all_rows);
	void *ctx;
};
/*
 * Describes an export as rows of (key, value): the window, the trace's identity, whether the window
 * is complete, and the lost events of each class. CSV, JSON and SQLite exports contain these rows
 * as table export_info, Parquet in the footer of each file.
 */
#define EXPORT_INFO "export_info"
int analysis_export_info(struct analysis *a, const struct export_request *r,
			 const struct row_sink *out);
/*
 * Returns the rows of EXPORT_INFO as texts: pairs of key and value, followed by NULL. Call
 * export_meta_done() even after an error.
 */
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
 * Writes the window in a format of ui.perfetto.dev and trace_processor. Without force, an existing
 * file is refused. -EFBIG: the file would be too large for these programs.
 */
int analysis_export_perfetto(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			     struct err *e);

/*
 * Writes tables of the window as Apache Parquet files dir/TABLE/name; dir must exist, and the files
 * must not. The first columns are host and trace_id, followed by the table's columns; instants are
 * timestamps in UTC. The footer describes missing data.
 */
struct parquet_request {
	const char *dir, *name;
	uint64_t from_ns, to_ns;
	const char *const *tables; /* names of tables */
	unsigned int table_cnt; /* 0: all tables */
	const char *missing; /* description of data missing in the window; "": none */
	void (*progress)(void *ctx, uint64_t rows, uint64_t all_rows); /* may be NULL */
	void *ctx;
};
int analysis_export_parquet(struct analysis *a, const struct parquet_request *r, uint64_t *ret_rows,
			    struct err *e);

/*
 * Writes the window as rows of the table `landing` of a fleet's ClickHouse database, in
 * ClickHouse's format RowBinary (schema/fleet/README.md). -EINVAL: the trace has no trace_id.
 */
struct clickhouse_request {
	uint64_t from_ns, to_ns;
	const char *const *tables; /* names of tables */
	unsigned int table_cnt; /* 0: all tables */
	/* not 0: write only the rows of `report bins --align` with bins of this length */
	uint64_t every_ns;
	unsigned int by; /* key of these bins: 1u << REPORT_BY_x, one of KEYS_TEXT */
	void (*progress)(void *ctx, uint64_t rows); /* may be NULL */
	void *ctx;
};
int analysis_export_clickhouse(struct analysis *a, const struct clickhouse_request *r, FILE *out,
			       uint64_t *ret_rows, struct err *e);
/*
 * Writes the statements that create the ClickHouse tables. cluster: name of the servers' cluster,
 * or NULL.
 */
int analysis_clickhouse_schema(FILE *f, const char *cluster);

/*
 * Writes the data of a page about a window (analyze/page) as a JSON object of columns, compressed
 * with zlib. also (for PAGE_WHOLE, else NULL) receives the rows of `report spikes`, which take long
 * to find, followed by the summary, whose section Spikes is empty. by_thread: CPU time, waits and
 * states have a row per thread instead of per process. May use a second thread.
 */
enum page_effort {
	PAGE_WHOLE,	/* a page that is made once, with spikes */
	/* a user waits for the page: coarser bins than PAGE_STAY, or only CPU time */
	PAGE_STEP,
	PAGE_STAY,	/* the user has stopped at the window */
};
struct buf;
int analysis_page(struct analysis *a, uint64_t from_ns, uint64_t to_ns, enum page_effort effort,
		  bool by_thread, const struct row_sink *also, struct buf *ret, struct err *e);

/* Returns SQLite's version at run time, e.g. "3.40.1". */
const char *analysis_library_version(void);
