/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_usage(from_ns, to_ns, every_ns): per bin, CPU and thread, the time on the CPU, how often
 * it left it, and what a hypervisor took of that time.
 *
 * For every CPU that exists in the trace the rows of a bin add up to the bin (its part inside the
 * trace's span), exactly.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"

#define SUM(name, field) VIEW_NUMBER(name, struct cpu_sum, field)

static const struct table_column cpu_usage_cols[] = {
	VIEW_WINDOW,
	{ "cpu", COLUMN_INT },
	{ "utid", COLUMN_INT },
	{ "upid", COLUMN_INT },
	SUM("oncpu_ns", oncpu_ns),
	SUM("switches", switches),
	SUM("preempted", preempted),
	SUM("steal_ns", steal_ns),
	VIEW_WINDOW_ARGS,
};

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	*ret = (struct view_place){ (uint32_t)key->a, key->b };
	return context_has_cpu(v->a, key->b) && scope_has_thread(&v->a->scope, ret->group);
}

static int give_row(struct view *v, const struct view_place *at, void *sum)
{
	const struct dense_ids *d = &v->a->ids;
	struct cell *c = view_row(v, at->group, sum);

	if (!c)
		return -ENOMEM;
	cell_int(&c[3], (int64_t)at->b);
	cell_int(&c[4], dense_utid(d, at->group));
	cell_int(&c[5], dense_upid(d, dense_process_of(d, at->group)));
	return 0;
}

static const struct view_def cpu_view = {
	.bytes = sizeof(struct view), .fold = &fold_cpu, .is_sorted = true, .place = place,
	.row = give_row,
};

const struct table_def table_cpu_usage =
	VIEW_TABLE("cpu_usage", "time on the CPU per bin, CPU and thread", cpu_usage_cols, 3,
		   cpu_view);
