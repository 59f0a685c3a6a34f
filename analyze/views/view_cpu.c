/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_usage(from_ns, to_ns, every_ns): per bin, CPU and thread, the time on the CPU, how often
 * it left it, and what a hypervisor took of that time.
 *
 * For every CPU that exists in the trace the rows of a bin add up to the bin (its part inside the
 * trace's span), exactly.
 *
 * parallel_usage(from_ns, to_ns, every_ns, by): time on CPUs per bin and group, by how many CPUs
 * the threads of the scope had at that instant.
 */

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

#define NAME_COLS (1u << COL_CPU_USAGE_COMM_THEN | 1u << COL_CPU_USAGE_THREAD_NAME_THEN)

/* Rows are of threads; if names are asked for, of a thread while it had the names. */
static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	unsigned int by = q->cols_used & NAME_COLS ? KEY(THREAD) | KEY(COMM) | KEY(THREAD_NAME) :
						     KEY(THREAD);
	int ret = grouping_init(&v->groups, &v->a->ids, by);

	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	uint32_t thread = (uint32_t)key->a;

	if (!context_has_cpu(v->a, key->b) ||
	    !scope_has_thread_at(&v->a->scope, thread, v->at_ns, &v->at_end_ns))
		return 0;
	/* a thread counts in its own row, also where groups are merged */
	ret->group = grouping_is_by_name(&v->groups) ?
			     grouping_of_thread(&v->groups, thread, v->at_ns, &v->at_end_ns) :
			     thread;
	ret->b = key->b;
	return 1;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	const struct dense_ids *d = &v->a->ids;
	struct cell *c = view_row(v, at->group, sum);
	struct grouping_label label = { .comm = NULL };
	uint32_t thread = at->group;

	if (grouping_is_by_name(&v->groups)) {
		grouping_label(&v->groups, at->group, &label);
		thread = v->groups.firsts[at->group].member;
	}
	cell_int(&c[COL_CPU_USAGE_CPU], (int64_t)at->b);
	cell_int(&c[COL_CPU_USAGE_UTID], dense_utid(d, thread));
	cell_int(&c[COL_CPU_USAGE_UPID], dense_upid(d, dense_process_of(d, thread)));
	cell_text(&c[COL_CPU_USAGE_COMM_THEN], label.comm);
	cell_text(&c[COL_CPU_USAGE_THREAD_NAME_THEN], label.thread_name);
}

static const struct view_def cpu_view = {
	.open = open_view, .fold = &fold_cpu, .is_sorted = true, .place = place,
	.row = give_row,
};

const struct table_def table_cpu_usage = VIEW_TABLE(CPU_USAGE, cpu_view, struct view);

/* ---- parallel_usage ---- */

static int place_parallel(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	ret->group = grouping_of_thread(&v->groups, (uint32_t)key->a, v->at_ns, &v->at_end_ns);
	ret->b = key->b;
	return 1;
}

static void give_parallel(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, at->group, sum);

	cell_int(&c[COL_PARALLEL_USAGE_BUSY], (int64_t)at->b);
}

static const struct view_def parallel_view = {
	.fold = &fold_parallel, .place = place_parallel, .row = give_parallel, .is_sorted = true,
};

const struct table_def table_parallel_usage =
	VIEW_TABLE(PARALLEL_USAGE, parallel_view, struct view);
