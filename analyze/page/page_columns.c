/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* page_columns: each column of a result grows in its own buffer until the result ends. */
#include "analyze/page/page_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/keys.h"
#include "base/array.h"
#include "base/textsafe.h"

struct page_column {
	const char *name;
	bool is_bin, is_process, is_thread;
	size_t bin;		/* bin of the previous row */
	size_t zeros;		/* number of zeros at the end, not written to values yet */
	struct buf values;
};

void page_put(struct buf *out, const char *text)
{
	buf_add(out, text, strlen(text));
}

/* A page contains a million numbers, for which printf() is too slow. */
void page_put_int(struct buf *out, int64_t v)
{
	char text[24], *end = text + sizeof(text), *at = end;
	uint64_t n = v < 0 ? -(uint64_t)v : (uint64_t)v;

	do {
		*--at = (char)('0' + n % 10);
	} while (n /= 10);
	if (v < 0)
		*--at = '-';
	buf_add(out, at, (size_t)(end - at));
}

/* ---- texts ---- */

/*
 * Returns whether a command was recorded, but the process is neither part of it nor the recorder's.
 */
static bool is_rest(const struct page_columns *c, const struct trace_process *p)
{
	return p && trace_get(c->a->trace, "command") &&
	       (p->flags & (TRACE_TASK_WORKLOAD | TRACE_TASK_RECORDER)) != TRACE_TASK_WORKLOAD;
}

static void put_json(struct buf *out, const char *text, size_t n)
{
	char *at = (char *)buf_room(out, TEXTSAFE_JSON_MAX(n));

	if (at)
		out->len += textsafe_json(at, text, n);
}

/* Appends a text to the list. */
static void add_text(struct page_columns *c, const char *text)
{
	page_put(&c->text_list, c->text_list.len ? "," : "");
	put_json(&c->text_list, text, strlen(text));
}

static int put_text(struct page_columns *c, struct buf *out, const struct value *v)
{
	size_t n = v->text_bytes * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(n);
	const char *text;
	uint32_t number;
	int ret;

	if (!safe)
		return -ENOMEM;
	textsafe_escape(safe, n, v->text, v->text_bytes, NULL);
	text = strpool_put(c->texts, safe);
	free(safe);
	if (!text)
		return -ENOMEM;
	ret = hash_map_intern(&c->numbers, (uintptr_t)text, 0, &number);
	if (ret < 0)
		return ret;
	if (ret)
		add_text(c, text);
	page_put_int(out, number);
	return 0;
}

/* Writes "other" or "rest", followed by the name that the others share: page_rows.h. */
static int put_others(struct page_columns *c, struct buf *out, const struct value *v)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "%s %.*s", *v->text == 'r' ? "rest" : "other",
			 (int)v->text_bytes - 1, v->text + 1);

	return put_text(c, out, &(struct value){ .type = VALUE_TEXT, .text = text,
						 .text_bytes = (size_t)n });
}

/*
 * Writes a thread: the text "tUTID tid pid name", with the prefix r if the thread is not of the
 * command.
 */
static int put_thread(struct page_columns *c, struct buf *out, uint32_t utid)
{
	const struct dense_ids *d = &c->a->ids;
	uint32_t thread = dense_thread(d, utid), number;
	const struct trace_thread *t = dense_thread_row(d, thread);
	const struct trace_process *p = dense_process_row(d, dense_process_of(d, thread));
	char safe[4 * 64 + 1], text[sizeof(safe) + 60], tid[16] = "", pid[16] = "";
	int ret = hash_map_intern(&c->numbers, utid, 2, &number);

	if (ret < 0)
		return ret;
	if (ret) {
		if (t)
			snprintf(tid, sizeof(tid), "%u", t->tid);
		if (p)
			snprintf(pid, sizeof(pid), "%u", p->pid);
		textsafe_escape(safe, sizeof(safe), dense_thread_comm(d, thread),
				strlen(dense_thread_comm(d, thread)), NULL);
		snprintf(text, sizeof(text), "%st%u %s %s %s", is_rest(c, p) ? "r" : "", utid, tid,
			 pid, safe);
		add_text(c, text);
	}
	page_put_int(out, number);
	return 0;
}

/*
 * Writes a process: the text "upid pid name", with the prefix r if it is not of the command; NULL:
 * "other".
 */
static int put_process(struct page_columns *c, struct buf *out, const struct value *v)
{
	uint64_t upid = v->type == VALUE_INT ? (uint64_t)v->i : UINT64_MAX;
	const struct dense_ids *d = &c->a->ids;
	const struct trace_process *p;
	char safe[4 * 64 + 1], text[sizeof(safe) + 40], pid[16] = "";
	uint32_t number, process;
	int ret;

	if (v->type == VALUE_TEXT)
		return put_others(c, out, v);
	ret = hash_map_intern(&c->numbers, upid, 1, &number);
	if (ret < 0)
		return ret;
	if (ret && v->type != VALUE_INT) {
		add_text(c, "other");
	} else if (ret) {
		process = dense_process(d, (uint32_t)upid);
		p = dense_process_row(d, process);
		if (p)
			snprintf(pid, sizeof(pid), "%u", p->pid);
		textsafe_escape(safe, sizeof(safe), dense_process_comm(d, process),
				strlen(dense_process_comm(d, process)), NULL);
		snprintf(text, sizeof(text), "%s%" PRIu64 " %s %s", is_rest(c, p) ? "r" : "", upid,
			 pid, safe);
		add_text(c, text);
		if (array_reserve(&c->upids, &c->upid_cap, c->upid_cnt + 1) < 0)
			return -ENOMEM;
		c->upids[c->upid_cnt++] = (uint32_t)upid;
	}
	page_put_int(out, number);
	return 0;
}

/* ---- a result ---- */

static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct page_columns *c = ctx;

	c->cols = calloc(col_cnt, sizeof(*c->cols));
	if (!c->cols)
		return -ENOMEM;
	c->col_cnt = col_cnt;
	for (unsigned int i = 0; i < col_cnt; i++) {
		c->cols[i].name = names[i];
		c->cols[i].is_bin = !strcmp(names[i], "t_ns");
		c->cols[i].is_thread = !strcmp(names[i], "utid");
		c->cols[i].is_process = c->cols[i].is_thread || !strcmp(names[i], "upid");
	}
	return 0;
}

static void put_bin(struct page_columns *c, struct page_column *col, int64_t t_ns)
{
	uint64_t ts_ns = context_abs(c->a, t_ns);
	size_t bin = col->bin;

	if (c->bins->edges[bin] != ts_ns)
		bin = page_bin_of(c->bins, ts_ns);
	page_put_int(&col->values, (int64_t)(bin - col->bin));
	col->bin = bin;
}

static int row(void *ctx, const struct value *values)
{
	struct page_columns *c = ctx;
	char text[40];
	int ret = 0;

	for (unsigned int i = 0; !ret && i < c->col_cnt; i++) {
		struct page_column *col = &c->cols[i];
		const struct value *v = &values[i];

		/* the first column keeps its zeros, so that its length is the number of rows */
		if (i && v->type == VALUE_INT && !v->i && !col->is_process) {
			col->zeros++;
			continue;
		}
		for (; col->zeros; col->zeros--)
			page_put(&col->values, col->values.len ? ",0" : "0");
		page_put(&col->values, col->values.len ? "," : "");
		if (v->type == VALUE_INT && col->is_bin) {
			put_bin(c, col, v->i);
		} else if (col->is_thread && v->type == VALUE_INT) {
			ret = put_thread(c, &col->values, (uint32_t)v->i);
		} else if (col->is_process) {
			ret = put_process(c, &col->values, v);
		} else if (v->type == VALUE_INT) {
			page_put_int(&col->values, v->i);
		} else if (v->type == VALUE_TEXT) {
			ret = put_text(c, &col->values, v);
		} else if (v->type == VALUE_REAL && isfinite(v->r)) {
			snprintf(text, sizeof(text), "%.17g", v->r);
			page_put(&col->values, text);
		} else {
			page_put(&col->values, "null");
		}
	}
	return ret;
}

static void drop_columns(struct page_columns *c)
{
	for (unsigned int i = 0; i < c->col_cnt; i++)
		buf_done(&c->cols[i].values);
	free(c->cols);
	c->cols = NULL;
	c->col_cnt = 0;
}

static int end(void *ctx)
{
	struct page_columns *c = ctx;

	page_put(c->out, c->is_first ? "\"" : ",\n\"");
	page_put(c->out, c->prefix ? c->prefix : "");
	page_put(c->out, c->name);
	page_put(c->out, "\":{");
	for (unsigned int i = 0; i < c->col_cnt; i++) {
		struct page_column *col = &c->cols[i];

		page_put(c->out, i ? ",\n\"" : "\"");
		page_put(c->out, col->is_bin ? "bin" : col->is_process ? "process" : col->name);
		page_put(c->out, "\":[");
		buf_add(c->out, col->values.data, col->values.len);
		page_put(c->out, "]");
		c->out->failed |= col->values.failed;
	}
	page_put(c->out, "}");
	c->is_first = false;
	drop_columns(c);
	return 0;
}

static int section(void *ctx, const char *title)
{
	struct page_columns *c = ctx;

	snprintf(c->name, sizeof(c->name), "%s", title);
	return 0;
}

static const char *const who_names[] = { "upid", "container", "unit", "user", "cgroup" };
static const enum report_by who_keys[] = { REPORT_BY_CONTAINER, REPORT_BY_UNIT, REPORT_BY_USER,
					   REPORT_BY_CGROUP };
enum { WHO_CNT = sizeof(who_keys) / sizeof(who_keys[0]) };

int page_columns_put_who(struct page_columns *c)
{
	struct task_keys keys;
	struct value row_of[1 + WHO_CNT];
	int ret = begin(c, 1 + WHO_CNT, who_names);

	section(c, "who");
	task_keys_init(&keys, &c->a->ids);
	for (size_t i = 0; !ret && i < c->upid_cnt; i++) {
		uint32_t process = dense_process(&c->a->ids, c->upids[i]);

		row_of[0] = value_int(c->upids[i]);
		for (unsigned int k = 0; k < WHO_CNT; k++)
			row_of[1 + k] = value_text(task_keys_text(&keys, who_keys[k], process));
		ret = row(c, row_of);
	}
	task_keys_done(&keys);
	return ret ? ret : end(c);
}

int page_columns_init(struct page_columns *c, const struct analysis *a,
		      const struct page_bins *bins, struct buf *out)
{
	*c = (struct page_columns){
		.sink = { c, begin, row, end, section }, .a = a, .bins = bins, .out = out,
		.is_first = true,
	};
	return strpool_new(&c->texts);
}

void page_columns_end(struct page_columns *c)
{
	page_put(c->out, ",\n\"texts\":[");
	buf_add(c->out, c->text_list.data, c->text_list.len);
	page_put(c->out, "]");
	c->out->failed |= c->text_list.failed;
}

void page_columns_done(struct page_columns *c)
{
	drop_columns(c);
	strpool_free(c->texts);
	hash_map_done(&c->numbers);
	buf_done(&c->text_list);
	free(c->upids);
}
