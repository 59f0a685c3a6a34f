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
#include "cmd/input/input.h"
#include "cmd/input/lists.h"
#include "cmd/input/nearest.h"
#include "cmd/render/progress.h"
#include "cmd/render/row_prefix.h"
#include "cmd/render/say.h"

#define TABLES_MAX  64
#define TABLES_ITEM "tables"

enum format { FORMAT_NONE, FORMAT_CSV, FORMAT_JSON, FORMAT_SQLITE };

static const char *const format_names[] = { NULL, "csv", "json", "sqlite" };

#define FORMAT_CNT (sizeof(format_names) / sizeof(format_names[0]))

struct export
{
	struct input in;
	enum format format;
	const char *output;
	char *default_output, *table_list;
	const struct schema_table *tables[TABLES_MAX]; /* picked */
	unsigned int table_cnt;
	bool force, quiet, shows_progress, with_host;
	uint64_t from_ns, to_ns;
	/* while running */
	const char *table; /* being written */
	uint64_t total_cnt;
};

/* ---- progress ---- */

static void table_progress(void *ctx, uint64_t rows)
{
	struct export *x = ctx;

	progress_show(&x->in.progress, x->table, rows, 0, "rows");
}

/* ---- csv and json ---- */

/*
 * Of the recorder's clock, from the trace's start; what people read as a duration in a table, too.
 */
static bool is_instant(const char *name)
{
	static const char *const more[] = { "queued_ns", "issue_ns", "complete_ns", "alloc_ns",
					    "free_ns", NULL };

	return render_is_one_of(name, more) || render_column_kind(name) == RENDER_INSTANT;
}

/* unix_ns: the CLOCK_REALTIME of the row's first instant, from the nearest clock reading. */
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

/* One table to a stream. 0 or -errno with text. */
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
		.picks = is_instant, .change = put_clock, .ctx = x->in.trace,
	};
	struct render *r;
	int c = render_new(&r, &o);

	if (c)
		return c;
	x->table = table;
	prefix.next = render_sink(r);
	row_prefix_init(&prefix);
	c = analysis_table(x->in.analysis, table, x->from_ns, x->to_ns,
			   x->with_host ? &prefix.sink : prefix.next, e);
	c = row_prefix_end(&prefix, c);
	x->total_cnt += render_row_cnt(r);
	render_free(r);
	return c;
}

/* Of a table, in a directory. False: it is too long. */
static bool name_file(const struct export *x, char *buf, const char *dir, const char *table)
{
	return snprintf(buf, PATH_MAX, "%s/%s.%s", dir, table, format_names[x->format]) < PATH_MAX;
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
		f = fopen(path, "we");
	if (!f)
		c = -errno;
	else
		c = write_table(x, table, f, &e);
	if (f && fclose(f) && !c)
		c = errno ? -errno : -EIO;
	progress_erase(&x->in.progress);
	return c ? say_error("%s/%s.%s: %s", x->output, table, format_names[x->format],
			     err_text(&e, c)) : 0;
}

/* Refuses to overwrite before anything is written. */
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

/* Into a directory that exists: one file after the other. */
static int commit_files(struct export *x, const struct atomic_output *out, struct err *e)
{
	char from[PATH_MAX], to[PATH_MAX];
	int r = 0;

	for (unsigned int i = 0; !r && i < x->table_cnt; i++) {
		name_file(x, from, TABLES_ITEM, x->tables[i]->name);
		name_file(x, to, x->output, x->tables[i]->name);
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
	if (mkdir(dir, 0777))
		c = err_set(e, -errno, "cannot make the directory %s: %s", dir, strerror(errno));
	for (unsigned int i = 0; !c && i < x->table_cnt; i++)
		c = write_file(x, dir, x->tables[i]->name);
	free(dir);
	return c;
}

/* The new directory becomes the output; into an output that exists, its files are moved. */
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
	if (!c)
		c = write_files(x, &out, &e);
	if (!c)
		c = exists ? commit_files(x, &out, &e)
			   : atomic_output_commit_item(&out, TABLES_ITEM, x->output, false, &e);
	atomic_output_drop(&out);
	return input_status(c, &e);
}

static int export_files(struct export *x)
{
	struct err e = { "" };
	int c;

	if (!strcmp(x->output, "-")) {
		c = write_table(x, x->tables[0]->name, stdout, &e);
		progress_erase(&x->in.progress);
		return input_status(c, &e);
	}
	return export_directory(x);
}

/* ---- the command ---- */

static int take_to(void *job, const char *value, struct err *e)
{
	struct export *x = job;

	for (unsigned int i = 1; i < FORMAT_CNT; i++) {
		if (!strcmp(value, format_names[i])) {
			x->format = (enum format)i;
			return 0;
		}
	}
	x->in.to = value;
	return 0;
}

/* Turns -t (or its absence) into the tables to write. */
static int pick_tables(struct export *x)
{
	const struct schema_table *all;
	unsigned int all_cnt = schema_tables(&all);
	const char *names[TABLES_MAX];
	bool picked[TABLES_MAX] = { false };

	if (all_cnt > TABLES_MAX)
		all_cnt = TABLES_MAX;
	for (unsigned int i = 0; i < all_cnt; i++)
		names[i] = all[i].name;
	for (unsigned int i = 0; !x->table_list && i < all_cnt; i++)
		x->tables[x->table_cnt++] = &all[i];
	for (char *word = x->table_list ? strtok(x->table_list, ",") : NULL; word;
	     word = strtok(NULL, ",")) {
		unsigned int i = 0;

		while (i < all_cnt && strcmp(word, names[i]))
			i++;
		if (i == all_cnt)
			return opts_unknown("table", "", word, names, all_cnt, "; --list shows all",
					    "; --list shows all");
		if (!picked[i])
			x->tables[x->table_cnt++] = &all[i];
		picked[i] = true;
	}
	return 0;
}

static int check_options(struct export *x)
{
	if (x->format == FORMAT_NONE) {
		const char *word = x->in.to;

		/* "--to cvs" came in as the end of the window. */
		if (word && nearest_find(word, format_names, FORMAT_CNT) > 0)
			return opts_unknown("format", "", word, format_names, FORMAT_CNT, "", "");
		return opts_usage_error("no format: give --to csv, --to json or --to sqlite");
	}
	if (x->format == FORMAT_SQLITE && x->with_host)
		return opts_usage_error("--with-host is for csv and json");
	if (x->format == FORMAT_SQLITE && x->table_list)
		return opts_usage_error("--to sqlite always writes all tables; leave out -t");
	if (x->output && !strcmp(x->output, "-") &&
	    (x->format == FORMAT_SQLITE || !x->table_list || strchr(x->table_list, ',')))
		return opts_usage_error("-o - takes one table as csv or json: name it with -t");
	return x->format == FORMAT_SQLITE ? 0 : pick_tables(x);
}

static int export(struct export *x)
{
	struct export_request r = { .path = x->output, .force = x->force };
	struct err e = { "" };
	char missing[400];
	int c = input_open(&x->in, true);

	if (!c)
		c = input_window(&x->in, &x->from_ns, &x->to_ns);
	if (c)
		return c;
	input_verify(&x->in, false, x->from_ns, x->to_ns);
	if (!input_is_complete(x->in.trace, (struct input_needs){ .classes = INPUT_ALL },
			       x->from_ns, x->to_ns, missing, sizeof(missing)))
		say_note("%s: the window is incomplete: %s", input_path(&x->in), missing);
	c = input_status(analysis_open(&x->in.analysis, x->in.trace, &e), &e);
	r.from_ns = x->from_ns;
	r.to_ns = x->to_ns;
	if (!c)
		c = x->format != FORMAT_SQLITE ? export_files(x) :
			input_export_sqlite(&x->in, &r, x->shows_progress, &x->total_cnt);
	if (!c && !x->quiet && strcmp(x->output, "-"))
		say_note("%s: %s rows", x->output, say_count(x->total_cnt));
	return c;
}

static int run(void *job)
{
	static const char *const endings[] = { NULL, "-csv", "-json", ".db" };
	struct export *x = job;
	int c = check_options(x);

	if (c)
		return c;
	if (!x->output)
		x->output = x->default_output = input_output_name(&x->in, endings[x->format]);
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
	{ 0, "to", "FORMAT", "csv, json or sqlite", OPTS_CALL, .take = take_to },
	{ 'o', "output", "PATH",
	  "csv, json: directory for the files, or - for one table on stdout;\n"
	  "sqlite: the file (default: named after the trace, here)",
	  OPTS_TEXT, offsetof(struct export, output), .refuse = "the name must not be empty" },
	{ 't', "table", "TABLE,...", "these tables only (csv, json)", OPTS_CALL,
	  offsetof(struct export, table_list), lists_take_words },
	{ 0, "from", "TIME", "window starts here; the forms are those of report", OPTS_TEXT,
	  offsetof(struct export, in.from) },
	{ 0, "to", "TIME", "window ends before this instant; a second --to", OPTS_CALL,
	  .take = take_to },
	{ 0, "with-host", NULL,
	  "csv, json: each row begins with host and unix_ns, the wall-clock time of its\n"
	  "first instant, so that tables of many hosts can be put together",
	  OPTS_FLAG, offsetof(struct export, with_host) },
	{ 'f', "force", NULL, "replace files that exist", OPTS_FLAG,
	  offsetof(struct export, force) },
	{ 'q', "quiet", NULL, "print no progress and no closing line", OPTS_FLAG,
	  offsetof(struct export, quiet) },
	{ 'l', "list", NULL, "list the tables", OPTS_CALL, .take = input_list_tables },
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
	.bytes = sizeof(struct export),
	.done = done,
	.operand_hint = "-o names the output",
	.run = run,
};
