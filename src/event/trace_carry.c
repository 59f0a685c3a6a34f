/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_carry: goes through all events before the instant once. Those that may matter are in a pool; what readers pair
 * them with (live_objects.h, block_track.h) says which still do.
 */
#include "event/trace_carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/block_track.h"
#include "event/carry_irq.h"
#include "event/carry_memory.h"
#include "event/keymap.h"
#include "event/live_objects.h"
#include "event/trace_state.h"

#define NONE UINT32_MAX

struct carried {
	struct event ev;
	uint64_t nr;		/* in order of time */
	uint64_t left_bytes;	/* of a page block */
	uint32_t next;		/* of a request's events, or of free ones */
	bool used;
};

/* A thread's last enter and leave of a CPU, and the first wake-up after each. */
struct carried_thread {
	struct event enter, leave, woken_running, woken;
	uint64_t nr[4];		/* of these, + 1; 0: none */
};

/* The events of a request's life. */
struct carried_request {
	uint64_t life;
	uint32_t last;		/* in the pool, NONE */
};

enum family { SLAB, PAGES, HEAP, FAMILY_CNT };

struct carry {
	struct trace *t;
	struct carried *pool;
	uint32_t cnt, cap, free;
	uint64_t nr;
	struct live_objects *objects[FAMILY_CNT];	/* owner: of the allocation, in the pool */
	struct idmap heap_space;	/* upid to a number; another one after each exec */
	uint32_t heap_space_cnt, gone_space;
	struct block_track *track;
	struct keymap requests;
	struct trace_list request_list;
	struct idmap by_utid;				/* index + 1 in threads */
	struct trace_list threads;
	struct carry_memory *memory;
	struct carry_irq *irq;
	struct cut_filter *filter;	/* NULL: all events matter */
};

static uint32_t keep(struct carry *c, const struct event *ev)
{
	uint32_t at = c->free;

	if (at != NONE) {
		c->free = c->pool[at].next;
	} else {
		if (c->cnt == c->cap) {
			uint32_t cap = c->cap ? c->cap * 2 : 4096;
			void *p = realloc(c->pool, cap * sizeof(*c->pool));

			if (!p)
				return NONE;
			c->pool = p;
			c->cap = cap;
		}
		at = c->cnt++;
	}
	c->pool[at] = (struct carried){ .ev = *ev, .nr = c->nr, .next = NONE, .used = true };
	return at;
}

static void drop(struct carry *c, uint32_t at)
{
	c->pool[at].used = false;
	c->pool[at].next = c->free;
	c->free = at;
}

/* ---- allocations ---- */

/* Heaps are their processes', and begin anew with an exec. 0: out of memory. */
static uint32_t space_of(struct carry *c, const struct event *ev)
{
	const struct trace_thread *h = trace_thread_find(c->t, ev->utid);
	uint64_t upid = h ? h->upid : EVENT_ID_UNKNOWN;
	uintptr_t space = (uintptr_t)idmap_get(&c->heap_space, upid);

	if (space)
		return (uint32_t)space;
	return idmap_put(&c->heap_space, upid, (void *)(uintptr_t)(c->heap_space_cnt + 1)) < 0 ?
		       0 : ++c->heap_space_cnt;
}

static int drop_object(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct carry *c = ctx;

	if (o->space == c->gone_space)
		drop(c, o->owner);
	return 0;
}

static void forget_heap(void *ctx, uint32_t upid)
{
	struct carry *c = ctx;

	c->gone_space = (uint32_t)(uintptr_t)idmap_remove(&c->heap_space, upid);
	if (c->gone_space)
		(void)live_objects_rest(c->objects[HEAP], drop_object, c);
}

/*
 * What is left of a page block that was freed in part is as if allocated in these parts, each at the place and
 * time of the whole.
 */
static int end_object(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct carry *c = ctx;

	if (c->pool[o->owner].ev.kind != EVENT_PAGE_ALLOC)
		drop(c, o->owner);
	else if (bytes == c->pool[o->owner].left_bytes)
		drop(c, o->owner);
	else
		c->pool[o->owner].left_bytes -= bytes;
	return 0;
}

static int begin_object(struct carry *c, enum family f, const struct event *ev)
{
	uint64_t page_bytes = trace_page_bytes(c->t);
	struct live_kind k = { .bytes = 1 };
	uint32_t at, space = f == HEAP ? space_of(c, ev) : 1;

	if (f == PAGES) {
		k.order = ev->v[EV_PAGE_ORDER] < 64 ? (uint8_t)ev->v[EV_PAGE_ORDER] : 63;
		k.bytes = k.order < 32 ? page_bytes << k.order : 0;
	}
	at = space ? keep(c, ev) : NONE;
	if (at == NONE)
		return -ENOMEM;
	c->pool[at].left_bytes = k.bytes;
	return live_objects_add(c->objects[f], f == PAGES ? 0 : space, ev->v[0], ev->ts_ns, at, &k, end_object, c);
}

static int free_object(struct carry *c, enum family f, const struct event *ev)
{
	uint32_t space = f == HEAP ? space_of(c, ev) : 1;
	uint64_t unknown;

	if (!space)
		return -ENOMEM;
	return live_objects_end(c->objects[f], f == PAGES ? 0 : space, ev->v[0],
				f == PAGES && ev->v[EV_PAGE_ORDER] < 64 ? (unsigned int)ev->v[EV_PAGE_ORDER] : 0,
				end_object, c, &unknown);
}

/* Of page blocks in parts, an allocation for each. */
static int keep_part(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct carry *c = ctx;
	struct event part = c->pool[o->owner].ev;

	c->pool[o->owner].used = false;
	c->nr = c->pool[o->owner].nr;
	part.v[EV_PAGE_PFN] = o->addr;
	part.v[EV_PAGE_ORDER] = live_objects_kind(c->objects[PAGES], o->kind)->order;
	return keep(c, &part) == NONE ? -ENOMEM : 0;
}

/* ---- requests and threads ---- */

static int block_event(struct carry *c, const struct event *ev)
{
	struct carried_request *r;
	uint32_t i, at, next;
	uint64_t life;
	int known = keymap_intern(&c->requests, ev->v[EV_BLOCK_RQ], ev->v[EV_BLOCK_DEV], &i);

	if (known < 0 || block_track_event(c->track, ev) < 0)
		return -ENOMEM;
	if (known) {
		r = trace_list_add(&c->request_list, sizeof(*r));
		if (!r)
			return -ENOMEM;
		r->last = NONE;
	}
	r = (struct carried_request *)c->request_list.v + i;
	life = block_track_life(c->track, ev->v[EV_BLOCK_RQ], (uint32_t)ev->v[EV_BLOCK_DEV]);
	if (life != r->life) {
		for (at = r->last; at != NONE; at = next) {
			next = c->pool[at].next;
			drop(c, at);
		}
		r->last = NONE;
		r->life = life;
	}
	at = keep(c, ev);
	if (at == NONE)
		return -ENOMEM;
	c->pool[at].next = r->last;
	r->last = at;
	return 0;
}

static int request_over(void *ctx, const struct block_request *r)
{
	return 0;
}

static struct carried_thread *thread_of(struct carry *c, uint32_t utid)
{
	uintptr_t at = (uintptr_t)idmap_get(&c->by_utid, utid);

	if (!at) {
		if (!trace_list_add(&c->threads, sizeof(struct carried_thread)) ||
		    idmap_put(&c->by_utid, utid, (void *)c->threads.cnt) < 0)
			return NULL;
		at = c->threads.cnt;
	}
	return (struct carried_thread *)c->threads.v + at - 1;
}

static int sched_event(struct carry *c, const struct event *ev)
{
	uint32_t other = (uint32_t)ev->v[0];	/* next, or who is woken */
	struct carried_thread *h;
	unsigned int slot;

	if (ev->kind == EVENT_SWITCH && ev->utid >= EVENT_ID_FIRST) {
		h = thread_of(c, ev->utid);
		if (!h)
			return -ENOMEM;
		h->leave = *ev;
		h->nr[1] = c->nr + 1;
		h->nr[3] = 0;
	}
	if (other < EVENT_ID_FIRST || (ev->kind == EVENT_SWITCH && ev->flags & EVENT_F_NEXT_OUT))
		return 0;
	h = thread_of(c, other);
	if (!h)
		return -ENOMEM;
	if (ev->kind == EVENT_SWITCH) {
		h->enter = *ev;
		h->nr[0] = c->nr + 1;
		h->nr[2] = 0;
		return 0;
	}
	slot = h->nr[0] > h->nr[1] ? 2 : 3;
	if (!h->nr[slot]) {
		*(slot == 2 ? &h->woken_running : &h->woken) = *ev;
		h->nr[slot] = c->nr + 1;
	}
	return 0;
}

static int see(struct carry *c, const struct event *ev)
{
	c->nr++;
	carry_memory_until(c->memory, ev->ts_ns);
	switch (ev->kind) {
	case EVENT_RSS:
	case EVENT_VM:
		carry_memory_event(c->memory, ev);
		return 0;
	case EVENT_SWITCH:
	case EVENT_WAKEUP:
		return sched_event(c, ev);
	case EVENT_SLAB_ALLOC:
		return begin_object(c, SLAB, ev);
	case EVENT_SLAB_FREE:
		return free_object(c, SLAB, ev);
	case EVENT_PAGE_ALLOC:
		return begin_object(c, PAGES, ev);
	case EVENT_PAGE_FREE:
		return free_object(c, PAGES, ev);
	case EVENT_HEAP_ALLOC:
		return begin_object(c, HEAP, ev);
	case EVENT_HEAP_FREE:
		return free_object(c, HEAP, ev);
	case EVENT_IRQ:
		return carry_irq_event(c->irq, ev, c->nr);
	default:
		return block_event(c, ev);
	}
}

static int nr_cmp(const void *a, const void *b)
{
	const struct carried *x = *(const struct carried *const *)a;
	const struct carried *y = *(const struct carried *const *)b;

	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* What threads still need, into the pool. */
static int keep_threads(struct carry *c)
{
	const struct carried_thread *h = c->threads.v;
	unsigned int k;
	size_t i;

	for (i = 0; i < c->threads.cnt; i++) {
		const struct event *const ev[] = { &h[i].enter, &h[i].leave, &h[i].woken_running,
						   &h[i].woken };

		for (k = 0; k < 4; k++) {
			if (!h[i].nr[k])
				continue;
			c->nr = h[i].nr[k] - 1;
			if (keep(c, ev[k]) == NONE)
				return -ENOMEM;
		}
	}
	return 0;
}

static int keep_irq(void *ctx, const struct event *ev, uint64_t nr)
{
	struct carry *c = ctx;

	c->nr = nr;
	return keep(c, ev) == NONE ? -ENOMEM : 0;
}

/* In order; a switch that two threads need is there once, an allocation once for each part that is left. */
static int give(struct carry *c, struct trace_carry *ret)
{
	struct carried **order = malloc((c->cnt + 1) * sizeof(struct carried *));
	size_t cnt = 0, n = 0, i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < c->cnt; i++)
		if (c->pool[i].used)
			order[cnt++] = &c->pool[i];
	if (cnt)
		qsort(order, cnt, sizeof(struct carried *), nr_cmp);
	ret->events = malloc((cnt + 1) * sizeof(*ret->events));
	for (i = 0; ret->events && i < cnt; i++)
		if (!i || order[i]->nr != order[i - 1]->nr || order[i]->ev.kind == EVENT_PAGE_ALLOC)
			ret->events[n++] = order[i]->ev;
	ret->event_cnt = n;
	free(order);
	return ret->events ? 0 : -ENOMEM;
}

static void carry_free(struct carry *c)
{
	unsigned int f;

	free(c->pool);
	for (f = 0; f < FAMILY_CNT; f++)
		live_objects_free(c->objects[f]);
	idmap_done(&c->heap_space);
	block_track_free(c->track);
	keymap_done(&c->requests);
	free(c->request_list.v);
	idmap_done(&c->by_utid);
	free(c->threads.v);
	carry_memory_free(c->memory);
	carry_irq_free(c->irq);
}

static int see_all(struct carry *c, uint64_t at_ns, uint32_t kind_mask, struct err *e)
{
	const uint32_t kinds = 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP | 1u << EVENT_SLAB_ALLOC |
			       1u << EVENT_SLAB_FREE | 1u << EVENT_PAGE_ALLOC |
			       1u << EVENT_PAGE_FREE | 1u << EVENT_HEAP_ALLOC |
			       1u << EVENT_HEAP_FREE | 1u << EVENT_BLOCK | 1u << EVENT_IRQ;
	struct event_cursor *cur;
	const struct event *ev;
	int r;

	r = event_cursor_open(&cur, c->t, (kinds & kind_mask) | 1u << EVENT_RSS | 1u << EVENT_VM, 0, at_ns, e);
	if (r < 0)
		return r;
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		struct event copy = *ev;

		r = c->filter ? cut_filter_event(c->filter, &copy) : 1;
		if (r > 0)
			r = see(c, &copy);
		if (r < 0)
			break;
	}
	event_cursor_close(cur);
	return r;
}

int trace_carry(struct trace *t, uint64_t at_ns, uint32_t kind_mask, struct cut_filter *filter,
		struct trace_carry *ret, struct err *e)
{
	struct carry c = { .t = t, .free = NONE, .filter = filter };
	struct trace_carry out = { 0 };
	unsigned int f;
	int r = 0;

	for (f = 0; f < FAMILY_CNT && r == 0; f++)
		r = live_objects_new(&c.objects[f], f == PAGES ? (uint32_t)trace_page_bytes(t) : 0);
	if (r == 0)
		r = block_track_new(&c.track, request_over, &c);
	if (r == 0)
		r = carry_memory_new(&c.memory, t, forget_heap, &c);
	if (r == 0)
		r = carry_irq_new(&c.irq, t);
	if (r == 0)
		r = see_all(&c, at_ns, kind_mask, e);
	if (r == 0)
		r = carry_memory_rows(c.memory, at_ns, &out.memory, &out.memory_cnt);
	if (r == 0)
		r = live_objects_rest(c.objects[PAGES], keep_part, &c);
	if (r == 0)
		r = keep_threads(&c);
	if (r == 0)
		r = carry_irq_give(c.irq, at_ns, keep_irq, &c);
	if (r == 0)
		r = give(&c, &out);
	carry_free(&c);
	if (r < 0) {
		trace_carry_done(&out);
		return err_set(e, r, "%s", err_text(e, r));
	}
	*ret = out;
	return 0;
}

void trace_carry_done(struct trace_carry *c)
{
	free(c->events);
	free(c->memory);
	*c = (struct trace_carry){ 0 };
}
