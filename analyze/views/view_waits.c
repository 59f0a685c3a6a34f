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

#define SUM(name, field) VIEW_NUMBER(name, struct state_sum, field)
#define WAITS(name, per_mille) VIEW_QUANTILE(name, struct state_sum, waits, per_mille)

enum { COL_WAIT_NS = 8 };

static const struct table_column wait_cols[] = {
	VIEW_WINDOW, VIEW_LABELS,
	SUM("waits", waits.cnt),
	[COL_WAIT_NS] = { "wait_ns", COLUMN_INT },
	WAITS("wait_p50_ns", 500), WAITS("wait_p99_ns", 990), WAITS("wait_max_ns", 1000),
	SUM("wakeups", by_reason[THREAD_WAIT_WAKEUP]),
	SUM("preempts", by_reason[THREAD_WAIT_PREEMPT]),
	SUM("unknown_waits", by_reason[THREAD_WAIT_UNKNOWN]), SUM("migrations", migrations),
	VIEW_WINDOW_ARGS, { "by", COLUMN_TEXT },
};

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
	cell_int(&c[COL_WAIT_NS], (int64_t)wait_ns);
	return 0;
}

static const struct view_def waits_view = {
	.bytes = sizeof(struct view), .fold = &fold_waits, .is_sorted = true,
	.place = view_place_thread, .row = give_waits,
};

const struct table_def table_sched_waits =
	VIEW_TABLE("sched_waits", "waits for a CPU per bin and group", wait_cols, 4, waits_view);
