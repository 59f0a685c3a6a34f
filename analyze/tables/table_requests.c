/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_requests: one row per request, from queueing to completion. Rows appear in the order in
 * which requests end. Requests that are in flight at the trace's end come last, without an end. A
 * time range on end_ns stops the reading early.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "analyze/views/request_owner.h"
#include "analyze/engine/table.h"

#define BATCH_EVENTS 1024

static const struct table_column request_cols[] = {
	{ "queued_ns", COLUMN_INT },
	{ "issue_ns", COLUMN_INT },
	{ "complete_ns", COLUMN_INT },
	{ "end_ns", COLUMN_INT },
	{ "dev", COLUMN_INT },
	{ "part", COLUMN_INT },
	{ "sector", COLUMN_INT },
	{ "op", COLUMN_TEXT },
	{ "cmd_flags", COLUMN_INT },
	{ "bytes", COLUMN_INT },
	{ "status", COLUMN_INT },
	{ "latency_ns", COLUMN_INT },
	{ "queue_ns", COLUMN_INT },
	{ "device_ns", COLUMN_INT },
	{ "submitter_utid", COLUMN_INT },
	{ "submitter_upid", COLUMN_INT },
	{ "owner_upid", COLUMN_INT },
	{ "owner", COLUMN_TEXT },
	{ "requeues", COLUMN_INT },
	{ "parts", COLUMN_INT },
	{ "owner_how", COLUMN_TEXT },
	{ "ino", COLUMN_INT },
	{ "ino_dev", COLUMN_INT },
	{ "file", COLUMN_TEXT },
};

struct request_table {
	struct analysis *a;
	struct fold_reader *reader;
	struct rowbuf *out;
	uint64_t until_ns;
	bool bounded, pending_done;
};

static int give_row(struct request_table *s, const struct block_request *r)
{
	const struct dense_ids *d = &s->a->ids;
	uint32_t thread = dense_thread(d, r->submitter), owner;
	const struct trace_name *file;
	enum owner_how how;
	uint64_t ns;
	struct cell *c;

	/* a request that a cut took over may have ended before the cut */
	if (r->end == BLOCK_END_MERGED || (r->end && r->end_ns < trace_carried_ns(s->a->trace)))
		return 0;
	c = rowbuf_add(s->out);
	if (!c)
		return -ENOMEM;
	owner = request_owner(s->a, r, &how);
	if (block_request_queued_ns(r))
		cell_int(&c[0], context_rel(s->a, block_request_queued_ns(r)));
	if (r->issue_ns)
		cell_int(&c[1], context_rel(s->a, r->issue_ns));
	if (r->end) {
		cell_int(&c[2], context_rel(s->a, r->complete_ns));
		cell_int(&c[3], context_rel(s->a, r->end_ns));
	}
	cell_int(&c[4], r->dev);
	if (r->part)
		cell_int(&c[5], r->part);
	cell_int(&c[6], (int64_t)r->sector);
	cell_text(&c[7], block_op_name(r->cmd_flags));
	cell_int(&c[8], r->cmd_flags);
	cell_int(&c[9], (int64_t)r->bytes);
	cell_int(&c[10], r->status);
	if (r->end && block_request_latency(r, &ns))
		cell_int(&c[11], (int64_t)ns);
	if (block_request_queue_latency(r, &ns))
		cell_int(&c[12], (int64_t)ns);
	if (r->end && block_request_device_latency(r, &ns))
		cell_int(&c[13], (int64_t)ns);
	cell_int(&c[14], dense_utid(d, thread));
	cell_int(&c[15], dense_upid(d, dense_process_of(d, thread)));
	cell_int(&c[16], dense_upid(d, owner));
	cell_text(&c[17], owner < EVENT_ID_FIRST ? "unknown" : dense_process_comm(d, owner));
	cell_int(&c[18], r->requeue_cnt);
	cell_int(&c[19], r->part_cnt);
	cell_text(&c[20], request_owner_how_name(how));
	if (r->ino) {
		file = trace_file_find(s->a->trace, r->ino_dev, r->ino);
		cell_int(&c[21], (int64_t)r->ino);
		cell_int(&c[22], r->ino_dev);
		cell_text(&c[23], file ? file->name : NULL);
	}
	return 0;
}

static int on_request(void *ctx, const void *found)
{
	return give_row(ctx, found);
}

static int on_pending(void *ctx, const struct block_request *r)
{
	return give_row(ctx, r);
}

static int requests_open(struct analysis *a, const struct table_def *def,
			 const struct table_query *q, void **ret_state, struct err *e)
{
	struct request_table *s = calloc(1, sizeof(*s));
	const struct fold_use use = { &fold_requests, { s, on_request } };
	struct fold_range range = { .start = FOLD_READER_TRACE };
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->bounded = q->to_ns != INT64_MAX;
	s->until_ns = s->bounded ? context_abs(a, q->to_ns) : UINT64_MAX;
	range.to_ns = s->until_ns;
	ret = fold_reader_open(&s->reader, a, &range, &use, 1, e);
	if (ret < 0) {
		free(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

static void requests_close(void *state)
{
	struct request_table *s = state;

	fold_reader_close(s->reader);
	free(s);
}

static int requests_step(void *state, struct rowbuf *out, struct err *e)
{
	struct request_table *s = state;
	int ret;

	s->out = out;
	ret = fold_reader_run(s->reader, s->until_ns, BATCH_EVENTS, NULL, e);
	/* a bound on end_ns excludes requests without an end */
	if (ret || s->bounded || s->pending_done)
		return ret;
	s->pending_done = true;
	ret = request_track_pending(fold_requests_track(fold_reader_machine(s->reader, 0)),
				    on_pending, s);
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}

static double requests_row_cnt(const struct analysis *a, const struct table_def *def)
{
	size_t cnt, i;
	const struct trace_block *blocks = trace_blocks(a->trace, &cnt);
	double sum = 0;

	for (i = 0; i < cnt; i++)
		sum += (double)blocks[i].kind_cnt[EVENT_REQUEST];
	return sum / 3;
}

const struct table_def tables_of_requests[] = {
	{
		.name = "block_requests", .doc = "block requests from queueing to completion",
		.cols = request_cols, .col_cnt = sizeof(request_cols) / sizeof(request_cols[0]),
		.time_col = 3, .cpu_col = -1, .utid_col = -1, .key_col = -1,
		.is_event_table = true, .is_exported = true, .row_cnt = requests_row_cnt,
		.open = requests_open, .step = requests_step, .close = requests_close,
	},
	{ .name = NULL },
};
