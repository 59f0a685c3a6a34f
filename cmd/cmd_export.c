/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_export: `ebpfrec export` writes the window's tables as files for other tools. csv and json
 * are one file per table, streamed. The files get their names when all are complete, so an
 * interrupted export leaves nothing behind. analysis_export_sqlite() writes databases.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/render/host_columns.h"
#include "cmd/input/input.h"
#include "cmd/input/lists.h"
#include "cmd/input/nearest.h"
#include "cmd/render/progress.h"
#include "cmd/render/say.h"

#define TABLES_MAX    64
#define TABLES_ITEM   "tables"
#define PROGRESS_ROWS (1u << 18)

enum { OPT_WITH_HOST = 256 };

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	{ INPUT_OPT_TO, 0, "to", "FORMAT", "csv, json or sqlite" },
	{ 'o', 'o', "output", "PATH",
	  "csv, json: directory for the files, or - for one table on stdout;\n"
	  "sqlite: the file (default: named after the trace, here)" },
	{ 't', 't', "table", "TABLE,...", "these tables only (csv, json)" },
	{ INPUT_OPT_FROM, 0, "from", "TIME", "window starts here; the forms are those of report" },
	{ INPUT_OPT_TO, 0, "to", "TIME", "window ends before this instant; a second --to" },
	{ OPT_WITH_HOST, 0, "with-host", NULL,
	  "csv, json: each row begins with host and unix_ns, the wall-clock time of its\n"
	  "first instant, so that tables of many hosts can be put together" },
	{ 'f', 'f', "force", NULL, "replace files that exist" },
	{ 'q', 'q', "quiet", NULL, "print no progress and no closing line" },
	{ 'l', 'l', "list", NULL, "list the tables" },
	{ 0 },
};

const struct opts_command export_opts = {
	.name = "export",
	.about = "Write a trace's tables as CSV, JSON or SQLite.",
	.synopsis = "[-i TRACE] --to csv|json|sqlite [-o PATH] [--from TIME] [--to TIME]",
	.text = "--to takes the format or the end of the window: a word that is a format is the\n"
		"format, anything else is a time. Times in the files are ns from the trace's "
		"start.\n"
		"Tables are streamed: memory does not grow with the trace.\n"
		"Exporting a whole trace again replaces the database of an earlier export.\n",
	.options = options,
	.examples =
		"  ebpfrec export --to csv -o out/\n"
		"  ebpfrec export --to csv -t sched_slices --from 2s --to 3s -o - > slices.csv\n"
		"  ebpfrec export --to sqlite -o trace.db\n"
		"  ebpfrec export --to csv --with-host -t sched_slices -o - | ssh db 'load "
		"sched_slices'\n",
};

enum format { FORMAT_NONE, FORMAT_CSV, FORMAT_JSON, FORMAT_SQLITE };

static const char *const format_names[] = { NULL, "csv", "json", "sqlite" };

#define FORMAT_CNT (sizeof(format_names) / sizeof(format_names[0]))

struct export
{
	struct input in;
	enum format format;
	const char *output;
	char *table_list;
	const struct schema_table *tables[TABLES_MAX]; /* picked */
	unsigned int table_cnt;
	bool force, quiet, shows_progress, with_host;
	uint64_t from_ns, to_ns;
	/* while running */
	const struct trace *trace;
	const char *table; /* being written */
	const struct row_sink *next; /* where its rows go */
	uint64_t row_cnt, total_cnt;
	struct progress progress;
};

/* ---- progress ---- */

static int count_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct export *x = ctx;

	x->row_cnt = 0;
	return x->next->begin(x->next->ctx, col_cnt, names);
}

static int count_row(void *ctx, const struct value *values)
{
	struct export *x = ctx;

	if (++x->row_cnt % PROGRESS_ROWS == 0 && x->shows_progress)
		progress_show(&x->progress, x->table, x->row_cnt, 0, "rows");
	return x->next->row(x->next->ctx, values);
}

static int count_end(void *ctx)
{
	struct export *x = ctx;

	x->total_cnt += x->row_cnt;
	return x->next->end(x->next->ctx);
}

static void sqlite_progress(void *ctx, uint64_t rows, uint64_t all_rows)
{
	struct export *x = ctx;

	progress_show(&x->progress, "sqlite", rows, all_rows, "rows");
}

/* ---- csv and json ---- */

/* One table to a stream. 0 or -errno with text. */
static int write_table(struct export *x, struct analysis *a, const char *table, FILE *f,
		       struct err *e)
{
	const struct render_options o = {
		.format = x->format == FORMAT_CSV ? RENDER_CSV : RENDER_JSON,
		.out = f,
	};
	const struct row_sink count = {
		.ctx = x, .begin = count_begin, .row = count_row, .end = count_end
	};
	struct host_columns *host = NULL;
	struct render *r;
	int c = render_new(&r, &o);

	if (c)
		return c;
	x->table = table;
	x->next = render_sink(r);
	if (x->with_host)
		c = host_columns_new(&host, x->trace, x->next);
	if (host)
		x->next = host_columns_sink(host);
	if (!c)
		c = analysis_table(a, table, x->from_ns, x->to_ns, &count, e);
	host_columns_free(host);
	render_free(r);
	return c;
}

static int write_file(struct export *x, struct analysis *a, const char *dir, const char *table)
{
	char path[PATH_MAX];
	struct err e = { "" };
	FILE *f = NULL;
	int c = 0;

	if (snprintf(path, sizeof(path), "%s/%s.%s", dir, table, format_names[x->format]) >=
	    PATH_MAX)
		errno = ENAMETOOLONG;
	else
		f = fopen(path, "we");
	if (!f)
		c = -errno;
	else
		c = write_table(x, a, table, f, &e);
	if (f && fclose(f) && !c)
		c = errno ? -errno : -EIO;
	progress_erase(&x->progress);
	if (!c)
		return 0;
	say_error("%s/%s.%s: %s", x->output, table, format_names[x->format], err_text(&e, c));
	return EXIT_FAILED;
}

/* Refuses to overwrite before anything is written. */
static int check_directory(const struct export *x)
{
	char path[PATH_MAX];

	for (unsigned int i = 0; i < x->table_cnt && !x->force; i++) {
		snprintf(path, sizeof(path), "%s/%s.%s", x->output, x->tables[i]->name,
			 format_names[x->format]);
		if (!access(path, F_OK)) {
			say_error("%s exists; -f replaces it, or name another directory with -o",
				  path);
			return EXIT_FAILED;
		}
	}
	return 0;
}

/* Into a directory that exists: one file after the other. */
static int commit_files(struct export *x, const struct atomic_output *out, struct err *e)
{
	char from[PATH_MAX], to[PATH_MAX];
	int r = 0;

	for (unsigned int i = 0; !r && i < x->table_cnt; i++) {
		const char *name = x->tables[i]->name, *ending = format_names[x->format];

		snprintf(from, sizeof(from), TABLES_ITEM "/%s.%s", name, ending);
		snprintf(to, sizeof(to), "%s/%s.%s", x->output, name, ending);
		r = atomic_output_commit_item(out, from, to, x->force, e);
	}
	return r;
}

static int write_files(struct export *x, struct analysis *a, const struct atomic_output *out,
		       struct err *e)
{
	char *dir = atomic_output_item(out, TABLES_ITEM);
	int c = 0;

	if (!dir)
		return -ENOMEM;
	if (mkdir(dir, 0777))
		c = err_set(e, -errno, "cannot make the directory %s: %s", dir, strerror(errno));
	for (unsigned int i = 0; !c && i < x->table_cnt; i++)
		c = write_file(x, a, dir, x->tables[i]->name);
	free(dir);
	return c;
}

/* The new directory becomes the output; into an output that exists, its files are moved. */
static int export_directory(struct export *x, struct analysis *a)
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
	if (!c)
		c = write_files(x, a, &out, &e);
	if (!c)
		c = exists ? commit_files(x, &out, &e)
			   : atomic_output_commit_item(&out, TABLES_ITEM, x->output, false, &e);
	atomic_output_drop(&out);
	return c < 0 ? input_failed(c, &e) : c;
}

static int export_files(struct export *x, struct analysis *a)
{
	struct err e = { "" };
	int c;

	if (!strcmp(x->output, "-")) {
		c = write_table(x, a, x->tables[0]->name, stdout, &e);
		progress_erase(&x->progress);
		return c ? input_failed(c, &e) : 0;
	}
	return export_directory(x, a);
}

static int export_sqlite(struct export *x, struct analysis *a)
{
	const struct export_request r = {
		.path = x->output,
		.from_ns = x->from_ns,
		.to_ns = x->to_ns,
		.force = x->force,
		.progress = x->shows_progress ? sqlite_progress : NULL,
		.ctx = x,
	};
	struct err e = { "" };
	int c;

	atomic_output_catch_signals();
	c = analysis_export_sqlite(a, &r, &x->total_cnt, &e);
	progress_erase(&x->progress);
	return c ? input_failed(c, &e) : 0;
}

/* ---- the command ---- */

static int take_to(struct export *x, const char *value)
{
	for (unsigned int i = 1; i < FORMAT_CNT; i++) {
		if (!strcmp(value, format_names[i])) {
			x->format = (enum format)i;
			return 0;
		}
	}
	x->in.to = value;
	return 0;
}

static int list_tables(void)
{
	const struct schema_table *tables;
	unsigned int cnt = schema_tables(&tables);

	for (unsigned int i = 0; i < cnt; i++)
		printf("%-16s %s\n", tables[i].name, tables[i].doc);
	return 0;
}

/* Turns -t (or its absence) into the tables to write. */
static int pick_tables(struct export *x)
{
	const struct schema_table *all;
	unsigned int all_cnt = schema_tables(&all);
	const char *names[TABLES_MAX];

	if (all_cnt > TABLES_MAX)
		all_cnt = TABLES_MAX;
	for (unsigned int i = 0; i < all_cnt; i++)
		names[i] = all[i].name;
	for (unsigned int i = 0; !x->table_list && i < all_cnt; i++)
		x->tables[x->table_cnt++] = &all[i];
	for (char *word = x->table_list ? strtok(x->table_list, ",") : NULL; word;
	     word = strtok(NULL, ",")) {
		unsigned int i = 0;
		int near;

		while (i < all_cnt && strcmp(word, names[i]))
			i++;
		if (i == all_cnt) {
			near = nearest_find(word, names, all_cnt);
			return opts_usage_error(
				&export_opts, "unknown table '%s'%s%s%s; --list shows all", word,
				near >= 0 ? "; did you mean '" : "", near >= 0 ? names[near] : "",
				near >= 0 ? "'?" : "");
		}
		for (unsigned int j = 0; j < x->table_cnt; j++) {
			if (x->tables[j] == &all[i])
				i = all_cnt;
		}
		if (i < all_cnt)
			x->tables[x->table_cnt++] = &all[i];
	}
	return 0;
}

static int check_options(struct export *x)
{
	int near;

	if (x->format == FORMAT_NONE) {
		/* "--to cvs" came in as the end of the window. */
		near = x->in.to ? nearest_find(x->in.to, format_names, FORMAT_CNT) : -1;
		if (near > 0)
			return opts_usage_error(&export_opts,
						"unknown format '%s'; did you mean '%s'?", x->in.to,
						format_names[near]);
		return opts_usage_error(&export_opts,
					"no format: give --to csv, --to json or --to sqlite");
	}
	if (x->format == FORMAT_SQLITE && x->with_host)
		return opts_usage_error(&export_opts, "--with-host is for csv and json");
	if (x->format == FORMAT_SQLITE && x->table_list)
		return opts_usage_error(&export_opts,
					"--to sqlite always writes all tables; leave out -t");
	if (x->output && !strcmp(x->output, "-") &&
	    (x->format == FORMAT_SQLITE || !x->table_list || strchr(x->table_list, ',')))
		return opts_usage_error(&export_opts,
					"-o - takes one table as csv or json: name it with -t");
	return x->format == FORMAT_SQLITE ? 0 : pick_tables(x);
}

/* "dir/trace.ebpfrec" gives "trace-csv", "trace.db". */
static void default_output(const struct export *x, char *buf, size_t size)
{
	const char *path = input_path(&x->in);
	size_t n = strlen(path), start;

	while (n && path[n - 1] == '/')
		n--;
	for (start = n; start && path[start - 1] != '/'; start--)
		;
	n -= start;
	if (n > 8 && !memcmp(path + start + n - 8, ".ebpfrec", 8))
		n -= 8;
	if (x->format == FORMAT_SQLITE)
		snprintf(buf, size, "%.*s.db", (int)n, path + start);
	else
		snprintf(buf, size, "%.*s-%s", (int)n, path + start, format_names[x->format]);
}

static int export(struct export *x)
{
	struct analysis *a = NULL;
	struct trace *t = NULL;
	struct err e = { "" };
	char missing[400], n[UNITS_TEXT_MAX];
	int c;

	c = input_open(&x->in, true, &t);
	if (c)
		return c;
	x->trace = t;
	c = input_window(&x->in, &export_opts, t, &x->from_ns, &x->to_ns);
	if (c)
		goto out;
	input_verify(t, NULL, x->from_ns, x->to_ns);
	input_note_damage(&x->in, t);
	if (!input_is_complete(t, (struct input_needs){ .classes = INPUT_ALL }, x->from_ns,
			       x->to_ns, missing, sizeof(missing)))
		say_note("%s: the window is incomplete: %s", input_path(&x->in), missing);
	c = analysis_open(&a, t, &e);
	if (c)
		c = input_failed(c, &e);
	else if (x->format == FORMAT_SQLITE)
		c = export_sqlite(x, a);
	else
		c = export_files(x, a);
	if (!c && !x->quiet && strcmp(x->output, "-"))
		say_note("%s: %s rows", x->output, units_format_count(n, sizeof(n), x->total_cnt));
out:
	analysis_close(a);
	trace_close(t);
	return c;
}

/* 0, or the exit status to leave with. */
static int take_option(struct export *x, int id, const char *value)
{
	int c;

	switch (id) {
	case OPTS_OPERAND:
		return opts_usage_error(&export_opts,
					"unexpected argument '%s'; -o names the output", value);
	case INPUT_OPT_TO:
		return take_to(x, value);
	case 'o':
		x->output = value;
		return *value ? 0
			      : opts_usage_error(&export_opts, "-o: the name must not be empty");
	case 't':
		c = lists_join(&x->table_list, value);
		return c ? input_failed(c, NULL) : 0;
	case OPT_WITH_HOST:
		x->with_host = true;
		return 0;
	case 'f':
		x->force = true;
		return 0;
	case 'q':
		x->quiet = true;
		return 0;
	default:
		return input_take(&x->in, &export_opts, id, value);
	}
}

int cmd_export(int argc, char **argv)
{
	struct export x = { 0 };
	char output[PATH_MAX];
	const char *value;
	int id, status = 0;
	struct opts o;

	opts_init(&o, &export_opts, argc, argv);
	while (!status && (id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP || id == 'l') {
			if (id == 'l')
				list_tables();
			goto out;
		}
		status = id == OPTS_BAD ? EXIT_USAGE : take_option(&x, id, value);
	}
	if (!status)
		status = check_options(&x);
	if (status)
		goto out;
	if (!x.output) {
		default_output(&x, output, sizeof(output));
		x.output = output;
	}
	x.shows_progress = !x.quiet && isatty(STDERR_FILENO);
	status = export(&x);
out:
	free(x.table_list);
	return status;
}
