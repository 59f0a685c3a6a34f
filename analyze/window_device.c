/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * device_usage(from_ns, to_ns, every_ns): how busy each block device was, per bin.
 *
 * A request is in flight from its queueing (start of I/O accounting, else insert, else issue) to
 * its end, as the kernel's own counters have it. The depth of a device is the number of those:
 * its integral over time is inflight_ns, the time it was not 0 busy_ns. Both are exact at any
 * window's edges, and add up. A request that was in flight when the recording began is not seen
 * before its first event. Who asks for what does not matter here: all requests count.
 *
 * Reading begins a minute before the window: a request that has been in flight for longer (the block
 * layer's own time limit is half of that) is seen from its next event on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/block_track.h"
#include "event/keymap.h"
#include "analyze/table.h"
#include "analyze/window.h"

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

#define LOOK_BACK_NS 60000000000ull

struct device_sum {
	uint32_t dev;
	uint32_t depth;			/* now */
	uint64_t since_ns;		/* up to here it is accounted for */
	uint64_t busy_ns, inflight_ns, depth_max;
	uint64_t ios[3], bytes[3];	/* read, write, other */
	uint64_t merges, errors, lat_sum_ns;
};

struct device_scan {
	struct window w;
	struct block_track *track;
	struct event_cursor *cursor;
	const struct event *next;
	struct keymap map;
	struct device_sum *sums;
	size_t cap;
	uint64_t bin;
	bool at_end, before, open;
};

static struct device_sum *device_of(struct device_scan *s, uint32_t dev)
{
	struct device_sum *x;
	uint32_t i;
	int ret = keymap_intern(&s->map, dev, 0, &i);

	if (ret < 0)
		return NULL;
	if (i >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 16;

		x = realloc(s->sums, cap * sizeof(*x));
		if (!x)
			return NULL;
		s->sums = x;
		s->cap = cap;
	}
	if (ret) {
		s->sums[i] = (struct device_sum){ .dev = dev };
		if (!s->before)
			window_bin_span(&s->w, s->bin, &s->sums[i].since_ns, &(uint64_t){ 0 });
	}
	return &s->sums[i];
}

static void account(struct device_sum *x, uint64_t ts_ns)
{
	uint64_t dur = ts_ns > x->since_ns ? ts_ns - x->since_ns : 0;

	x->busy_ns += x->depth ? dur : 0;
	x->inflight_ns += x->depth * dur;
	if (ts_ns > x->since_ns)
		x->since_ns = ts_ns;
}

static int on_request(void *ctx, const struct block_request *r)
{
	struct device_scan *s = ctx;
	struct device_sum *x = device_of(s, r->dev);
	unsigned int op = r->cmd_flags & 0xff, kind = op < 2 ? op : 2;
	uint64_t ns;

	if (!x)
		return -ENOMEM;
	if (r->end == BLOCK_END_MERGED) {
		x->merges++;
		return 0;
	}
	x->ios[kind]++;
	x->bytes[kind] += r->bytes;
	x->errors += r->status != 0;
	if (block_request_latency(r, &ns))
		x->lat_sum_ns += ns;
	return 0;
}

static int on_event(struct device_scan *s, const struct event *ev)
{
	uint64_t rq = ev->v[EV_BLOCK_RQ];
	uint32_t dev = (uint32_t)ev->v[EV_BLOCK_DEV];
	bool was = block_track_in_flight(s->track, rq, dev), is;
	struct device_sum *x = device_of(s, dev);
	int ret = block_track_event(s->track, ev);

	if (!x || ret < 0)
		return x ? ret : -ENOMEM;
	is = block_track_in_flight(s->track, rq, dev);
	x = device_of(s, dev);		/* the sink may have moved it */
	if (was == is)
		return 0;
	account(x, ev->ts_ns);
	x->depth += is ? 1 : -1;
	if (x->depth > x->depth_max)
		x->depth_max = x->depth;
	return 0;
}

static int run_to(struct device_scan *s, uint64_t to_ns, struct err *e)
{
	int ret;

	for (;;) {
		if (!s->next && !s->at_end) {
			ret = event_cursor_next(s->cursor, &s->next, e);
			if (ret < 0)
				return ret;
			s->at_end = !ret;
			if (!ret)
				s->next = NULL;
		}
		if (s->at_end || s->next->ts_ns >= to_ns)
			return 0;
		ret = on_event(s, s->next);
		s->next = NULL;
		if (ret < 0)
			return err_set(e, ret, "out of memory");
	}
}

static void begin_bin(struct device_scan *s)
{
	uint64_t from, to;
	size_t i;

	window_bin_span(&s->w, s->bin, &from, &to);
	for (i = 0; i < s->map.cnt; i++) {
		struct device_sum *x = &s->sums[i];

		*x = (struct device_sum){ .dev = x->dev, .depth = x->depth, .since_ns = from,
					  .depth_max = x->depth };
	}
}

static void device_close(void *state)
{
	struct device_scan *s = state;

	event_cursor_close(s->cursor);
	block_track_free(s->track);
	keymap_done(&s->map);
	free(s->sums);
	free(s);
}

static int device_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void **ret_state, struct err *e)
{
	struct device_scan *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->before = true;
	ret = window_init(&s->w, a, q, e);
	if (!ret && block_track_new(&s->track, on_request, s) < 0)
		ret = err_set(e, -ENOMEM, "out of memory");
	if (!ret)
		ret = event_cursor_open(&s->cursor, a->trace, 1u << EVENT_BLOCK,
					s->w.from_ns > LOOK_BACK_NS ? s->w.from_ns - LOOK_BACK_NS
								    : 0,
					UINT64_MAX, e);
	if (!ret && s->w.from_ns < s->w.to_ns) {
		ret = run_to(s, s->w.from_ns, e);
		s->bin = s->w.first_bin;
		s->open = true;
		begin_bin(s);
	}
	if (ret < 0) {
		device_close(s);
		return ret;
	}
	s->before = false;
	*ret_state = s;
	return 0;
}

static int give_rows(struct device_scan *s, uint64_t to_ns, struct rowbuf *out)
{
	struct cell *c;
	size_t i, k;

	for (i = 0; i < s->map.cnt; i++) {
		struct device_sum *x = &s->sums[i];

		account(x, to_ns);
		if (!x->busy_ns && !x->ios[0] && !x->ios[1] && !x->ios[2] && !x->merges)
			continue;
		c = rowbuf_add(out);
		if (!c)
			return -ENOMEM;
		window_cells(&s->w, s->bin, c);
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
	}
	return 0;
}

static int device_step(void *state, struct rowbuf *out, struct err *e)
{
	struct device_scan *s = state;
	uint64_t from, to;
	int ret;

	if (!s->open)
		return 0;
	window_bin_span(&s->w, s->bin, &from, &to);
	ret = run_to(s, to, e);
	if (ret < 0)
		return ret;
	if (give_rows(s, to, out) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	s->open = ++s->bin < s->w.end_bin;
	if (s->open)
		begin_bin(s);
	return s->open;
}

const struct table_def tables_of_devices[] = {
	{
		.name = "device_usage", .doc = "how busy each block device was, per bin",
		.cols = device_cols, .col_cnt = DEVICE_COLS, .arg_cnt = 3, .time_col = -1,
		.cpu_col = -1, .utid_col = -1, .key_col = -1,
		.open = device_open, .step = device_step, .close = device_close,
	},
	{ .name = NULL },
};
