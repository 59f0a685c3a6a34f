/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_carry: goes through all events before the cut once. Events that may matter are in a pool; maps
 * by address, request and thread say which still do.
 */
#include "event/trace_carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/trace_state.h"

#define ORDER_MAX 10	/* of the kernel's page allocator */
#define NONE UINT32_MAX

struct carried {
	struct event ev;
	uint64_t nr;		/* in order of time */
	uint32_t next;		/* of a request's events, or of free ones */
	bool used;
};

/* A thread's last enter and leave of a CPU, and the first wake-up after each. */
struct carried_thread {
	struct event enter, leave, woken_running, woken;
	uint64_t nr[4];		/* of these, + 1; 0: none */
};

struct carry {
	struct trace *t;
	struct carried *pool;
	uint32_t cnt, cap, free;
	uint64_t nr;
	struct idmap slab, pages, heap, requests;	/* pool index + 1; of a request its last event's */
	struct idmap by_utid;				/* index + 1 in threads */
	struct trace_list threads;
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

static uint32_t find(const struct idmap *m, uint64_t key)
{
	uintptr_t at = (uintptr_t)idmap_get(m, key);

	return at ? (uint32_t)at - 1 : NONE;
}

static int put(struct idmap *m, uint64_t key, uint32_t at)
{
	return at == NONE ? -ENOMEM : idmap_put(m, key, (void *)((uintptr_t)at + 1));
}

static void end_object(struct carry *c, struct idmap *m, uint64_t key)
{
	uintptr_t at = (uintptr_t)idmap_remove(m, key);

	if (at)
		drop(c, (uint32_t)at - 1);
}

static int begin_object(struct carry *c, struct idmap *m, uint64_t key, const struct event *ev)
{
	end_object(c, m, key);
	return put(m, key, keep(c, ev));
}

/* Addresses of a heap are its process's. */
static uint64_t heap_key(const struct carry *c, const struct event *ev)
{
	const struct trace_thread *h = trace_thread_find(c->t, ev->utid);

	return ev->v[EV_HEAP_ADDR] ^ (uint64_t)(h ? h->upid : 0) << 48;
}

/* Ends what lies in the frames; a part of a larger block stays a part: then the free matters, too. */
static int free_pages(struct carry *c, const struct event *ev)
{
	uint64_t pfn = ev->v[EV_PAGE_PFN], i, head;
	unsigned int order = ev->v[EV_PAGE_ORDER] < ORDER_MAX ? (unsigned int)ev->v[EV_PAGE_ORDER]
							      : ORDER_MAX;
	unsigned int o;
	uint32_t at;

	at = find(&c->pages, pfn);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what is found is in the pool */
	if (at != NONE && c->pool[at].ev.v[EV_PAGE_ORDER] == ev->v[EV_PAGE_ORDER]) {
		end_object(c, &c->pages, pfn);
		return 0;
	}
	for (i = 0; i < (uint64_t)1 << order; i++) {
		at = find(&c->pages, pfn + i);
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what is found is in the pool */
		if (at != NONE && c->pool[at].ev.v[EV_PAGE_ORDER] <= order)
			end_object(c, &c->pages, pfn + i);
	}
	for (o = order + 1; o <= ORDER_MAX; o++) {
		head = pfn & ~(((uint64_t)1 << o) - 1);
		at = find(&c->pages, head);
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): likewise */
		if (at != NONE && c->pool[at].ev.v[EV_PAGE_ORDER] == o)
			return keep(c, ev) == NONE ? -ENOMEM : 0;
	}
	return 0;
}

static bool ends_request(const struct event *ev)
{
	uint64_t a = ev->v[EV_BLOCK_ACTION];

	return a == EVENT_BLOCK_COMPLETE || a == EVENT_BLOCK_DONE || a == EVENT_BLOCK_ERROR;
}

/* A request's events since it was new: its identity is used again and again. */
static int block_event(struct carry *c, const struct event *ev)
{
	uint64_t a = ev->v[EV_BLOCK_ACTION], key = ev->v[EV_BLOCK_RQ];
	uint32_t last = find(&c->requests, key), at, next;

	if (last != NONE && ends_request(&c->pool[last].ev) &&
	    (a == EVENT_BLOCK_START || a == EVENT_BLOCK_INSERT || a == EVENT_BLOCK_ISSUE)) {
		for (at = last; at != NONE; at = next) {
			next = c->pool[at].next;
			drop(c, at);
		}
		last = NONE;
	}
	at = keep(c, ev);
	if (at != NONE)
		c->pool[at].next = last;
	return put(&c->requests, key, at);
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
	switch (ev->kind) {
	case EVENT_SWITCH:
	case EVENT_WAKEUP:
		return sched_event(c, ev);
	case EVENT_SLAB_ALLOC:
		return begin_object(c, &c->slab, ev->v[EV_SLAB_ADDR], ev);
	case EVENT_SLAB_FREE:
		end_object(c, &c->slab, ev->v[EV_SLAB_ADDR]);
		return 0;
	case EVENT_PAGE_ALLOC:
		return begin_object(c, &c->pages, ev->v[EV_PAGE_PFN], ev);
	case EVENT_PAGE_FREE:
		return free_pages(c, ev);
	case EVENT_HEAP_ALLOC:
		return begin_object(c, &c->heap, heap_key(c, ev), ev);
	case EVENT_HEAP_FREE:
		end_object(c, &c->heap, heap_key(c, ev));
		return 0;
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

/* In order; a switch that two threads need is there once. */
static int give(struct carry *c, struct event **ret, size_t *ret_cnt)
{
	struct carried **order = malloc((c->cnt + 1) * sizeof(struct carried *));
	struct event *out;
	size_t cnt = 0, n = 0, i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < c->cnt; i++)
		if (c->pool[i].used)
			order[cnt++] = &c->pool[i];
	if (cnt)
		qsort(order, cnt, sizeof(struct carried *), nr_cmp);
	out = malloc((cnt + 1) * sizeof(*out));
	for (i = 0; out && i < cnt; i++)
		if (!i || order[i]->nr != order[i - 1]->nr)
			out[n++] = order[i]->ev;
	free(order);
	if (!out)
		return -ENOMEM;
	*ret = out;
	*ret_cnt = n;
	return 0;
}

static void carry_done(struct carry *c)
{
	free(c->pool);
	idmap_done(&c->slab);
	idmap_done(&c->pages);
	idmap_done(&c->heap);
	idmap_done(&c->requests);
	idmap_done(&c->by_utid);
	free(c->threads.v);
}

int trace_carry(struct trace *t, size_t block, uint32_t kind_mask, struct event **ret,
		size_t *ret_cnt, struct err *e)
{
	const uint32_t kinds = 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP | 1u << EVENT_SLAB_ALLOC |
			       1u << EVENT_SLAB_FREE | 1u << EVENT_PAGE_ALLOC |
			       1u << EVENT_PAGE_FREE | 1u << EVENT_HEAP_ALLOC |
			       1u << EVENT_HEAP_FREE | 1u << EVENT_BLOCK;
	struct carry c = { .t = t, .free = NONE };
	struct event_cursor *cur;
	const struct event *ev;
	int r;

	r = event_cursor_open(&cur, t, kinds & kind_mask, 0, UINT64_MAX, e);
	if (r < 0)
		return r;
	event_cursor_end_at(cur, block);
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		r = see(&c, ev);
		if (r < 0)
			break;
	}
	event_cursor_close(cur);
	if (r == 0)
		r = keep_threads(&c);
	if (r == 0)
		r = give(&c, ret, ret_cnt);
	carry_done(&c);
	return r < 0 ? err_set(e, r, "%s", err_text(e, r)) : 0;
}
