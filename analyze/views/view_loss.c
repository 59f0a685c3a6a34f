/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_loss: window_loss(from_ns, to_ns, every_ns): per bin and class, the number of lost events,
 * and whether the bin is complete.
 *
 * A bin is complete if no event of the recorded sources of the class is missing: loss_index.h.
 * Without every_ns there is always one bin, even outside the trace.
 */

#include "analyze/views/view.h"
#include "table_columns.h"

static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	if (!v->w.every_ns)
		v->w.end_bin = v->w.first_bin + 1;
	return 0;
}

static int run_bin(struct view *v, struct err *e)
{
	static const char *const if_recorded[LOSS_CLASS_CNT] = { "task", "sched?", "alloc?",
								 "block?", "cpu?", "mem?", "app?" };
	struct loss_index *losses = &v->a->losses;

	for (unsigned int cls = 0; cls < LOSS_CLASS_CNT; cls++) {
		struct cell *c = view_row(v, 0, NULL);
		struct loss_needs needs = { .sources = if_recorded[cls] };
		uint64_t from, to;

		from = context_abs(v->a, c[COL_WINDOW_LOSS_T_NS].i);
		to = context_abs(v->a, c[COL_WINDOW_LOSS_T_END_NS].i);
		cell_text(&c[COL_WINDOW_LOSS_CLASS], loss_class_name(cls));
		cell_int(&c[COL_WINDOW_LOSS_LOST_EVENTS],
			 (int64_t)loss_index_lost(losses, needs.sources, from, to));
		cell_int(&c[COL_WINDOW_LOSS_COMPLETE],
			 loss_index_is_complete(losses, needs, from, to, NULL, NULL));
	}
	return 0;
}

static const struct view_def loss_view = {
	.open = open_view, .run_bin = run_bin,
};

const struct table_def table_window_loss = VIEW_TABLE(WINDOW_LOSS, loss_view, struct view);
