/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_carry: goes through the events before the instant once, from the last point that is known (carry_points.h): what was
 * carried over there is gone through like any other events. Those that may matter are in a pool; what readers pair
 * them with (live_objects.h, block_track.h) says which still do.
 */
#include "event/trace_carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/block_track.h"
#include "event/carry_irq.h"
#include "event/carry_memory.h"
#include "event/carry_points.h"
#include "event/keymap.h"
#include "event/live_objects.h"
#include "event/trace_state.h"

#define NONE UINT32_MAX

/*
 * A point is made of every so many events, and as many times what is live: so a file of points is small beside the trace, and
 * a cut reads few events but those of its window.
 */
#define POINT_EVENTS 2000000
#define POINT_TIMES_LIVE 32

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
	uint32_t cnt, cap, free, used_cnt;
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
	struct carry_points *points;	/* NULL: none are made */
	uint64_t point_events, times_live;	/* between points at least */
	uint64_t point_nr, last_ns;	/* events before the last one; of the last event */
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
	c->used_cnt++;
	c->pool[at] = (struct carried){ .ev = *ev, .nr = c->nr, .next = NONE, .used = true };
	return at;
}

static void drop(struct carry *c, uint32_t at)
{
	c->pool[at].used = false;
	c->pool[at].next = c->free;
	c->free = at;
	c->used_cnt--;
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

/* ---- what there is at an instant ---- */

struct order {
	uint64_t nr, part;	/* page frame of a part of a page block */
	size_t at;
};

struct gathered {
	struct carry *c;
	struct trace_list events, order;	/* struct event, struct order */
};

static int gather_event(void *ctx, const struct event *ev, uint64_t nr)
{
	struct gathered *g = ctx;
	struct event *to = trace_list_add(&g->events, sizeof(*to));
	struct order *o = trace_list_add(&g->order, sizeof(*o));

	if (!to || !o)
		return -ENOMEM;
	*to = *ev;
	*o = (struct order){ nr, ev->kind == EVENT_PAGE_ALLOC ? ev->v[EV_PAGE_PFN] : 0, g->events.cnt - 1 };
	return 0;
}

/* Of page blocks in parts, an allocation for each. */
static int gather_part(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct gathered *g = ctx;
	struct event part = g->c->pool[o->owner].ev;

	part.v[EV_PAGE_PFN] = o->addr;
	part.v[EV_PAGE_ORDER] = live_objects_kind(g->c->objects[PAGES], o->kind)->order;
	return gather_event(g, &part, g->c->pool[o->owner].nr);
}

/* What threads still need. */
static int gather_threads(struct gathered *g)
{
	const struct carried_thread *h = g->c->threads.v;
	unsigned int k;
	size_t i;
	int r = 0;

	for (i = 0; i < g->c->threads.cnt; i++) {
		const struct event *const ev[] = { &h[i].enter, &h[i].leave, &h[i].woken_running,
						   &h[i].woken };

		for (k = 0; k < 4 && r == 0; k++)
			if (h[i].nr[k])
				r = gather_event(g, ev[k], h[i].nr[k] - 1);
	}
	return r;
}

static int gather(struct gathered *g, uint64_t at_ns)
{
	struct carry *c = g->c;
	uint32_t i;
	int r = 0;

	for (i = 0; i < c->cnt && r == 0; i++)
		if (c->pool[i].used && c->pool[i].ev.kind != EVENT_PAGE_ALLOC)
			r = gather_event(g, &c->pool[i].ev, c->pool[i].nr);
	if (r == 0)
		r = live_objects_rest(c->objects[PAGES], gather_part, g);
	if (r == 0)
		r = gather_threads(g);
	return r == 0 ? carry_irq_give(c->irq, at_ns, gather_event, g) : r;
}

static int order_cmp(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* In order; a switch that two threads need is there once, an allocation once for each part that is left. */
static int sort(const struct gathered *g, struct trace_carry *ret)
{
	const struct event *ev = g->events.v;
	struct order *o = g->order.v;
	size_t cnt = g->order.cnt, i;

	if (cnt)
		qsort(o, cnt, sizeof(*o), order_cmp);
	ret->events = malloc((cnt + 1) * sizeof(*ret->events));
	for (i = 0; ret->events && i < cnt; i++)
		if (!i || o[i].nr != o[i - 1].nr || ev[o[i].at].kind == EVENT_PAGE_ALLOC)
			ret->events[ret->event_cnt++] = ev[o[i].at];
	return ret->events ? 0 : -ENOMEM;
}

/* Nothing of c is changed by this. */
static int give(struct carry *c, uint64_t at_ns, struct trace_carry *ret)
{
	struct gathered g = { .c = c };
	int r = carry_memory_rows(c->memory, at_ns, &ret->memory, &ret->memory_cnt);

	if (r == 0)
		r = gather(&g, at_ns);
	if (r == 0)
		r = sort(&g, ret);
	free(g.events.v);
	free(g.order.v);
	return r;
}

/* ---- points ---- */

/* Before an event, when it is time for one: everything before ts_ns was seen, and nothing of that instant. */
static int make_point(struct carry *c, uint64_t ts_ns)
{
	uint64_t cnt = c->nr - c->point_nr;
	struct trace_carry at = { 0 };
	int r;

	if (!c->points || cnt < c->point_events || cnt < c->times_live * c->used_cnt || ts_ns == c->last_ns)
		return 0;
	c->point_nr = c->nr;
	r = give(c, ts_ns, &at);
	if (r == 0)
		r = carry_points_add(c->points, ts_ns, &at);
	trace_carry_done(&at);
	return r;
}

/* What was carried over at a point is gone through like any other events; *ret_ns: the point, or 0. */
static int begin_at_point(struct carry *c, uint64_t at_ns, uint32_t kind_mask, uint64_t *ret_ns)
{
	struct trace_carry from;
	size_t i;
	int r = carry_points_find(c->points, at_ns, ret_ns, &from);

	if (r <= 0)
		return r;
	for (i = 0, r = 0; i < from.event_cnt && r >= 0; i++)
		if (kind_mask & 1u << from.events[i].kind)
			r = see(c, &from.events[i]);
	if (r >= 0)
		carry_memory_set(c->memory, *ret_ns, from.memory, from.memory_cnt);
	trace_carry_done(&from);
	c->point_nr = c->nr;
	return r;
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
	carry_points_free(c->points);
}

#define CARRIED_KINDS                                                                                \
	(1u << EVENT_SWITCH | 1u << EVENT_WAKEUP | 1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE |  \
	 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE | 1u << EVENT_HEAP_ALLOC |                   \
	 1u << EVENT_HEAP_FREE | 1u << EVENT_BLOCK | 1u << EVENT_IRQ)
#define MEMORY_KINDS (1u << EVENT_RSS | 1u << EVENT_VM)

static int see_all(struct carry *c, uint64_t from_ns, uint64_t at_ns, uint32_t kind_mask, struct err *e)
{
	struct event_cursor *cur;
	const struct event *ev;
	int r;

	r = event_cursor_open(&cur, c->t, (CARRIED_KINDS & kind_mask) | MEMORY_KINDS, from_ns, at_ns, e);
	if (r < 0)
		return r;
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		r = make_point(c, ev->ts_ns);
		if (r == 0)
			r = see(c, ev);
		if (r < 0)
			break;
		c->last_ns = ev->ts_ns;
	}
	event_cursor_close(cur);
	return r;
}

static int carry_new(struct carry *c)
{
	unsigned int f;
	int r = 0;

	for (f = 0; f < FAMILY_CNT && r == 0; f++)
		r = live_objects_new(&c->objects[f], f == PAGES ? (uint32_t)trace_page_bytes(c->t) : 0);
	if (r == 0)
		r = block_track_new(&c->track, request_over, c);
	if (r == 0)
		r = carry_memory_new(&c->memory, c->t, forget_heap, c);
	return r == 0 ? carry_irq_new(&c->irq, c->t) : r;
}

int trace_carry(struct trace *t, uint64_t at_ns, const struct trace_carry_request *q, struct trace_carry *ret,
		struct err *e)
{
	struct carry c = { .t = t, .free = NONE, .last_ns = UINT64_MAX };
	struct trace_carry out = { 0 };
	uint64_t from_ns = 0;
	int r = carry_new(&c);

	c.point_events = q->point_events ? q->point_events : POINT_EVENTS;
	c.times_live = q->point_events ? 0 : POINT_TIMES_LIVE;
	if (r == 0 && !q->no_points)
		r = carry_points_open(&c.points, t);
	if (r == 0 && c.points)
		r = begin_at_point(&c, at_ns, q->kind_mask, &from_ns);
	/* a point has everything */
	if (r >= 0 && (q->kind_mask & CARRIED_KINDS) != CARRIED_KINDS) {
		carry_points_free(c.points);
		c.points = NULL;
	}
	if (r >= 0)
		r = see_all(&c, from_ns, at_ns, q->kind_mask, e);
	if (r >= 0)
		r = give(&c, at_ns, &out);
	if (r >= 0 && c.points)
		carry_points_save(c.points);
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
