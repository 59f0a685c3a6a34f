/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_growth: growth_sites(from_ns, to_ns): per process and source, the call site whose held
 * bytes grew most in the window.
 *
 * A site gains the objects that it allocates in the window and still holds at its end. It loses
 * objects allocated before the window and freed in it; those are looked up for one more length of
 * the window, and older objects count as kept.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/allocation_pairs.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/strpool.h"
#include "model/live_objects.h"
#include "model/quantile.h"
#include "table_columns.h"

struct growth_site {
	struct quantile age;		/* ages of objects allocated in the window and kept */
	uint64_t allocs, kept, kept_bytes;
	int64_t net_bytes;
	const char *source, *call_site;
	bool is_changed;		/* at least one object was added to net_bytes */
};

/* Keys: process << 2 | family, and the text's address. */
static const struct fold_sums_def sites_def = { .bytes = sizeof(struct growth_site),
						.quantile_cnt = 1 };

struct growth_view {
	struct view v;
	struct allocation_pairs *pairs;
	struct strpool *texts;
	struct fold_sums sites;
	const char **slab_texts;	/* texts of slab sites, by kind of object */
	size_t slab_cap;
	uint32_t page_bytes;
};

static const char *text_of(struct growth_view *s, const struct allocation *x)
{
	const char *symbol = x->family == OBJECT_PAGE ? NULL : allocation_symbol(s->pairs, x);
	char text[32];

	if (x->family == OBJECT_PAGE)
		snprintf(text, sizeof(text), "order %d",
			 __builtin_ctzll((x->bytes / s->page_bytes) | 1ull << 63));
	else
		snprintf(text, sizeof(text), "0x%" PRIx64, x->kind->call_site);
	return strpool_put(s->texts, symbol ? symbol : text);
}

/* Returns the site's text, or NULL if out of memory. */
static const char *site_text(struct growth_view *s, const struct allocation *x)
{
	size_t kind = x->object->kind;

	if (x->family != OBJECT_SLAB)
		return text_of(s, x);
	if (array_reserve(&s->slab_texts, &s->slab_cap, kind + 1) < 0)
		return NULL;
	if (!s->slab_texts[kind])
		s->slab_texts[kind] = text_of(s, x);
	return s->slab_texts[kind];
}

static int on_allocation(void *ctx, const struct allocation *x)
{
	struct growth_view *s = ctx;
	const struct analysis *a = s->v.a;
	uint32_t owner = x->object->owner, process = dense_process_of(&a->ids, owner);
	uint64_t mean = x->family == OBJECT_HEAP ? a->heap_mean : 0;
	uint64_t bytes = heap_weight_bytes(mean, x->bytes), cnt = heap_weight_cnt(mean, x->bytes);
	bool is_new = x->object->ts_ns >= s->v.w.from_ns;
	struct growth_site *site;
	const char *text;

	if ((!is_new && (!x->ev || x->ev->ts_ns < s->v.w.from_ns)) ||
	    !scope_has_thread_at(s->v.scope, owner, x->object->ts_ns, NULL))
		return 0;
	text = site_text(s, x);
	site = text ? fold_sums_of(&s->sites, (uint64_t)process << 2 | x->family, (uintptr_t)text)
		    : NULL;
	if (!site)
		return -ENOMEM;
	site->call_site = text;
	site->source = alloc_source_name(alloc_source_of(x->family));
	site->allocs += is_new ? cnt : 0;
	if (is_new && x->ev)
		return 0;
	site->is_changed = true;
	site->net_bytes += is_new ? (int64_t)bytes : -(int64_t)bytes;
	if (!is_new)
		return 0;
	site->kept += cnt;
	site->kept_bytes += bytes;
	return quantile_add(&site->age, s->v.w.to_ns - x->object->ts_ns);
}

/* Sites need neither flags and caches of objects nor the threads of most frees. */
static const uint32_t growth_columns[EVENT_KIND_CNT] = {
	[EVENT_SLAB_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SLAB_ALLOC_ADDR |
			     1u << EV_SLAB_ALLOC_BYTES | 1u << EV_SLAB_ALLOC_CALL_SITE,
	[EVENT_SLAB_FREE] = 1u << EV_SLAB_ALLOC_ADDR,
	[EVENT_PAGE_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_PAGE_ALLOC_PFN |
			     1u << EV_PAGE_ALLOC_PAGE_ORDER,
	[EVENT_PAGE_FREE] = 1u << EV_PAGE_ALLOC_PFN | 1u << EV_PAGE_ALLOC_PAGE_ORDER,
	[EVENT_HEAP_ALLOC] = EVENT_COL_UTID | 1u << EV_HEAP_ALLOC_ADDR |
			     1u << EV_HEAP_ALLOC_BYTES | 1u << EV_HEAP_ALLOC_CALL_SITE,
	[EVENT_HEAP_FREE] = EVENT_COL_UTID | 1u << EV_HEAP_ALLOC_ADDR,
	[EVENT_STACK] = EVENT_COL_FLAGS * 2 - 1,
};

static int read_pairs(struct growth_view *s, struct err *e)
{
	const struct window *w = &s->v.w;
	int64_t from = context_rel(s->v.a, w->from_ns), to = context_rel(s->v.a, w->to_ns);
	int64_t first = from < 0 ? from : 0;
	const struct allocation_range range = {
		.from_ns = context_abs(s->v.a, 2 * from - to > first ? 2 * from - to : first),
		.until_ns = w->to_ns, .at_ns = w->to_ns, .families = UINT32_MAX,
		.with_stacks = true, .columns = growth_columns,
	};
	int ret = allocation_pairs_open(&s->pairs, s->v.a, &range, on_allocation, s, e);

	while (ret >= 0 && (ret = allocation_pairs_next(s->pairs, e)) > 0)
		;
	return ret;
}

/* Compares sites of one process and source. The greatest site becomes a row. */
static int compare_sites(const struct growth_site *a, const struct growth_site *b)
{
	return compare_numbers(a->is_changed, b->is_changed) ?:
	       compare_numbers(a->net_bytes, b->net_bytes) ?:
	       -strcmp(a->call_site, b->call_site);
}

static void give_site(struct growth_view *s, uint32_t process, struct growth_site *x)
{
	struct view *v = &s->v;
	uint64_t unit = strcmp(x->source, "heap") ? 1 : heap_weight_unit(v->a->heap_mean);
	struct cell *c;

	x->allocs = (x->allocs + unit / 2) / unit;
	x->kept = (x->kept + unit / 2) / unit;
	c = view_row(v, 0, x);
	cell_int(&c[COL_GROWTH_SITES_UPID], dense_upid(&v->a->ids, process));
	cell_int(&c[COL_GROWTH_SITES_NET_BYTES], x->net_bytes);
	if (x->age.cnt)
		cell_int(&c[COL_GROWTH_SITES_KEPT_BYTES], (int64_t)x->kept_bytes);
}

static int run_bin(struct view *v, struct err *e)
{
	struct growth_view *s = (struct growth_view *)v;
	struct growth_site *best = NULL, *x;
	struct fold_row *r;
	uint64_t of = 0;
	int ret = strpool_new(&s->texts);

	fold_sums_init(&s->sites, &sites_def);
	s->page_bytes = trace_page_bytes(v->a->trace);
	ret = ret ?: read_pairs(s, e);
	ret = ret ?: fold_sums_order(&s->sites, UINT64_MAX, true);
	while (!ret && (r = fold_sums_next(&s->sites))) {
		x = (struct growth_site *)r->sum;
		if (best && r->a == of && compare_sites(x, best) <= 0)
			continue;
		if (best && r->a != of && best->is_changed)
			give_site(s, (uint32_t)(of >> 2), best);
		best = x;
		of = r->a;
	}
	if (!ret && best && best->is_changed)
		give_site(s, (uint32_t)(of >> 2), best);
	return ret;
}

static void close_view(struct view *v)
{
	struct growth_view *s = (struct growth_view *)v;

	allocation_pairs_close(s->pairs);
	if (s->sites.def)
		fold_sums_done(&s->sites);
	strpool_free(s->texts);
	free(s->slab_texts);
}

static const struct view_def growth_view = {
	.is_one_bin = true, .close = close_view, .run_bin = run_bin,
};

const struct table_def table_growth_sites = VIEW_TABLE(GROWTH_SITES, growth_view,
						       struct growth_view);
