/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_states(from_ns, to_ns, every_ns, by): what threads did, per bin and group.
 *
 * The parts of a thread add up to its life inside the bin, exactly.
 */
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"

#define STATE(name, state) VIEW_NUMBER(name, struct state_sum, ns[THREAD_##state])

static const struct table_column state_cols[] = {
	VIEW_WINDOW, VIEW_LABELS,
	STATE("running_ns", RUNNING), STATE("runnable_ns", RUNNABLE),
	STATE("preempted_ns", PREEMPTED), STATE("disk_ns", DISK),
	STATE("uninterruptible_ns", UNINTERRUPTIBLE), STATE("sleeping_ns", SLEEPING),
	STATE("stopped_ns", STOPPED), STATE("unknown_ns", UNKNOWN),
	VIEW_WINDOW_ARGS, { "by", COLUMN_TEXT },
};

static const struct view_def states_view = {
	.bytes = sizeof(struct view), .fold = &fold_states, .is_sorted = true,
	.place = view_place_thread,
};

const struct table_def table_thread_states =
	VIEW_TABLE("thread_states", "what threads did per bin and group", state_cols, 4,
		   states_view);
