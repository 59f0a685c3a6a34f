/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_filter: a request may become relevant only when it is issued, after it was queued. The block
 * events are therefore read twice; the first pass numbers the lives of the requests.
 */
#include "edit/cut_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "model/irq_track.h"
#include "model/object_pairs.h"
#include "model/request_track.h"

struct cut_filter {
	const struct trace *t;
	struct hash_map upids;
	struct object_pairs pairs; /* of the processes */
	bool *is_on; /* by CPU: a thread of the processes may have it */
	struct irq_track *irq; /* of the events that are kept */
	bool hit; /* the last free, or allocation, ended an object of the processes */
	uint64_t *life_of; /* life of each block event, in order */
	size_t event_cnt, event_cap, event_at;
	bool *is_kept; /* by request_track_life() */
	size_t life_cap;
};

bool cut_filter_has_process(const struct cut_filter *f, uint64_t upid)
{
	return hash_map_get(&f->upids, upid);
}

bool cut_filter_has_thread(const struct cut_filter *f, uint64_t utid)
{
	const struct trace_thread *h = trace_thread_find(f->t, (uint32_t)utid);

	return h && cut_filter_has_process(f, h->upid);
}

/* ---- requests ---- */

static bool concerns(const struct cut_filter *f, const struct event *ev)
{
	bool by = ev->v[EV_REQUEST_ACTION] != EVENT_REQUEST_COMPLETE &&
		  ev->v[EV_REQUEST_ACTION] != EVENT_REQUEST_DONE &&
		  ev->v[EV_REQUEST_ACTION] != EVENT_REQUEST_ERROR && !(ev->flags & EVENT_F_IRQ);

	return (by && cut_filter_has_thread(f, ev->utid)) ||
	       (ev->v[EV_REQUEST_OWNER_UPID] &&
		cut_filter_has_process(f, ev->v[EV_REQUEST_OWNER_UPID]));
}

static int number_event(struct cut_filter *f, struct request_track *track, const struct event *ev)
{
	struct request_life of;
	uint64_t life;

	if (request_track_event(track, ev) < 0)
		return -ENOMEM;
	/* number 0 is for bios whose request is unknown */
	life = request_track_life(track, ev, &of) ? 1 + of.number : 0;
	if (array_reserve(&f->life_of, &f->event_cap, f->event_cnt + 1) < 0 ||
	    array_reserve(&f->is_kept, &f->life_cap, life + 1) < 0)
		return -ENOMEM;
	f->is_kept[life] |= concerns(f, ev);
	f->life_of[f->event_cnt++] = life;
	return 0;
}

static int number_requests(struct cut_filter *f, struct trace *t, const struct checkpoint *before,
			   uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	struct request_track *track = NULL;
	struct event_cursor *cur;
	const struct event *ev;
	int r = event_cursor_open(&cur, t, 1u << EVENT_REQUEST, from_ns, to_ns, e);

	if (r < 0)
		return r;
	r = request_track_new(&track, NULL, NULL);
	for (size_t i = 0; i < before->event_cnt && r >= 0; i++)
		if (before->events[i].kind == EVENT_REQUEST)
			r = number_event(f, track, &before->events[i]);
	while (r >= 0 && (r = event_cursor_next(cur, &ev, e)) > 0)
		r = number_event(f, track, ev);
	event_cursor_close(cur);
	request_track_free(track);
	return r;
}

/* ---- allocations ---- */

static int ended(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct cut_filter *f = ctx;

	f->hit = true;
	return 0;
}

static int on_object(struct cut_filter *f, struct event *ev)
{
	struct object_event o;
	uint64_t unknown;
	bool mine;
	int r;

	object_event_read(ev, f->pairs.page_bytes, &o);
	mine = cut_filter_has_thread(f, o.utid);
	if (o.family == OBJECT_HEAP)	/* every process has its own addresses */
		return mine;
	f->hit = o.is_alloc && mine;
	o.is_alloc = f->hit;
	r = object_pairs_event(&f->pairs, &o, ev->ts_ns, 0, 0, ended, f, &unknown);
	if (r < 0 || !f->hit)
		return r < 0 ? r : 0;
	if (!mine) {
		ev->utid = EVENT_ID_FILTERED;
		ev->flags &= (uint8_t)~EVENT_F_IRQ;
	}
	return 1;
}

/* ---- one by one ---- */

/* A switch between other threads is kept if it shows that a switch away from a thread was lost. */
static int on_switch(struct cut_filter *f, struct event *ev)
{
	bool was_on = ev->cpu >= trace_cpu_cnt(f->t) || f->is_on[ev->cpu];
	bool from = cut_filter_has_thread(f, ev->utid),
	     to = cut_filter_has_thread(f, ev->v[EV_SWITCH_NEXT_UTID]);

	if (!from)
		ev->utid = EVENT_ID_FILTERED;
	if (!to) {
		ev->v[EV_SWITCH_NEXT_UTID] = EVENT_ID_FILTERED;
		ev->flags |= EVENT_F_NEXT_OUT;
	}
	if (ev->cpu < trace_cpu_cnt(f->t))
		f->is_on[ev->cpu] = to;
	return from || to || was_on;
}

/* An event belongs to the thread or process in one of its columns. */
static int on_owned(const struct cut_filter *f, struct event *ev, const struct event_column *owner)
{
	uint64_t id = ev->v[owner->index];

	if (owner->refers == EVENT_REFERS_THREAD ? !cut_filter_has_thread(f, id) :
						   !cut_filter_has_process(f, id))
		return 0;
	if (!cut_filter_has_thread(f, ev->utid))
		ev->utid = EVENT_ID_FILTERED;
	return 1;
}

/* An interrupt of another thread is kept if it shows that the exit of a kept interrupt was lost. */
static int on_irq(struct cut_filter *f, struct event *ev)
{
	int r;

	if (!cut_filter_has_thread(f, ev->utid)) {
		if (!irq_track_depth(f->irq, ev->cpu))
			return 0;
		ev->utid = EVENT_ID_FILTERED;
		/* the interrupt is kept for no other reason */
		r = irq_track_hole_on(f->irq, ev->cpu);
	} else {
		r = irq_track_event(f->irq, ev);
	}
	return r < 0 ? r : 1;
}

int cut_filter_event(struct cut_filter *f, struct event *ev)
{
	const struct event_column *owner;

	switch (ev->kind) {
	case EVENT_SWITCH:
		return on_switch(f, ev);
	case EVENT_SLAB_ALLOC:
	case EVENT_SLAB_FREE:
	case EVENT_PAGE_ALLOC:
	case EVENT_PAGE_FREE:
	case EVENT_HEAP_ALLOC:
	case EVENT_HEAP_FREE:
		return on_object(f, ev);
	case EVENT_REQUEST:
		if (f->event_at >= f->event_cnt)
			return 0;
		return f->is_kept[f->life_of[f->event_at++]];
	case EVENT_IRQ:
		return on_irq(f, ev);
	default:
		owner = event_owner_column(ev->kind);
		return owner ? on_owned(f, ev, owner) : cut_filter_has_thread(f, ev->utid);
	}
}

void cut_filter_begin_block(struct cut_filter *f)
{
	for (unsigned int cpu = 0; cpu < trace_cpu_cnt(f->t); cpu++)
		f->is_on[cpu] = true;
}

int cut_filter_new(struct cut_filter **ret, struct trace *t, const uint32_t *upids, size_t cnt,
		   const struct checkpoint *before, uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	struct cut_filter *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->t = t;
	for (size_t i = 0; i < cnt && r == 0; i++)
		r = hash_map_put(&f->upids, upids[i], (void *)1);
	f->is_on = calloc(trace_cpu_cnt(t) + 1, sizeof(*f->is_on));
	if (!f->is_on)
		r = -ENOMEM;
	r = r ?: object_pairs_init(&f->pairs, trace_page_bytes(t), 1, false);
	r = r ?: irq_track_new(&f->irq, trace_cpu_cnt(t), &(struct irq_sink){ 0 });
	r = r ?: number_requests(f, t, before, from_ns, to_ns, e);
	if (r < 0) {
		cut_filter_free(f);
		return err_set(e, r, "%s", err_text(e, r));
	}
	*ret = f;
	return 0;
}

void cut_filter_free(struct cut_filter *f)
{
	if (!f)
		return;
	hash_map_done(&f->upids);
	object_pairs_done(&f->pairs);
	irq_track_free(f->irq);
	free(f->is_on);
	free(f->life_of);
	free(f->is_kept);
	free(f);
}
