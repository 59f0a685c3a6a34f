/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_waking comes from the waker, maybe before the sleeper has left its CPU: then the
 * switch that follows is a sleep which is over already. But a wake-up that finds the thread on
 * its CPU may also just have kept it from sleeping, and the sleep that follows much later is a real
 * one. The two look alike at the switch. They differ at the next switch-in: the real sleep was
 * ended by a wake-up of its own. So the instant of leaving is kept as a second-best beginning.
 */
#include "analyze/run_queue.h"

#include <errno.h>
#include <stdlib.h>

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
	uint32_t noted;		/* in the notes of this cell */
	uint16_t cpu;		/* last one it ran on, plus one; 0: not known */
	uint8_t state;
};

struct run_queue {
	const struct ident *ident;
	uint32_t cell;		/* being noted, counted from 1; 0: none */
	uint64_t cell_ns;
	struct buf notes;
	struct run_thread threads[];
};

int run_queue_new(struct run_queue **ret, const struct ident *d)
{
	struct run_queue *q = calloc(1, sizeof(*q) + d->thread_cnt * sizeof(q->threads[0]));

	if (!q)
		return -ENOMEM;
	q->ident = d;
	*ret = q;
	return 0;
}

void run_queue_free(struct run_queue *q)
{
	if (q)
		buf_done(&q->notes);
	free(q);
}

static void put_state(const struct run_queue *q, uint32_t thread, uint64_t ts_ns, struct buf *out)
{
	const struct run_thread *t = &q->threads[thread];

	index_put(out, ident_utid(q->ident, thread));
	index_put(out, t->state);
	index_put(out, t->cpu);
	if (t->state != STATE_UNSEEN)
		index_put(out, ts_ns - t->since_ns);
}

static inline struct run_thread *touch(struct run_queue *q, uint32_t thread)
{
	struct run_thread *t = &q->threads[thread];

	if (t->noted != q->cell && thread >= EVENT_ID_FIRST) {
		t->noted = q->cell;
		put_state(q, thread, q->cell_ns, &q->notes);
	}
	return t;
}

void run_queue_begin_cell(struct run_queue *q, uint64_t from_ns)
{
	q->cell++;
	q->cell_ns = from_ns;
	buf_reset(&q->notes);
}

const struct buf *run_queue_take_cell(const struct run_queue *q)
{
	return &q->notes;
}

void run_queue_save(const struct run_queue *q, uint64_t ts_ns, struct buf *out)
{
	uint32_t i;

	for (i = EVENT_ID_FIRST; i < q->ident->thread_cnt; i++)
		if (q->threads[i].state != STATE_UNSEEN || q->threads[i].cpu)
			put_state(q, i, ts_ns, out);
}

int run_queue_load(struct run_queue *q, struct index_in *in, uint64_t ts_ns)
{
	while (in->p != in->end && !in->bad) {
		uint32_t i = ident_thread(q->ident, (uint32_t)index_get(in));
		uint64_t state = index_get(in), cpu = index_get(in);
		struct run_thread *t = &q->threads[i];

		if (i < EVENT_ID_FIRST || state > STATE_PREEMPTED || cpu > UINT16_MAX)
			return -EBADMSG;
		t->state = (uint8_t)state;
		t->cpu = (uint16_t)cpu;
		t->since_ns = state != STATE_UNSEEN ? ts_ns - index_get(in) : 0;
	}
	return in->bad ? -EBADMSG : 0;
}

static void wake(struct run_queue *q, const struct event *ev)
{
	uint32_t i = ident_thread(q->ident, (uint32_t)ev->v[EV_WAKEUP_TARGET]);
	struct run_thread *t = touch(q, i);

	if (i < EVENT_ID_FIRST)
		return;
	switch (t->state) {
	case STATE_RUNNING:
		t->state = STATE_RUNNING_WOKEN;
		break;
	case STATE_UNSEEN:
	case STATE_SLEEPING:
	case STATE_SLEEPING_WOKEN:
		t->state = STATE_WOKEN;
		t->since_ns = ev->ts_ns;
		break;
	default:	/* runnable already: the first instant counts */
		break;
	}
}

static void leave(struct run_queue *q, const struct event *ev)
{
	uint32_t i = ident_thread(q->ident, ev->utid);
	struct run_thread *t = touch(q, i);

	if (i < EVENT_ID_FIRST)
		return;
	if ((ev->flags & EVENT_F_PREEMPT) || !ev->v[EV_SWITCH_PREV_STATE])
		t->state = STATE_PREEMPTED;
	else
		t->state = t->state == STATE_RUNNING_WOKEN ? STATE_SLEEPING_WOKEN : STATE_SLEEPING;
	t->since_ns = ev->ts_ns;
	t->cpu = ev->cpu + 1;
}

static int enter(struct run_queue *q, const struct event *ev, struct run_queue_wait *w)
{
	uint32_t i = ident_thread(q->ident, (uint32_t)ev->v[EV_SWITCH_NEXT]);
	struct run_thread *t = touch(q, i);

	if (i < EVENT_ID_FIRST || (ev->flags & EVENT_F_NEXT_OUT))
		return 0;
	*w = (struct run_queue_wait){
		.thread = i, .cpu = ev->cpu, .from_ns = ev->ts_ns, .to_ns = ev->ts_ns
	};
	if (t->state == STATE_WOKEN || t->state == STATE_SLEEPING_WOKEN)
		w->reason = RUN_QUEUE_WAKEUP;
	else if (t->state == STATE_PREEMPTED)
		w->reason = RUN_QUEUE_PREEMPT;
	if (w->reason != RUN_QUEUE_UNKNOWN && t->since_ns < ev->ts_ns)
		w->from_ns = t->since_ns;
	w->migrated = t->cpu && t->cpu != ev->cpu + 1;
	t->state = STATE_RUNNING;
	t->cpu = ev->cpu + 1;
	return 1;
}

int run_queue_event(struct run_queue *q, const struct event *ev, struct run_queue_wait *ret_wait)
{
	if (ev->kind == EVENT_WAKEUP) {
		wake(q, ev);
		return 0;
	}
	if (ev->kind != EVENT_SWITCH)
		return 0;
	leave(q, ev);
	return enter(q, ev, ret_wait);
}

const char *run_queue_reason_name(unsigned int reason)
{
	static const char *const names[] = { "unknown", "wakeup", "preempt" };

	return reason < 3 ? names[reason] : names[0];
}
