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
#include <string.h>

#include "analyze/fold/fold_requests.h"
#include "analyze/views/request_rows.h"

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

struct io_view {
	struct request_view r;
	bool is_known;		/* the owner of the request that was looked up last */
};

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	struct io_view *s = (struct io_view *)v;

	return request_rows_place(&s->r.rows, key, ret, &s->is_known);
}

static void set_owner(struct view *v, const struct fold_key *key, void *sum)
{
	((struct request_sum *)sum)->owner_is_unknown = !((struct io_view *)v)->is_known;
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

static int give_row(struct view *v, const struct view_place *at, void *sum)
{
	static const double pcts[] = { 50, 90, 99, 99.9 }, few[] = { 50, 99 },
			    more[] = { 90, 99.9 };
	struct cell label[REQUEST_ROW_COLS] = { 0 }, *c = view_row(v);
	struct request_sum *x = sum;

	if (!c)
		return -ENOMEM;
	request_rows_cells(&((struct io_view *)v)->r.rows, at->group, label);
	memcpy(&c[3], label, 5 * sizeof(*c));
	cell_int(&c[8], (int64_t)x->ios);
	cell_int(&c[9], (int64_t)x->bytes);
	cell_int(&c[10], (int64_t)x->errors);
	cell_int(&c[11], (int64_t)x->merges);
	cell_int(&c[12], (int64_t)x->requeues);
	cell_int(&c[13], (int64_t)x->unknown_owner_ios);
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
	return 0;
}

static const struct view_def io_view = {
	.bytes = sizeof(struct io_view), .open = request_view_open, .close = request_view_close,
	.fold = &fold_requests, .place = place, .found = set_owner, .row = give_row,
	.bin_is_over = request_view_bin_is_over,
};

const struct table_def tables_of_io[] = {
	VIEW_TABLE("io_usage", "block requests that ended, per bin, group, device and operation",
		   io_cols, IO_COLS, 4, io_view),
	{ .name = NULL },
};
