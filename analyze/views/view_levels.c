/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * memory_levels(from_ns, to_ns, every_ns, by): what each group of processes had resident and mapped
 * at the end of each bin, counter by counter, and the highest and lowest resident size inside it.
 *
 * A group has what its processes have together, and a row in a bin when it had anything at all.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

/* Of a process; and of a group, unless that is a process. */
enum { OF_PROCESS, OF_GROUP };

struct level {
	struct view_carried carried;
	struct mem_process mem;
	uint64_t rss;			/* of mem */
	uint64_t peak, low, peak_ns;	/* of the bin */
};

static const struct fold_sums_def levels_def = { .bytes = sizeof(struct level) };

/* A process that is not met before the bin begins it with nothing. */
static void enter(struct view *v, void *row)
{
	struct level *l = row;

	l->peak = l->low = l->rss;
	l->peak_ns = v->bin_from_ns;
}

/* The row of a process's group, without what the process had until now. NULL: out of memory. */
static struct level *group_level(struct view *v, const struct level_found *f)
{
	struct level *l = view_carry(v, f->process, OF_PROCESS);
	struct mem_process had;
	uint32_t group;

	if (!l)
		return NULL;
	had = l->mem;
	if (!grouping_is_of_processes(&v->groups)) {
		l->mem = *f->mem;
		group = grouping_of_process(&v->groups, f->process);
		l = group == GROUPING_FAILED ? NULL : view_carry(v, group, OF_GROUP);
	}
	for (unsigned int i = 0; l && i < MEM_MEMBER_CNT; i++)
		l->mem.bytes[i] -= had.bytes[i];
	if (l)
		l->mem.vm_bytes -= had.vm_bytes;
	return l;
}

static int on_level(void *ctx, const void *found)
{
	struct view *v = ctx;
	const struct level_found *f = found;
	struct level *l;

	if (!scope_has_process(&v->a->scope, f->process))
		return 0;
	l = group_level(v, f);
	if (!l)
		return -ENOMEM;
	if (!v->run.before)
		view_enter(v, l);
	for (unsigned int i = 0; i < MEM_MEMBER_CNT; i++)
		l->mem.bytes[i] += f->mem->bytes[i];
	l->mem.vm_bytes += f->mem->vm_bytes;
	l->rss = mem_process_rss(&l->mem);
	if (v->run.before)
		return 0;
	if (mem_level_is_peak((int64_t)l->rss, (int64_t)l->peak,
			      f->is_exec && grouping_is_of_processes(&v->groups))) {
		l->peak = l->rss;
		l->peak_ns = f->ts_ns > v->bin_from_ns ? f->ts_ns : v->bin_from_ns;
	}
	if (l->rss < l->low)
		l->low = l->rss;
	return 0;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	const struct level *l = sum;
	bool is_process = grouping_is_of_processes(&v->groups);
	bool is_any = l->peak || l->mem.vm_bytes || l->mem.bytes[MEM_SWAP];

	if (at->b != (is_process ? OF_PROCESS : OF_GROUP) || !is_any)
		return;
	view_row(v, at->group, sum);
}

static const struct view_def levels_view = {
	.fold = &fold_levels, .sums = &levels_def, .is_sorted = true,
	.carry = on_level, .enter = enter, .row = give_row,
};

const struct table_def table_memory_levels = VIEW_TABLE(MEMORY_LEVELS, levels_view, struct view);
