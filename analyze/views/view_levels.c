/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * memory_levels(from_ns, to_ns, every_ns): what each process had resident and mapped at the end of
 * each bin, counter by counter, and the highest and lowest resident size inside it.
 *
 * A process has a row in a bin when it had anything at all.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"

struct level {
	struct view_carried carried;
	struct mem_process mem;
	uint64_t rss;			/* of mem */
	uint64_t peak, low, peak_ns;	/* of the bin */
};

#define LEVEL(name, field) VIEW_NUMBER(name, struct level, field)

static const struct table_column level_cols[] = {
	VIEW_WINDOW,
	{ "upid", COLUMN_INT },
	LEVEL("anon_bytes", mem.bytes[MEM_ANON]),
	LEVEL("file_bytes", mem.bytes[MEM_FILE]),
	LEVEL("shmem_bytes", mem.bytes[MEM_SHMEM]),
	LEVEL("swap_bytes", mem.bytes[MEM_SWAP]),
	LEVEL("rss_bytes", rss),
	LEVEL("vm_bytes", mem.vm_bytes),
	LEVEL("rss_peak_bytes", peak),
	VIEW_COLUMN("rss_peak_ns", struct level, peak_ns, VIEW_TAKES_INSTANT),
	LEVEL("rss_low_bytes", low),
	VIEW_WINDOW_ARGS,
};

static const struct fold_sums_def levels_def = { .bytes = sizeof(struct level) };

/* A process that is not met before the bin begins it with nothing. */
static void enter(struct view *v, void *row)
{
	struct level *l = row;

	l->peak = l->low = l->rss;
	l->peak_ns = v->bin_from_ns;
}

static int on_level(void *ctx, const void *found)
{
	struct view *v = ctx;
	const struct level_found *f = found;
	struct level *l = view_carry(v, f->process, 0);

	if (!l)
		return -ENOMEM;
	if (!v->run.before)
		view_enter(v, l);
	l->mem = *f->mem;
	l->rss = mem_process_rss(f->mem);
	if (v->run.before)
		return 0;
	if (l->rss > l->peak) {
		l->peak = l->rss;
		l->peak_ns = f->ts_ns > v->bin_from_ns ? f->ts_ns : v->bin_from_ns;
	}
	if (l->rss < l->low)
		l->low = l->rss;
	return 0;
}

static int give_row(struct view *v, const struct view_place *at, void *sum)
{
	const struct level *l = sum;
	struct cell *c;

	if (!scope_has_process(&v->a->scope, at->group) || (!l->peak && !l->mem.vm_bytes))
		return 0;
	c = view_row(v, at->group, sum);
	if (!c)
		return -ENOMEM;
	cell_int(&c[3], dense_upid(&v->a->ids, at->group));
	return 0;
}

static const struct view_def levels_view = {
	.bytes = sizeof(struct view), .fold = &fold_levels, .sums = &levels_def, .is_sorted = true,
	.carry = on_level, .enter = enter, .row = give_row,
};

const struct table_def tables_of_levels[] = {
	VIEW_TABLE("memory_levels",
		   "resident and mapped memory of each process at the end of each bin", level_cols,
		   3, levels_view),
	{ .name = NULL },
};
