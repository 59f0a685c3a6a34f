/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* export_rows: opens a table like a SELECT on its window, without SQL. */
#include "analyze/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <inttypes.h>
#include <stdio.h>

#include "analyze/context/loss_index.h"
#include "analyze/engine/unowned.h"
#include "base/array.h"
#include "base/textsafe.h"
#include "format/event.h"

#define COLUMNS_MAX 64

/* Columns of block_requests that are instants. */
enum { REQUEST_QUEUED = 0, REQUEST_COMPLETE = 2, REQUEST_END = 3 };

struct export_rows {
	const struct export_to *x;
	struct table_scan scan;
	bool is_requests;
	struct value values[COLUMNS_MAX];
	struct export_text texts[COLUMNS_MAX];
};

bool export_has(const struct export_to *x, const struct table_def *def)
{
	for (unsigned int i = 0; i < x->table_cnt; i++)
		if (!strcmp(x->tables[i], def->name))
			return true;
	return def->is_exported && !x->table_cnt;
}

uint64_t export_expected_rows(const struct export_to *x)
{
	const struct table_def *def;
	double sum = 0;

	for (unsigned int i = 0; (def = table_at(i)); i++)
		if (export_has(x, def))
			sum += table_row_cnt(x->a, def);
	return (uint64_t)sum;
}

int export_rows_open(struct export_rows **ret, const struct export_to *x,
		     const struct table_def *def, struct err *e)
{
	struct table_query q = { .from_ns = INT64_MIN,
				 .to_ns = INT64_MAX,
				 .cols_used = UINT64_MAX };
	struct export_rows *r = calloc(1, sizeof(*r));
	int c;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->x = x;
	r->is_requests = !strcmp(def->name, "block_requests");
	if (!x->whole && def->arg_cnt == 2) { /* sched_slices(from, to): clip to the window */
		cell_int(&q.args[0], x->from_ns);
		cell_int(&q.args[1], x->to_ns);
	} else if (!x->whole && !r->is_requests) {
		q.from_ns = x->from_ns;
		q.to_ns = x->to_ns;
	}
	c = table_scan_open(&r->scan, x->a, def, &q, e);
	if (c < 0) {
		free(r);
		return c;
	}
	*ret = r;
	return 0;
}

void export_rows_close(struct export_rows *r)
{
	if (!r)
		return;
	table_scan_done(&r->scan);
	for (unsigned int i = 0; i < COLUMNS_MAX; i++)
		free(r->texts[i].data);
	free(r);
}

/* Returns whether a request was in flight in the window: the condition of table_requests.c. */
static bool is_wanted(const struct export_rows *r, const struct cell *row)
{
	const struct cell *begin = &row[REQUEST_QUEUED], *end = &row[REQUEST_END];

	if (r->x->whole || !r->is_requests)
		return true;
	if (begin->type == VALUE_NULL)
		begin = &row[REQUEST_COMPLETE];
	return begin->type != VALUE_NULL && begin->i < r->x->to_ns &&
	       (end->type == VALUE_NULL || end->i >= r->x->from_ns);
}

int export_text_safe(struct export_text *room, struct value *v)
{
	size_t n = 0;

	while (v->text[n] >= 0x20 && v->text[n] < 0x7f)
		n++;
	v->text_bytes = n;
	if (!v->text[n])
		return 0;
	n += strlen(v->text + n);
	if (array_reserve(&room->data, &room->cap, n * TEXTSAFE_GROWTH + 1) < 0)
		return -ENOMEM;
	v->text_bytes = textsafe_escape(room->data, room->cap, v->text, n, NULL);
	v->text = room->data;
	return 0;
}

int export_rows_next(struct export_rows *r, const struct value **ret, struct err *e)
{
	unsigned int i, cnt = r->scan.def->col_cnt;
	const struct cell *row;
	int c;

	do {
		c = table_scan_next(&r->scan, &row, e);
		if (c <= 0)
			return c;
	} while (!is_wanted(r, row));
	for (i = 0; i < cnt; i++) {
		struct value *v = &r->values[i];

		/* Copies the cell's union to all members; only the type's member is used. */
		*v = (struct value){ row[i].type, row[i].i, row[i].r, row[i].s, 0 };
		if (v->type == VALUE_TEXT && export_text_safe(&r->texts[i], v) < 0)
			return err_set(e, -ENOMEM, "out of memory");
	}
	*ret = r->values;
	return 1;
}

static int all_events(const struct export_to *x, const struct table_def *def,
		      const struct row_sink *sink, struct err *e)
{
	struct export_rows *rows;
	const struct value *row;
	int ret = export_rows_open(&rows, x, def, e);

	if (ret < 0)
		return ret;
	while ((ret = export_rows_next(rows, &row, e)) > 0) {
		ret = sink->row(sink->ctx, row);
		if (ret < 0)
			break;
	}
	export_rows_close(rows);
	return ret;
}

int export_rows_all(const struct export_to *x, const struct table_def *def,
		    const struct row_sink *sink, struct err *e)
{
	const struct row_sink rows = { .ctx = sink->ctx, .row = sink->row };
	struct err why = { "" };
	int ret;

	if (export_is_events(def))
		return all_events(x, def, sink, e);
	ret = analysis_table(x->a, def->name, x->request->from_ns, x->request->to_ns, &rows, &why);
	if (ret < 0 && why.text[0])
		err_set(e, ret, "table %s: %s", def->name, why.text);
	return ret;
}

/* ---- contents of an export ---- */

static int put_info(const struct row_sink *out, const char *key, struct value v)
{
	return out->row(out->ctx, (const struct value[]){ value_text(key), v });
}

/* Counts the lost events of each class, in intervals that overlap the window. */
static void count_lost(const struct trace *t, const struct export_request *r,
		       uint64_t lost[LOSS_CLASS_CNT])
{
	size_t cnt;
	const struct trace_loss *l = trace_losses(t, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		const struct hook_name *hook = hook_name_find(l[i].hook);

		if (l[i].to_ns > r->from_ns && l[i].from_ns < r->to_ns && hook &&
		    hook->cls < LOSS_CLASS_CNT)
			lost[hook->cls] += l[i].full_cnt + l[i].other_cnt + l[i].missed_cnt;
	}
}

int analysis_export_info(struct analysis *a, const struct export_request *r,
			 const struct row_sink *out)
{
	static const char *const columns[] = { "key", "value" };
	static const char *const keys[] = { "trace.uuid", "host", "machine", "kernel.release" };
	uint64_t from_ns = r->from_ns, to_ns = r->to_ns, lost[LOSS_CLASS_CNT] = { 0 };
	bool is_complete = !r->missing || !*r->missing;
	struct request_cnt unowned;
	char name[32];
	size_t damages;
	int ret = out->begin ? out->begin(out->ctx, 2, columns) : 0;

	context_clip(a, &from_ns, &to_ns);
	trace_damages(a->trace, &damages);
	unowned = unowned_count(a, context_rel(a, from_ns), context_rel(a, to_ns));
	ret = ret ?: put_info(out, "from_ns", value_int((uint64_t)context_rel(a, from_ns)));
	ret = ret ?: put_info(out, "to_ns", value_int((uint64_t)context_rel(a, to_ns)));
	ret = ret ?: put_info(out, "trace_ns", value_int(a->end_ns - a->start_ns));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !ret; i++)
		if (trace_get(a->trace, keys[i]))
			ret = put_info(out, keys[i], value_text(trace_get(a->trace, keys[i])));
	ret = ret ?: put_info(out, "complete", value_int(is_complete));
	ret = ret ?: put_info(out, "incomplete", value_text(r->missing ?: ""));
	ret = ret ?: put_info(out, "unowned_ios", value_int(unowned.ios));
	ret = ret ?: put_info(out, "unowned_bytes", value_int(unowned.bytes));
	count_lost(a->trace, r, lost);
	for (unsigned int i = 0; i < LOSS_CLASS_CNT && !ret; i++) {
		snprintf(name, sizeof(name), "lost_%s", loss_class_name(i));
		ret = put_info(out, name, value_int(lost[i]));
	}
	ret = ret ?: put_info(out, "damaged_parts", value_int(damages));
	return ret || !out->end ? ret : out->end(out->ctx);
}

static int put_meta(void *ctx, const struct value *v)
{
	struct export_meta *m = ctx;
	char *text = NULL;

	if (v[1].type == VALUE_TEXT)
		text = strdup(v[1].text);
	else if (asprintf(&text, "%" PRId64, v[1].i) < 0)
		text = NULL;
	if (!text || m->cnt + 2 >= EXPORT_META_MAX) {
		free(text);
		return -ENOMEM;
	}
	m->v[m->cnt++] = strdup(v[0].text);
	m->v[m->cnt++] = text;
	return m->v[m->cnt - 2] ? 0 : -ENOMEM;
}

int analysis_export_meta(struct analysis *a, const struct export_request *r,
			 struct export_meta *ret)
{
	const struct row_sink sink = { .ctx = ret, .row = put_meta };

	*ret = (struct export_meta){ .cnt = 0 };
	return analysis_export_info(a, r, &sink);
}

void export_meta_done(struct export_meta *m)
{
	for (unsigned int i = 0; i < m->cnt; i++)
		free(m->v[i]);
	m->cnt = 0;
}
