/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * io_pattern(from_ns, to_ns, every_ns, by): how large block requests that ended were, and whether
 * they follow each other on the device. latency_hist(from_ns, to_ns, every_ns, by): the same
 * requests' latencies, counted by powers of two.
 *
 * Rows are those of request_rows. A request counts in the bin in which it ends. It is sequential
 * when it borders on one of the 16 requests of its row that ended before it: many are in flight
 * at once and end in another order than they were sent. Percentiles are exact up to 65536
 * requests of a row, within 0.4 % beyond. All of the window's block events are decoded.
 */
#include <errno.h>
#include <string.h>

#include "analyze/fold/fold_requests.h"
#include "analyze/views/request_rows.h"

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

static int pattern_add(void *ctx, const void *found)
{
	static bool (*const measure[PHASE_CNT])(const struct block_request *, uint64_t *) = {
		block_request_latency, block_request_queue_latency, block_request_device_latency,
	};
	struct fold_target *t = ctx;
	const struct block_request *r = found;
	struct pattern_sum *x;
	struct fold_key key;
	unsigned int i;
	uint64_t ns;
	void *sum;
	int ret;

	if (r->end_ns < t->from_ns || r->end_ns >= t->to_ns || r->end == BLOCK_END_MERGED)
		return 0;
	key = request_key(t->ids, r);
	ret = t->sum(t, r->end_ns, &key, &sum, &ns);
	if (ret <= 0)
		return ret;
	x = sum;
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

static void pattern_reset(void *sum)
{
	struct pattern_sum *x = sum;
	struct quantile size = x->size;

	quantile_reset(&size);
	*x = (struct pattern_sum){ .size = size };
}

static void pattern_done(void *sum)
{
	quantile_done(&((struct pattern_sum *)sum)->size);
}

static const struct fold_sums_def pattern_sums = {
	.bytes = sizeof(struct pattern_sum), .reset = pattern_reset, .done = pattern_done,
	.add = pattern_add,
};

/* ---- rows ---- */

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	return request_rows_place(&((struct request_view *)v)->rows, key, ret, NULL);
}

/* A row whose first columns are filled; the first of the others. */
static struct cell *labelled_row(struct view *v, uint32_t row)
{
	struct cell *c = view_row(v);

	if (!c)
		return NULL;
	request_rows_cells(&((struct request_view *)v)->rows, row, &c[WINDOW_COLS]);
	return c + WINDOW_COLS + REQUEST_ROW_COLS;
}

static int give_pattern(struct view *v, const struct view_place *at, void *sum)
{
	struct pattern_sum *x = sum;
	struct cell *c = labelled_row(v, at->group);

	if (!c)
		return -ENOMEM;
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

static int give_hist(struct view *v, const struct view_place *at, void *sum)
{
	struct pattern_sum *x = sum;
	unsigned int phase, i;
	struct cell *c;

	for (phase = 0; phase < PHASE_CNT; phase++) {
		for (i = 0; i < 65; i++) {
			if (!x->buckets[phase][i])
				continue;
			c = labelled_row(v, at->group);
			if (!c)
				return -ENOMEM;
			cell_text(&c[0], phase_names[phase]);
			cell_int(&c[1], i ? (int64_t)(1ull << (i - 1)) : 0);
			cell_int(&c[2], i < 63 ? (int64_t)(1ull << i) : INT64_MAX);
			cell_int(&c[3], (int64_t)x->buckets[phase][i]);
		}
	}
	return 0;
}

#define PATTERN_VIEW(give)                                                                        \
	{                                                                                         \
		.bytes = sizeof(struct request_view), .open = request_view_open,                  \
		.close = request_view_close, .fold = &fold_requests, .sums = &pattern_sums,       \
		.place = place, .row = give, .bin_is_over = request_view_bin_is_over,             \
	}

static const struct view_def pattern_view = PATTERN_VIEW(give_pattern);
static const struct view_def hist_view = PATTERN_VIEW(give_hist);

const struct table_def tables_of_patterns[] = {
	VIEW_TABLE("io_pattern",
		   "sizes and order of block requests, per bin, group, device and operation",
		   pattern_cols, PATTERN_COLS, 4, pattern_view),
	VIEW_TABLE("latency_hist", "block requests by latency, in powers of two", hist_cols,
		   HIST_COLS, 4, hist_view),
	{ .name = NULL },
};
