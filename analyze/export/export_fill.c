/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A pool of threads; each takes the next table, the largest first, and fills it to the end. */
#include "analyze/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/workers.h"

#define THREADS_MAX 4
#define COUNT_EVERY 1024

struct fill_table {
	const struct table_def *def;
	struct export_rows *rows;
	double row_cnt; /* estimated */
};

struct fill {
	struct export_to *x;
	const struct export_target *target;
	struct fill_table *tables;
	unsigned int table_cnt;
	struct workers workers;
};

/* ---- one table ---- */

static int fill_rows(struct fill *f, struct export_rows *rows, void *out, struct err *e)
{
	const struct value *row;
	uint64_t cnt = 0;
	int ret;

	while ((ret = export_rows_next(rows, &row, e)) > 0) {
		ret = f->target->row(out, row, e);
		if (ret < 0)
			return ret;
		if (++cnt % COUNT_EVERY)
			continue;
		f->x->row_cnt += COUNT_EVERY;
		if (f->workers.stop)
			return 0;
	}
	f->x->row_cnt += cnt % COUNT_EVERY;
	return ret;
}

static int fill_table(void *ctx, unsigned int number, struct err *e)
{
	struct fill *f = ctx;
	const struct export_target *t = f->target;
	void *out = NULL;
	int ret = t->open(t->ctx, f->tables[number].def, &out, e);

	ret = ret ?: fill_rows(f, f->tables[number].rows, out, e);
	if (!ret && !f->workers.stop)
		ret = t->finish(out, e);
	if (out)
		t->close(out);
	return ret;
}

static void tell_progress(void *ctx)
{
	const struct fill *f = ctx;
	const struct export_request *r = f->x->request;

	if (r->progress)
		r->progress(r->ctx, f->x->row_cnt, f->x->all_rows);
}

/* ---- all tables ---- */

/* The largest table first: threads end together. */
static int by_row_cnt(const void *a, const void *b)
{
	const struct fill_table *x = a, *y = b;

	return compare_numbers(y->row_cnt, x->row_cnt);
}

static int open_rows(struct fill *f, struct err *e)
{
	const struct table_def *def;
	struct fill_table *t;
	int ret = 0;

	for (unsigned int i = 0; !ret && (def = table_at(i)); i++) {
		if (!export_fill_has(def) || !export_has(f->x, def))
			continue;
		t = &f->tables[f->table_cnt++];
		t->def = def;
		t->row_cnt = table_row_cnt(f->x->a, def);
		ret = export_rows_open(&t->rows, f->x, def, e);
	}
	qsort(f->tables, f->table_cnt, sizeof(*f->tables), by_row_cnt);
	return ret;
}

int export_fill(struct export_to *x, const struct export_target *target, struct err *e)
{
	struct fill f = { .x = x, .target = target };
	unsigned int i;
	int ret;

	f.workers = (struct workers){ .thread_max = THREADS_MAX, .run = fill_table,
				      .tick = tell_progress, .ctx = &f };
	for (i = 0; table_at(i); i++)
		;
	f.tables = calloc(i + 1, sizeof(*f.tables));
	if (!f.tables)
		return err_set(e, -ENOMEM, "out of memory");
	ret = open_rows(&f, e);
	f.workers.cnt = f.table_cnt;
	ret = ret ?: workers_run(&f.workers, e);
	for (i = 0; i < f.table_cnt; i++)
		export_rows_close(f.tables[i].rows);
	free(f.tables);
	return ret;
}
