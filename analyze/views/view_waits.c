/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_waits(from_ns, to_ns, every_ns, by): how long threads waited for a CPU, per bin and group.
 *
 * A wait belongs to the instant it ends (the switch-in), with its whole length. It may have begun
 * any time before the window.
 */
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"

#define SUM(name, field) VIEW_NUMBER(name, struct wait_sum, field)
#define WAITS(name, per_mille) VIEW_QUANTILE(name, struct wait_sum, waits, per_mille)

static const struct table_column wait_cols[] = {
	VIEW_WINDOW, VIEW_LABELS,
	SUM("waits", waits.cnt), SUM("wait_ns", waits.sum), WAITS("wait_p50_ns", 500),
	WAITS("wait_p99_ns", 990), WAITS("wait_max_ns", 1000),
	SUM("wakeups", by_reason[RUN_QUEUE_WAKEUP]), SUM("preempts", by_reason[RUN_QUEUE_PREEMPT]),
	SUM("unknown_waits", by_reason[RUN_QUEUE_UNKNOWN]), SUM("migrations", migrations),
	VIEW_WINDOW_ARGS, { "by", COLUMN_TEXT },
};

static const struct view_def waits_view = {
	.bytes = sizeof(struct view), .fold = &fold_waits, .place = view_place_thread,
};

const struct table_def tables_of_waits[] = {
	VIEW_TABLE("sched_waits", "waits for a CPU per bin and group", wait_cols, 4, waits_view),
	{ .name = NULL },
};
