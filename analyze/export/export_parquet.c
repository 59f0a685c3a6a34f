/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_parquet: writes tables of a window as Parquet files, one directory and file per table.
 *
 * Event tables are written first, in up to THREADS_MAX threads, at most one per CPU. The caller's
 * thread waits, reports the progress and then writes the lists. Memory does not grow with the
 * trace.
 *
 * Instants are wall-clock times. All instants of a row are converted with the clock reading nearest
 * to the row's first instant, so durations stay exact.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/engine/column.h"
#include "analyze/export/export.h"
#include "analyze/parquet/parquet.h"
#include "base/array.h"
#include "base/workers.h"

#define FRONT_COLS 2	/* host, trace_id */
#define COLUMNS_MAX 64
#define THREADS_MAX 4
#define COUNT_EVERY 1024

/* A table to write. */
struct event_table {
	const struct table_def *def;
	struct export_rows *rows;
	double row_cnt; /* estimated */
};

struct write {
	struct export_to x;
	const struct parquet_request *r;
	const char *host;
	struct export_meta meta; /* metadata for the footers */
	struct event_table *tables;
	unsigned int table_cnt;
	struct workers workers;
};

/* The file of one table. */
struct file {
	const struct write *w;
	const struct table_def *def;
	struct parquet_column cols[FRONT_COLS + COLUMNS_MAX];
	struct value row[COLUMNS_MAX];
	FILE *out;
	char path[PATH_MAX];
	struct parquet *parquet;
	struct export_text texts[COLUMNS_MAX]; /* for a list: room for the texts of each column */
	struct err *e;
};

static void close_file(struct file *f)
{
	parquet_free(f->parquet);
	if (f->out)
		fclose(f->out);
	for (unsigned int i = 0; i < COLUMNS_MAX; i++)
		free(f->texts[i].data);
	free(f);
}

static int finish_file(struct file *f, struct err *e)
{
	int c = parquet_finish(f->parquet, e), closed = fclose(f->out) ? -errno : 0;

	f->out = NULL;
	return !c && closed ? err_set(e, closed, "%s: %s", f->path, strerror(-closed)) : c;
}

static void name_columns(struct file *f)
{
	static const enum parquet_type types[] = { [COLUMN_INT] = PARQUET_INT,
						   [COLUMN_REAL] = PARQUET_REAL,
						   [COLUMN_TEXT] = PARQUET_TEXT };
	const struct trace *t = f->w->x.a->trace;
	struct parquet_column *to = f->cols;

	*to++ = (struct parquet_column){ "host", PARQUET_TEXT, f->w->host };
	*to++ = (struct parquet_column){ "trace_id", PARQUET_TEXT, trace_uuid(t) };
	for (unsigned int i = 0; i < f->def->col_cnt; i++, to++) {
		to->name = f->def->cols[i].name;
		to->type = column_find(to->name)->kind == COLUMN_INSTANT ? PARQUET_TIME :
			   types[f->def->cols[i].type];
		to->orders = (int)i == f->def->cpu_col || !strcmp(to->name, "call_site");
	}
}

static int make_file(struct file *f, struct err *e)
{
	int fd = -1;

	snprintf(f->path, sizeof(f->path), "%s/%s", f->w->r->dir, f->def->name);
	if (!mkdir(f->path, 0700)) {
		snprintf(f->path, sizeof(f->path), "%s/%s/%s", f->w->r->dir, f->def->name,
			 f->w->r->name);
		fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	f->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (f->out)
		return 0;
	err_set(e, -errno, "%s: cannot be made: %s", f->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -errno;
}

/* Close *ret with close_file(), unless NULL, even after an error. */
static int open_file(struct write *w, const struct table_def *def, struct file **ret,
		     struct err *e)
{
	struct file *f = calloc(1, sizeof(*f));
	int c;

	*ret = f;
	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->w = w;
	f->def = def;
	name_columns(f);
	c = make_file(f, e);
	return c ?: parquet_new(&f->parquet, f->out, f->cols, FRONT_COLS + def->col_cnt,
				(const char *const *)w->meta.v, e);
}

/* Returns the wall clock minus the trace's time, at the row's first instant. */
static int64_t ahead_ns(const struct file *f, const struct value *row)
{
	const struct analysis *a = f->w->x.a;

	for (unsigned int i = 0; i < f->def->col_cnt; i++)
		if (f->cols[FRONT_COLS + i].type == PARQUET_TIME && row[i].type == VALUE_INT)
			return (int64_t)(trace_real_ns(a->trace, a->start_ns + (uint64_t)row[i].i) -
					 (uint64_t)row[i].i);
	return 0;
}

static int append_row(struct file *f, const struct value *row, struct err *e)
{
	int64_t ahead = ahead_ns(f, row);

	for (unsigned int i = 0; i < f->def->col_cnt; i++) {
		f->row[i] = row[i];
		if (f->cols[FRONT_COLS + i].type == PARQUET_TIME && row[i].type == VALUE_INT)
			f->row[i].i += ahead;
	}
	return parquet_row(f->parquet, f->row, e);
}

/* ---- tables of events: in threads ---- */

static int write_rows(struct write *w, struct export_rows *rows, struct file *f, struct err *e)
{
	const struct value *row;
	uint64_t cnt = 0;
	int r;

	while ((r = export_rows_next(rows, &row, e)) > 0) {
		r = append_row(f, row, e);
		if (r < 0)
			return r;
		if (++cnt % COUNT_EVERY)
			continue;
		w->x.row_cnt += COUNT_EVERY;
		if (w->workers.stop)
			return 0;
	}
	w->x.row_cnt += cnt % COUNT_EVERY;
	return r;
}

static int write_events(void *ctx, unsigned int number, struct err *e)
{
	struct write *w = ctx;
	struct file *f;
	int r = open_file(w, w->tables[number].def, &f, e);

	r = r ?: write_rows(w, w->tables[number].rows, f, e);
	if (!r && !w->workers.stop)
		r = finish_file(f, e);
	if (f)
		close_file(f);
	return r;
}

static void report_progress(void *ctx)
{
	const struct write *w = ctx;

	if (w->r->progress)
		w->r->progress(w->r->ctx, w->x.row_cnt, w->x.all_rows);
}

/* The largest table first, so that all threads finish at about the same time. */
static int by_row_cnt(const void *a, const void *b)
{
	const struct event_table *x = a, *y = b;

	return compare_numbers(y->row_cnt, x->row_cnt);
}

static int write_all_events(struct write *w, struct err *e)
{
	const struct table_def *def;
	unsigned int cnt;
	int r = 0;

	for (cnt = 0; table_at(cnt); cnt++)
		;
	w->tables = calloc(cnt + 1, sizeof(*w->tables));
	if (!w->tables)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !r && (def = table_at(i)); i++) {
		struct event_table *t = &w->tables[w->table_cnt];

		if (!export_is_events(def) || !export_has(&w->x, def))
			continue;
		w->table_cnt++;
		t->def = def;
		t->row_cnt = table_row_cnt(w->x.a, def);
		r = export_rows_open(&t->rows, &w->x, def, e);
	}
	qsort(w->tables, w->table_cnt, sizeof(*w->tables), by_row_cnt);
	w->workers = (struct workers){ .cnt = w->table_cnt, .thread_max = THREADS_MAX,
				       .run = write_events, .tick = report_progress, .ctx = w };
	r = r ?: workers_run(&w->workers, e);
	for (unsigned int i = 0; i < w->table_cnt; i++)
		export_rows_close(w->tables[i].rows);
	free(w->tables);
	return r;
}

/* ---- lists: in the thread of the analysis ---- */

/* Implements row_sink.row(). Escapes texts, which in lists may be unsafe to print. */
static int append_list_row(void *ctx, const struct value *row)
{
	struct file *f = ctx;
	struct value safe[COLUMNS_MAX];

	for (unsigned int i = 0; i < f->def->col_cnt; i++) {
		safe[i] = row[i];
		if (row[i].type == VALUE_TEXT && export_text_safe(&f->texts[i], &safe[i]) < 0)
			return err_set(f->e, -ENOMEM, "out of memory");
	}
	return append_row(f, safe, f->e);
}

static int write_list(struct write *w, const struct table_def *def, struct err *e)
{
	struct file *f;
	int c = open_file(w, def, &f, e);
	const struct row_sink sink = { .ctx = f, .row = append_list_row };

	if (!f)
		return c;
	f->e = e;
	c = c ?: export_rows_all(&w->x, def, &sink, e);
	c = c ?: finish_file(f, e);
	close_file(f);
	return c;
}

static int write_lists(struct write *w, struct err *e)
{
	const struct table_def *def;
	int c = 0;

	for (unsigned int i = 0; !c && (def = table_at(i)); i++)
		if (!export_is_events(def) && export_has(&w->x, def))
			c = write_list(w, def, e);
	return c;
}

/* ---- all ---- */

static int describe(struct write *w)
{
	w->host = trace_get(w->x.a->trace, "host");
	if (!w->host)
		w->host = "";
	return analysis_export_meta(w->x.a, w->x.request, &w->meta);
}

int analysis_export_parquet(struct analysis *a, const struct parquet_request *r, uint64_t *ret_rows,
			    struct err *e)
{
	const struct export_request window = { .from_ns = r->from_ns, .to_ns = r->to_ns,
					       .missing = r->missing, .progress = r->progress,
					       .ctx = r->ctx };
	struct write w = { .r = r };
	int c;

	w.x = (struct export_to){ .a = a, .request = &window,
				  .tables = r->tables, .table_cnt = r->table_cnt,
				  .whole = r->from_ns <= a->start_ns && r->to_ns >= a->end_ns,
				  .from_ns = context_rel_clamped(a, r->from_ns),
				  .to_ns = context_rel_clamped(a, r->to_ns) };
	w.x.all_rows = export_expected_rows(&w.x);
	c = describe(&w);
	c = c ?: write_all_events(&w, e);
	/* Lists last: reading events may find damage, which one of the lists contains. */
	c = c ?: write_lists(&w, e);
	export_meta_done(&w.meta);
	*ret_rows = w.x.row_cnt;
	return c;
}
