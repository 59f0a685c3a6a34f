/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_carried: keeps the earlier events that a trace needs if it is cut to begin at some instant.
 * Replaying the kept events brings a state machine (thread_states, request_track, irq_track) into
 * the same state as replaying all events. These events are kept:
 *   - per thread: the last switch to it, the last switch away from it, the first wake-up after each
 *     of these, and a second wake-up after the switch away. The kept events show whether the thread
 *     waits, and since when, or that the thread has run although its switches were lost. A thread
 *     that ended and left its CPU needs no event;
 *   - per request: its events, until a new request begins at its address;
 *   - per CPU: the events since the beginning of the outermost open interrupt.
 *
 * Threads have fixed space for their few events. Events of requests and interrupts are in a pool;
 * the readers' state machines (request_track.h, irq_track.h) decide which events still matter.
 * Memory grows with the number of threads, request addresses and CPUs.
 */
#include "analyze/fold/folds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "model/thread_states.h"
#include "trace/trace_read.h"

#define NONE UINT32_MAX
#define RECENT_THREADS 4096
#define SCHED_VALUES 8

_Static_assert((int)EV_SWITCH_CNT <= SCHED_VALUES && (int)EV_WAKEUP_CNT <= SCHED_VALUES,
	       "room for all values");

/* Kinds of events kept for a thread. */
enum { ENTER, LEAVE, WOKEN_RUNNING, WOKEN, WOKEN_AGAIN, ABOUT_CNT };

/* A switch or wake-up, with fewer values than a struct event. */
struct sched_event {
	uint64_t nr;		/* number of the event, counted from 1; 0: no event */
	uint64_t ts_ns, v[SCHED_VALUES];
	uint32_t utid;
	uint16_t cpu;
	uint8_t kind, flags;
};

struct carried_thread {
	uint32_t utid;
	uint64_t end_ns;	/* UINT64_MAX: the thread did not end */
	bool is_behind;		/* the thread had an event after its end */
	struct sched_event last[ABOUT_CNT];
};

struct kept {
	struct event ev;
	uint64_t nr;
	uint32_t next;		/* next entry in the same chain, or in the list of unused entries */
};

/* A request or a CPU, and its events. */
struct subject {
	uint64_t life;		/* for a request: request_track_life() */
	uint32_t last;		/* pool index of the last event, or NONE */
};

/*
 * Second half of a CPU's key, after the CPU's number. In keys of requests, this half is the device,
 * which never has the value KEY_CPU.
 */
#define KEY_CPU (1ull << 32)

struct carried_machine {
	struct fold_machine f;
	uint64_t nr;
	struct hash_map thread_nr;
	struct carried_thread *threads;
	size_t thread_cap;
	uint32_t recent[RECENT_THREADS];	/* recently used thread numbers, by utid */
	struct kept *pool;
	size_t cnt, cap;
	uint32_t free;
	struct hash_map subject_nr;
	struct subject *subjects;
	size_t subject_cap;
	struct request_track *requests;
	struct irq_track *irq;
	struct irq_holes holes;
};

static int carried_open(void *machine)
{
	struct carried_machine *c = machine;
	const struct trace *t = c->f.a->trace;
	int r = request_track_new(&c->requests, NULL, NULL);

	c->free = NONE;
	r = r ?: irq_track_new(&c->irq, trace_cpu_cnt(t), &(struct irq_sink){ 0 });
	return r == 0 ? irq_holes_find(&c->holes, t) : r;
}

static void carried_close(void *machine)
{
	struct carried_machine *c = machine;

	hash_map_done(&c->thread_nr);
	free(c->threads);
	free(c->pool);
	hash_map_done(&c->subject_nr);
	free(c->subjects);
	request_track_free(c->requests);
	irq_track_free(c->irq);
	irq_holes_done(&c->holes);
}

/* ---- threads ---- */

/* Returns whether the thread left its CPU dead, and so will not run again. */
static bool is_gone(const struct carried_thread *h)
{
	const struct sched_event *left = &h->last[LEAVE];

	return left->nr > h->last[ENTER].nr && !h->last[WOKEN].nr &&
	       !(left->flags & EVENT_F_PREEMPT) &&
	       task_state_of_bits(left->v[EV_SWITCH_PREV_STATE]) == TASK_STATE_DEAD;
}

/*
 * Returns the entry of a thread that has an event at ts_ns. If the thread is off the CPUs, its
 * first event after its end begins a new life (thread_states.h); earlier wake-ups are dropped, so
 * that this event is kept. NULL: out of memory.
 */
static struct carried_thread *thread_at(struct carried_machine *c, uint32_t utid, uint64_t ts_ns)
{
	uint32_t *i = &c->recent[utid % RECENT_THREADS];
	const struct trace_thread *of;
	struct carried_thread *h;
	int r = 0;

	if (*i >= c->thread_nr.cnt || c->threads[*i].utid != utid)
		r = hash_map_intern(&c->thread_nr, utid, 0, i);
	if (r < 0 || array_reserve(&c->threads, &c->thread_cap, (size_t)*i + 1) < 0)
		return NULL;
	h = &c->threads[*i];
	if (r > 0) {
		of = trace_thread_find(c->f.a->trace, utid);
		*h = (struct carried_thread){
			.utid = utid, .end_ns = of && of->end_ns ? of->end_ns : UINT64_MAX };
	}
	if (ts_ns >= h->end_ns && !h->is_behind) {
		h->is_behind = true;
		h->last[WOKEN].nr = h->last[WOKEN_AGAIN].nr = 0;
	}
	return h;
}

static struct sched_event pack(const struct carried_machine *c, const struct event *ev)
{
	struct sched_event s = { .nr = c->nr, .ts_ns = ev->ts_ns, .utid = ev->utid,
				 .cpu = ev->cpu, .kind = ev->kind, .flags = ev->flags };

	memcpy(s.v, ev->v, sizeof(s.v));
	return s;
}

static int set_last(struct carried_machine *c, uint32_t utid, unsigned int about,
		    unsigned int wakeup, const struct event *ev)
{
	struct carried_thread *h;

	if (utid < EVENT_ID_FIRST)
		return 0;
	h = thread_at(c, utid, ev->ts_ns);
	if (!h)
		return -ENOMEM;
	h->last[about] = pack(c, ev);
	h->last[wakeup].nr = 0;
	if (wakeup == WOKEN)
		h->last[WOKEN_AGAIN].nr = 0;
	return 0;
}

static int switch_event(struct carried_machine *c, const struct event *ev)
{
	int r = set_last(c, ev->utid, LEAVE, WOKEN, ev);

	if (r < 0 || ev->flags & EVENT_F_NEXT_OUT)
		return r;
	return set_last(c, (uint32_t)ev->v[EV_SWITCH_NEXT_UTID], ENTER, WOKEN_RUNNING, ev);
}

static int wakeup_event(struct carried_machine *c, const struct event *ev)
{
	uint32_t target = (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID];
	struct carried_thread *h;
	struct sched_event *s;

	if (target < EVENT_ID_FIRST)
		return 0;
	h = thread_at(c, target, ev->ts_ns);
	if (!h)
		return -ENOMEM;
	s = &h->last[h->last[ENTER].nr > h->last[LEAVE].nr ? WOKEN_RUNNING : WOKEN];
	if (s == &h->last[WOKEN] && s->nr && ev->ts_ns > s->ts_ns)
		s = &h->last[WOKEN_AGAIN];
	if (!s->nr)
		*s = pack(c, ev);
	return 0;
}

/* ---- requests and interrupts ---- */

/* Finds or adds a subject. NULL: out of memory. */
static struct subject *subject_of(struct carried_machine *c, uint64_t id, uint64_t key)
{
	uint32_t i;
	int r = hash_map_intern(&c->subject_nr, id, key, &i);

	if (r < 0 || array_reserve(&c->subjects, &c->subject_cap, (size_t)i + 1) < 0)
		return NULL;
	if (r > 0)
		c->subjects[i] = (struct subject){ .last = NONE };
	return &c->subjects[i];
}

static int chain_add(struct carried_machine *c, struct subject *s, const struct event *ev)
{
	uint32_t at = c->free;

	if (at != NONE)
		c->free = c->pool[at].next;
	else if (c->cnt < NONE && array_reserve(&c->pool, &c->cap, c->cnt + 1) == 0)
		at = (uint32_t)c->cnt++;
	else
		return -ENOMEM;
	c->pool[at] = (struct kept){ .ev = *ev, .nr = c->nr, .next = s->last };
	s->last = at;
	return 0;
}

static void chain_drop(struct carried_machine *c, struct subject *s)
{
	uint32_t at, next;

	for (at = s->last; at != NONE; at = next) {
		next = c->pool[at].next;
		c->pool[at].next = c->free;
		c->free = at;
	}
	s->last = NONE;
}

static int request_event(struct carried_machine *c, const struct event *ev)
{
	struct request_life life;
	struct subject *s;

	if (request_track_event(c->requests, ev) < 0)
		return -ENOMEM;
	if (!request_track_life(c->requests, ev, &life))
		return 0;
	s = subject_of(c, life.rq, life.dev);
	if (!s)
		return -ENOMEM;
	if (life.number != s->life)
		chain_drop(c, s);
	s->life = life.number;
	return chain_add(c, s, ev);
}

static int irq_event(struct carried_machine *c, const struct event *ev)
{
	struct subject *s;
	unsigned int depth;
	int r = 0;

	if (ev->cpu >= trace_cpu_cnt(c->f.a->trace))
		return 0;
	if (irq_holes_pass(&c->holes, ev->ts_ns + 1))
		r = irq_track_hole(c->irq);
	if (r >= 0)
		r = irq_track_event(c->irq, ev);
	if (r < 0)
		return r;
	s = subject_of(c, ev->cpu, KEY_CPU);
	if (!s)
		return -ENOMEM;
	depth = irq_track_depth(c->irq, ev->cpu);
	if (!depth || (depth == 1 && ev->v[EV_IRQ_ACTION] == EVENT_IRQ_ENTRY))
		chain_drop(c, s);
	return depth ? chain_add(c, s, ev) : 0;
}

/* Drops interrupts that are open at a hole in the events, because their ends are lost. */
static int forget_irqs(struct carried_machine *c, uint64_t at_ns)
{
	uint32_t i;
	int r = irq_holes_pass(&c->holes, at_ns) ? irq_track_hole(c->irq) : 0;

	for (unsigned int cpu = 0; cpu < trace_cpu_cnt(c->f.a->trace) && r >= 0; cpu++)
		if (!irq_track_depth(c->irq, cpu) &&
		    hash_map_find(&c->subject_nr, cpu, KEY_CPU, &i))
			chain_drop(c, &c->subjects[i]);
	return r;
}

static int carried_event(void *machine, const struct event *ev)
{
	struct carried_machine *c = machine;

	c->nr++;
	switch (ev->kind) {
	case EVENT_SWITCH:
		return switch_event(c, ev);
	case EVENT_WAKEUP:
		return wakeup_event(c, ev);
	case EVENT_REQUEST:
		return request_event(c, ev);
	case EVENT_IRQ:
		return irq_event(c, ev);
	default:
		return 0;
	}
}

/* ---- events kept at an instant ---- */

struct event_place {
	uint64_t nr;
	const struct sched_event *sched;	/* NULL: in the pool */
	/* index in the pool, or the kind of a thread's event (ENTER, ...) */
	uint32_t at;
};

struct places {
	struct event_place *v;
	size_t cnt, cap;
};

static int add_places(const struct carried_machine *c, struct places *p)
{
	int r = 0;

	for (size_t i = 0; i < c->thread_nr.cnt; i++) {
		const struct carried_thread *h = &c->threads[i];

		if (is_gone(h))
			continue;
		for (unsigned int k = 0; k < ABOUT_CNT && r == 0; k++)
			if (h->last[k].nr)
				r = array_add(&p->v, &p->cap, &p->cnt,
					      (struct event_place){ h->last[k].nr, &h->last[k],
								    k });
	}
	for (size_t i = 0; i < c->subject_nr.cnt; i++)
		for (uint32_t at = c->subjects[i].last; at != NONE && r == 0; at = c->pool[at].next)
			r = array_add(&p->v, &p->cap, &p->cnt,
				      (struct event_place){ c->pool[at].nr, NULL, at });
	return r;
}

/*
 * Returns the event that cnt places refer to. In a switch, a thread that does not need the event is
 * replaced by EVENT_ID_UNKNOWN: a later event may have ended the thread, which must not be alive
 * again.
 */
static struct event event_at(const struct carried_machine *c, const struct event_place *p,
			     size_t cnt)
{
	const struct sched_event *s = p->sched;
	struct event ev;
	bool needs[ABOUT_CNT] = { false };

	if (!s)
		return c->pool[p->at].ev;
	for (size_t i = 0; i < cnt; i++)
		needs[p[i].at] = true;
	ev = (struct event){ .ts_ns = s->ts_ns, .utid = s->utid, .cpu = s->cpu, .kind = s->kind,
			     .flags = s->flags };
	memcpy(ev.v, s->v, sizeof(s->v));
	if (ev.kind == EVENT_SWITCH && !needs[LEAVE])
		ev.utid = EVENT_ID_UNKNOWN;
	if (ev.kind == EVENT_SWITCH && !needs[ENTER])
		ev.v[EV_SWITCH_NEXT_UTID] = EVENT_ID_UNKNOWN;
	return ev;
}

static int carried_checkpoint(void *machine, uint64_t at_ns, struct checkpoint *ret)
{
	struct carried_machine *c = machine;
	struct places p = { 0 };
	size_t i, cnt;
	int r = forget_irqs(c, at_ns);

	if (r >= 0)
		r = add_places(c, &p);
	if (r == 0 && p.cnt)
		qsort(p.v, p.cnt, sizeof(*p.v), compare_u64);
	for (i = 0; i < p.cnt && r == 0; i += cnt) {
		struct event ev;

		for (cnt = 1; i + cnt < p.cnt && p.v[i + cnt].nr == p.v[i].nr; cnt++)
			;
		ev = event_at(c, &p.v[i], cnt);
		r = checkpoint_add_event(ret, &ev);
	}
	free(p.v);
	return r;
}

static int carried_restore(void *machine, uint64_t at_ns, const struct checkpoint *from)
{
	int ret = 0;

	for (size_t i = 0; i < from->event_cnt && ret >= 0; i++)
		ret = carried_event(machine, &from->events[i]);
	return ret;
}

/* ---- states: the index stores only a tail ---- */

static void carried_begin_interval(void *machine, uint64_t from_ns)
{
}

static void carried_save(void *machine, uint64_t at_ns, struct buf *out)
{
	struct checkpoint c = { 0 };

	if (carried_checkpoint(machine, at_ns, &c) == 0)
		checkpoint_encode(&c, at_ns, out);
	else
		out->failed = true;
	checkpoint_done(&c);
}

static int carried_load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	struct carried_machine *m = machine;
	size_t cnt = (size_t)(in->end - in->p);
	struct checkpoint c;
	int ret = checkpoint_decode(in->p, cnt, cnt, at_ns, trace_cpu_cnt(m->f.a->trace), &c);

	if (ret < 0)
		return ret;
	ret = carried_restore(machine, at_ns, &c);
	checkpoint_done(&c);
	return ret;
}

static const struct fold_state_def carried_state = {
	.tail = INDEX_TAIL_CARRIED, .begin_interval = carried_begin_interval,
	.save = carried_save, .load = carried_load,
};

#define CARRIED_FOLD(part, event_kinds)                                                           \
	[part] = {                                                                                \
		.kinds = event_kinds, .asks = ANALYSIS_CARRIED(part), .state = &carried_state,    \
		.group = part,                                                                    \
		.bytes = sizeof(struct carried_machine), .open = carried_open,                    \
		.close = carried_close, .event = carried_event, .checkpoint = carried_checkpoint, \
		.restore = carried_restore,                                                       \
	}

const struct fold_def fold_carried[] = {
	CARRIED_FOLD(CHECKPOINT_SCHED, 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP),
	CARRIED_FOLD(CHECKPOINT_REQUESTS, 1u << EVENT_REQUEST),
	CARRIED_FOLD(CHECKPOINT_IRQ, 1u << EVENT_IRQ),
};
