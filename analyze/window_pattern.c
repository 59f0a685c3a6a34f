/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * io_pattern(from_ns, to_ns, every_ns, by): how large block requests that ended were, and whether they
 * follow each other on the device.
 * latency_hist(from_ns, to_ns, every_ns, by): the same requests' latencies, counted by powers of two.
 *
 * Rows are those of request_rows. A request counts in the bin in which it ends. It is sequential when
 * it borders on one of the 16 requests of its row that ended before it: many are in flight at once
 * and end in another order than they were sent. Percentiles are exact up to 65536 requests of a
 * row, within 0.4 % beyond. All of the window's block events are decoded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/block_scan.h"
#include "analyze/quantile.h"
#include "analyze/request_rows.h"
#include "analyze/table.h"
#include "analyze/walk.h"
#include "analyze/window.h"

static const struct table_column pattern_cols[] = {
	WINDOW_COLUMNS, REQUEST_ROW_COLUMNS,
	{ "ios", COLUMN_INT }, { "bytes", COLUMN_INT }, { "seq_ios", COLUMN_INT },
	{ "sized_ios", COLUMN_INT }, { "size_p50_bytes", COLUMN_INT },
	{ "size_p90_bytes", COLUMN_INT }, { "size_p99_bytes", COLUMN_INT },
	{ "size_max_bytes", COLUMN_INT },
	WINDOW_ARGS, { "by", COLUMN_TEXT },
};
enum { PATTERN_COLS = WINDOW_COLS + REQUEST_ROW_COLS + 8 };

static const struct table_column hist_cols[] = {
	WINDOW_COLUMNS, REQUEST_ROW_COLUMNS,
	{ "phase", COLUMN_TEXT }, { "low_ns", COLUMN_INT }, { "high_ns", COLUMN_INT },
	{ "ios", COLUMN_INT },
	WINDOW_ARGS, { "by", COLUMN_TEXT },
};
enum { HIST_COLS = WINDOW_COLS + REQUEST_ROW_COLS + 4 };

#define SEEN_CNT 16	/* requests a new one may border on */
#define SECTOR_BYTES 512

enum { PHASE_TOTAL, PHASE_QUEUE, PHASE_DEVICE, PHASE_CNT };
static const char *const phase_names[PHASE_CNT] = { "total", "queue", "device" };

struct pattern_sum {
	uint64_t ios, bytes, seq_ios;
	struct quantile size;
	uint64_t buckets[PHASE_CNT][65];	/* 0: no time at all; n: below 2^n */
	struct { uint64_t from, to; } seen[SEEN_CNT];	/* sectors; a ring */
	unsigned int seen_at;
};

struct pattern_scan {
	struct analysis *a;
	struct window w;
	struct request_rows rows;
	struct block_scan *scan;
	struct pattern_sum *sums;
	size_t cap, cnt;		/* cnt: sums with memory in them */
	struct walk walk;
	struct buf mem;
	uint64_t bin;
	bool is_hist, open;
};

static struct pattern_sum *sum_at(struct pattern_scan *s, uint32_t row, bool is_new)
{
	struct pattern_sum *x;

	if (row >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 32;

		x = realloc(s->sums, cap * sizeof(*x));
		if (!x)
			return NULL;
		s->sums = x;
		s->cap = cap;
	}
	x = &s->sums[row];
	if (row >= s->cnt) {
		memset(x, 0, sizeof(*x));
		s->cnt = row + 1;
	} else if (is_new) {
		struct pattern_sum old = *x;

		memset(x, 0, sizeof(*x));
		x->size = old.size;
		quantile_reset(&x->size);
	}
	return x;
}

static bool is_sequential(struct pattern_sum *x, uint64_t from, uint64_t to)
{
	bool found = false;
	unsigned int i;

	for (i = 0; i < SEEN_CNT && !found; i++)
		found = x->seen[i].to > x->seen[i].from &&
			(x->seen[i].to == from || x->seen[i].from == to);
	x->seen[x->seen_at].from = from;
	x->seen[x->seen_at].to = to;
	x->seen_at = (x->seen_at + 1) % SEEN_CNT;
	return found;
}

static unsigned int bucket_of(uint64_t ns)
{
	return ns ? 64 - (unsigned int)__builtin_clzll(ns) : 0;
}

static int on_request(void *ctx, const struct block_request *r)
{
	static bool (*const measure[PHASE_CNT])(const struct block_request *, uint64_t *) = {
		block_request_latency, block_request_queue_latency, block_request_device_latency,
	};
	struct pattern_scan *s = ctx;
	struct pattern_sum *x;
	uint32_t row;
	uint64_t ns;
	unsigned int i;
	int ret;

	if (s->walk.before || r->end == BLOCK_END_MERGED)
		return 0;
	ret = request_rows_find(&s->rows, r, &row, NULL);
	if (ret < 0)
		return ret == -ESRCH ? 0 : ret;
	x = sum_at(s, row, ret == 1);
	if (!x)
		return -ENOMEM;
	x->ios++;
	x->bytes += r->bytes;
	if (r->bytes) {
		x->seq_ios += is_sequential(x, r->sector, r->sector + r->bytes / SECTOR_BYTES);
		if (quantile_add(&x->size, r->bytes) < 0)
			return -ENOMEM;
	}
	for (i = 0; i < PHASE_CNT; i++) {
		if (measure[i](r, &ns))
			x->buckets[i][bucket_of(ns)]++;
	}
	return 0;
}

/* ---- walking: every cell is decoded ---- */

static int merge_cell(void *ctx, size_t cell, struct err *e)
{
	return 0;
}

static int open_cell(void *ctx, size_t cell, struct err *e)
{
	struct pattern_scan *s = ctx;
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
	struct pattern_scan *s = ctx;
	int ret;

	while ((ret = block_scan_run(s->scan, to_ns, SIZE_MAX, e)) > 0)
		;
	return ret;
}

static void close_cell(void *ctx)
{
	struct pattern_scan *s = ctx;

	block_scan_close(s->scan);
	s->scan = NULL;
}

static const struct walk_ops pattern_walk = { merge_cell, open_cell, run_to, close_cell };

static void pattern_close(void *state)
{
	struct pattern_scan *s = state;
	size_t i;

	walk_end(&s->walk);
	for (i = 0; i < s->cnt; i++)
		quantile_done(&s->sums[i].size);
	free(s->sums);
	request_rows_done(&s->rows);
	buf_done(&s->mem);
	free(s);
}

static int pattern_open(struct analysis *a, const struct table_def *def,
			const struct table_query *q, void **ret_state, struct err *e)
{
	struct pattern_scan *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->is_hist = def->cols == hist_cols;
	ret = window_init(&s->w, a, q, e);
	if (!ret)
		ret = request_rows_init(&s->rows, a, &q->args[3], e);
	if (!ret && s->w.from_ns < s->w.to_ns) {
		ret = walk_begin(&s->walk, a, &pattern_walk, s, s->w.from_ns, s->w.to_ns, e);
		s->bin = s->w.first_bin;
		s->open = true;
	}
	if (ret < 0) {
		pattern_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

static int give_pattern(struct pattern_scan *s, uint32_t row, struct rowbuf *out)
{
	struct pattern_sum *x = &s->sums[row];
	struct cell *c = rowbuf_add(out);

	if (!c)
		return -ENOMEM;
	window_cells(&s->w, s->bin, c);
	request_rows_cells(&s->rows, row, &c[WINDOW_COLS]);
	c += WINDOW_COLS + REQUEST_ROW_COLS;
	cell_int(&c[0], (int64_t)x->ios);
	cell_int(&c[1], (int64_t)x->bytes);
	cell_int(&c[2], (int64_t)x->seq_ios);
	cell_int(&c[3], (int64_t)x->size.cnt);
	if (x->size.cnt) {
		cell_int(&c[4], (int64_t)quantile_get(&x->size, 50));
		cell_int(&c[5], (int64_t)quantile_get(&x->size, 90));
		cell_int(&c[6], (int64_t)quantile_get(&x->size, 99));
		cell_int(&c[7], (int64_t)x->size.max);
	}
	return 0;
}

static int give_hist(struct pattern_scan *s, uint32_t row, struct rowbuf *out)
{
	struct pattern_sum *x = &s->sums[row];
	unsigned int phase, i;
	struct cell *c;

	for (phase = 0; phase < PHASE_CNT; phase++) {
		for (i = 0; i < 65; i++) {
			if (!x->buckets[phase][i])
				continue;
			c = rowbuf_add(out);
			if (!c)
				return -ENOMEM;
			window_cells(&s->w, s->bin, c);
			request_rows_cells(&s->rows, row, &c[WINDOW_COLS]);
			c += WINDOW_COLS + REQUEST_ROW_COLS;
			cell_text(&c[0], phase_names[phase]);
			cell_int(&c[1], i ? (int64_t)(1ull << (i - 1)) : 0);
			cell_int(&c[2], i < 63 ? (int64_t)(1ull << i) : INT64_MAX);
			cell_int(&c[3], (int64_t)x->buckets[phase][i]);
		}
	}
	return 0;
}

static int pattern_step(void *state, struct rowbuf *out, struct err *e)
{
	struct pattern_scan *s = state;
	uint64_t from, to;
	uint32_t row;
	int ret;

	if (!s->open)
		return 0;
	window_bin_span(&s->w, s->bin, &from, &to);
	ret = walk_to(&s->walk, to, e);
	for (row = 0; !ret && row < s->rows.cnt; row++) {
		ret = s->is_hist ? give_hist(s, row, out) : give_pattern(s, row, out);
		if (ret < 0)
			err_set(e, ret, "out of memory");
	}
	if (ret < 0)
		return ret;
	request_rows_clear(&s->rows);
	s->open = ++s->bin < s->w.end_bin;
	return s->open;
}

#define PATTERN_TABLE(sql_name, columns, cnt, doc_)                                                \
	{                                                                                          \
		.name = sql_name, .doc = doc_, .cols = columns, .col_cnt = cnt, .arg_cnt = 4,      \
		.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,                      \
		.open = pattern_open, .step = pattern_step, .close = pattern_close,                \
	}

const struct table_def tables_of_patterns[] = {
	PATTERN_TABLE("io_pattern", pattern_cols, PATTERN_COLS,
		      "sizes and order of block requests, per bin, group, device and operation"),
	PATTERN_TABLE("latency_hist", hist_cols, HIST_COLS,
		      "block requests by latency, in powers of two"),
	{ .name = NULL },
};
