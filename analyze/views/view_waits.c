/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_waits(from_ns, to_ns, every_ns, by): how long threads waited for a CPU, per bin and group.
 *
 * wait_ns is the waiting in the bin: runnable_ns + preempted_ns of thread_states(). All else is
 * about the waits that ended in it, with their whole length.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

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
	.place = view_place_thread, .row = give_waits,
};

const struct table_def table_sched_waits =
	VIEW_TABLE(SCHED_WAITS, waits_view);
