/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_waking comes from the waker, maybe before the sleeper has left its CPU: then the
 * switch that follows is a sleep which is over already. But a wake-up that finds the thread on
 * its CPU may also just have kept it from sleeping, and the sleep that follows much later is a real
 * one. The two look alike at the switch. They differ at the next switch-in: the real sleep was
 * ended by a wake-up of its own. So the instant of leaving is kept as a second-best beginning.
 */
#include "model/run_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

enum run_state {
	STATE_UNSEEN = 0,
	STATE_RUNNING,
	STATE_RUNNING_WOKEN,	/* woken while on its CPU */
	STATE_SLEEPING,
	STATE_SLEEPING_WOKEN,	/* left to sleep after such a wake-up; since_ns is when */
	STATE_WOKEN,
	STATE_PREEMPTED,
};

struct run_thread {
	uint64_t since_ns;
	uint32_t noted;		/* the round of notes it was last noted in */
	uint16_t cpu;
	uint8_t state;
};

struct run_queue {
	uint32_t thread_cnt;
	uint32_t round;		/* of notes, counted from 1; 0: none are made */
	struct run_queue_state *notes;
	size_t note_cnt, note_cap;
	struct run_thread threads[];
};

int run_queue_new(struct run_queue **ret, uint32_t thread_cnt)
{
	struct run_queue *q = calloc(1, sizeof(*q) + thread_cnt * sizeof(q->threads[0]));

	if (!q)
		return -ENOMEM;
	q->thread_cnt = thread_cnt;
	*ret = q;
	return 0;
}

void run_queue_free(struct run_queue *q)
{
	if (q)
		free(q->notes);
	free(q);
}

/* ---- states ---- */

static struct run_queue_state state_of(const struct run_queue *q, uint32_t thread)
{
	const struct run_thread *t = &q->threads[thread];

	return (struct run_queue_state){ t->since_ns, thread, t->cpu, t->state };
}

void run_queue_begin_notes(struct run_queue *q)
{
	q->round++;
	q->note_cnt = 0;
}

const struct run_queue_state *run_queue_notes(const struct run_queue *q, size_t *ret_cnt)
{
	*ret_cnt = q->note_cnt;
	return q->notes;
}

bool run_queue_get(const struct run_queue *q, uint32_t thread, struct run_queue_state *ret)
{
	*ret = state_of(q, thread);
	return ret->state != STATE_UNSEEN || ret->cpu;
}

bool run_queue_set(struct run_queue *q, const struct run_queue_state *s)
{
	struct run_thread *t = &q->threads[s->thread];

	if (s->thread < EVENT_ID_FIRST || s->thread >= q->thread_cnt || s->state > STATE_PREEMPTED)
		return false;
	t->state = s->state;
	t->cpu = s->cpu;
	t->since_ns = s->since_ns;
	return true;
}

/* The thread is about to change; NULL: a pseudo id, which has no state. *ret_err: -ENOMEM. */
static struct run_thread *touch(struct run_queue *q, uint32_t thread, int *ret_err)
{
	struct run_thread *t = &q->threads[thread];

	*ret_err = 0;
	if (thread < EVENT_ID_FIRST)
		return NULL;
	if (t->noted == q->round)
		return t;
	if (array_reserve(&q->notes, &q->note_cap, q->note_cnt + 1) < 0) {
		*ret_err = -ENOMEM;
		return NULL;
	}
	t->noted = q->round;
	q->notes[q->note_cnt++] = state_of(q, thread);
	return t;
}

/* ---- events ---- */

int run_queue_wake(struct run_queue *q, uint32_t thread, uint64_t ts_ns)
{
	int ret;
	struct run_thread *t = touch(q, thread, &ret);

	if (!t)
		return ret;
	switch (t->state) {
	case STATE_RUNNING:
		t->state = STATE_RUNNING_WOKEN;
		break;
	case STATE_UNSEEN:
	case STATE_SLEEPING:
	case STATE_SLEEPING_WOKEN:
		t->state = STATE_WOKEN;
		t->since_ns = ts_ns;
		break;
	default:	/* runnable already: the first instant counts */
		break;
	}
	return 0;
}

static void leave(struct run_thread *t, const struct event *ev)
{
	if ((ev->flags & EVENT_F_PREEMPT) || !ev->v[EV_SWITCH_PREV_STATE])
		t->state = STATE_PREEMPTED;
	else
		t->state = t->state == STATE_RUNNING_WOKEN ? STATE_SLEEPING_WOKEN : STATE_SLEEPING;
	t->since_ns = ev->ts_ns;
	t->cpu = ev->cpu + 1;
}

static void enter(struct run_thread *t, const struct event *ev, struct run_queue_wait *w)
{
	w->cpu = ev->cpu;
	w->from_ns = w->to_ns = ev->ts_ns;
	w->reason = RUN_QUEUE_UNKNOWN;
	if (t->state == STATE_WOKEN || t->state == STATE_SLEEPING_WOKEN)
		w->reason = RUN_QUEUE_WAKEUP;
	else if (t->state == STATE_PREEMPTED)
		w->reason = RUN_QUEUE_PREEMPT;
	if (w->reason != RUN_QUEUE_UNKNOWN && t->since_ns < ev->ts_ns)
		w->from_ns = t->since_ns;
	w->migrated = t->cpu && t->cpu != ev->cpu + 1;
	t->state = STATE_RUNNING;
	t->cpu = ev->cpu + 1;
}

bool run_queue_missed(const struct run_queue *q, const struct event *ev, uint32_t prev,
		      struct run_queue_wait *ret_wait)
{
	const struct run_thread *t = &q->threads[prev];

	if (prev < EVENT_ID_FIRST || t->state == STATE_UNSEEN || t->state == STATE_RUNNING ||
	    t->state == STATE_RUNNING_WOKEN)
		return false;
	*ret_wait = (struct run_queue_wait){ .thread = prev, .cpu = ev->cpu, .from_ns = ev->ts_ns,
					     .to_ns = ev->ts_ns, .reason = RUN_QUEUE_UNKNOWN,
					     .migrated = t->cpu && t->cpu != ev->cpu + 1 };
	return true;
}

int run_queue_switch(struct run_queue *q, const struct event *ev, uint32_t prev, uint32_t next,
		     struct run_queue_wait *ret_wait)
{
	int ret;
	struct run_thread *t = touch(q, prev, &ret);

	if (t)
		leave(t, ev);
	if (ret < 0)
		return ret;
	t = touch(q, next, &ret);
	if (!t || (ev->flags & EVENT_F_NEXT_OUT))
		return ret;
	ret_wait->thread = next;
	enter(t, ev, ret_wait);
	return 1;
}

const char *run_queue_reason_name(unsigned int reason)
{
	static const char *const names[RUN_QUEUE_REASON_CNT] = { "unknown", "wakeup", "preempt" };

	return names[reason < RUN_QUEUE_REASON_CNT ? reason : RUN_QUEUE_UNKNOWN];
}
