/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_lifetimes: lifetime_usage(from_ns, to_ns, by): allocations of the window by group, source,
 * call site, cache and page order; how many were freed by the window's end, and after how long.
 *
 * Rows may look equal: objects of different sizes, or addresses in the same function.
 */
#include <errno.h>

#include "analyze/fold/allocation_pairs.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/views/view.h"
#include "model/live_objects.h"
#include "table_columns.h"

#define TEMPORARY_NS 1000000

struct lifetimes {
	struct view_carried carried;
	const char *source, *symbol, *cache;
	uint64_t call_site;
	uint64_t page_order;		/* page order + 1; 0: not pages */
	uint64_t allocs, bytes, freed, temporary, temporary_bytes, life_max_ns;
	double life_sum_ns;		/* may exceed 64 bits */
};

static const struct fold_sums_def lifetimes_def = { .bytes = sizeof(struct lifetimes) };

struct lifetimes_view {
	struct view v;
	struct allocation_pairs *pairs;
	uint32_t page_bytes;
};

/* Returns the key of x among objects of one group and family. */
static uint64_t kind_of(const struct lifetimes_view *s, const struct allocation *x,
			const char *symbol)
{
	if (x->family == OBJECT_PAGE)
		return (uint64_t)__builtin_ctzll((x->bytes / s->page_bytes) | 1ull << 63);
	if (x->family == OBJECT_SLAB)
		return x->object->kind;
	return symbol ? (uintptr_t)symbol : x->kind->call_site;
}

static void begin_row(struct lifetimes_view *s, const struct allocation *x, struct lifetimes *row)
{
	row->source = alloc_source_name(alloc_source_of(x->family));
	if (x->family == OBJECT_PAGE) {
		row->page_order = 1 + kind_of(s, x, NULL);
		return;
	}
	row->symbol = allocation_symbol(s->pairs, x);
	row->cache = allocation_cache(s->pairs, x);
	row->call_site = x->kind->call_site;
}

static int on_allocation(void *ctx, const struct allocation *x)
{
	struct lifetimes_view *s = ctx;
	uint32_t owner = x->object->owner, group;
	bool is_heap = x->family == OBJECT_HEAP;
	const char *symbol = is_heap ? allocation_symbol(s->pairs, x) : NULL;
	struct lifetimes *row;
	uint64_t mean = is_heap ? s->v.a->heap_mean : 0, cnt = heap_weight_cnt(mean, x->bytes);
	uint64_t bytes = heap_weight_bytes(mean, x->bytes), life_ns;

	if (!scope_has_thread_at(s->v.scope, owner, x->object->ts_ns, NULL))
		return 0;
	group = grouping_of_thread(&s->v.groups, owner, x->object->ts_ns, NULL);
	row = group == GROUPING_FAILED ? NULL :
	      view_carry(&s->v, (uint64_t)group << 3 | (uint64_t)x->family << 1 | !symbol,
			 kind_of(s, x, symbol));
	if (!row)
		return -ENOMEM;
	if (!row->allocs)
		begin_row(s, x, row);
	row->allocs += cnt;
	row->bytes += bytes;
	if (!x->ev)
		return 0;
	life_ns = x->ev->ts_ns - x->object->ts_ns;
	row->freed += cnt;
	row->life_sum_ns += (double)life_ns * (double)cnt / (double)heap_weight_unit(mean);
	if (life_ns > row->life_max_ns)
		row->life_max_ns = life_ns;
	if (life_ns < TEMPORARY_NS) {
		row->temporary += cnt;
		row->temporary_bytes += bytes;
	}
	return 0;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	struct lifetimes *row = sum;
	bool is_heap = (at->group >> 1 & 3) == OBJECT_HEAP;
	uint64_t unit = is_heap ? heap_weight_unit(v->a->heap_mean) : 1;
	uint64_t *numbers[] = { &row->allocs, &row->freed, &row->temporary };
	struct cell *c;

	for (unsigned int i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i] = (*numbers[i] + unit / 2) / unit;
	c = view_row(v, at->group >> 3, sum);

	if (row->page_order)
		cell_int(&c[COL_LIFETIME_USAGE_PAGE_ORDER], (int64_t)row->page_order - 1);
	else
		cell_int(&c[COL_LIFETIME_USAGE_CALL_SITE], (int64_t)row->call_site);
	cell_real(&c[COL_LIFETIME_USAGE_LIFE_SUM_NS], row->life_sum_ns);
	if (row->freed)
		cell_int(&c[COL_LIFETIME_USAGE_LIFE_MAX_NS], (int64_t)row->life_max_ns);
}

static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	return window_grouping(&v->groups, v->a, &q->args[2], e);
}

static int run_bin(struct view *v, struct err *e)
{
	struct lifetimes_view *s = (struct lifetimes_view *)v;
	const struct allocation_range range = {
		.from_ns = v->w.from_ns, .until_ns = v->w.to_ns, .at_ns = v->w.to_ns,
		.families = UINT32_MAX, .with_stacks = true,
	};
	int ret;

	s->page_bytes = trace_page_bytes(v->a->trace);
	ret = allocation_pairs_open(&s->pairs, v->a, &range, on_allocation, s, e);
	while (ret >= 0 && (ret = allocation_pairs_next(s->pairs, e)) > 0)
		;
	return ret;
}

static void close_view(struct view *v)
{
	allocation_pairs_close(((struct lifetimes_view *)v)->pairs);
}

static const struct view_def lifetimes_view = {
	.is_one_bin = true, .sums = &lifetimes_def,
	.open = open_view, .close = close_view, .run_bin = run_bin, .row = give_row,
};

const struct table_def table_lifetime_usage =
	VIEW_TABLE(LIFETIME_USAGE, lifetimes_view, struct lifetimes_view);
