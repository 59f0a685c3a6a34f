/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * window_loss(from_ns, to_ns, every_ns): per bin and class, how many events were lost, and whether
 * the bin is complete.
 *
 * A bin is complete when nothing of what was recorded of the class is missing in it: loss_index.h.
 * Without every_ns there is always one bin, even outside the trace.
 */
#include <errno.h>

#include "analyze/views/view.h"

static const struct table_column loss_cols[] = {
	VIEW_WINDOW,
	{ "class", COLUMN_TEXT }, { "lost_events", COLUMN_INT }, { "complete", COLUMN_INT },
	VIEW_WINDOW_ARGS,
};

static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	if (!v->w.every_ns)
		v->w.end_bin = v->w.first_bin + 1;
	return 0;
}

static int run_bin(struct view *v, struct err *e)
{
	static const char *const if_recorded[LOSS_CLASS_CNT] = { "task", "sched?", "alloc?",
								 "block?" };
	struct loss_index *losses = &v->a->losses;
	unsigned int cls;

	for (cls = 0; cls < LOSS_CLASS_CNT; cls++) {
		struct cell *c = view_row(v, 0, NULL);
		struct loss_needs needs = { .sources = if_recorded[cls] };
		uint64_t from, to;

		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		from = context_abs(v->a, c[0].i);
		to = context_abs(v->a, c[1].i);
		cell_text(&c[3], loss_class_name(cls));
		cell_int(&c[4], (int64_t)loss_index_lost(losses, needs.sources, from, to));
		cell_int(&c[5], loss_index_is_complete(losses, needs, from, to, NULL, NULL));
	}
	return 0;
}

static const struct view_def loss_view = {
	.bytes = sizeof(struct view), .open = open_view, .run_bin = run_bin,
};

const struct table_def table_window_loss =
	VIEW_TABLE("window_loss", "lost events and completeness per bin and class", loss_cols, 3,
		   loss_view);
