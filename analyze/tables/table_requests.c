/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_requests: block_requests, request_parts and sched_slices.
 *
 * block_requests: one row per request, from queueing to completion, in the order in which requests
 * end. Requests in flight at the trace's end are last, without an end. If the query has a range of
 * end_ns, only events up to its end are read, and with an index only from its start.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/scope.h"
#include "analyze/engine/table.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "analyze/views/view_requests.h"
#include "table_columns.h"

#define BATCH_EVENTS 1024

struct request_table {
	struct analysis *a;
	struct fold_reader *reader;
	struct rowbuf *out;
	uint64_t until_ns;
	uint64_t cols_used;
	bool bounded, pending_done, is_of_parts;
};

/*
 * Returns the file's path, or in traces without paths, the last name of the inode; NULL: unknown.
 */
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

	/* A trace that was cut may contain requests that ended before the cut: skip these. */
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

/* Implements fold_sink.found(). */
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

/*
 * sched_slices: each uninterrupted stay of a thread on a CPU, and the wait before it.
 *
 * Pieces of the CPU timeline are joined across block edges. With arguments from_ns and to_ns,
 * slices are clipped to the window, so that the slices of each CPU fill the window exactly;
 * otherwise slices are whole. A wait may have begun at any earlier time: if a query uses the
 * columns of waits, the index supplies the waits at the start of reading; without an index the
 * trace is read from its start.
 */

static const struct table_column slice_cols[] = {
	COLS_SLICE
	{ "from_ns", COLUMN_INT }, { "to_ns", COLUMN_INT },
};

struct slice {
	uint64_t from_ns, to_ns;
	uint64_t wait_ns;
	uint32_t utid;
	uint8_t wait_reason;
	bool open;
};

struct slice_cpu {
	bool exists;
	struct slice slice;		/* the slice being joined */
	struct thread_wait wait;	/* of the current thread */
};

struct slice_scan {
	struct analysis *a;
	struct table_query q;
	struct fold_def cpu;	/* fold_cpu, plus the states in which threads leave the CPU */
	struct fold_reader *reader;	/* reads CPU time, and waits only if used */
	struct rowbuf *out;		/* rows of the present step */
	uint64_t from_ns, to_ns;	/* edges of the window */
	uint64_t decided_ns;		/* all pieces before this time are processed */
	bool cuts;			/* the query has a window */
	unsigned int cpu_cnt;
	struct slice_cpu *cpus;
};

static const char *end_reason(const struct event *ev, uint32_t utid)
{
	if (!ev)
		return "cut";
	if (ev->utid != utid)
		return "unknown";
	if (ev->flags & EVENT_F_PREEMPT)
		return "preempted";
	return ev->v[EV_SWITCH_PREV_STATE] ? "slept" : "runnable";
}

/* Adds a row for the CPU's slice. ev: the switch at the slice's to_ns; NULL: no switch ended it. */
static int give_slice(struct slice_scan *s, unsigned int cpu, const struct event *ev)
{
	struct slice *x = &s->cpus[cpu].slice;
	uint64_t from = x->from_ns, to = x->to_ns;
	uint32_t utid = dense_utid(&s->a->ids, dense_thread(&s->a->ids, x->utid));
	struct cell *c;

	if (!x->open)
		return 0;
	x->open = false;
	if (from < s->from_ns)
		from = s->from_ns;
	if (to > s->to_ns) {
		to = s->to_ns;
		ev = NULL;
	}
	/* The slice began before the scan, at an unknown time: skip it. */
	if (!s->cuts && x->from_ns == fold_reader_begin_ns(s->reader) &&
	    x->from_ns != s->a->start_ns)
		return 0;
	if (from > to || (from == to && (!ev || from == s->to_ns)) || !s->cpus[cpu].exists ||
	    (s->q.has_cpu && s->q.cpu != cpu) || (s->q.has_utid && s->q.utid != utid))
		return 0;
	c = rowbuf_add(s->out);
	cell_int(&c[COL_SLICE_START_NS], context_rel(s->a, from));
	cell_int(&c[COL_SLICE_END_NS], context_rel(s->a, to));
	cell_int(&c[COL_SLICE_DUR_NS], (int64_t)(to - from));
	cell_int(&c[COL_SLICE_CPU], cpu);
	cell_int(&c[COL_SLICE_UTID], utid);
	cell_text(&c[COL_SLICE_END_REASON], end_reason(ev, x->utid));
	if (ev && ev->utid == x->utid)
		cell_int(&c[COL_SLICE_END_STATE], (int64_t)ev->v[EV_SWITCH_PREV_STATE]);
	if (x->wait_reason && x->from_ns >= s->from_ns) {
		cell_int(&c[COL_SLICE_WAIT_NS], (int64_t)x->wait_ns);
		cell_text(&c[COL_SLICE_WAIT_REASON], thread_wait_reason_name(x->wait_reason));
	}
	return 0;
}

static int on_piece(void *ctx, const void *found)
{
	struct slice_scan *s = ctx;
	const struct cpu_piece *p = found;
	struct slice *x = &s->cpus[p->cpu].slice;
	const struct thread_wait *w = &s->cpus[p->cpu].wait;
	int ret = 0;

	if (x->open && x->utid != p->utid)
		ret = give_slice(s, p->cpu, NULL);
	if (ret < 0)
		return ret;
	if (!x->open) {
		*x = (struct slice){ .from_ns = p->from_ns, .utid = p->utid, .open = true };
		if (w->reason && w->to_ns == p->from_ns &&
		    dense_utid(&s->a->ids, w->thread) == p->utid) {
			x->wait_ns = w->to_ns - w->from_ns;
			x->wait_reason = w->reason;
		}
	}
	x->to_ns = p->to_ns;
	if (!p->end)
		return 0;
	/* the wait belongs to this slice only */
	s->cpus[p->cpu].wait.reason = THREAD_WAIT_UNKNOWN;
	return give_slice(s, p->cpu, p->end);
}

/*
 * Stores a wait for a CPU until the piece that follows the wait: the wait ends at the start of that
 * piece, and is reported after the CPU's previous piece.
 */
static int on_state(void *ctx, const void *found)
{
	struct slice_scan *s = ctx;
	const struct states_found *x = found;

	if (x->wait && x->wait->cpu < s->cpu_cnt)
		s->cpus[x->wait->cpu].wait = *x->wait;
	return x->ran ? on_piece(s, x->ran) : 0;
}

static void slices_close(void *state)
{
	struct slice_scan *s = state;

	fold_reader_close(s->reader);
	free(s->cpus);
}

static int slices_prepare(struct slice_scan *s, struct err *e)
{
	bool want_waits = s->q.cols_used & (1u << COL_SLICE_WAIT_NS | 1u << COL_SLICE_WAIT_REASON);
	static const uint32_t columns[EVENT_KIND_CNT] = {
		[EVENT_SWITCH] = FOLD_CPU_COLUMNS | 1u << EV_SWITCH_PREV_STATE,
	};
	const struct fold_use cpu = { &s->cpu, { s, on_piece } };
	const struct fold_use waits = { &fold_waits, { s, on_state } };
	struct fold_range range = { .to_ns = s->to_ns, .start = FOLD_READER_AT };
	uint64_t from = s->from_ns;
	int ret;

	s->cpu = fold_cpu;
	s->cpu.columns = columns;
	s->cpu_cnt = trace_cpu_cnt(s->a->trace);
	s->cpus = calloc(s->cpu_cnt + 1, sizeof(*s->cpus));
	if (!s->cpus)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->a->cpu_cnt; i++)
		s->cpus[s->a->cpus[i]].exists = true;
	if (!s->cuts && s->q.from_ns > 0) {
		from = context_abs(s->a, s->q.from_ns);
		/*
		 * Start one ns early, to distinguish a slice that begins at the range's start from
		 * an older slice.
		 */
		from = from > s->a->start_ns ? from - 1 : from;
	}
	range.from_ns = from;
	s->decided_ns = from;
	if (from >= s->to_ns)
		return 0;
	ret = want_waits && from > s->a->start_ns ?
		      analysis_index_of(s->a, fold_waits.asks, &range.index, e) : 0;
	return ret < 0 ? ret : fold_reader_open(&s->reader, s->a, &range,
						want_waits ? &waits : &cpu, 1, e);
}

static int slices_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void *state, struct err *e)
{
	struct slice_scan *s = state;
	struct table_query args = *q;
	struct window w;
	int ret;

	s->a = a;
	s->q = *q;
	s->cuts = q->args[0].type != VALUE_NULL || q->args[1].type != VALUE_NULL;
	memset(&args.args[2], 0, sizeof(args.args[2]));
	ret = window_init(&w, a, &args, e);
	if (ret < 0)
		return ret;
	s->from_ns = w.from_ns;
	s->to_ns = w.to_ns;
	return slices_prepare(s, e);
}

/* Returns whether all slices that begin inside the query's range are complete. */
static bool has_all_wanted(const struct slice_scan *s)
{
	uint64_t until = context_abs(s->a, s->q.to_ns);

	if (s->cuts || s->decided_ns < until)
		return false;
	for (unsigned int i = 0; i < s->cpu_cnt; i++)
		if (s->cpus[i].slice.open && s->cpus[i].slice.from_ns < until)
			return false;
	return true;
}

/* Reads the next block. */
static int slices_step(void *state, struct rowbuf *out, struct err *e)
{
	struct slice_scan *s = state;
	int ret;

	if (!s->reader)
		return 0;
	s->out = out;
	ret = fold_reader_run(s->reader, s->decided_ns + 1, SIZE_MAX, &s->decided_ns, e);
	if (ret < 0 || (s->decided_ns < s->to_ns && has_all_wanted(s)))
		return ret;
	if (s->decided_ns < s->to_ns)
		return 1;
	for (unsigned int i = 0; i < s->cpu_cnt && !ret; i++)
		ret = give_slice(s, i, NULL);
	return ret;
}

const struct table_def table_sched_slices = {
	.name = "sched_slices", .doc = "stays of threads on CPUs, with the wait before",
	.cols = slice_cols, .col_cnt = COL_SLICE_CNT, .arg_cnt = 2,
	.time_col = COL_SLICE_START_NS,
	.cpu_col = COL_SLICE_CPU, .utid_col = COL_SLICE_UTID, .key_col = -1,
	.is_exported = true, .kinds = 1u << EVENT_SWITCH, .events_per_row = 1,
	.state_bytes = sizeof(struct slice_scan),
	.open = slices_open, .step = slices_step, .close = slices_close,
};
