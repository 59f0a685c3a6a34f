/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * device_usage(from_ns, to_ns, every_ns): how busy each block device was, per bin.
 *
 * A request is in flight from its queueing (start of I/O accounting, else insert, else issue) to
 * its last completion, for as long as its latency. The depth of a device is the number of those:
 * its integral over time is inflight_ns, the time it was not 0 busy_ns. Both are exact at any
 * window's edges, and add up. A request that was in flight when the recording began is not seen
 * before its first event. Who asks for what does not matter here: all requests count.
 *
 * open_requests(from_ns, to_ns): the requests that are in flight at the window's end.
 */
#include <errno.h>
#include <string.h>

#include "analyze/fold/folds.h"
#include "analyze/views/request_owner.h"
#include "analyze/views/view.h"
#include "table_columns.h"

#define OPEN_BATCH 4096	/* events */

enum { OP_READ, OP_WRITE, OP_OTHER, OP_CNT };

struct device {
	struct view_carried carried;
	uint64_t dev;
	uint64_t depth;			/* now; what follows is of the bin */
	uint64_t since_ns;		/* up to here time is accounted for */
	uint64_t busy_ns, inflight_ns, depth_max;
	uint64_t ios[OP_CNT], bytes[OP_CNT];
	uint64_t merges, errors, lat_sum_ns, timed_ios;
};

static const struct fold_sums_def devices_def = { .bytes = sizeof(struct device) };

/* Each bin resets a device's sums, except its depth. */
static void enter(struct view *v, void *row)
{
	struct device *x = row;

	*x = (struct device){ .carried = x->carried, .dev = x->dev, .depth = x->depth,
			      .since_ns = v->bin_from_ns, .depth_max = x->depth };
}

static void account(struct device *x, uint64_t ts_ns)
{
	uint64_t dur = ts_ns > x->since_ns ? ts_ns - x->since_ns : 0;

	x->busy_ns += x->depth ? dur : 0;
	x->inflight_ns += x->depth * dur;
	if (ts_ns > x->since_ns)
		x->since_ns = ts_ns;
}

/* Of /proc/diskstats' kinds: zeroes, appends to zones and secure erases count as writes there. */
static unsigned int kind_of(const struct block_request *r)
{
	static const char *const writes[] = { "write", "write_zeroes", "zone_append",
					      "secure_erase" };
	const char *op = block_op_name(r->cmd_flags);

	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		if (!strcmp(op, writes[i]))
			return OP_WRITE;
	return strcmp(op, "read") ? OP_OTHER : OP_READ;
}

static void add_request(struct device *x, const struct block_request *r)
{
	unsigned int kind = kind_of(r);
	uint64_t ns;

	if (r->end == BLOCK_END_MERGED) {
		x->merges++;
		return;
	}
	x->merges += r->merge_cnt;
	x->ios[kind]++;
	x->bytes[kind] += r->bytes;
	x->errors += r->status != 0;
	if (block_request_latency(r, &ns)) {
		x->lat_sum_ns += ns;
		x->timed_ios++;
	}
}

static int on_step(void *ctx, const void *found)
{
	struct view *v = ctx;
	const struct request_step *step = found;
	struct device *x = view_carry(v, step->dev, 0);

	if (!x)
		return -ENOMEM;
	x->dev = step->dev;
	if (!v->run.before) {
		view_enter(v, x);
		if (step->ended)
			add_request(x, step->ended);
		if (step->more_in_flight)
			account(x, step->ts_ns);
	}
	x->depth += (uint64_t)(int64_t)step->more_in_flight;
	if (x->depth > x->depth_max)
		x->depth_max = x->depth;
	return 0;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	struct device *x = sum;

	account(x, v->bin_to_ns);
	if (!x->busy_ns && !x->ios[OP_READ] && !x->ios[OP_WRITE] && !x->ios[OP_OTHER] &&
	    !x->merges)
		return;
	view_row(v, at->group, x);
}

static const struct view_def device_view = {
	.fold = &fold_in_flight, .sums = &devices_def,
	.carry = on_step, .enter = enter, .row = give_row,
};

/* ---- open_requests ---- */

static int give_open(void *ctx, const struct block_request *r)
{
	struct view *v = ctx;
	const struct dense_ids *d = &v->a->ids;
	struct cell *c = view_row(v, 0, NULL);
	uint64_t queued_ns = block_request_queued_ns(r);
	enum owner_how how;

	cell_int(&c[COL_OPEN_REQUESTS_DEV], r->dev);
	cell_text(&c[COL_OPEN_REQUESTS_OP], block_op_name(r->cmd_flags));
	cell_int(&c[COL_OPEN_REQUESTS_BYTES], (int64_t)r->bytes);
	cell_int(&c[COL_OPEN_REQUESTS_QUEUED_NS], context_rel(v->a, queued_ns));
	cell_int(&c[COL_OPEN_REQUESTS_OPEN_NS],
		 v->bin_to_ns > queued_ns ? (int64_t)(v->bin_to_ns - queued_ns) : 0);
	cell_int(&c[COL_OPEN_REQUESTS_SUBMITTER_UTID],
		 dense_utid(d, dense_thread(d, r->submitter)));
	cell_int(&c[COL_OPEN_REQUESTS_OWNER_UPID], dense_upid(d, request_owner(v->a, r, &how)));
	cell_text(&c[COL_OPEN_REQUESTS_OWNER_HOW], request_owner_how_name(how));
	return 0;
}

static int ignore(void *ctx, const void *found)
{
	return 0;
}

/* Makes the state at the window's end alone. */
static int run_open(struct view *v, struct err *e)
{
	const struct fold_use use = { &fold_requests, { v, ignore } };
	struct fold_range range = { .from_ns = v->bin_to_ns - 1, .to_ns = v->bin_to_ns,
				    .start = FOLD_READER_AT };
	struct fold_reader *reader = NULL;
	int ret = analysis_index_of(v->a, fold_requests.kinds, &range.index, e);

	ret = ret ?: fold_reader_open(&reader, v->a, &range, &use, 1, e);
	if (!ret)
		do
			ret = fold_reader_run(reader, range.to_ns, OPEN_BATCH, NULL, e);
		while (ret > 0);
	if (!ret)
		ret = request_track_open(fold_requests_track(fold_reader_machine(reader, 0)),
					 give_open, v);
	fold_reader_close(reader);
	return ret;
}

static const struct view_def open_view = {
	.is_one_bin = true, .run_bin = run_open,
};

const struct table_def table_open_requests = VIEW_TABLE(OPEN_REQUESTS, open_view, struct view);

const struct table_def table_device_usage = VIEW_TABLE(DEVICE_USAGE, device_view, struct view);
