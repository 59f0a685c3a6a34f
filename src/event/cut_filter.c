/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_filter: whether a request is of interest may show only when it is issued, after it was queued: requests are gone
 * through twice, the first time to number their lives.
 */
#include "event/cut_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/idmap.h"
#include "event/block_track.h"
#include "event/irq_track.h"
#include "event/keymap.h"
#include "event/live_objects.h"
#include "event/trace_state.h"

enum family { SLAB, PAGES, HEAP, FAMILY_CNT };

struct life {
	uint64_t number; /* block_track_life() */
	uint32_t at; /* in is_kept */
};

struct cut_filter {
	const struct trace *t;
	struct idmap upids;
	struct live_objects *objects[FAMILY_CNT]; /* of the processes */
	bool *is_on; /* by CPU: one of their threads may have it */
	struct irq_track *irq; /* of the events that are kept */
	bool hit; /* the last free, or allocation, ended one of them */
	uint32_t *life_of; /* of each block event in order */
	size_t event_cnt, event_cap, event_at;
	struct trace_list is_kept; /* bool by life */
};

bool cut_filter_has_process(const struct cut_filter *f, uint64_t upid)
{
	return idmap_get(&f->upids, upid);
}

bool cut_filter_has_thread(const struct cut_filter *f, uint64_t utid)
{
	const struct trace_thread *h = trace_thread_find(f->t, (uint32_t)utid);

	return h && cut_filter_has_process(f, h->upid);
}

/* ---- requests ---- */

static bool concerns(const struct cut_filter *f, const struct event *ev)
{
	bool by = ev->v[EV_BLOCK_ACTION] != EVENT_BLOCK_COMPLETE &&
		  ev->v[EV_BLOCK_ACTION] != EVENT_BLOCK_DONE &&
		  ev->v[EV_BLOCK_ACTION] != EVENT_BLOCK_ERROR && !(ev->flags & EVENT_F_IRQ);

	return (by && cut_filter_has_thread(f, ev->utid)) ||
	       (ev->v[EV_BLOCK_OWNER_UPID] &&
		cut_filter_has_process(f, ev->v[EV_BLOCK_OWNER_UPID]));
}

static int note_life(struct cut_filter *f, uint32_t life)
{
	if (f->event_cnt == f->event_cap) {
		size_t cap = f->event_cap ? f->event_cap * 2 : 4096;
		void *p = realloc(f->life_of, cap * sizeof(*f->life_of));

		if (!p)
			return -ENOMEM;
		f->life_of = p;
		f->event_cap = cap;
	}
	f->life_of[f->event_cnt++] = life;
	return 0;
}

static int over(void *ctx, const struct block_request *r)
{
	return 0;
}

struct request_pass {
	struct block_track *track;
	struct keymap map;
	struct trace_list lives; /* struct life by number in map */
};

static int number_event(struct cut_filter *f, struct request_pass *p, const struct event *ev)
{
	struct life *l;
	uint64_t number;
	uint32_t i;
	int known = keymap_intern(&p->map, ev->v[EV_BLOCK_RQ], ev->v[EV_BLOCK_DEV], &i);

	if (known < 0 || block_track_event(p->track, ev) < 0 ||
	    (known && !trace_list_add(&p->lives, sizeof(struct life))))
		return -ENOMEM;
	l = (struct life *)p->lives.v + i;
	number = block_track_life(p->track, ev->v[EV_BLOCK_RQ], (uint32_t)ev->v[EV_BLOCK_DEV]);
	if (known || l->number != number) {
		if (!trace_list_add(&f->is_kept, sizeof(bool)))
			return -ENOMEM;
		l->number = number;
		l->at = (uint32_t)f->is_kept.cnt - 1;
	}
	((bool *)f->is_kept.v)[l->at] |= concerns(f, ev);
	return note_life(f, l->at);
}

static int number_requests(struct cut_filter *f, struct trace *t, const struct trace_carry *carry, uint64_t from_ns,
			   uint64_t to_ns, struct err *e)
{
	struct request_pass p = { .track = NULL };
	struct event_cursor *cur;
	const struct event *ev;
	size_t i;
	int r = event_cursor_open(&cur, t, 1u << EVENT_BLOCK, from_ns, to_ns, e);

	if (r < 0)
		return r;
	r = block_track_new(&p.track, over, NULL);
	for (i = 0; i < carry->event_cnt && r >= 0; i++)
		if (carry->events[i].kind == EVENT_BLOCK)
			r = number_event(f, &p, &carry->events[i]);
	while (r >= 0 && (r = event_cursor_next(cur, &ev, e)) > 0)
		r = number_event(f, &p, ev);
	event_cursor_close(cur);
	block_track_free(p.track);
	keymap_done(&p.map);
	free(p.lives.v);
	return r;
}

/* ---- allocations ---- */

static int ended(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct cut_filter *f = ctx;

	f->hit = true;
	return 0;
}

static unsigned int order_of(enum family fam, const struct event *ev)
{
	return fam == PAGES ? (unsigned int)(ev->v[EV_PAGE_ORDER] < 63 ? ev->v[EV_PAGE_ORDER] : 63)
			    : 0;
}

static int on_object(struct cut_filter *f, enum family fam, struct event *ev, bool is_alloc)
{
	const struct trace_thread *h = trace_thread_find(f->t, ev->utid);
	bool mine = h && cut_filter_has_process(f, h->upid) && !(ev->flags & EVENT_F_IRQ);
	struct live_kind k = { .order = (uint8_t)order_of(fam, ev), .bytes = 1 };
	uint32_t space = fam == HEAP && h ? h->upid : 0;
	uint64_t unknown;
	int r;

	f->hit = false;
	if (fam == HEAP) /* addresses of its own */
		return mine;
	if (is_alloc && mine) {
		r = live_objects_add(f->objects[fam], space, ev->v[0], ev->ts_ns, 0, &k, ended, f);
		return r < 0 ? r : 1;
	}
	r = live_objects_end(f->objects[fam], space, ev->v[0], k.order, ended, f, &unknown);
	if (r < 0 || !f->hit)
		return r < 0 ? r : 0;
	if (!mine) {
		ev->utid = EVENT_ID_FILTERED;
		ev->flags &= (uint8_t)~EVENT_F_IRQ;
	}
	return 1;
}

/* ---- one by one ---- */

/* A switch between others matters where it shows that one away from a thread was lost. */
static int on_switch(struct cut_filter *f, struct event *ev)
{
	bool was_on = ev->cpu >= f->t->cpu_cnt || f->is_on[ev->cpu];
	bool from = cut_filter_has_thread(f, ev->utid),
	     to = cut_filter_has_thread(f, ev->v[EV_SWITCH_NEXT]);

	if (!from)
		ev->utid = EVENT_ID_FILTERED;
	if (!to) {
		ev->v[EV_SWITCH_NEXT] = EVENT_ID_FILTERED;
		ev->flags |= EVENT_F_NEXT_OUT;
	}
	if (ev->cpu < f->t->cpu_cnt)
		f->is_on[ev->cpu] = to;
	return from || to || was_on;
}

static int on_wakeup(const struct cut_filter *f, struct event *ev)
{
	if (!cut_filter_has_thread(f, ev->v[EV_WAKEUP_TARGET]))
		return 0;
	if (!cut_filter_has_thread(f, ev->utid))
		ev->utid = EVENT_ID_FILTERED;
	return 1;
}

static int on_memory(const struct cut_filter *f, struct event *ev)
{
	if (!cut_filter_has_process(f, ev->v[EV_RSS_UPID]))
		return 0;
	if (!cut_filter_has_thread(f, ev->utid))
		ev->utid = EVENT_ID_FILTERED;
	return 1;
}

static int on_run(void *ctx, const struct irq_run *r)
{
	return 0;
}

/* That another thread is interrupted shows that the exit of one of theirs was lost. */
static int on_irq(struct cut_filter *f, struct event *ev)
{
	int r;

	if (!cut_filter_has_thread(f, ev->utid)) {
		if (!irq_track_depth(f->irq, ev->cpu))
			return 0;
		ev->utid = EVENT_ID_FILTERED;
		/* which is all that it is kept for */
		r = irq_track_hole_on(f->irq, ev->cpu);
	} else {
		r = irq_track_event(f->irq, ev);
	}
	return r < 0 ? r : 1;
}

int cut_filter_event(struct cut_filter *f, struct event *ev)
{
	switch (ev->kind) {
	case EVENT_SWITCH:
		return on_switch(f, ev);
	case EVENT_WAKEUP:
		return on_wakeup(f, ev);
	case EVENT_RSS:
	case EVENT_VM:
		return on_memory(f, ev);
	case EVENT_SLAB_ALLOC:
	case EVENT_SLAB_FREE:
		return on_object(f, SLAB, ev, ev->kind == EVENT_SLAB_ALLOC);
	case EVENT_PAGE_ALLOC:
	case EVENT_PAGE_FREE:
		return on_object(f, PAGES, ev, ev->kind == EVENT_PAGE_ALLOC);
	case EVENT_HEAP_ALLOC:
	case EVENT_HEAP_FREE:
		return on_object(f, HEAP, ev, ev->kind == EVENT_HEAP_ALLOC);
	case EVENT_BLOCK:
		if (f->event_at >= f->event_cnt)
			return 0;
		return ((bool *)f->is_kept.v)[f->life_of[f->event_at++]];
	case EVENT_IRQ:
		return on_irq(f, ev);
	default:
		return cut_filter_has_thread(f, ev->utid);
	}
}

void cut_filter_begin_block(struct cut_filter *f)
{
	unsigned int cpu;

	for (cpu = 0; cpu < f->t->cpu_cnt; cpu++)
		f->is_on[cpu] = true;
}

int cut_filter_new(struct cut_filter **ret, struct trace *t, const uint32_t *upids, size_t cnt,
		   const struct trace_carry *carry, uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	struct cut_filter *f = calloc(1, sizeof(*f));
	size_t i;
	int r = 0;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->t = t;
	for (i = 0; i < cnt && r == 0; i++)
		r = idmap_put(&f->upids, upids[i], (void *)1);
	f->is_on = calloc(t->cpu_cnt + 1, sizeof(*f->is_on));
	if (!f->is_on)
		r = -ENOMEM;
	if (r == 0)
		r = live_objects_new(&f->objects[SLAB], 0);
	if (r == 0)
		r = live_objects_new(&f->objects[PAGES], (uint32_t)trace_page_bytes(t));
	if (r == 0)
		r = irq_track_new(&f->irq, t->cpu_cnt, &(struct irq_sink){ .run = on_run });
	if (r == 0)
		r = number_requests(f, t, carry, from_ns, to_ns, e);
	if (r < 0) {
		cut_filter_free(f);
		return err_set(e, r, "%s", err_text(e, r));
	}
	*ret = f;
	return 0;
}

void cut_filter_free(struct cut_filter *f)
{
	unsigned int i;

	if (!f)
		return;
	idmap_done(&f->upids);
	for (i = 0; i < FAMILY_CNT; i++)
		live_objects_free(f->objects[i]);
	irq_track_free(f->irq);
	free(f->is_on);
	free(f->life_of);
	free(f->is_kept.v);
	free(f);
}
