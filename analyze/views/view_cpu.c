/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_cpu: views of time on CPUs and of interrupts.
 *
 * cpu_usage(from_ns, to_ns, every_ns): per bin, CPU and thread: the time on the CPU, how often the
 * thread left the CPU, and the time that a hypervisor stole.
 *
 * For each CPU of the trace, the rows of a bin add up exactly to the bin's part inside the trace.
 *
 * parallel_usage(from_ns, to_ns, every_ns, by): time on CPUs per bin and group, by the number of
 * CPUs that ran threads of the scope at the same time.
 */
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

#define NAME_COLS (1u << COL_CPU_USAGE_COMM_THEN | 1u << COL_CPU_USAGE_THREAD_NAME_THEN)

/* Each thread is a group; if columns of names are used, a thread has a group per name. */
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
	    !scope_has_thread_at(v->scope, thread, v->at_ns, &v->at_end_ns))
		return 0;
	/* Even with merged groups, each thread has its own row. */
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

/*
 * irq_usage(from_ns, to_ns, every_ns, by): interrupts per bin, group and vector.
 *
 * A run of a handler is counted at its end, with its own length (nested interrupts excluded), but
 * its time is added to every bin that it overlaps. So times of adjacent windows add up, and the
 * rows of a CPU's bin never exceed the bin. A run without entry or exit is counted as broken,
 * without time.
 *
 * by: none (per vector), cpu, or the interrupted task: process, thread, comm, cgroup.
 *
 * A bin is returned once all runs that began in it have ended, so the trace is read beyond the
 * window's end.
 */

struct irq_sum {
	struct quantile runs;
	uint64_t run_ns, broken;
};

struct irq_view {
	struct view v;
	bool by_cpu;
};

/* ---- adding up ---- */

static int irq_add(void *ctx, const void *found)
{
	struct fold_target *t = ctx;
	const struct irq_found *f = found;
	const struct irq_run *r = f->run;
	const struct fold_key key = { (uint64_t)dense_thread(t->ids, r->utid) << 32 | r->cpu,
				      (uint64_t)r->type << 32 | r->vector };
	const size_t run_ns = offsetof(struct irq_sum, run_ns);
	uint64_t at = r->from_ns;
	struct irq_sum *x;
	void *sum;
	int ret = 0;

	for (size_t i = 0; i < r->cut_cnt && !f->is_broken && !ret; i++) {
		ret = fold_sum_add_time(t, &key, run_ns, at, r->cuts[i].from_ns);
		at = r->cuts[i].to_ns;
	}
	if (!ret && !f->is_broken)
		ret = fold_sum_add_time(t, &key, run_ns, at, r->to_ns);
	if (!ret)
		ret = fold_sum_at(t, f->is_broken ? r->from_ns : r->to_ns, &key, &sum);
	if (ret <= 0)
		return ret;
	x = sum;
	x->broken += f->is_broken;
	return f->is_broken ? 0 : quantile_add(&x->runs, r->own_ns);
}

static const struct fold_sums_def irq_sums = {
	.bytes = sizeof(struct irq_sum), .quantile_cnt = 1, .add = irq_add,
};

/* ---- the view ---- */

static int open_irq(struct view *v, const struct table_query *q, struct err *e)
{
	const struct cell none = { .type = VALUE_TEXT, .s = "none" }, *by = &q->args[3];
	int ret = window_grouping(&v->groups, v->a, by->type == VALUE_NULL ? &none : by, e);

	((struct irq_view *)v)->by_cpu = v->groups.others & KEY(CPU);
	/* Rows are ordered by the groups' numbers, so number all groups first. */
	return ret ?: grouping_number_all(&v->groups);
}

static int place_irq(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	uint32_t thread = (uint32_t)(key->a >> 32);

	if (!scope_has_thread_at(v->scope, thread, v->at_ns, &v->at_end_ns))
		return 0;
	ret->group = ((struct irq_view *)v)->by_cpu ?
			     (uint32_t)key->a :
			     grouping_of_thread(&v->groups, thread, v->at_ns, &v->at_end_ns);
	ret->b = key->b;
	return 1;
}

static void give_irq_row(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, at->group, sum);

	if (((struct irq_view *)v)->by_cpu)
		cell_int(&c[COL_IRQ_USAGE_CPU], at->group);
	else if (v->groups.by)
		view_label_cells(&v->groups, at->group, &c[COL_IRQ_USAGE_UPID]);
	cell_text(&c[COL_IRQ_USAGE_TYPE], irq_type_name((uint32_t)(at->b >> 32)));
	cell_int(&c[COL_IRQ_USAGE_VECTOR], (uint32_t)at->b);
}

static const struct view_def irq_view = {
	.open = open_irq, .fold = &fold_irq, .sums = &irq_sums,
	.is_sorted = true, .place = place_irq, .row = give_irq_row,
};

const struct table_def table_irq_usage = VIEW_TABLE(IRQ_USAGE, irq_view, struct irq_view);
