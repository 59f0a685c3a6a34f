/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_levels: memory_levels(from_ns, to_ns, every_ns, by): resident and mapped bytes of each
 * group of processes at the end of each bin, per counter, and the highest and lowest resident size
 * in the bin.
 *
 * A group's memory is the sum over its processes. A group has a row in each bin in which it had any
 * memory. A renamed process moves its memory to the group of its new name. A change at the instant
 * of a rename belongs to the old name, as does the memory that an exec frees.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

/* Kinds of struct level: of one process, or of a group of several. */
enum { OF_PROCESS, OF_GROUP };

struct level {
	struct view_carried carried;
	struct mem_process mem;		/* of a group: the sum; of a process: its share */
	uint64_t rss;			/* resident bytes of mem */
	uint64_t peak, low, peak_ns;	/* peak and low of the bin */
	uint32_t group;			/* of a process: the group that contains mem */
};

struct levels_view {
	struct view v;
	size_t next;		/* index of the next rename, if names matter */
	bool is_begun;
	struct mem_process *now;	/* current memory by process; NULL: renames do not matter */
};

static const struct fold_sums_def levels_def = { .bytes = sizeof(struct level) };

/* A process enters a bin with its level so far, 0 if it is new. */
static void enter(struct view *v, void *row)
{
	struct level *l = row;

	l->peak = l->low = l->rss;
	l->peak_ns = v->bin_from_ns;
}

static void change_mem(struct mem_process *m, const struct mem_process *by, bool is_added)
{
	for (unsigned int i = 0; i < MEM_MEMBER_CNT; i++)
		m->bytes[i] += is_added ? by->bytes[i] : 0 - by->bytes[i];
	m->vm_bytes += is_added ? by->vm_bytes : 0 - by->vm_bytes;
}

/* Updates a row's sums after its memory changed at ts_ns. */
static void note_level(struct view *v, struct level *l, uint64_t ts_ns, bool is_exec)
{
	l->rss = mem_process_rss(&l->mem);
	if (v->run.before)
		return;
	if (mem_level_is_peak((int64_t)l->rss, (int64_t)l->peak,
			      is_exec && grouping_is_of_processes(&v->groups))) {
		l->peak = l->rss;
		l->peak_ns = ts_ns > v->bin_from_ns ? ts_ns : v->bin_from_ns;
	}
	if (l->rss < l->low)
		l->low = l->rss;
}

/* Adds the memory `by` to the group's row, or subtracts it. */
static int change_group(struct view *v, uint32_t group, const struct mem_process *by, bool is_added,
			uint64_t ts_ns)
{
	struct level *l = group == GROUPING_FAILED ? NULL : view_carry(v, group, OF_GROUP);

	if (!l)
		return -ENOMEM;
	if (!v->run.before)
		view_enter(v, l);
	change_mem(&l->mem, by, is_added);
	note_level(v, l, ts_ns, false);
	return 0;
}

/* Sets the memory of a process, which counts in the group of its name at name_ns. */
static int set_level(struct view *v, uint32_t process, const struct mem_process *mem,
		     uint64_t ts_ns, uint64_t name_ns, bool is_exec)
{
	static const struct mem_process none;
	struct level *l = view_carry(v, process, OF_PROCESS);
	bool is_in = scope_has_process_at(v->scope, process, name_ns, NULL);
	struct mem_process had, more;
	uint32_t had_group, group;
	int r;

	if (!l)
		return -ENOMEM;
	had = l->mem;
	had_group = l->group;
	if (!is_in)
		mem = &none;
	if (grouping_is_of_processes(&v->groups)) {
		if (!v->run.before)
			view_enter(v, l);
		l->mem = *mem;
		note_level(v, l, ts_ns, is_exec);
		return 0;
	}
	group = is_in ? grouping_of_process(&v->groups, process, name_ns, NULL) : had_group;
	l->mem = *mem;
	l->group = group;
	more = *mem;
	if (group == had_group) {
		change_mem(&more, &had, false);
		return change_group(v, group, &more, true, ts_ns);
	}
	/* do not create a row for a group that loses nothing */
	r = mem_process_rss(&had) || had.vm_bytes || had.bytes[MEM_SWAP] ?
		    change_group(v, had_group, &had, false, ts_ns) : 0;
	return r ?: change_group(v, group, &more, true, ts_ns);
}

/* Moves the memory of processes renamed before to_ns to their new groups. */
static int follow_renames(struct levels_view *x, uint64_t to_ns)
{
	struct view *v = &x->v;
	const struct dense_ids *d = &v->a->ids;
	int r = 0;

	for (; x->next < d->names->rename_cnt && d->names->renames[x->next].ts_ns < to_ns && !r;
	     x->next++) {
		const struct task_rename *to = &d->names->renames[x->next];
		uint32_t process = to->member - d->thread_cnt, number;
		struct mem_process mem;

		if (to->member < d->thread_cnt ||
		    !hash_map_find(&v->sums.map, process, OF_PROCESS, &number))
			continue;
		mem = x->now[process];
		r = set_level(v, process, &mem, to->ts_ns, to->ts_ns, false);
	}
	return r;
}

static int on_level(void *ctx, const void *found)
{
	struct levels_view *x = ctx;
	struct view *v = &x->v;
	const struct level_found *f = found;
	int r = 0;

	if (!scope_has_process(v->scope, f->process))
		return 0;
	if (x->now) {
		if (!x->is_begun)
			x->next = task_renames_from(&v->a->ids, f->ts_ns);
		x->is_begun = true;
		r = follow_renames(x, f->ts_ns);
		x->now[f->process] = *f->mem;
	}
	return r ?: set_level(v, f->process, f->mem, f->ts_ns, f->ts_ns - 1, f->is_exec);
}

static int finish(struct view *v)
{
	struct levels_view *x = (struct levels_view *)v;

	return x->is_begun ? follow_renames(x, v->bin_to_ns) : 0;
}

static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	struct levels_view *x = (struct levels_view *)v;
	int r = window_grouping(&v->groups, v->a, &q->args[3], e);

	if (r < 0 || !(grouping_is_by_name(&v->groups) || v->scope->names))
		return r;
	x->now = calloc(v->a->ids.process_cnt, sizeof(*x->now));
	return x->now ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void close_view(struct view *v)
{
	free(((struct levels_view *)v)->now);
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
	.open = open_view, .close = close_view,
	.fold = &fold_levels, .sums = &levels_def, .is_sorted = true,
	.carry = on_level, .enter = enter, .finish = finish, .row = give_row,
};

const struct table_def table_memory_levels =
	VIEW_TABLE(MEMORY_LEVELS, levels_view, struct levels_view);
