/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_states(from_ns, to_ns, every_ns, by): what threads did, per bin and group.
 *
 * The parts of a thread add up to its life inside the bin, exactly.
 */
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

static const struct view_def states_view = {
	.fold = &fold_states, .is_sorted = true,
	.place = view_place_thread,
};

const struct table_def table_thread_states = VIEW_TABLE(THREAD_STATES, states_view, struct view);
