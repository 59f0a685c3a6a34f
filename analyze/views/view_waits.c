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
 * thread_states(), in wait_kinds() all of a lifetime except running. All other columns are about
 * waits that ended in the bin, with their whole length.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
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

/* Sleeps and throttling have keys of their own: skip these. */
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
 * All threads of a group get a new quota at once, and none of them has ended its wait before. So
 * waits that share an instant count as one period, and a wait that begins after the end of all of
 * them belongs to the next period.
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

/* Returns NULL if there is no sleep or it does not count. */
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
