/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_waits(from_ns, to_ns, every_ns, by): how long threads waited for a CPU, per bin and group.
 * wait_kinds(from_ns, to_ns, every_ns, by): what threads waited for, of any kind: a row for each
 * kind of wait and each system call that waited.
 *
 * wait_ns is the waiting in the bin; in sched_waits() that is runnable_ns + preempted_ns of
 * thread_states(), and in wait_kinds() all of a life but running. All else is about the waits that
 * ended in the bin, with their whole length.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "model/call.h"
#include "table_columns.h"

/* Sleeps and throttling have sums of their own. */
static int place_cpu_waits(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	return key->b ? 0 : view_place_thread(v, key, ret);
}

/* A thread that did not wait has no row. */
static int give_waits(struct view *v, const struct view_place *at, void *sum)
{
	const struct state_sum *x = sum;
	uint64_t wait_ns = x->ns[THREAD_RUNNABLE] + x->ns[THREAD_PREEMPTED];
	struct cell *c;

	if (!wait_ns && !x->waits.cnt && !x->by_reason[THREAD_WAIT_UNKNOWN])
		return 0;
	c = view_row(v, at->group, sum);
	if (!c)
		return -ENOMEM;
	cell_int(&c[COL_SCHED_WAITS_WAIT_NS], (int64_t)wait_ns);
	return 0;
}

static const struct view_def waits_view = {
	.bytes = sizeof(struct view), .fold = &fold_waits, .is_sorted = true,
	.place = place_cpu_waits, .row = give_waits,
};

/* ---- of any kind ---- */

static int place_kind(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	ret->b = key->b;
	return view_place_thread(v, key, ret);
}

static int give_kind(struct view *v, uint32_t group, enum thread_state state, uint32_t call,
		     uint64_t wait_ns, struct state_sum *x)
{
	enum call_machine machine = call_machine_of(trace_get(v->a->trace, "machine"));
	uint64_t waits = state == THREAD_UNKNOWN ? 0 : x->waits.cnt;
	struct state_sum none = { .migrations = 0 };
	struct cell *c;

	if (!wait_ns && !waits)
		return 0;
	c = view_row(v, group, state == THREAD_UNKNOWN ? &none : x);
	if (!c)
		return -ENOMEM;
	cell_text(&c[COL_WAIT_KINDS_KIND], wait_kind_name(wait_kind_of(machine, state, call)));
	if (call && call_name(machine, call))
		cell_text(&c[COL_WAIT_KINDS_CALL], call_name(machine, call));
	cell_int(&c[COL_WAIT_KINDS_WAITS], (int64_t)waits);
	cell_int(&c[COL_WAIT_KINDS_WAIT_NS], (int64_t)wait_ns);
	return 0;
}

static int give_kinds(struct view *v, const struct view_place *at, void *sum)
{
	struct state_sum *x = sum;
	enum thread_state state = at->b & 15;
	int ret;

	if (at->b)
		return give_kind(v, at->group, state, (uint32_t)(at->b >> 4), x->ns[state], x);
	ret = give_kind(v, at->group, THREAD_RUNNABLE, 0,
			x->ns[THREAD_RUNNABLE] + x->ns[THREAD_PREEMPTED], x);
	return ret < 0 ? ret :
			 give_kind(v, at->group, THREAD_UNKNOWN, 0, x->ns[THREAD_UNKNOWN], x);
}

static const struct view_def kinds_view = {
	.bytes = sizeof(struct view), .fold = &fold_states, .is_sorted = true,
	.place = place_kind, .row = give_kinds,
};

const struct table_def table_wait_kinds =
	VIEW_TABLE(WAIT_KINDS, kinds_view);

const struct table_def table_sched_waits =
	VIEW_TABLE(SCHED_WAITS, waits_view);
