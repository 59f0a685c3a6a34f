/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_export: `ebpfrec export` writes the window's tables as files for other tools. csv, json and
 * parquet produce one file per table. Rows are streamed. The files get their names when all are
 * complete, so an interrupted export leaves no files. analysis_export_sqlite() writes databases;
 * render/page.c writes the page.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/engine/report_view.h"
#include "base/atomic_output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"
#include "cmd/metrics/metrics.h"
#include "cmd/render/page.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"

#define TABLES_MAX  65	/* including export_info */
#define TABLES_ITEM "tables"

enum format_id {
	FORMAT_NONE, FORMAT_CSV, FORMAT_JSON, FORMAT_PARQUET, FORMAT_SQLITE, FORMAT_HTML,
	FORMAT_PERFETTO, FORMAT_OPENMETRICS, FORMAT_CLICKHOUSE
};

struct export
{
	struct input in;
	enum format_id format;
	const char *output;
	char *default_output, *table_list;
	const struct schema_table *tables[TABLES_MAX]; /* tables to write */
	unsigned int table_cnt;
	bool force, quiet, shows_progress, with_host;
	bool schema;
	const char *cluster;
	uint64_t from_ns, to_ns;
	char missing[400]; /* missing parts of the window */
	char parquet_name[48]; /* name of each table's file */
	struct metric_options metrics; /* for openmetrics; clickhouse also uses metrics.by */
	uint64_t every_ns;	/* bin length; for openmetrics and clickhouse */
	/* set while the command runs */
	const char *table; /* table being written */
	uint64_t total_cnt, total_bytes; /* total_bytes: sizes of the files in a directory */
};

/* Writes the content of a format that has a single file. */
typedef int (*fill_fn)(void *ctx, FILE *f, struct err *e);

struct format {
	const char *name, *ending;
	const char *unit;	/* unit of the count in the closing line; NULL: no count */
	bool needs_index;
	int (*write)(struct export *x);
	fill_fn fill;		/* set if write is NULL */
	const char *then;	/* appended to the closing line: a program that opens the file */
};
static const struct format formats[];

/* ---- progress ---- */

static void table_progress(void *ctx, uint64_t rows)
{
	struct export *x = ctx;

	progress_show(&x->in.progress, x->table, rows, 0, "rows");
}

/* ---- csv and json ---- */

/*
 * Sets the column unix_ns: the row's first instant as CLOCK_REALTIME, from the nearest clock
 * reading.
 */
static void put_clock(const struct row_prefix *p, struct value *row)
{
	const struct trace *t = p->ctx;

	for (unsigned int i = p->cnt; i < p->col_cnt; i++) {
		if (!p->picked[i] || row[i].type != VALUE_INT)
			continue;
		row[1] = value_int(trace_real_ns(t, trace_start_ns(t) + (uint64_t)row[i].i));
		return;
	}
}

/* Writes one table to a stream. 0 or -errno with text. */
static int write_table(struct export *x, const char *table, FILE *f, struct err *e)
{
	const struct render_options o = {
		.format = x->format == FORMAT_CSV ? RENDER_CSV : RENDER_JSON,
		.out = f,
		.progress = x->shows_progress ? table_progress : NULL,
		.ctx = x,
	};
	const char *host = trace_get(x->in.trace, "host");
	struct row_prefix prefix = {
		.cnt = 2, .names = { "host", "unix_ns" },
		.before = { host ? value_text(host) : value_null() },
		.picks = column_is_instant, .change = put_clock, .ctx = x->in.trace,
	};
	struct render *r;
	int c = render_new(&r, &o);

	if (c)
		return c;
	x->table = table;
	prefix.next = render_sink(r);
	row_prefix_init(&prefix);
	if (!strcmp(table, EXPORT_INFO)) {
		const struct export_request of = { .from_ns = x->from_ns, .to_ns = x->to_ns,
						   .missing = x->missing };

		c = analysis_export_info(x->in.analysis, &of,
					 x->with_host ? &prefix.sink : prefix.next);
	} else {
		c = analysis_table(x->in.analysis, table, x->from_ns, x->to_ns,
				   x->with_host ? &prefix.sink : prefix.next, e);
	}
	c = row_prefix_end(&prefix, c);
	x->total_cnt += strcmp(table, EXPORT_INFO) ? render_row_cnt(r) : 0;
	render_free(r);
	return c;
}

/*
 * Writes the path of a table's file to buf, which has PATH_MAX bytes. False: the path is too long.
 */
static bool name_file(const struct export *x, char *buf, const char *dir, const char *table)
{
	int n = x->format == FORMAT_PARQUET ?
			snprintf(buf, PATH_MAX, "%s/%s/%s", dir, table, x->parquet_name) :
			snprintf(buf, PATH_MAX, "%s/%s.%s", dir, table, formats[x->format].name);

	return n < PATH_MAX;
}

/* Creates a file that only its owner can read, like the trace. */
static FILE *open_private(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

static int write_file(struct export *x, const char *dir, const char *table)
{
	char path[PATH_MAX];
	struct err e = { "" };
	FILE *f = NULL;
	int c = 0;

	if (!name_file(x, path, dir, table))
		errno = ENAMETOOLONG;
	else
		f = open_private(path);
	if (!f)
		c = -errno;
	else
		c = write_table(x, table, f, &e);
	if (f)
		x->total_bytes += (uint64_t)ftello(f);
	if (f && fclose(f) && !c)
		c = errno ? -errno : -EIO;
	progress_erase(&x->in.progress);
	return c ? say_error("%s/%s.%s: %s", x->output, table, formats[x->format].name,
			     err_text(&e, c)) : 0;
}

/* ---- parquet ---- */

static void parquet_progress(void *ctx, uint64_t rows, uint64_t all_rows)
{
	struct export *x = ctx;

	progress_show(&x->in.progress, "tables", rows, all_rows, "rows");
}

/*
 * Names the file after the window's start, so that one directory can hold the files of several
 * windows.
 */
static void name_parquet(struct export *x)
{
	uint64_t start_ns = trace_start_ns(x->in.trace);
	uint64_t ns = trace_real_ns(x->in.trace, x->from_ns > start_ns ? x->from_ns : start_ns);
	time_t s = (time_t)(ns / UNITS_NS_PER_S);
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(x->parquet_name, sizeof(x->parquet_name), "%Y%m%dT%H%M%S", &tm);
	snprintf(x->parquet_name + strlen(x->parquet_name), 20, ".%09uZ.parquet",
		 (unsigned int)(ns % UNITS_NS_PER_S));
}

static int write_parquet(struct export *x, const char *dir, struct err *e)
{
	const char *names[TABLES_MAX];
	const struct parquet_request r = {
		.dir = dir, .name = x->parquet_name, .from_ns = x->from_ns, .to_ns = x->to_ns,
		.tables = names, .table_cnt = x->table_cnt, .missing = x->missing,
		.progress = x->shows_progress ? parquet_progress : NULL, .ctx = x,
	};
	int c;

	for (unsigned int i = 0; i < x->table_cnt; i++)
		names[i] = x->tables[i]->name;
	c = analysis_export_parquet(x->in.analysis, &r, &x->total_cnt, e);
	progress_erase(&x->in.progress);
	for (unsigned int i = 0; !c && i < x->table_cnt; i++) {
		char path[PATH_MAX];
		struct stat st;

		if (name_file(x, path, dir, names[i]) && !stat(path, &st))
			x->total_bytes += (uint64_t)st.st_size;
	}
	return c;
}

/* ---- directories of files ---- */

/* Refuses an existing file unless -f is given; called before anything is written. */
static int check_directory(const struct export *x)
{
	char path[PATH_MAX];

	for (unsigned int i = 0; i < x->table_cnt && !x->force; i++) {
		name_file(x, path, x->output, x->tables[i]->name);
		if (!access(path, F_OK))
			return say_error("%s exists; -f replaces it, or name another directory "
					 "with -o",
					 path);
	}
	return 0;
}

/* Moves the files one by one into an existing directory. */
static int commit_files(struct export *x, const struct atomic_output *out, struct err *e)
{
	char from[PATH_MAX], to[PATH_MAX];
	int r = 0;

	for (unsigned int i = 0; !r && i < x->table_cnt; i++) {
		name_file(x, from, TABLES_ITEM, x->tables[i]->name);
		name_file(x, to, x->output, x->tables[i]->name);
		if (x->format == FORMAT_PARQUET) {
			*strrchr(to, '/') = '\0';
			if (mkdir(to, 0700) && errno != EEXIST)
				return err_set(e, -errno, "cannot make the directory %s: %s", to,
					       strerror(errno));
			to[strlen(to)] = '/';
		}
		r = atomic_output_commit_item(out, from, to, x->force, e);
	}
	return r;
}

static int write_files(struct export *x, const struct atomic_output *out, struct err *e)
{
	char *dir = atomic_output_item(out, TABLES_ITEM);
	int c = 0;

	if (!dir)
		return -ENOMEM;
	if (mkdir(dir, 0700))
		c = err_set(e, -errno, "cannot make the directory %s: %s", dir, strerror(errno));
	if (!c && x->format == FORMAT_PARQUET)
		c = write_parquet(x, dir, e);
	for (unsigned int i = 0; !c && x->format != FORMAT_PARQUET && i < x->table_cnt; i++)
		c = write_file(x, dir, x->tables[i]->name);
	free(dir);
	return c;
}

/*
 * Writes the files to a temporary directory. This directory becomes the output, or its files are
 * moved into an existing output.
 */
static int export_directory(struct export *x)
{
	struct atomic_output out = { 0 };
	struct err e = { "" };
	char inside[PATH_MAX];
	struct stat st;
	bool exists = !stat(x->output, &st);
	int c = exists ? check_directory(x) : 0;

	if (c)
		return c;
	snprintf(inside, sizeof(inside), "%s/.", x->output);
	atomic_output_catch_signals();
	c = atomic_output_begin(&out, exists ? inside : x->output, false, &e);
	c = c ?: write_files(x, &out, &e);
	if (!c)
		c = exists ? commit_files(x, &out, &e)
			   : atomic_output_commit_item(&out, TABLES_ITEM, x->output, false, &e);
	atomic_output_drop(&out);
	return input_status(c, &e);
}

static int export_files(struct export *x)
{
	static const struct schema_table info = { EXPORT_INFO, "what is exported", false };
	struct err e = { "" };
	int c;

	if (!strcmp(x->output, "-")) {
		c = write_table(x, x->tables[0]->name, stdout, &e);
		progress_erase(&x->in.progress);
		return input_status(c, &e);
	}
	if (!x->table_list)
		x->tables[x->table_cnt++] = &info;
	return export_directory(x);
}

static int export_sqlite(struct export *x)
{
	struct export_request r = { .path = x->output, .from_ns = x->from_ns, .to_ns = x->to_ns,
				    .force = x->force, .missing = x->missing };

	return input_export_sqlite(&x->in, &r, x->shows_progress, &x->total_cnt);
}

static int export_perfetto(struct export *x)
{
	const struct export_request r = { .path = x->output, .from_ns = x->from_ns,
					  .to_ns = x->to_ns, .force = x->force };
	struct err e = { "" };

	atomic_output_catch_signals();
	return input_status(analysis_export_perfetto(x->in.analysis, &r, &x->total_cnt, &e), &e);
}

/* Writes to stdout, or to a file that gets its name when it is complete. */
static int write_to(struct export *x, fill_fn fill)
{
	struct err e = { "" };
	int c;

	atomic_output_catch_signals();
	c = strcmp(x->output, "-") ? atomic_output_file(x->output, x->force, fill, x, &e) :
				     fill(x, stdout, &e);
	progress_erase(&x->in.progress);
	return input_status(c, &e);
}

/* ---- clickhouse ---- */

static int fill_clickhouse(void *ctx, FILE *f, struct err *e)
{
	struct export *x = ctx;
	const char *names[TABLES_MAX];
	const struct clickhouse_request r = {
		.from_ns = x->from_ns, .to_ns = x->to_ns,
		.tables = names, .table_cnt = x->table_list ? x->table_cnt : 0,
		.every_ns = x->every_ns,
		.by = x->metrics.by ?: 1u << REPORT_BY_COMM,
		.progress = x->shows_progress ? table_progress : NULL, .ctx = x,
	};

	x->table = x->every_ns ? "bins" : "tables";
	for (unsigned int i = 0; i < x->table_cnt; i++)
		names[i] = x->tables[i]->name;
	return analysis_export_clickhouse(x->in.analysis, &r, f, &x->total_cnt, e);
}

static int check_clickhouse(const struct export *x)
{
	if (x->format != FORMAT_CLICKHOUSE)
		return x->schema || x->cluster ?
			opts_usage_error("--schema and --cluster are for --to clickhouse") : 0;
	if (x->metrics.by && !x->every_ns)
		return opts_usage_error("--by is for the bins of --every");
	if (x->every_ns && x->table_list)
		return opts_usage_error("--every makes bins only; leave out -t");
	if (x->every_ns > INT64_MAX)
		return opts_usage_error("--every: the step is too long");
	if (x->cluster && !x->schema)
		return opts_usage_error("--cluster is for --schema");
	if (x->cluster && x->cluster[strspn(x->cluster, "abcdefghijklmnopqrstuvwxyz"
						        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
		return opts_usage_error("--cluster takes a name of letters, digits and _");
	return 0;
}

/* ---- html ---- */

static int fill_page(void *ctx, FILE *f, struct err *e)
{
	struct export *x = ctx;
	const struct page_request r = { x->in.analysis, x->in.trace, input_path(&x->in),
					x->from_ns, x->to_ns, x->missing };

	return page_write(&r, f, e);
}

/* ---- openmetrics ---- */

static int fill_metrics(void *ctx, FILE *f, struct err *e)
{
	struct export *x = ctx;
	const struct trace *t = x->in.trace;
	struct metrics *m =
		metrics_new(x->metrics.by, (unsigned int)(x->metrics.top ?: METRICS_TOP));
	uint64_t from_ns = x->from_ns, to_ns = x->to_ns;
	int c = -ENOMEM;

	if (from_ns < trace_start_ns(t))
		from_ns = trace_start_ns(t);
	if (to_ns > trace_end_ns(t))
		to_ns = trace_end_ns(t);
	if (m && from_ns >= to_ns)
		c = err_set(e, -EINVAL, "the window holds nothing of the trace");
	else if (m)
		c = metrics_write_bins(m, x->in.analysis, t, from_ns, to_ns,
				       x->every_ns ?: UNITS_NS_PER_S, f, &x->total_cnt, e);
	metrics_free(m);
	return c;
}

/* ---- the command ---- */

static const struct format formats[] = {
	[FORMAT_CSV] = { "csv", "-csv", "rows", .write = export_files },
	[FORMAT_JSON] = { "json", "-json", "rows", .write = export_files },
	[FORMAT_PARQUET] = { "parquet", "-parquet", "rows", .write = export_directory },
	[FORMAT_SQLITE] = { "sqlite", ".db", "rows", .write = export_sqlite },
	[FORMAT_HTML] = { "html", ".html", NULL, true, .fill = fill_page,
			  .then = "; open it in a browser" },
	[FORMAT_PERFETTO] = { "perfetto", ".pftrace", "events", true, .write = export_perfetto,
			      .then = "; open it in ui.perfetto.dev" },
	[FORMAT_OPENMETRICS] = { "openmetrics", ".openmetrics", "samples", true,
				 .fill = fill_metrics },
	[FORMAT_CLICKHOUSE] = { "clickhouse", ".rowbinary", "rows", .fill = fill_clickhouse },
};

#define FORMAT_CNT (sizeof(formats) / sizeof(formats[0]))
#define FORMATS_HINT "; there are csv, json, parquet, sqlite, html, perfetto, openmetrics and " \
		     "clickhouse"

static int take_to(void *job, const char *value, struct err *e)
{
	const char *names[FORMAT_CNT];
	struct export *x = job;
	unsigned int i;
	int c;

	/* a time is the window's end; any other word is a format, so that "--to cvs" is an error */
	if (timeexpr_is_time(value)) {
		x->in.to = value;
		return 0;
	}
	for (i = 1; i < FORMAT_CNT; i++)
		names[i - 1] = formats[i].name;
	c = opts_pick(&i, "format", "--to: ", value, names, FORMAT_CNT - 1, FORMATS_HINT,
		      FORMATS_HINT);
	x->format = (enum format_id)(i + 1);
	return c;
}

/* Sets the tables to write: the tables of -t, or all tables. */
static int pick_tables(struct export *x)
{
	const struct schema_table *all;
	unsigned int all_cnt = schema_tables(&all); /* at most 64 */
	static const char hint[] = "; --list shows all";
	const char *names[TABLES_MAX];
	bool picked[TABLES_MAX] = { false };

	for (unsigned int i = 0; i < all_cnt; i++) {
		names[i] = all[i].name;
		if (!x->table_list)
			x->tables[x->table_cnt++] = &all[i];
	}
	for (char *word = x->table_list ? strtok(x->table_list, ",") : NULL; word;
	     word = strtok(NULL, ",")) {
		unsigned int i;

		if (opts_pick(&i, "table", "", word, names, all_cnt, hint, hint))
			return EXIT_USAGE;
		if (!picked[i])
			x->tables[x->table_cnt++] = &all[i];
		picked[i] = true;
	}
	return 0;
}

/* Returns whether the format has a single output file. */
static bool is_file(const struct export *x)
{
	return x->format >= FORMAT_SQLITE;
}

static int check_options(struct export *x)
{
	if (x->format == FORMAT_NONE)
		return opts_usage_error("no format: give --to csv, json, parquet, sqlite, html, "
					"perfetto, openmetrics or clickhouse");
	if (x->format > FORMAT_JSON && x->with_host)
		return opts_usage_error("--with-host is for csv and json");
	if (x->format < FORMAT_OPENMETRICS && (x->every_ns || x->metrics.by))
		return opts_usage_error("--every and --by are for openmetrics and clickhouse");
	if (x->format != FORMAT_OPENMETRICS && x->metrics.top)
		return opts_usage_error("--top is for openmetrics");
	if (x->format == FORMAT_CLICKHOUSE)
		return x->schema ? 0 : pick_tables(x);
	if (is_file(x) && x->table_list)
		return opts_usage_error("--to %s takes no tables; leave out -t",
					formats[x->format].name);
	if (x->format == FORMAT_HTML && !page_is_built())
		return say_error("--to html: %s", page_lacks);
	if (x->format != FORMAT_HTML && x->format != FORMAT_OPENMETRICS && x->output &&
	    !strcmp(x->output, "-") &&
	    (x->format > FORMAT_JSON || !x->table_list || strchr(x->table_list, ',')))
		return opts_usage_error("-o - takes one table as csv or json: name it with -t");
	return is_file(x) ? 0 : pick_tables(x);
}

/*
 * Returns the sources that a complete output needs: the sources of its view or, for tables, all
 * sources.
 */
static struct loss_needs needs_of(const struct export *x)
{
	const char *view = x->format == FORMAT_HTML	   ? "page" :
			   x->format == FORMAT_OPENMETRICS ? "metrics" :
			   x->every_ns			   ? "bins" : NULL;

	return view ? report_view_find(view)->needs : LOSS_NEEDS_ALL;
}

/* Prints the closing line: "trace.db: 1,234 rows, 56.7 kB". */
static void say_result(const struct export *x, const struct format *of)
{
	const char *cnt = of->unit ? say_format("%s %s, ", say_count(x->total_cnt), of->unit) : "";

	say_note("%s: %s%s%s", x->output, cnt,
		 is_file(x) ? say_file_bytes(x->output) : say_bytes_si(x->total_bytes),
		 of->then ?: "");
}

static int export(struct export *x)
{
	const struct format *of = &formats[x->format];
	struct err e = { "" };
	int c;

	x->in.quick = x->format == FORMAT_HTML;
	c = input_open(&x->in, true) ?: input_window(&x->in, &x->from_ns, &x->to_ns);
	if (!c && x->format == FORMAT_HTML) /* the page's figures come from the index */
		c = input_analysis(&x->in);
	if (c)
		return c;
	input_verify(&x->in, x->format == FORMAT_HTML, x->from_ns, x->to_ns);
	if (!input_is_complete(x->in.trace, needs_of(x), x->from_ns, x->to_ns, x->missing,
			       sizeof(x->missing)))
		say_note("%s: the window is incomplete: %s", input_path(&x->in), x->missing);
	if (!x->in.analysis)
		c = of->needs_index || x->every_ns ?
			    input_open_analysis(&x->in) :
			    input_status(analysis_open(&x->in.analysis, x->in.trace, &e), &e) ?:
			    input_use_symbols(&x->in);
	if (!c && x->format == FORMAT_PARQUET)
		name_parquet(x);
	if (!c)
		c = of->fill ? write_to(x, of->fill) : of->write(x);
	if (!c && !x->quiet && strcmp(x->output, "-"))
		say_result(x, of);
	return c;
}

static int run(void *job)
{
	struct export *x = job;
	int c = check_clickhouse(x) ?: check_options(x);

	if (c)
		return c;
	if (x->schema)
		return input_status(analysis_clickhouse_schema(stdout, x->cluster), NULL);
	if (!x->output)
		x->output = x->default_output =
			input_output_name(&x->in, formats[x->format].ending);
	x->shows_progress = !x->quiet && isatty(STDERR_FILENO);
	return x->output ? export(x) : EXIT_FAILED;
}

static void done(void *job)
{
	struct export *x = job;

	input_close(&x->in);
	free(x->table_list);
	free(x->default_output);
}

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct export, in),
	{ 0, "to", "FORMAT",
	  "csv, json, parquet, sqlite, html, perfetto, openmetrics or clickhouse",
	  OPTS_CALL, .take = take_to },
	{ 'o', "output", "PATH",
	  "directory for the files of csv, json and parquet, or - for one table of csv\n"
	  "or json on stdout; the file of other formats (default: named after the\n"
	  "trace, in this directory)",
	  OPTS_TEXT, offsetof(struct export, output), .refuse = "the name must not be empty" },
	{ 't', "table", "TABLE,...", "these tables only (csv, json, parquet, clickhouse)",
	  OPTS_CALL, offsetof(struct export, table_list), lists_take_words },
	{ 0, "from", "TIME", "window starts here; the forms are those of report", OPTS_TEXT,
	  offsetof(struct export, in.from) },
	{ 0, "until", "TIME", "window ends before this instant; so does --to TIME", OPTS_TEXT,
	  offsetof(struct export, in.to) },
	{ 0, "with-host", NULL,
	  "csv, json: each row begins with host and unix_ns, the wall-clock time of its\n"
	  "first instant, so that tables of many hosts can be put together",
	  OPTS_FLAG, offsetof(struct export, with_host) },
	{ 0, "every", "DUR",
	  "openmetrics: a sample of each series every DUR (1s);\n"
	  "clickhouse: bins of this length and no other tables", OPTS_STEP,
	  offsetof(struct export, every_ns), .min = 1000000,
	  .refuse = " is too short; at least 1ms" },
	METRIC_OPTIONS(struct export, metrics),
	{ 0, "schema", NULL, "clickhouse: print the statements that make the tables", OPTS_FLAG,
	  offsetof(struct export, schema) },
	{ 0, "cluster", "NAME", "with --schema: tables that are distributed over this cluster",
	  OPTS_TEXT, offsetof(struct export, cluster), .refuse = "the name must not be empty" },
	INPUT_OPTION_SYMBOLS(struct export, in.symbols),
	INPUT_OPTION_RAW_FRAMES(struct export, in.raw_frames),
	{ 'f', "force", NULL, "replace files that exist", OPTS_FLAG,
	  offsetof(struct export, force) },
	{ 'q', "quiet", NULL, "print no progress and no closing line", OPTS_FLAG,
	  offsetof(struct export, quiet) },
	{ 'l', "list", NULL, "list the tables", OPTS_CALL, .take = input_list_tables },
	{ 0 },
};

const struct opts_command export_opts = {
	.name = "export",
	.about = "Write a trace for other programs, or as a page of charts.",
	.synopsis = "[-i TRACE] --to FORMAT [-o PATH]\n"
		    "  [--from TIME] [--until TIME]",
	.text = "Times in the files are ns from the trace's start. Files and directories are "
		"their\n"
		"owner's alone, as the trace is.\n"
		"Tables are streamed: memory does not grow with the trace.\n"
		"parquet makes columns for DuckDB, pandas and others; instants are in UTC.\n"
		"html makes one page of charts and tables for a browser, which needs no network.\n"
		"perfetto makes a trace for https://ui.perfetto.dev, of up to 500 MB.\n"
		"openmetrics writes the metrics of ebpfrec-metrics(1) in bins, for\n"
		"`promtool tsdb create-blocks-from openmetrics`.\n"
		"clickhouse makes a stream of rows for the tables of a fleet.\n"
		"Exporting a whole trace again replaces the database of an earlier export.\n",
	.options = options,
	.examples =
		"  ebpfrec export --to csv -o out/\n"
		"  ebpfrec export --to csv -t sched_slices --from 2s --until 3s -o - > slices.csv\n"
		"  ebpfrec export --to parquet -o host1/\n"
		"  ebpfrec export --to sqlite -o trace.db\n"
		"  ebpfrec export --to html -o report.html\n"
		"  ebpfrec export --to perfetto --from 2s --until 3s\n"
		"  ebpfrec export --to openmetrics --every 1s -o bins.txt\n"
		"  ebpfrec export --to csv --with-host -t sched_slices -o - > slices.csv\n"
		"  ebpfrec export --to clickhouse --every 1s -o bins.rowbinary\n",
	.bytes = sizeof(struct export),
	.done = done,
	.operand_hint = "-o names the output",
	.run = run,
};
