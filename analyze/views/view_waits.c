/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_waits(from_ns, to_ns, every_ns, by): how long threads waited for a CPU, per bin and group.
 *
 * A wait belongs to the instant it ends (the switch-in), with its whole length. It may have begun
 * any time before the window.
 */
#include <errno.h>

#include "analyze/fold/fold_waits.h"
#include "analyze/views/view.h"

static const struct table_column wait_cols[] = {
	WINDOW_COLUMNS,
	{ "upid", COLUMN_INT }, { "utid", COLUMN_INT }, { "name", COLUMN_TEXT },
	{ "waits", COLUMN_INT }, { "wait_ns", COLUMN_INT }, { "wait_p50_ns", COLUMN_INT },
	{ "wait_p99_ns", COLUMN_INT }, { "wait_max_ns", COLUMN_INT }, { "wakeups", COLUMN_INT },
	{ "preempts", COLUMN_INT }, { "unknown_waits", COLUMN_INT }, { "migrations", COLUMN_INT },
	WINDOW_ARGS, { "by", COLUMN_TEXT },
};

enum { WAIT_COLS = WINDOW_COLS + 12 };

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	if (!scope_has_thread(&v->a->scope, (uint32_t)key->a))
		return 0;
	ret->group = grouping_of_thread(&v->groups, (uint32_t)key->a);
	return 1;
}

static int give_row(struct view *v, const struct view_place *at, void *sum)
{
	struct wait_sum *x = sum;
	struct cell *c = view_row(v);

	if (!c)
		return -ENOMEM;
	view_label_cells(&v->groups, at->group, &c[3]);
	cell_int(&c[6], (int64_t)x->waits.cnt);
	cell_int(&c[7], (int64_t)x->waits.sum);
	if (x->waits.cnt) {
		cell_int(&c[8], (int64_t)quantile_get(&x->waits, 50));
		cell_int(&c[9], (int64_t)quantile_get(&x->waits, 99));
		cell_int(&c[10], (int64_t)x->waits.max);
	}
	cell_int(&c[11], (int64_t)x->by_reason[RUN_QUEUE_WAKEUP]);
	cell_int(&c[12], (int64_t)x->by_reason[RUN_QUEUE_PREEMPT]);
	cell_int(&c[13], (int64_t)x->by_reason[RUN_QUEUE_UNKNOWN]);
	cell_int(&c[14], (int64_t)x->migrations);
	return 0;
}

static const struct view_def waits_view = {
	.bytes = sizeof(struct view), .fold = &fold_waits, .place = place, .row = give_row,
};

const struct table_def tables_of_waits[] = {
	VIEW_TABLE("sched_waits", "waits for a CPU per bin and group", wait_cols, WAIT_COLS, 4,
		   waits_view),
	{ .name = NULL },
};
