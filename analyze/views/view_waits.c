/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_waits: views of states and waits of threads.
 *
 * thread_states(from_ns, to_ns, every_ns, by): time per state, bin and group. The states of a
 * thread add up exactly to its lifetime in the bin.
 *
 * sched_waits(from_ns, to_ns, every_ns, by): waits for a CPU, per bin and group.
 *
 * wait_kinds(from_ns, to_ns, every_ns, by): waits of any kind: a row per kind of wait and system
 * call.
 *
 * throttled_periods(from_ns, to_ns): number of quota periods in which groups were throttled.
 *
 * wait_ns is the waiting time in the bin: in sched_waits() runnable_ns + preempted_ns of
 * thread_states(), in wait_kinds() the whole lifetime of threads except running. All other columns
 * are about waits that ended in the bin, with their whole length.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "model/call.h"
#include "table_columns.h"

static int place_state(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	enum thread_state state = key->b & 15;

	return v->is_of_activity && (state == THREAD_SLEEPING || state == THREAD_STOPPED) ?
		       0 : view_place_thread(v, key, ret);
}

static const struct view_def states_view = {
	.fold = &fold_states, .is_sorted = true, .place = place_state,
};

const struct table_def table_thread_states = VIEW_TABLE(THREAD_STATES, states_view, struct view);

/* Skips sleeps and throttling, which have keys of their own. */
static int place_cpu_waits(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	return key->b ? 0 : view_place_thread(v, key, ret);
}

/* Skips threads that did not wait. */
static void give_waits(struct view *v, const struct view_place *at, void *sum)
{
	const struct state_sum *x = sum;
	uint64_t wait_ns = x->ns[THREAD_RUNNABLE] + x->ns[THREAD_PREEMPTED];
	struct cell *c;

	if (!wait_ns && !x->waits.cnt && !x->by_reason[THREAD_WAIT_UNKNOWN])
		return;
	c = view_row(v, at->group, sum);
	cell_int(&c[COL_SCHED_WAITS_WAIT_NS], (int64_t)wait_ns);
}

static const struct view_def waits_view = {
	.fold = &fold_waits, .is_sorted = true,
	.place = place_cpu_waits, .row = give_waits,
};

/* ---- waits of any kind ---- */

static int place_kind(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	ret->b = key->b;
	return view_place_thread(v, key, ret);
}

static void give_kind(struct view *v, uint32_t group, enum thread_state state, uint32_t call,
		      uint64_t wait_ns, struct state_sum *x)
{
	enum call_machine machine = call_machine_of(trace_get(v->a->trace, "machine"));
	uint64_t waits = state == THREAD_UNKNOWN ? 0 : x->waits.cnt;
	struct state_sum none = { .migrations = 0 };
	struct cell *c;

	if (!wait_ns && !waits)
		return;
	c = view_row(v, group, state == THREAD_UNKNOWN ? &none : x);
	cell_text(&c[COL_WAIT_KINDS_KIND], wait_kind_name(wait_kind_of(machine, state, call)));
	cell_text(&c[COL_WAIT_KINDS_CALL], call_name(machine, call));
	cell_int(&c[COL_WAIT_KINDS_WAITS], (int64_t)waits);
	cell_int(&c[COL_WAIT_KINDS_WAIT_NS], (int64_t)wait_ns);
}

static void give_kinds(struct view *v, const struct view_place *at, void *sum)
{
	struct state_sum *x = sum;
	enum thread_state state = at->b & 15;

	if (at->b) {
		give_kind(v, at->group, state, (uint32_t)(at->b >> 4), x->ns[state], x);
		return;
	}
	give_kind(v, at->group, THREAD_RUNNABLE, 0,
		  x->ns[THREAD_RUNNABLE] + x->ns[THREAD_PREEMPTED], x);
	give_kind(v, at->group, THREAD_UNKNOWN, 0, x->ns[THREAD_UNKNOWN], x);
}

static const struct view_def kinds_view = {
	.fold = &fold_states, .is_sorted = true,
	.place = place_kind, .row = give_kinds,
};

/* ---- throttled periods ---- */

struct throttled {
	struct view_carried carried;
	uint64_t periods;
	uint64_t last_ns;	/* the last instant at which a period is known to have ended */
};

static const struct fold_sums_def throttled_def = { .bytes = sizeof(struct throttled) };

/*
 * All threads of a group get a new quota at once, and none of these threads ends its wait earlier.
 * So waits that contain a common instant count as one period. A wait that begins after the end of
 * all these waits belongs to the next period.
 */
static int on_throttled(void *ctx, const void *found)
{
	struct view *v = ctx;
	const struct thread_wait *w = ((const struct states_found *)found)->wait;
	const struct trace_process *p;
	struct throttled *t;

	if (!w || w->reason != THREAD_WAIT_THROTTLED || w->to_ns < v->w.from_ns ||
	    w->to_ns >= v->w.to_ns || !scope_has_thread_at(v->scope, w->thread, w->to_ns, NULL))
		return 0;
	p = dense_process_row(&v->a->ids, dense_process_of(&v->a->ids, w->thread));
	t = p ? view_carry(v, 0, p->cgroup_id) : NULL;
	if (!t)
		return p ? -ENOMEM : 0;
	if (w->from_ns >= t->last_ns) {
		t->periods++;
		t->last_ns = w->to_ns;
	}
	return 0;
}

static void give_throttled(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, 0, sum);

	cell_int(&c[COL_THROTTLED_PERIODS_CGROUP_ID], (int64_t)at->b);
}

static const struct view_def throttled_view = {
	.is_one_bin = true, .fold = &fold_waits,
	.sums = &throttled_def, .carry = on_throttled, .row = give_throttled,
};

const struct table_def table_throttled_periods =
	VIEW_TABLE(THROTTLED_PERIODS, throttled_view, struct view);

const struct table_def table_wait_kinds = VIEW_TABLE(WAIT_KINDS, kinds_view, struct view);

const struct table_def table_sched_waits = VIEW_TABLE(SCHED_WAITS, waits_view, struct view);

/*
 * woken_by(from_ns, to_ns): the processes that ended sleeps of the report's threads: a row per
 * process, and one for interrupts. Counts sleeps that are entirely in the window and whose wake-up
 * was recorded.
 */

/* Returns the sleep of a finding; NULL: the finding has none, or the sleep does not count. */
static const struct thread_sleep *sleep_of(const struct view *v, const struct states_found *x)
{
	const struct thread_sleep *s = x->sleep;

	return s && s->is_seen && s->left_ns >= v->w.from_ns && s->end_ns < v->w.to_ns ? s : NULL;
}

struct waker {
	struct view_carried carried;
	/* at_ns: end of the longest sleep */
	uint64_t wakeups, slept_ns, slept_max_ns, at_ns;
	uint32_t longest;		/* the thread of the longest sleep */
};

static const struct fold_sums_def wakers_def = { .bytes = sizeof(struct waker) };

static int on_woken(void *ctx, const void *found)
{
	struct view *v = ctx;
	const struct thread_sleep *s = sleep_of(v, found);
	uint64_t slept_ns;
	struct waker *w;

	if (!s || !scope_has_thread_at(v->scope, s->thread, s->end_ns, NULL))
		return 0;
	slept_ns = s->end_ns - s->left_ns;
	w = view_carry(v, s->is_irq, s->is_irq ? 0 : dense_process_of(&v->a->ids, s->waker));
	if (!w)
		return -ENOMEM;
	if (!w->wakeups++ || slept_ns > w->slept_max_ns ||
	    (slept_ns == w->slept_max_ns && s->thread < w->longest)) {
		w->slept_max_ns = slept_ns;
		w->at_ns = s->end_ns;
		w->longest = s->thread;
	}
	w->slept_ns += slept_ns;
	return 0;
}

static void give_waker(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, 0, sum);

	if (!at->group)
		cell_int(&c[COL_WOKEN_BY_UPID], dense_upid(&v->a->ids, (uint32_t)at->b));
	cell_int(&c[COL_WOKEN_BY_IRQ], at->group);
}

static const struct view_def woken_by_view = {
	.is_one_bin = true, .fold = &fold_sleeps,
	.sums = &wakers_def, .carry = on_woken, .row = give_waker,
};

const struct table_def table_woken_by = VIEW_TABLE(WOKEN_BY, woken_by_view, struct view);

/*
 * offcpu_waits(from_ns, to_ns): the events of table offcpu with the state of their thread.
 *
 * A wait off the CPU and the wait for a CPU at its end finish with the same switch, which two BPF
 * programs report, in either order and some ns apart. So the first wait for a CPU that ends after
 * the beginning of the wait off the CPU decides whether an uninterruptible sleep was a wait for a
 * disk. All other states follow from the kernel's bits.
 *
 * The window is read in bins, to limit the number of buffered rows.
 */

#define BIN_NS 1000000000ull

struct last_wait {			/* a thread's last wait for a CPU */
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

/* Adds the rows of events whose switch was read, and of events before before_ns. */
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
