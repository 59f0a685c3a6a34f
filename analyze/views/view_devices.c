/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * device_usage(from_ns, to_ns, every_ns): how busy each block device was, per bin.
 *
 * A request is in flight from its queueing (start of I/O accounting, else insert, else issue) to
 * its end, as the kernel's own counters have it. The depth of a device is the number of those:
 * its integral over time is inflight_ns, the time it was not 0 busy_ns. Both are exact at any
 * window's edges, and add up. A request that was in flight when the recording began is not seen
 * before its first event. Who asks for what does not matter here: all requests count.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/fold_requests.h"
#include "analyze/views/view.h"
#include "base/array.h"

static const struct table_column device_cols[] = {
	WINDOW_COLUMNS,
	{ "dev", COLUMN_INT }, { "busy_ns", COLUMN_INT }, { "inflight_ns", COLUMN_INT },
	{ "depth_max", COLUMN_INT }, { "read_ios", COLUMN_INT }, { "read_bytes", COLUMN_INT },
	{ "write_ios", COLUMN_INT }, { "write_bytes", COLUMN_INT }, { "other_ios", COLUMN_INT },
	{ "other_bytes", COLUMN_INT }, { "merges", COLUMN_INT }, { "errors", COLUMN_INT },
	{ "lat_sum_ns", COLUMN_INT },
	WINDOW_ARGS,
};
enum { DEVICE_COLS = WINDOW_COLS + 13 };

struct device_sum {
	uint32_t dev;
	uint32_t depth;			/* now */
	uint64_t bin;			/* what follows is of this bin */
	uint64_t since_ns;		/* up to here time is accounted for */
	uint64_t busy_ns, inflight_ns, depth_max;
	uint64_t ios[3], bytes[3];	/* read, write, other */
	uint64_t merges, errors, lat_sum_ns;
};

struct device_view {
	struct view v;
	struct fold_run run;
	struct hash_map map;		/* device -> sums */
	struct device_sum *sums;
	size_t cap;
};

/* A device's sums begin anew in each bin, but for its depth. */
static void enter_bin(const struct view *v, struct device_sum *x)
{
	if (x->bin == v->bin)
		return;
	*x = (struct device_sum){ .dev = x->dev, .depth = x->depth, .bin = v->bin,
				  .since_ns = v->bin_from_ns, .depth_max = x->depth };
}

static void account(struct device_sum *x, uint64_t ts_ns)
{
	uint64_t dur = ts_ns > x->since_ns ? ts_ns - x->since_ns : 0;

	x->busy_ns += x->depth ? dur : 0;
	x->inflight_ns += x->depth * dur;
	if (ts_ns > x->since_ns)
		x->since_ns = ts_ns;
}

static void add_request(struct device_sum *x, const struct block_request *r)
{
	unsigned int op = r->cmd_flags & 0xff, kind = op < 2 ? op : 2;
	uint64_t ns;

	if (r->end == BLOCK_END_MERGED) {
		x->merges++;
		return;
	}
	x->ios[kind]++;
	x->bytes[kind] += r->bytes;
	x->errors += r->status != 0;
	if (block_request_latency(r, &ns))
		x->lat_sum_ns += ns;
}

static int on_step(void *ctx, const void *found)
{
	struct device_view *s = ctx;
	const struct request_step *step = found;
	struct device_sum *x;
	uint32_t i;
	int ret = hash_map_intern(&s->map, step->dev, 0, &i);

	if (ret < 0 || array_reserve(&s->sums, &s->cap, i + 1) < 0)
		return -ENOMEM;
	x = &s->sums[i];
	if (ret)
		*x = (struct device_sum){ .dev = step->dev, .bin = UINT64_MAX };
	if (s->run.before) {
		x->depth += (uint32_t)step->more_in_flight;
		return 0;
	}
	enter_bin(&s->v, x);
	if (step->ended)
		add_request(x, step->ended);
	if (!step->more_in_flight)
		return 0;
	account(x, step->ts_ns);
	x->depth += (uint32_t)step->more_in_flight;
	if (x->depth > x->depth_max)
		x->depth_max = x->depth;
	return 0;
}

static void close_view(struct view *v)
{
	struct device_view *s = (struct device_view *)v;

	fold_run_done(&s->run);
	hash_map_done(&s->map);
	free(s->sums);
}

static int begin(struct view *v, struct err *e)
{
	struct device_view *s = (struct device_view *)v;
	const struct fold_run_config c = { .def = &fold_in_flight, .window = &v->w,
					   .sink = { s, on_step } };

	return fold_run_begin(&s->run, v->a, &c, e);
}

static int give_row(struct view *v, const struct device_sum *x)
{
	struct cell *c = view_row(v);
	size_t k;

	if (!c)
		return -ENOMEM;
	cell_int(&c[3], x->dev);
	cell_int(&c[4], (int64_t)x->busy_ns);
	cell_int(&c[5], (int64_t)x->inflight_ns);
	cell_int(&c[6], (int64_t)x->depth_max);
	for (k = 0; k < 3; k++) {
		cell_int(&c[7 + 2 * k], (int64_t)x->ios[k]);
		cell_int(&c[8 + 2 * k], (int64_t)x->bytes[k]);
	}
	cell_int(&c[13], (int64_t)x->merges);
	cell_int(&c[14], (int64_t)x->errors);
	cell_int(&c[15], (int64_t)x->lat_sum_ns);
	return 0;
}

static int run_bin(struct view *v, struct err *e)
{
	struct device_view *s = (struct device_view *)v;
	uint64_t decided;
	size_t i;
	int ret = fold_run_to(&s->run, v->bin_to_ns, &decided, e);

	if (ret < 0)
		return ret;
	for (i = 0; i < s->map.cnt; i++) {
		struct device_sum *x = &s->sums[i];

		enter_bin(v, x);
		account(x, v->bin_to_ns);
		if (!x->busy_ns && !x->ios[0] && !x->ios[1] && !x->ios[2] && !x->merges)
			continue;
		if (give_row(v, x) < 0)
			return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static const struct view_def device_view = {
	.bytes = sizeof(struct device_view), .close = close_view, .begin = begin,
	.run_bin = run_bin,
};

const struct table_def tables_of_devices[] = {
	VIEW_TABLE("device_usage", "how busy each block device was, per bin", device_cols,
		   DEVICE_COLS, 3, device_view),
	{ .name = NULL },
};
