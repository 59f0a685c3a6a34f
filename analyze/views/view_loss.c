/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * window_loss(from_ns, to_ns, every_ns): per bin and class, how many events were lost, and whether
 * the bin is complete.
 *
 * A bin is complete when nothing of the class was lost in it, none of its sources was off, and
 * all of it lies inside the trace and its valid blocks. Without every_ns there is always one bin,
 * even outside the trace.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/engine/table.h"
#include "analyze/fold/window.h"

#define BATCH_ROWS 256

static const struct table_column loss_cols[] = {
	WINDOW_COLUMNS,
	{ "class", COLUMN_TEXT }, { "lost_events", COLUMN_INT }, { "complete", COLUMN_INT },
	WINDOW_ARGS,
};

enum { LOSS_COLS = WINDOW_COLS + 3 };

struct loss_scan {
	struct analysis *a;
	struct window w;
	uint64_t bin, end;
	unsigned int cls;
};

static int loss_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		     void **ret_state, struct err *e)
{
	struct loss_scan *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	ret = window_init(&s->w, a, q, e);
	if (ret < 0) {
		free(s);
		return ret;
	}
	s->bin = s->w.first_bin;
	s->end = s->w.every_ns ? s->w.end_bin : s->bin + 1;
	*ret_state = s;
	return 0;
}

static int loss_step(void *state, struct rowbuf *out, struct err *e)
{
	struct loss_scan *s = state;
	uint64_t from, to, lost;
	struct cell *c;

	while (s->bin < s->end && out->row_cnt < BATCH_ROWS) {
		c = rowbuf_add(out);
		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		window_cells(&s->w, s->bin, c);
		from = context_abs(s->a, c[0].i);
		to = context_abs(s->a, c[1].i);
		lost = loss_index_lost(&s->a->losses, s->cls, from, to);
		cell_text(&c[3], loss_class_name(s->cls));
		cell_int(&c[4], (int64_t)lost);
		cell_int(&c[5], !lost && loss_index_covered(&s->a->losses, from, to) &&
					!loss_index_off_ns(&s->a->losses, loss_class_name(s->cls),
							   from, to));
		if (++s->cls == LOSS_CLASS_CNT) {
			s->cls = 0;
			s->bin++;
		}
	}
	return s->bin < s->end;
}

const struct table_def tables_of_loss[] = {
	{
		.name = "window_loss", .doc = "lost events and completeness per bin and class",
		.cols = loss_cols, .col_cnt = LOSS_COLS, .arg_cnt = 3,
		.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
		.open = loss_open, .step = loss_step, .close = free,
	},
	{ .name = NULL },
};
