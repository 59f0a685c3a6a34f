/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_slices: each uninterrupted stay of a thread on a CPU, and the wait before it.
 *
 * Pieces of the CPU timeline are joined across block edges. With the arguments from_ns and to_ns
 * slices are cut at that window's edges: for every CPU they fill it exactly. Without, they are
 * whole. A wait may have begun any time before: only when its columns are asked for is the trace
 * read from its start.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu_scan.h"
#include "analyze/run_queue.h"
#include "analyze/table.h"
#include "analyze/window.h"

static const struct table_column slice_cols[] = {
	{ "start_ns", COLUMN_INT },  { "end_ns", COLUMN_INT },	{ "dur_ns", COLUMN_INT },
	{ "cpu", COLUMN_INT },	     { "utid", COLUMN_INT },	{ "end_reason", COLUMN_TEXT },
	{ "end_state", COLUMN_INT }, { "wait_ns", COLUMN_INT }, { "wait_reason", COLUMN_TEXT },
	{ "from_ns", COLUMN_INT },   { "to_ns", COLUMN_INT },
};

enum { SLICE_COLS = 9, SLICE_COL_WAIT = 7, SLICE_COL_WAIT_REASON = 8 };

struct slice {
	uint64_t from_ns, to_ns;
	uint64_t wait_ns;
	uint32_t utid;
	uint8_t wait_reason;
	bool open;
};

struct slice_scan {
	struct analysis *a;
	struct table_query q;
	struct cpu_scan *scan;
	struct run_queue *waits;
	struct rowbuf *out;		/* during a step */
	uint64_t from_ns, to_ns;	/* cut here */
	bool cuts;			/* a window was given */
	unsigned int cpu_cnt;
	uint8_t *exists;		/* by CPU */
	struct slice *slices;		/* by CPU: the one being joined */
	struct run_queue_wait *wait;	/* by CPU: of who runs now */
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

/* ev: the switch that ended it at its to_ns; NULL: something else did. */
static int give_slice(struct slice_scan *s, unsigned int cpu, const struct event *ev)
{
	struct slice *x = &s->slices[cpu];
	uint64_t from = x->from_ns, to = x->to_ns;
	uint32_t utid = ident_utid(&s->a->ident, ident_thread(&s->a->ident, x->utid));
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
	/* open when the scan began, after the trace's start: its beginning is not known here */
	if (!s->cuts && x->from_ns == cpu_scan_begin_ns(s->scan) && x->from_ns != s->a->start_ns)
		return 0;
	if (from > to || (from == to && (!ev || from == s->to_ns)) || !s->exists[cpu] ||
	    (s->q.has_cpu && s->q.cpu != cpu) || (s->q.has_utid && s->q.utid != utid))
		return 0;
	c = rowbuf_add(s->out);
	if (!c)
		return -ENOMEM;
	cell_int(&c[0], context_rel(s->a, from));
	cell_int(&c[1], context_rel(s->a, to));
	cell_int(&c[2], (int64_t)(to - from));
	cell_int(&c[3], cpu);
	cell_int(&c[4], utid);
	cell_text(&c[5], end_reason(ev, x->utid));
	if (ev && ev->utid == x->utid)
		cell_int(&c[6], (int64_t)ev->v[EV_SWITCH_PREV_STATE]);
	if (x->wait_reason && x->from_ns >= s->from_ns) {
		cell_int(&c[SLICE_COL_WAIT], (int64_t)x->wait_ns);
		cell_text(&c[SLICE_COL_WAIT_REASON], run_queue_reason_name(x->wait_reason));
	}
	return 0;
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	struct slice_scan *s = ctx;
	struct slice *x = &s->slices[p->cpu];
	const struct run_queue_wait *w = &s->wait[p->cpu];
	int ret = 0;

	if (x->open && x->utid != p->utid)
		ret = give_slice(s, p->cpu, NULL);
	if (ret < 0)
		return ret;
	if (!x->open) {
		*x = (struct slice){ .from_ns = p->from_ns, .utid = p->utid, .open = true };
		if (w->reason && w->to_ns == p->from_ns &&
		    ident_utid(&s->a->ident, w->thread) == p->utid) {
			x->wait_ns = w->to_ns - w->from_ns;
			x->wait_reason = w->reason;
		}
	}
	x->to_ns = p->to_ns;
	return p->end ? give_slice(s, p->cpu, p->end) : 0;
}

static int on_event(void *ctx, const struct event *ev)
{
	struct slice_scan *s = ctx;
	struct run_queue_wait w;

	if (!s->waits || ev->cpu >= s->cpu_cnt)
		return 0;
	if (run_queue_event(s->waits, ev, &w))
		s->wait[ev->cpu] = w;
	else if (ev->kind == EVENT_SWITCH)
		s->wait[ev->cpu].reason = RUN_QUEUE_UNKNOWN;
	return 0;
}

static void slices_close(void *state)
{
	struct slice_scan *s = state;

	cpu_scan_close(s->scan);
	run_queue_free(s->waits);
	free(s->exists);
	free(s->slices);
	free(s->wait);
	free(s);
}

static int slices_prepare(struct slice_scan *s, struct err *e)
{
	bool want_waits = s->q.cols_used & (1u << SLICE_COL_WAIT | 1u << SLICE_COL_WAIT_REASON);
	struct cpu_scan_config c = { .piece = on_piece,
				     .event = on_event,
				     .ctx = s,
				     .from_start = want_waits,
				     .want_wakeups = want_waits };
	uint64_t from = s->from_ns, to = s->to_ns;
	unsigned int i;

	s->cpu_cnt = trace_cpu_cnt(s->a->trace);
	s->exists = calloc(s->cpu_cnt + 1, 1);
	s->slices = calloc(s->cpu_cnt + 1, sizeof(*s->slices));
	s->wait = calloc(s->cpu_cnt + 1, sizeof(*s->wait));
	if (!s->exists || !s->slices || !s->wait ||
	    (want_waits && run_queue_new(&s->waits, &s->a->ident) < 0))
		return err_set(e, -ENOMEM, "out of memory");
	for (i = 0; i < s->a->cpu_cnt; i++)
		s->exists[s->a->cpus[i]] = 1;
	if (!s->cuts && s->q.from_ns > 0) {
		from = context_abs(s->a, s->q.from_ns);
		/* strictly before, to tell a slice that begins there from one that is open there */
		from = from > s->a->start_ns ? from - 1 : from;
	}
	c.from_ns = from;
	c.to_ns = to;
	if (from >= to)
		return 0;
	return cpu_scan_open(&s->scan, s->a, &c, e);
}

static int slices_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void **ret_state, struct err *e)
{
	struct slice_scan *s = calloc(1, sizeof(*s));
	struct table_query args = *q;
	struct window w;
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->q = *q;
	s->cuts = q->args[0].type != VALUE_NULL || q->args[1].type != VALUE_NULL;
	memset(&args.args[2], 0, sizeof(args.args[2]));
	ret = window_init(&w, a, &args, e);
	if (ret >= 0) {
		s->from_ns = w.from_ns;
		s->to_ns = w.to_ns;
		ret = slices_prepare(s, e);
	}
	if (ret < 0) {
		slices_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

/* No slice that begins before the wanted range's end can still come. */
static bool has_all_wanted(const struct slice_scan *s, uint64_t decided_ns)
{
	uint64_t until = context_abs(s->a, s->q.to_ns);
	unsigned int i;

	if (s->cuts || decided_ns < until)
		return false;
	for (i = 0; i < s->cpu_cnt; i++)
		if (s->slices[i].open && s->slices[i].from_ns < until)
			return false;
	return true;
}

static int slices_step(void *state, struct rowbuf *out, struct err *e)
{
	struct slice_scan *s = state;
	uint64_t decided;
	unsigned int i;
	int ret;

	if (!s->scan)
		return 0;
	s->out = out;
	ret = cpu_scan_step(s->scan, &decided, e);
	if (ret > 0 && has_all_wanted(s, decided))
		return 0;
	for (i = 0; i < s->cpu_cnt && !ret; i++)
		ret = give_slice(s, i, NULL);
	return ret < 0 ? err_set(e, ret, "out of memory") : ret;
}

static double slices_row_cnt(const struct analysis *a, const struct table_def *def)
{
	size_t cnt, i;
	const struct trace_block *blocks = trace_blocks(a->trace, &cnt);
	double sum = 0;

	for (i = 0; i < cnt; i++)
		sum += (double)blocks[i].kind_cnt[EVENT_SWITCH];
	return sum;
}

const struct table_def tables_of_slices[] = {
	{
		.name = "sched_slices", .doc = "stays of threads on CPUs, with the wait before",
		.cols = slice_cols, .col_cnt = SLICE_COLS, .arg_cnt = 2,
		.time_col = 0, .cpu_col = 3, .utid_col = 4, .key_col = -1,
		.is_event_table = true, .is_exported = true, .row_cnt = slices_row_cnt,
		.open = slices_open, .step = slices_step, .close = slices_close,
	},
	{ .name = NULL },
};
