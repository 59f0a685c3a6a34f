/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_offcpu: offcpu_waits(from_ns, to_ns): the events of table offcpu with the state of their
 * thread.
 *
 * A wait off the CPU and the wait for a CPU at its end finish with the same switch, which two BPF
 * programs report, in either order and some ns apart. So the first wait for a CPU that ends after
 * the beginning of the wait off the CPU decides whether an uninterruptible sleep was a wait for a
 * disk. All other states follow from the kernel's bits.
 *
 * The window is read in bins, to limit the number of buffered rows.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "table_columns.h"

#define BIN_NS 1000000000ull

struct last_wait {			/* the last wait for a CPU of a thread */
	uint64_t end_ns;
	uint8_t slept;			/* copied from struct thread_wait */
};

struct offcpu_view {
	struct view v;
	struct last_wait *last;		/* by dense thread */
	struct event *pending;		/* events whose switch was not read yet */
	size_t pending_cnt, pending_cap;
};

static void give(struct offcpu_view *o, const struct event *ev, uint8_t slept)
{
	const struct analysis *a = o->v.a;
	const uint64_t *v = ev->v;
	enum thread_state state = ev->flags & EVENT_F_PREEMPT ?
					  THREAD_PREEMPTED :
					  thread_state_of_bits(v[EV_OFFCPU_STATE]);
	struct cell *c;

	if (ev->ts_ns < o->v.w.from_ns || ev->ts_ns >= o->v.w.to_ns)
		return;
	if (state == THREAD_UNINTERRUPTIBLE && slept == THREAD_DISK)
		state = THREAD_DISK;
	c = view_row(&o->v, 0, NULL);
	cell_int(&c[COL_OFFCPU_WAITS_TS_NS], context_rel(a, ev->ts_ns));
	cell_int(&c[COL_OFFCPU_WAITS_UTID], ev->utid);
	cell_text(&c[COL_OFFCPU_WAITS_STATE], thread_state_name(state));
	cell_int(&c[COL_OFFCPU_WAITS_WAKER_UTID], (int64_t)v[EV_OFFCPU_WAKER_UTID]);
	cell_int(&c[COL_OFFCPU_WAITS_STACK], (int64_t)v[EV_OFFCPU_STACK]);
	if (v[EV_OFFCPU_WAKER_STACK])
		cell_int(&c[COL_OFFCPU_WAITS_WAKER_STACK], (int64_t)v[EV_OFFCPU_WAKER_STACK]);
	cell_int(&c[COL_OFFCPU_WAITS_DUR_NS], (int64_t)v[EV_OFFCPU_DUR_NS]);
	cell_int(&c[COL_OFFCPU_WAITS_RUNNABLE_NS], (int64_t)v[EV_OFFCPU_RUNNABLE_NS]);
}

static uint32_t thread_of(const struct offcpu_view *o, const struct event *ev)
{
	return dense_thread(&o->v.a->ids, ev->utid);
}

static bool is_over(const struct offcpu_view *o, const struct event *ev)
{
	return o->last[thread_of(o, ev)].end_ns > ev->ts_ns - ev->v[EV_OFFCPU_DUR_NS];
}

/* Returns the rows of events whose switch was read, and of events before before_ns. */
static void give_pending(struct offcpu_view *o, uint64_t before_ns)
{
	size_t i, left = 0;

	for (i = 0; i < o->pending_cnt; i++) {
		const struct event *ev = &o->pending[i];
		bool over = is_over(o, ev);

		if (!over && ev->ts_ns >= before_ns)
			o->pending[left++] = *ev;
		else
			give(o, ev, over ? o->last[thread_of(o, ev)].slept : 0);
	}
	o->pending_cnt = left;
}

static int on_event(struct offcpu_view *o, const struct event *ev)
{
	if (!is_over(o, ev))
		return array_add(&o->pending, &o->pending_cap, &o->pending_cnt, *ev);
	give(o, ev, o->last[thread_of(o, ev)].slept);
	return 0;
}

static int on_found(void *ctx, const void *found)
{
	struct offcpu_view *o = ctx;
	const struct states_found *x = found;

	if (x->offcpu)
		return on_event(o, x->offcpu);
	if (!x->wait)
		return 0;
	o->last[x->wait->thread] = (struct last_wait){ x->wait->to_ns, x->wait->slept };
	give_pending(o, 0);
	return 0;
}

/* ---- the view ---- */

static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	struct window *w = &v->w;

	w->every_ns = BIN_NS;
	w->base_ns = w->from_ns;
	w->first_bin = 0;
	w->end_bin = (w->to_ns - w->from_ns + BIN_NS - 1) / BIN_NS;
	return 0;
}

static int begin(struct view *v, struct err *e)
{
	struct offcpu_view *o = (struct offcpu_view *)v;
	const struct fold_run_config c = { .def = &fold_offcpu, .window = &v->w,
					   .sink = { o, on_found } };

	o->last = calloc(v->a->ids.thread_cnt, sizeof(*o->last));
	return o->last ? fold_run_begin(&v->run, v->a, &c, e) : -ENOMEM;
}

static int run_bin(struct view *v, struct err *e)
{
	struct offcpu_view *o = (struct offcpu_view *)v;
	uint64_t decided;
	int ret = fold_run_to(&v->run, v->bin_to_ns, &decided, e);

	if (!ret)
		give_pending(o, v->bin + 1 < v->w.end_bin ? v->bin_from_ns : UINT64_MAX);
	return ret;
}

static void close_view(struct view *v)
{
	free(((struct offcpu_view *)v)->last);
	free(((struct offcpu_view *)v)->pending);
}

static const struct view_def offcpu_view = {
	.is_one_bin = true, .open = open_view,
	.begin = begin, .run_bin = run_bin, .close = close_view,
};

const struct table_def table_offcpu_waits =
	VIEW_TABLE(OFFCPU_WAITS, offcpu_view, struct offcpu_view);
