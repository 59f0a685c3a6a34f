/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * io_usage(from_ns, to_ns, every_ns, by): requests that ended, per bin, owning group, device and
 * operation; those whose owner is not known per submitter's name and reason, too.
 *
 * A request counts in the bin in which it ends, with all its bytes. Merges are counted apart, under
 * whoever queued what was merged away. Latencies are exact up to 65536 requests of a row, within
 * 0.4 % beyond.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/block_scan.h"
#include "analyze/io_sums.h"
#include "analyze/request_rows.h"
#include "analyze/table.h"
#include "analyze/walk.h"
#include "analyze/window.h"

static const struct table_column io_cols[] = {
	WINDOW_COLUMNS,
	{ "upid", COLUMN_INT },
	{ "utid", COLUMN_INT },
	{ "name", COLUMN_TEXT },
	{ "dev", COLUMN_INT },
	{ "op", COLUMN_TEXT },
	{ "ios", COLUMN_INT },
	{ "bytes", COLUMN_INT },
	{ "errors", COLUMN_INT },
	{ "merges", COLUMN_INT },
	{ "requeues", COLUMN_INT },
	{ "unknown_owner_ios", COLUMN_INT },
	{ "lat_sum_ns", COLUMN_INT },
	{ "lat_p50_ns", COLUMN_INT },
	{ "lat_p90_ns", COLUMN_INT },
	{ "lat_p99_ns", COLUMN_INT },
	{ "lat_p999_ns", COLUMN_INT },
	{ "lat_max_ns", COLUMN_INT },
	{ "queue_p50_ns", COLUMN_INT },
	{ "queue_p99_ns", COLUMN_INT },
	{ "queue_max_ns", COLUMN_INT },
	{ "device_p50_ns", COLUMN_INT },
	{ "device_p99_ns", COLUMN_INT },
	{ "device_max_ns", COLUMN_INT },
	{ "submitter", COLUMN_TEXT },
	{ "owner_how", COLUMN_TEXT },
	{ "queue_p90_ns", COLUMN_INT },
	{ "queue_p999_ns", COLUMN_INT },
	{ "device_p90_ns", COLUMN_INT },
	{ "device_p999_ns", COLUMN_INT },
	WINDOW_ARGS,
	{ "by", COLUMN_TEXT },
};

enum { IO_COLS = WINDOW_COLS + 29 };

struct io_row {
	uint64_t unknown_owner;
	struct io_sum sum;
};

struct io_scan {
	struct analysis *a;
	struct window w;
	struct request_rows labels;	/* of this bin's rows */
	struct block_scan *scan;
	struct io_row *rows;
	size_t cap, cnt;		/* cnt: rows with memory in them */
	struct walk walk;
	struct buf mem;
	uint64_t bin;
	bool open;
};

/* The row that a request, or what an index has in its place, goes to; *ret is NULL: out of question. */
static int charged_row(struct io_scan *s, const struct block_request *r, struct io_row **ret,
		       bool *ret_is_known)
{
	struct io_row *x;
	uint32_t i;
	int is_new = request_rows_find(&s->labels, r, &i, ret_is_known);

	*ret = NULL;
	if (is_new < 0)
		return is_new == -ESRCH ? 0 : is_new;
	if (i >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;

		x = realloc(s->rows, cap * sizeof(*x));
		if (!x)
			return -ENOMEM;
		s->rows = x;
		s->cap = cap;
	}
	x = &s->rows[i];
	if (i >= s->cnt) {
		memset(x, 0, sizeof(*x));
		s->cnt = i + 1;
	}
	if (is_new) {
		x->unknown_owner = 0;
		io_sum_reset(&x->sum);
	}
	*ret = x;
	return 0;
}

static int on_request(void *ctx, const struct block_request *r)
{
	struct io_scan *s = ctx;
	struct io_row *x;
	bool is_known;
	int ret;

	if (s->walk.before)
		return 0;
	ret = charged_row(s, r, &x, &is_known);
	if (ret < 0 || !x)
		return ret;
	x->unknown_owner += !is_known && r->end != BLOCK_END_MERGED;
	return io_sum_add(&x->sum, r);
}

/* ---- walking ---- */

static int merge_cell(void *ctx, size_t cell, struct err *e)
{
	struct io_scan *s = ctx;
	struct io_sum ignored = { 0 };
	struct block_request key;
	struct io_row *x;
	struct index_in in;
	bool is_known;
	int ret = index_read(s->walk.index, cell, INDEX_REQUESTS, &s->mem, &in);

	while (!ret && (ret = io_key_next(&in, &key)) > 0) {
		uint64_t before;

		ret = charged_row(s, &key, &x, &is_known);
		if (ret < 0)
			break;
		if (!x) {
			ret = io_sum_merge(&ignored, &in);
			continue;
		}
		before = x->sum.ios;
		ret = io_sum_merge(&x->sum, &in);
		x->unknown_owner += is_known ? 0 : x->sum.ios - before;
	}
	io_sum_done(&ignored);
	return ret < 0 ? index_fail(s->walk.index, ret, e) : 1;
}

static int open_cell(void *ctx, size_t cell, struct err *e)
{
	struct io_scan *s = ctx;
	struct index_in in;
	int ret;

	if (cell == WALK_START)
		return block_scan_open(&s->scan, s->a, on_request, s, e);
	ret = index_read(s->walk.index, cell, INDEX_REQUEST_STATE, &s->mem, &in);
	if (ret < 0)
		return index_fail(s->walk.index, ret, e);
	ret = block_scan_open_cell(&s->scan, s->a, index_cell_from(s->walk.index, cell), &in,
				   on_request, s, e);
	return ret == -EBADMSG ? index_fail(s->walk.index, ret, e) : ret;
}

static int run_to(void *ctx, uint64_t to_ns, struct err *e)
{
	struct io_scan *s = ctx;
	int ret;

	while ((ret = block_scan_run(s->scan, to_ns, SIZE_MAX, e)) > 0)
		;
	return ret;
}

static void close_cell(void *ctx)
{
	struct io_scan *s = ctx;

	block_scan_close(s->scan);
	s->scan = NULL;
}

static const struct walk_ops io_walk = { merge_cell, open_cell, run_to, close_cell };

static void io_close(void *state)
{
	struct io_scan *s = state;
	size_t i;

	walk_end(&s->walk);
	for (i = 0; i < s->cnt; i++)
		io_sum_done(&s->rows[i].sum);
	free(s->rows);
	request_rows_done(&s->labels);
	buf_done(&s->mem);
	free(s);
}

static int io_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		   void **ret_state, struct err *e)
{
	struct io_scan *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->walk.decode_kinds = 1u << EVENT_BLOCK;
	ret = window_init(&s->w, a, q, e);
	if (!ret)
		ret = request_rows_init(&s->labels, a, &q->args[3], e);
	if (!ret && s->w.from_ns < s->w.to_ns) {
		ret = walk_begin(&s->walk, a, &io_walk, s, s->w.from_ns, s->w.to_ns, e);
		s->bin = s->w.first_bin;
		s->open = true;
	}
	if (ret < 0) {
		io_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

static void latency_cells(struct cell *c, struct quantile *q, const double *pcts, unsigned int cnt)
{
	unsigned int i;

	if (!q->cnt)
		return;
	for (i = 0; i < cnt; i++)
		cell_int(&c[i], (int64_t)quantile_get(q, pcts[i]));
}

static void max_cell(struct cell *c, const struct quantile *q)
{
	if (q->cnt)
		cell_int(c, (int64_t)q->max);
}

static int give_rows(struct io_scan *s, struct rowbuf *out)
{
	static const double pcts[] = { 50, 90, 99, 99.9 }, few[] = { 50, 99 }, more[] = { 90, 99.9 };
	struct cell label[REQUEST_ROW_COLS], *c;
	struct io_row *row;
	struct io_sum *x;
	uint32_t i;

	for (i = 0; i < s->labels.cnt; i++) {
		row = &s->rows[i];
		x = &row->sum;
		c = rowbuf_add(out);
		if (!c)
			return -ENOMEM;
		window_cells(&s->w, s->bin, c);
		memset(label, 0, sizeof(label));
		request_rows_cells(&s->labels, i, label);
		memcpy(&c[3], label, 5 * sizeof(*c));
		cell_int(&c[8], (int64_t)x->ios);
		cell_int(&c[9], (int64_t)x->bytes);
		cell_int(&c[10], (int64_t)x->errors);
		cell_int(&c[11], (int64_t)x->merges);
		cell_int(&c[12], (int64_t)x->requeues);
		cell_int(&c[13], (int64_t)row->unknown_owner);
		cell_int(&c[14], (int64_t)x->latency.sum);
		latency_cells(&c[15], &x->latency, pcts, 4);
		max_cell(&c[19], &x->latency);
		latency_cells(&c[20], &x->queue, few, 2);
		max_cell(&c[22], &x->queue);
		latency_cells(&c[23], &x->device, few, 2);
		max_cell(&c[25], &x->device);
		memcpy(&c[26], &label[5], 2 * sizeof(*c));
		latency_cells(&c[28], &x->queue, more, 2);
		latency_cells(&c[30], &x->device, more, 2);
	}
	request_rows_clear(&s->labels);
	return 0;
}

static int io_step(void *state, struct rowbuf *out, struct err *e)
{
	struct io_scan *s = state;
	uint64_t from, to;
	int ret;

	if (!s->open)
		return 0;
	window_bin_span(&s->w, s->bin, &from, &to);
	ret = walk_to(&s->walk, to, e);
	if (ret < 0)
		return ret;
	if (give_rows(s, out) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	s->open = ++s->bin < s->w.end_bin;
	return s->open;
}

const struct table_def tables_of_io[] = {
	{
		.name = "io_usage",
		.doc = "block requests that ended, per bin, group, device and operation",
		.cols = io_cols,
		.col_cnt = IO_COLS,
		.arg_cnt = 4,
		.time_col = -1,
		.cpu_col = -1,
		.utid_col = -1,
		.key_col = -1,
		.open = io_open,
		.step = io_step,
		.close = io_close,
	},
	{ .name = NULL },
};
