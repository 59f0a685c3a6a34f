/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A family of objects has a table of those that are live. An object ends at its free, or when its
 * address is allocated again; the others end with the events.
 */
#include "analyze/fold/allocation_pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/context/code_text.h"
#include "analyze/fold/fold_memory.h"
#include "base/hash_map.h"
#include "base/strpool.h"

static const struct {
	enum alloc_source source;
	const char *name;	/* of the event source */
	uint8_t alloc, free;	/* kinds of events */
} families[ALLOCATION_FAMILY_CNT] = {
	[ALLOCATION_SLAB] = { ALLOC_SLAB, "alloc.slab", EVENT_SLAB_ALLOC, EVENT_SLAB_FREE },
	[ALLOCATION_PAGE] = { ALLOC_PAGE, "alloc.page", EVENT_PAGE_ALLOC, EVENT_PAGE_FREE },
	[ALLOCATION_HEAP] = { ALLOC_HEAP, "alloc.heap", EVENT_HEAP_ALLOC, EVENT_HEAP_FREE },
};

struct allocation_pairs {
	struct analysis *a;
	struct allocation_range range;
	allocation_sink sink;
	void *ctx;
	struct event_cursor *cursor;
	struct live_objects *objects[ALLOCATION_FAMILY_CNT];
	struct strpool *texts;		/* of call sites of heaps */
	struct hash_map heaps;		/* (process, number of its execs) -> space */
	uint32_t *exec_cnt;		/* by process */
	const struct trace_task_event *turns;
	size_t turn_cnt, turn_at;
	uint32_t page_bytes;
	bool rest;			/* all events are read */
	unsigned int family;	/* the family of the objects handed out now */
	const struct event *ev;	/* the event that ends the objects; NULL: they are still live */
};

unsigned int allocation_source(enum allocation_family family)
{
	return families[family].source;
}

const char *allocation_event_source(enum allocation_family family)
{
	return families[family].name;
}

/* The symbol at the heap's caller at that time. */
static const char *heap_symbol(const struct allocation_pairs *p, const struct live_object *o,
			       uint64_t call_site)
{
	const struct dense_ids *d = &p->a->ids;
	uint32_t upid = dense_upid(d, dense_process_of(d, o->owner));
	const struct trace_site *site = trace_site_find(p->a->trace, upid, call_site, o->ts_ns);
	char text[SITE_TEXT_MAX];

	if (!site)
		return NULL;
	site_text_format(text, sizeof(text), site, true, p->a->lines);
	return strpool_put(p->texts, text);
}

const char *allocation_symbol(const struct allocation_pairs *p, const struct allocation *x)
{
	uint64_t call_site = x->kind->call_site;

	if (x->family == ALLOCATION_HEAP)
		return heap_symbol(p, x->object, call_site);
	return call_site ? name_text(p->a->trace, TRACE_NAME_SYMBOL, call_site) : NULL;
}

const char *allocation_cache(const struct allocation_pairs *p, const struct allocation *x)
{
	return x->kind->cache ? name_text(p->a->trace, TRACE_NAME_CACHE, x->kind->cache) : NULL;
}

static uint32_t kinds_of(const struct allocation_range *range)
{
	uint32_t all = range->with_stacks ? 1u << EVENT_STACK : 0;
	unsigned int i;

	for (i = 0; i < ALLOCATION_FAMILY_CNT; i++)
		if (range->families & 1u << i)
			all |= 1u << families[i].alloc | 1u << families[i].free;
	return all;
}

void allocation_pairs_close(struct allocation_pairs *p)
{
	unsigned int i;

	if (!p)
		return;
	event_cursor_close(p->cursor);
	for (i = 0; i < ALLOCATION_FAMILY_CNT; i++)
		live_objects_free(p->objects[i]);
	hash_map_done(&p->heaps);
	strpool_free(p->texts);
	free(p->exec_cnt);
	free(p);
}

int allocation_pairs_open(struct allocation_pairs **ret, struct analysis *a,
			  const struct allocation_range *range, allocation_sink sink, void *ctx,
			  struct err *e)
{
	struct allocation_pairs *p = calloc(1, sizeof(*p));
	uint64_t from_ns = range->from_ns;
	unsigned int i;
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->a = a;
	p->range = *range;
	p->sink = sink;
	p->ctx = ctx;
	p->page_bytes = trace_page_bytes(a->trace);
	p->turns = trace_task_events(a->trace, &p->turn_cnt);
	p->exec_cnt = calloc(a->ids.process_cnt, sizeof(*p->exec_cnt));
	r = p->exec_cnt ? strpool_new(&p->texts) : -ENOMEM;
	for (i = 0; i < ALLOCATION_FAMILY_CNT && !r; i++)
		r = live_objects_new(&p->objects[i],
				     i == ALLOCATION_PAGE ? p->page_bytes : 0);
	if (r < 0)
		err_set(e, r, "out of memory");
	if (from_ns < trace_carried_ns(a->trace))
		from_ns = trace_carried_ns(a->trace);
	if (!r)
		r = event_cursor_open(&p->cursor, a->trace, kinds_of(range), from_ns,
				      range->at_ns, e);
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
		.family = (enum allocation_family)p->family, .object = obj, .bytes = bytes,
		.kind = live_objects_kind(p->objects[p->family], obj->kind), .end = end,
		.ev = p->ev,
	};

	return p->sink(p->ctx, &x);
}

static int heap_space(struct allocation_pairs *p, uint32_t process, uint64_t ts_ns, uint32_t *ret)
{
	/* an exec begins a new heap; nothing of the old one can be freed any more */
	for (; p->turn_at < p->turn_cnt && p->turns[p->turn_at].ts_ns <= ts_ns; p->turn_at++)
		if (p->turns[p->turn_at].type == TRACE_TASK_EXEC)
			p->exec_cnt[dense_process(&p->a->ids, p->turns[p->turn_at].upid)]++;
	return hash_map_intern(&p->heaps, process, p->exec_cnt[process], ret);
}

/* A stack follows its allocation's event, with the same instant. */
static int on_stack(struct allocation_pairs *p, const struct event *ev)
{
	const struct dense_ids *d = &p->a->ids;
	uint32_t space = 0;
	unsigned int family = 0;
	int ret = 0;

	while (family < ALLOCATION_FAMILY_CNT && families[family].alloc != ev->v[EV_STACK_SOURCE])
		family++;
	if (family == ALLOCATION_FAMILY_CNT)
		return 0;
	if (family == ALLOCATION_HEAP)
		ret = heap_space(p, dense_process_of(d, dense_thread(d, ev->utid)), ev->ts_ns,
				 &space);
	return ret < 0 ? ret
		       : live_objects_set_stack(p->objects[family], space, ev->v[EV_STACK_ADDR],
						ev->ts_ns, ev->v[EV_STACK_STACK]);
}

static int on_event(struct allocation_pairs *p, const struct event *ev)
{
	const struct dense_ids *d = &p->a->ids;
	bool is_heap;
	uint32_t thread = dense_thread(d, ev->utid), space = 0;
	struct live_kind kind;
	uint64_t addr, unknown;
	int ret;

	if (ev->kind == EVENT_STACK)
		return on_stack(p, ev);
	for (p->family = 0; ev->kind != families[p->family].alloc &&
			    ev->kind != families[p->family].free;)
		p->family++;
	is_heap = p->family == ALLOCATION_HEAP;
	p->ev = ev;
	if (is_heap && (ret = heap_space(p, dense_process_of(d, thread), ev->ts_ns, &space)) < 0)
		return ret;
	if (ev->kind == families[p->family].free)
		return live_objects_end(p->objects[p->family], space, ev->v[0],
					ev->kind == EVENT_PAGE_FREE &&
						ev->v[EV_PAGE_ALLOC_PAGE_ORDER] < 64
						? (unsigned int)ev->v[EV_PAGE_ALLOC_PAGE_ORDER]
						: 0,
					give, p, &unknown);
	alloc_event_kind(ev, p->page_bytes, &kind, &addr);
	if (!is_heap && (ev->flags & EVENT_F_IRQ))
		thread = EVENT_ID_IRQ;
	ret = live_objects_add(p->objects[p->family], space, addr, ev->ts_ns, thread, &kind,
			       give, p);
	if (!ret && ev->ts_ns >= p->range.until_ns) {
		/*
		 * this allocation only had to prove that a free was lost, and is not wanted itself
		 */
		return live_objects_end(p->objects[p->family], space, addr, kind.order, NULL, NULL,
					&unknown);
	}
	return ret;
}

static size_t live_cnt(const struct allocation_pairs *p)
{
	size_t cnt = 0;
	unsigned int i;

	for (i = 0; i < ALLOCATION_FAMILY_CNT; i++)
		cnt += live_objects_cnt(p->objects[i]);
	return cnt;
}

/* One family at a time. */
static int give_rest(struct allocation_pairs *p)
{
	int ret;

	p->ev = NULL;
	ret = live_objects_rest(p->objects[p->family], give, p);
	return ret < 0 ? ret : ++p->family < ALLOCATION_FAMILY_CNT;
}

int allocation_pairs_next(struct allocation_pairs *p, struct err *e)
{
	const struct event *ev;
	int ret;

	if (p->rest) {
		ret = give_rest(p);
		return ret < 0 ? err_set(e, ret, "out of memory") : ret;
	}
	ret = event_cursor_next(p->cursor, &ev, e);
	if (ret < 0)
		return ret;
	if (!ret || (ev->ts_ns >= p->range.until_ns && !live_cnt(p))) {
		p->rest = true;
		p->family = 0;
		return 1;
	}
	ret = on_event(p, ev);
	return ret < 0 ? err_set(e, ret, "out of memory") : 1;
}
