/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_usage(from_ns, to_ns, every_ns): per bin, CPU and thread, the time on the CPU and how often
 * it left it.
 *
 * For every CPU that exists in the trace the rows of a bin add up to the bin (its part inside the
 * trace's span), exactly.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/fold_cpu.h"
#include "analyze/views/view.h"

static const struct table_column cpu_usage_cols[] = {
	WINDOW_COLUMNS,
	{ "cpu", COLUMN_INT },
	{ "utid", COLUMN_INT },
	{ "upid", COLUMN_INT },
	{ "oncpu_ns", COLUMN_INT },
	{ "switches", COLUMN_INT },
	{ "preempted", COLUMN_INT },
	WINDOW_ARGS,
};

enum { CPU_USAGE_COLS = WINDOW_COLS + 6 };

struct cpu_view {
	struct view v;
	uint8_t *exists;	/* by CPU */
};

static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	struct cpu_view *s = (struct cpu_view *)v;
	unsigned int i;

	s->exists = calloc(trace_cpu_cnt(v->a->trace) + 1, 1);
	if (!s->exists)
		return err_set(e, -ENOMEM, "out of memory");
	for (i = 0; i < v->a->cpu_cnt; i++)
		s->exists[v->a->cpus[i]] = 1;
	return 0;
}

static void close_view(struct view *v)
{
	free(((struct cpu_view *)v)->exists);
}

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	const struct cpu_view *s = (const struct cpu_view *)v;

	*ret = (struct view_place){ (uint32_t)key->a, key->b };
	return key->b < trace_cpu_cnt(v->a->trace) && s->exists[key->b] &&
	       scope_has_thread(&v->a->scope, ret->group);
}

static int give_row(struct view *v, const struct view_place *at, void *sum)
{
	const struct dense_ids *d = &v->a->ids;
	const struct cpu_sum *x = sum;
	struct cell *c = view_row(v);

	if (!c)
		return -ENOMEM;
	cell_int(&c[3], (int64_t)at->b);
	cell_int(&c[4], dense_utid(d, at->group));
	cell_int(&c[5], dense_upid(d, dense_process_of(d, at->group)));
	cell_int(&c[6], (int64_t)x->oncpu_ns);
	cell_int(&c[7], (int64_t)x->switches);
	cell_int(&c[8], (int64_t)x->preempted);
	return 0;
}

static const struct view_def cpu_view = {
	.bytes = sizeof(struct cpu_view), .open = open_view, .close = close_view,
	.fold = &fold_cpu, .is_sorted = true, .place = place, .row = give_row,
};

const struct table_def tables_of_cpu[] = {
	VIEW_TABLE("cpu_usage", "time on the CPU per bin, CPU and thread", cpu_usage_cols,
		   CPU_USAGE_COLS, 3, cpu_view),
	{ .name = NULL },
};
