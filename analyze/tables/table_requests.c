/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_requests: one row per request, from queueing to completion. Rows appear in the order in
 * which requests end. Requests that are in flight at the trace's end come last, without an end. A
 * time range on end_ns stops the reading early, and with an index makes it begin late.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "analyze/views/request_owner.h"
#include "analyze/engine/table.h"
#include "table_columns.h"

#define BATCH_EVENTS 1024

struct request_table {
	struct analysis *a;
	struct fold_reader *reader;
	struct rowbuf *out;
	uint64_t until_ns;
	uint32_t cols_used;
	bool bounded, pending_done, is_of_parts;
};

/* The path of the file; in traces that have no paths, the last name that its inode had. */
static const char *file_of(const struct trace *t, const struct block_request *r)
{
	const struct trace_name *n;
	size_t path_cnt;

	trace_names(t, TRACE_NAME_PATH, &path_cnt);
	n = path_cnt ? trace_name_find(t, TRACE_NAME_PATH, r->path) :
		       trace_file_find(t, r->ino_dev, r->ino);
	return n ? n->name : NULL;
}

static int give_row(void *ctx, const struct block_request *r)
{
	struct request_table *s = ctx;
	const struct dense_ids *d = &s->a->ids;
	uint32_t thread = dense_thread(d, r->submitter), owner;
	enum owner_how how;
	uint64_t ns;
	struct cell *c;

	/* a request that a cut took over may have ended before the cut */
	if (r->end == BLOCK_END_MERGED || (r->end && r->end_ns < trace_carried_ns(s->a->trace)))
		return 0;
	c = rowbuf_add(s->out);
	table_row_cells(s->a, &table_block_requests, s->cols_used, r, c);
	owner = request_owner(s->a, r, &how);
	if (block_request_queued_ns(r))
		cell_int(&c[COL_REQUEST_QUEUED_NS], context_rel(s->a, block_request_queued_ns(r)));
	if (r->end) {
		cell_int(&c[COL_REQUEST_COMPLETE_NS], context_rel(s->a, r->complete_ns));
		cell_int(&c[COL_REQUEST_END_NS], context_rel(s->a, r->end_ns));
	}
	cell_text(&c[COL_REQUEST_OP], block_op_name(r->cmd_flags));
	cell_text(&c[COL_REQUEST_ERROR], r->status ? strerrorname_np((int)r->status) : NULL);
	if (r->end && block_request_latency(r, &ns))
		cell_int(&c[COL_REQUEST_LATENCY_NS], (int64_t)ns);
	if (block_request_queue_latency(r, &ns))
		cell_int(&c[COL_REQUEST_QUEUE_NS], (int64_t)ns);
	if (r->end && block_request_device_latency(r, &ns))
		cell_int(&c[COL_REQUEST_DEVICE_NS], (int64_t)ns);
	cell_int(&c[COL_REQUEST_SUBMITTER_UTID], dense_utid(d, thread));
	cell_int(&c[COL_REQUEST_SUBMITTER_UPID], dense_upid(d, dense_process_of(d, thread)));
	cell_int(&c[COL_REQUEST_OWNER_UPID], dense_upid(d, owner));
	cell_text(&c[COL_REQUEST_OWNER],
		  owner < EVENT_ID_FIRST ? "unknown" : dense_process_comm(d, owner));
	cell_text(&c[COL_REQUEST_OWNER_HOW], request_owner_how_name(how));
	if (r->ino) {
		cell_int(&c[COL_REQUEST_INO_DEV], r->ino_dev);
		cell_text(&c[COL_REQUEST_FILE], file_of(s->a->trace, r));
	}
	cell_text(&c[COL_REQUEST_PAGES],
		  event_shown(event_column(EVENT_REQUEST, EV_REQUEST_PAGES), r->pages));
	return 0;
}

static int give_parts(void *ctx, const struct block_request *r)
{
	struct request_table *s = ctx;
	const struct dense_ids *d = &s->a->ids;
	struct block_request part;
	enum owner_how how;
	uint32_t thread, owner;
	uint64_t ns;
	struct cell *c;

	if (r->end == BLOCK_END_MERGED || (r->end && r->end_ns < trace_carried_ns(s->a->trace)))
		return 0;
	for (uint32_t i = 0; i < block_request_parts(r); i++) {
		block_request_part(r, i, &part);
		c = rowbuf_add(s->out);
		table_row_cells(s->a, &table_request_parts, s->cols_used, &part, c);
		thread = dense_thread(d, part.submitter);
		owner = request_owner(s->a, &part, &how);
		if (block_request_queued_ns(r))
			cell_int(&c[COL_PART_QUEUED_NS],
				 context_rel(s->a, block_request_queued_ns(r)));
		if (r->end)
			cell_int(&c[COL_PART_END_NS], context_rel(s->a, r->end_ns));
		if (r->end && block_request_latency(r, &ns))
			cell_int(&c[COL_PART_LATENCY_NS], (int64_t)ns);
		cell_int(&c[COL_PART_NTH], i);
		cell_text(&c[COL_PART_OP], block_op_name(r->cmd_flags));
		cell_int(&c[COL_PART_SUBMITTER_UTID], dense_utid(d, thread));
		cell_int(&c[COL_PART_SUBMITTER_UPID], dense_upid(d, dense_process_of(d, thread)));
		cell_int(&c[COL_PART_OWNER_UPID], dense_upid(d, owner));
		cell_text(&c[COL_PART_OWNER_HOW], request_owner_how_name(how));
		if (part.ino)
			cell_text(&c[COL_PART_FILE], file_of(s->a->trace, &part));
		cell_text(&c[COL_PART_PAGES],
			  event_shown(event_column(EVENT_REQUEST, EV_REQUEST_PAGES), part.pages));
	}
	return 0;
}

/* A fold's sink. */
static int on_request(void *ctx, const void *found)
{
	return ((struct request_table *)ctx)->is_of_parts ? give_parts(ctx, found) :
							    give_row(ctx, found);
}

static int requests_open(struct analysis *a, const struct table_def *def,
			 const struct table_query *q, void *state, struct err *e)
{
	struct request_table *s = state;
	const struct fold_use use = { &fold_requests, { s, on_request } };
	struct fold_range range = { .start = FOLD_READER_AT };
	int ret = 0;

	s->a = a;
	s->is_of_parts = def == &table_request_parts;
	s->cols_used = q->cols_used;
	s->bounded = q->to_ns != INT64_MAX;
	s->until_ns = s->bounded ? context_abs(a, q->to_ns) : UINT64_MAX;
	s->bounded |= q->from_ns != INT64_MIN;
	range.to_ns = s->until_ns;
	range.from_ns = q->from_ns == INT64_MIN ? 0 : context_abs(a, q->from_ns);
	if (range.from_ns > a->start_ns)
		ret = analysis_index_of(a, fold_requests.kinds, &range.index, e);
	return ret ?: fold_reader_open(&s->reader, a, &range, &use, 1, e);
}

static void requests_close(void *state)
{
	struct request_table *s = state;

	fold_reader_close(s->reader);
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
	return request_track_pending(fold_requests_track(fold_reader_machine(s->reader, 0)),
				     s->is_of_parts ? give_parts : give_row, s);
}

const struct table_def table_block_requests = {
	.name = "block_requests", .doc = "block requests from queueing to completion",
	.cols = (const struct table_column[]){ COLS_REQUEST },
	.col_cnt = COL_REQUEST_CNT, .time_col = COL_REQUEST_END_NS,
	.cpu_col = -1, .utid_col = -1, .key_col = -1,
	.window = "coalesce(queued_ns, complete_ns) < :to AND (end_ns >= :from OR end_ns "
		  "IS NULL)",
	.is_exported = true, .kinds = 1u << EVENT_REQUEST, .events_per_row = 3,
	.state_bytes = sizeof(struct request_table),
	.open = requests_open, .step = requests_step, .close = requests_close,
};

const struct table_def table_request_parts = {
	.name = "request_parts", .doc = "parts of block requests, by owner and file",
	.cols = (const struct table_column[]){ COLS_PART },
	.col_cnt = COL_PART_CNT, .time_col = COL_PART_END_NS,
	.cpu_col = -1, .utid_col = -1, .key_col = -1,
	.kinds = 1u << EVENT_REQUEST, .events_per_row = 3,
	.state_bytes = sizeof(struct request_table),
	.open = requests_open, .step = requests_step, .close = requests_close,
};
