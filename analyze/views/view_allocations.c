/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_allocations: the tables and views of single objects, each with its end: slab objects, page
 * blocks and heap objects.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/strpool.h"
#include "model/live_objects.h"
#include "model/quantile.h"
#include "table_columns.h"

/*
 * allocation_pairs: reports each slab object, page block and heap object together with its end.
 *
 *     events --[allocation_pairs: live_objects]--> struct allocation, when it ends
 *
 * An object may be freed long after its allocation. So a query for a range of allocation times must
 * also read later events, but no earlier ones. Objects without an end are reported last. If pages
 * are freed in parts, each part is reported.
 *
 * Errors: 0 or -errno. Threads: one.
 */
struct allocation {
	enum object_family family;
	const struct live_object *object;	/* object->owner is a dense thread */
	const struct live_kind *kind;
	uint64_t bytes;			/* size of this part of the object */
	enum live_end end;
	/* the event that ended the object; NULL: the object is live */
	const struct event *ev;
};

struct allocation_range {
	uint64_t from_ns, until_ns;	/* report allocations of [from_ns, until_ns) */
	uint64_t at_ns;			/* end of reading: later events are ignored */
	uint32_t families;		/* 1u << OBJECT_x */
	bool with_stacks;
	const uint32_t *columns;	/* columns to decode, by kind; NULL: all */
};

/* Receives an allocation, which is valid during the call. Returns 0 or -errno. */
typedef int (*allocation_sink)(void *ctx, const struct allocation *x);

/*
 * Keeps a table of live objects for each family of objects. An object ends at its
 * free or when its address is allocated again; all others are still live after the last event.
 */
struct allocation_pairs {
	struct analysis *a;
	struct allocation_range range;
	allocation_sink sink;
	void *ctx;
	struct event_cursor *cursor;
	struct object_pairs pairs;
	struct strpool *texts;		/* symbols of heap call sites */
	size_t reset_at;		/* index of the next reset */
	/* all events have been read; next, the remaining objects are reported */
	bool rest;
	unsigned int family;	/* family of the object being reported */
	const struct event *ev;	/* the event that ends the object; NULL: the object is still live */
};

static const char *const wrappers[] = {
#include "alloc_wrappers.h"
};

static bool is_wrapper(const char *symbol)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		const char *w = wrappers[i];
		size_t len = strlen(w), has = strlen(symbol);

		if (*w == '*' ? has >= len - 1 && !strcmp(symbol + has - (len - 1), w + 1) :
		    w[len - 1] == '*' ? !strncmp(symbol, w, len - 1) : !strcmp(symbol, w))
			return true;
	}
	return false;
}

/*
 * Returns the call site that requested the object: the innermost frame of the recorded stack that
 * is not an allocator wrapper; without such a frame, the call site itself. NULL: unknown.
 */
static const struct trace_site *caller_of(const struct allocation_pairs *p,
					  const struct allocation *x)
{
	const struct dense_ids *d = &p->a->ids;
	uint32_t upid = dense_upid(d, dense_process_of(d, x->object->owner));
	uint64_t ts_ns = x->object->ts_ns;
	const struct trace_site *first = trace_site_find(p->a->trace, upid, x->kind->call_site,
							 ts_ns), *s;
	const struct trace_frame *f = NULL;
	size_t cnt = 0;

	if (x->kind->stack && first && is_wrapper(first->symbol))
		f = trace_stack_find(p->a->trace, x->kind->stack, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		s = f[i].upid ? trace_site_find(p->a->trace, f[i].upid, f[i].addr, ts_ns) : NULL;
		if (s && !is_wrapper(s->symbol))
			return s;
	}
	return first;
}

static const char *heap_symbol(const struct allocation_pairs *p, const struct allocation *x)
{
	const struct trace_site *site = caller_of(p, x);
	char text[SITE_TEXT_MAX];

	if (!site)
		return NULL;
	site_text_format(text, sizeof(text), site, true, p->a->lines);
	return strpool_put(p->texts, text);
}

/*
 * Return the name of the call site and of the kmem_cache; NULL: unknown. The names are valid until
 * p is closed. The site of a heap object has its name at the time of the allocation; equal names
 * are the same pointer. With stacks (allocation_range), allocator wrappers
 * (schema/alloc_wrappers.decl) are skipped.
 */
static const char *allocation_symbol(const struct allocation_pairs *p, const struct allocation *x)
{
	uint64_t call_site = x->kind->call_site;

	if (x->family == OBJECT_HEAP)
		return heap_symbol(p, x);
	return call_site ? name_text(p->a->trace, TRACE_NAME_SYMBOL, call_site) : NULL;
}

static const char *allocation_cache(const struct allocation_pairs *p, const struct allocation *x)
{
	return x->kind->cache ? name_text(p->a->trace, TRACE_NAME_CACHE, x->kind->cache) : NULL;
}

static uint32_t kinds_of(const struct allocation_range *range)
{
	uint32_t all = range->with_stacks ? 1u << EVENT_STACK : 0;

	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT; i++)
		if (range->families & 1u << i)
			all |= alloc_source_kinds(alloc_source_of(i));
	return all;
}

static void allocation_pairs_close(struct allocation_pairs *p)
{
	if (!p)
		return;
	event_cursor_close(p->cursor);
	object_pairs_done(&p->pairs);
	strpool_free(p->texts);
	free(p);
}

static int allocation_pairs_open(struct allocation_pairs **ret, struct analysis *a,
			  const struct allocation_range *range, allocation_sink sink, void *ctx,
			  struct err *e)
{
	struct allocation_pairs *p = calloc(1, sizeof(*p));
	uint64_t from_ns = range->from_ns;
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->a = a;
	p->range = *range;
	p->sink = sink;
	p->ctx = ctx;
	r = object_pairs_init(&p->pairs, trace_page_bytes(a->trace), a->ids.process_cnt, true);
	r = r ?: strpool_new(&p->texts) ?: trace_mm_resets_prepare(a->trace);
	if (from_ns < trace_carried_ns(a->trace))
		from_ns = trace_carried_ns(a->trace);
	r = r ?: event_cursor_open_columns(&p->cursor, a->trace, kinds_of(range), range->columns,
					   from_ns, range->at_ns, e);
	if (r < 0) {
		allocation_pairs_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

static int give(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	struct allocation_pairs *p = ctx;
	const struct allocation x = {
		.family = (enum object_family)p->family, .object = obj, .bytes = bytes,
		.kind = live_objects_kind(p->pairs.of[p->family], obj->kind), .end = end,
		.ev = p->ev,
	};

	return p->sink(p->ctx, &x);
}

/* Applies the resets before before_ns. At equal timestamps events precede resets, as in folds. */
static void reset_heaps(struct allocation_pairs *p, uint64_t before_ns)
{
	for (; p->reset_at < trace_mm_reset_cnt(p->a->trace); p->reset_at++) {
		const struct trace_mm_reset *r = trace_mm_reset_at(p->a->trace, p->reset_at);

		if (r->ts_ns >= before_ns)
			break;
		object_pairs_reset(&p->pairs, dense_process(&p->a->ids, r->upid));
	}
}

/* A stack's event follows the event of the allocation, and has the same timestamp. */
static int on_stack(struct allocation_pairs *p, const struct event *ev)
{
	const struct dense_ids *d = &p->a->ids;
	int family = object_family_of(ev->v[EV_STACK_SOURCE]);
	uint32_t process = dense_process_of(d, dense_thread(d, ev->utid));

	if (family < 0)
		return 0;
	return live_objects_set_stack(p->pairs.of[family],
				      object_pairs_space(&p->pairs, (unsigned int)family, process),
				      ev->v[EV_STACK_ADDR], ev->ts_ns, ev->v[EV_STACK_STACK]);
}

static int on_event(struct allocation_pairs *p, const struct event *ev)
{
	struct object_event o;
	uint32_t thread, process;
	uint64_t unknown;
	int ret;

	reset_heaps(p, ev->ts_ns);
	if (!object_event_read(ev, p->pairs.page_bytes, &o))
		return on_stack(p, ev);
	p->family = o.family;
	p->ev = ev;
	thread = dense_thread(&p->a->ids, o.utid);
	process = dense_process_of(&p->a->ids, thread);
	ret = object_pairs_event(&p->pairs, &o, ev->ts_ns, thread, process, give, p, &unknown);
	if (ret || !o.is_alloc || ev->ts_ns < p->range.until_ns)
		return ret;
	/* this allocation is not reported, but shows that the free of an earlier object was lost */
	o.is_alloc = false;
	return object_pairs_event(&p->pairs, &o, ev->ts_ns, thread, process, NULL, NULL, &unknown);
}

static size_t live_cnt(const struct allocation_pairs *p)
{
	size_t cnt = 0;

	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT; i++)
		cnt += live_objects_cnt(p->pairs.of[i]);
	return cnt;
}

/* Reports the live objects of one family per call. */
static int give_rest(struct allocation_pairs *p)
{
	int ret;

	p->ev = NULL;
	ret = live_objects_rest(p->pairs.of[p->family], give, p);
	return ret < 0 ? ret : ++p->family < OBJECT_FAMILY_CNT;
}

/*
 * Reads the next event or, after the last event, reports live objects. 1: call again; 0: end;
 * -errno.
 */
static int allocation_pairs_next(struct allocation_pairs *p, struct err *e)
{
	const struct event *ev;
	int ret;

	if (p->rest)
		return give_rest(p);
	ret = event_cursor_next(p->cursor, &ev, e);
	if (ret < 0)
		return ret;
	if (!ret || (ev->ts_ns >= p->range.until_ns && !live_cnt(p))) {
		p->rest = true;
		p->family = 0;
		return 1;
	}
	ret = on_event(p, ev);
	return ret < 0 ? ret : 1;
}

/*
 * lifetime_usage(from_ns, to_ns, by): allocations of the window by group, source, call site, cache
 * and page order; how many were freed by the window's end, and after how long.
 *
 * Rows may look equal although they differ in the size of objects, or in the address within a
 * function.
 */

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

/*
 * growth_sites(from_ns, to_ns): per process and source, the call site whose held
 * bytes grew most in the window.
 *
 * A site gains the objects that it allocates in the window and still holds at its end. It loses
 * objects allocated before the window and freed in it; to find these objects, reading begins one
 * window length before the window, and objects older than that count as kept.
 */

struct growth_site {
	struct quantile age;		/* ages of objects allocated in the window and kept */
	uint64_t allocs, kept, kept_bytes;
	int64_t net_bytes;
	const char *source, *call_site;
	bool is_changed;		/* net_bytes counts at least one object */
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

static int on_growth(void *ctx, const struct allocation *x)
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
	int ret = allocation_pairs_open(&s->pairs, s->v.a, &range, on_growth, s, e);

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

static int run_growth(struct view *v, struct err *e)
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

static void close_growth(struct view *v)
{
	struct growth_view *s = (struct growth_view *)v;

	allocation_pairs_close(s->pairs);
	if (s->sites.def)
		fold_sums_done(&s->sites);
	strpool_free(s->texts);
	free(s->slab_texts);
}

static const struct view_def growth_view = {
	.is_one_bin = true, .close = close_growth, .run_bin = run_growth,
};

const struct table_def table_growth_sites = VIEW_TABLE(GROWTH_SITES, growth_view,
						       struct growth_view);

/*
 * allocations(at_ns): each slab object, page block or heap object, with its end if the trace has
 * it.
 *
 * Rows are in order of the ends (allocation_pairs), then the objects still live.
 */

static const struct table_column allocation_cols[] = {
	COLS_ALLOC
	{ "at_ns", COLUMN_INT },
};

struct allocation_scan {
	struct analysis *a;
	struct allocation_pairs *pairs;
	uint32_t page_bytes;
	uint64_t at_ns;			/* later events are ignored */
	struct rowbuf *out;
};

static uint32_t families_of(const struct table_query *q)
{
	uint32_t all = 0;

	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT; i++)
		if (!q->has_key || q->key.type != VALUE_TEXT ||
		    !strcmp(q->key.s, alloc_source_name(alloc_source_of(i))))
			all |= 1u << i;
	return all;
}

static void allocations_close(void *state)
{
	struct allocation_scan *s = state;

	allocation_pairs_close(s->pairs);
}

static int add_allocation(void *ctx, const struct allocation *x)
{
	struct allocation_scan *s = ctx;
	const struct dense_ids *d = &s->a->ids;
	const struct live_object *obj = x->object;
	const struct live_kind *k = x->kind;
	enum alloc_source source = alloc_source_of(x->family);
	struct cell *c = rowbuf_add(s->out);

	cell_text(&c[COL_ALLOC_SOURCE], alloc_source_name(source));
	cell_int(&c[COL_ALLOC_ADDR], (int64_t)obj->addr);
	cell_int(&c[COL_ALLOC_BYTES], (int64_t)x->bytes);
	cell_int(&c[COL_ALLOC_BYTES_REQ],
		 (int64_t)(x->family == OBJECT_PAGE ? x->bytes : k->bytes_req));
	cell_int(&c[COL_ALLOC_ALLOC_NS], context_rel(s->a, obj->ts_ns));
	if (x->ev) {
		cell_int(&c[COL_ALLOC_FREE_NS], context_rel(s->a, x->ev->ts_ns));
		cell_int(&c[COL_ALLOC_LIFE_NS], (int64_t)(x->ev->ts_ns - obj->ts_ns));
	}
	cell_int(&c[COL_ALLOC_UTID], dense_utid(d, obj->owner));
	cell_int(&c[COL_ALLOC_UPID], dense_upid(d, dense_process_of(d, obj->owner)));
	if (x->ev && x->end == LIVE_FREED)
		cell_int(&c[COL_ALLOC_FREE_UTID],
			 dense_utid(d, dense_thread(d, object_event_utid(x->ev))));
	cell_int(&c[COL_ALLOC_FREE_LOST], x->end == LIVE_LOST);
	cell_int(&c[COL_ALLOC_IRQ], k->irq);
	cell_int(&c[COL_ALLOC_UNSURE],
		 loss_index_off_ns(&s->a->losses, alloc_source_event_source(source), obj->ts_ns,
				   x->ev ? x->ev->ts_ns : s->at_ns) != 0);
	if (k->stack)
		cell_int(&c[COL_ALLOC_STACK], (int64_t)k->stack);
	if (x->family == OBJECT_PAGE) {
		cell_int(&c[COL_ALLOC_PAGE_ORDER],
			 __builtin_ctzll((x->bytes / s->page_bytes) | 1ull << 63));
		cell_int(&c[COL_ALLOC_GFP], k->gfp);
		return 0;
	}
	cell_int(&c[COL_ALLOC_CALL_SITE], (int64_t)k->call_site);
	cell_text(&c[COL_ALLOC_SYMBOL], allocation_symbol(s->pairs, x));
	cell_text(&c[COL_ALLOC_CACHE], allocation_cache(s->pairs, x));
	return 0;
}

static int allocations_open(struct analysis *a, const struct table_def *def,
			    const struct table_query *q, void *state, struct err *e)
{
	struct allocation_scan *s = state;
	struct allocation_range range = { .families = families_of(q) };
	int64_t at_ns = INT64_MAX;
	int ret;

	s->a = a;
	s->page_bytes = trace_page_bytes(a->trace);
	ret = window_arg_ns(q, 0, "at_ns", &at_ns, e);
	s->at_ns = at_ns == INT64_MAX ? UINT64_MAX : context_abs(a, at_ns);
	range.from_ns = q->from_ns == INT64_MIN ? 0 : context_abs(a, q->from_ns);
	range.until_ns = q->to_ns == INT64_MAX ? UINT64_MAX : context_abs(a, q->to_ns);
	range.at_ns = s->at_ns;
	range.with_stacks = q->cols_used & (1u << COL_ALLOC_STACK | 1u << COL_ALLOC_SYMBOL);
	return ret ?: allocation_pairs_open(&s->pairs, a, &range, add_allocation, s, e);
}

static int allocations_step(void *state, struct rowbuf *out, struct err *e)
{
	struct allocation_scan *s = state;
	int ret = 1;

	s->out = out;
	while (ret > 0 && out->row_cnt < TABLE_BATCH_ROWS)
		ret = allocation_pairs_next(s->pairs, e);
	return ret;
}

const struct table_def table_allocations = {
	.name = "allocations",
	.doc = "allocations paired with their frees",
	.cols = allocation_cols,
	.col_cnt = COL_ALLOC_CNT,
	.arg_cnt = 1,
	.time_col = COL_ALLOC_ALLOC_NS,
	.cpu_col = -1,
	.utid_col = -1,
	.key_col = 0,
	.is_exported = true,
	.window = "alloc_ns >= :from AND alloc_ns < :to",
	.kinds = 1u << EVENT_SLAB_ALLOC | 1u << EVENT_PAGE_ALLOC | 1u << EVENT_HEAP_ALLOC,
	.events_per_row = 1,
	.state_bytes = sizeof(struct allocation_scan),
	.open = allocations_open,
	.step = allocations_step,
	.close = allocations_close,
};
