/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_states: per thread a phase and the instant up to which its life was given out. Threads
 * that live are in a list, since at every edge all of them are given out.
 */
#include "model/thread_states.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash_map.h"

/* The kernel's task state bits, the same since 4.14. */
#define BITS_UNINTERRUPTIBLE (0x0002u | 0x1000u | 0x8000u)	/* + waits for a lock, frozen */
#define BITS_STOPPED (0x0004u | 0x0008u)			/* stopped, traced */
#define BITS_DEAD (0x0010u | 0x0020u | 0x0080u)
#define BITS_IDLE (0x0002u | 0x0400u)	/* uninterruptible, but no load: an idle kernel thread */

/* THREAD_RUNNING as a phase: on a CPU; the time there comes with thread_states_ran(). */
enum { PHASE_NONE = THREAD_STATE_CNT, PHASE_CNT };

struct thread {
	uint64_t since_ns;
	uint32_t place;		/* in alive */
	uint32_t in_flight;	/* block requests it submitted */
	uint8_t phase;		/* enum thread_state but THREAD_DISK, or PHASE_NONE */
	bool is_woken;		/* on its CPU, or asleep since: a wake-up came on the CPU */
};

struct request {
	uint64_t rq, dev;
	uint32_t submitter;	/* 0: it is not in flight */
};

struct thread_states {
	thread_states_sink sink;
	void *ctx;
	uint64_t start_ns;
	uint32_t *alive;	/* numbers of threads */
	size_t alive_cnt, alive_cap;
	struct hash_map by_address;	/* (address, device) -> place in requests */
	struct request *requests;
	size_t request_cap;
	uint32_t thread_cnt;
	struct thread threads[];
};

int thread_states_new(struct thread_states **ret, uint32_t thread_cnt, thread_states_sink sink,
		      void *ctx)
{
	struct thread_states *s = calloc(1, sizeof(*s) + thread_cnt * sizeof(s->threads[0]));
	uint32_t i;

	if (!s)
		return -ENOMEM;
	s->sink = sink;
	s->ctx = ctx;
	s->thread_cnt = thread_cnt;
	for (i = 0; i < thread_cnt; i++)
		s->threads[i].phase = PHASE_NONE;
	*ret = s;
	return 0;
}

void thread_states_free(struct thread_states *s)
{
	if (!s)
		return;
	hash_map_done(&s->by_address);
	free(s->requests);
	free(s->alive);
	free(s);
}

void thread_states_start(struct thread_states *s, uint64_t from_ns)
{
	s->start_ns = from_ns;
}

enum thread_state thread_state_of_bits(uint64_t prev_state)
{
	if (prev_state & BITS_STOPPED)
		return THREAD_STOPPED;
	if ((prev_state & BITS_IDLE) == BITS_IDLE || !(prev_state & BITS_UNINTERRUPTIBLE))
		return THREAD_SLEEPING;
	return THREAD_UNINTERRUPTIBLE;
}

/* ---- lives ---- */

static struct thread *thread_at(struct thread_states *s, uint32_t thread)
{
	return thread >= EVENT_ID_FIRST && thread < s->thread_cnt ? &s->threads[thread] : NULL;
}

static int begin(struct thread_states *s, struct thread *t, uint64_t ts_ns)
{
	if (t->phase != PHASE_NONE)
		return 0;
	if (array_reserve(&s->alive, &s->alive_cap, s->alive_cnt + 1) < 0)
		return -ENOMEM;
	t->place = (uint32_t)s->alive_cnt;
	s->alive[s->alive_cnt++] = (uint32_t)(t - s->threads);
	t->phase = THREAD_UNKNOWN;
	t->is_woken = false;
	t->since_ns = ts_ns > s->start_ns ? ts_ns : s->start_ns;
	return 0;
}

static void end(struct thread_states *s, struct thread *t)
{
	uint32_t last = s->alive[--s->alive_cnt];

	s->alive[t->place] = last;
	s->threads[last].place = t->place;
	t->phase = PHASE_NONE;
}

/* The thread may have ended by that. */
static int give(struct thread_states *s, struct thread *t, enum thread_state state, uint64_t to_ns)
{
	struct thread_piece p = { (uint32_t)(t - s->threads), (uint8_t)state, t->since_ns, to_ns };
	int ret;

	if (to_ns <= t->since_ns)
		return 0;
	t->since_ns = to_ns;
	ret = s->sink(s->ctx, &p);
	if (ret > 0)
		end(s, t);
	return ret < 0 ? ret : 0;
}

/* Gives out the thread's phase. On a CPU it has what ran() gave out before; the rest is unknown. */
static int give_phase(struct thread_states *s, struct thread *t, uint64_t to_ns)
{
	enum thread_state state = (enum thread_state)t->phase;

	if (state == THREAD_RUNNING)
		state = THREAD_UNKNOWN;
	else if (state == THREAD_UNINTERRUPTIBLE && t->in_flight)
		state = THREAD_DISK;
	return give(s, t, state, to_ns);
}

/* The thread, living, given out until ts_ns; NULL: none, or *ret_err. */
static struct thread *touch(struct thread_states *s, uint32_t thread, uint64_t ts_ns, int *ret_err)
{
	struct thread *t = thread_at(s, thread);

	*ret_err = t && t->phase != PHASE_NONE ? give_phase(s, t, ts_ns) : 0;
	if (t && !*ret_err)
		*ret_err = begin(s, t, ts_ns);
	return *ret_err < 0 ? NULL : t;
}

static void set_off_cpu(struct thread_states *s, struct thread *t, bool preempt, uint64_t bits)
{
	if (preempt || !bits)
		t->phase = THREAD_PREEMPTED;
	else if (bits & BITS_DEAD)
		end(s, t);
	else
		t->phase = (uint8_t)thread_state_of_bits(bits);
}

int thread_states_begin(struct thread_states *s, uint32_t thread, uint64_t ts_ns,
			uint32_t start_state)
{
	struct thread *t = thread_at(s, thread);
	int ret = t ? begin(s, t, ts_ns) : 0;

	if (t && ret >= 0 && start_state)
		set_off_cpu(s, t, false, start_state - 1);
	return ret;
}

bool thread_states_lives(const struct thread_states *s, uint32_t thread)
{
	return thread < s->thread_cnt && s->threads[thread].phase != PHASE_NONE;
}

/* ---- events ---- */

void thread_states_on_cpu(struct thread_states *s, uint32_t thread)
{
	struct thread *t = thread_at(s, thread);

	if (t && t->phase == THREAD_UNKNOWN)
		t->phase = THREAD_RUNNING;
}

int thread_states_ran(struct thread_states *s, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct thread *t;
	int ret;

	if (from_ns == to_ns)
		return 0;
	t = touch(s, thread, from_ns, &ret);
	return t ? give(s, t, THREAD_RUNNING, to_ns) : ret;
}

int thread_states_leave(struct thread_states *s, const struct event *ev, uint32_t prev)
{
	uint64_t bits = ev->v[EV_SWITCH_PREV_STATE];
	struct thread *t = thread_at(s, prev);
	int ret = t ? begin(s, t, ev->ts_ns) : 0;

	if (!t || ret < 0)
		return ret;
	/* it was on a CPU just now; for how long, the timeline alone knows */
	t->is_woken &= t->phase == THREAD_RUNNING;
	t->phase = THREAD_RUNNING;
	ret = give_phase(s, t, ev->ts_ns);
	if (!ret)
		ret = begin(s, t, ev->ts_ns);
	if (ret < 0)
		return ret;
	set_off_cpu(s, t, ev->flags & EVENT_F_PREEMPT, bits);
	t->is_woken &= t->phase != THREAD_PREEMPTED;
	return 0;
}

int thread_states_enter(struct thread_states *s, uint32_t next, uint64_t ts_ns)
{
	struct thread *t = thread_at(s, next);
	int ret;

	if (t && t->is_woken && t->phase != PHASE_NONE && t->phase != THREAD_RUNNING)
		t->phase = THREAD_RUNNABLE;
	t = touch(s, next, ts_ns, &ret);
	if (!t)
		return ret;
	t->phase = THREAD_RUNNING;
	t->is_woken = false;
	return 0;
}

int thread_states_wake(struct thread_states *s, uint32_t thread, uint64_t ts_ns)
{
	struct thread *t = thread_at(s, thread);
	int ret;

	if (t && t->phase == THREAD_RUNNING) {
		t->is_woken = true;
		return 0;
	}
	if (t && t->phase == THREAD_PREEMPTED)
		return 0;
	t = touch(s, thread, ts_ns, &ret);
	if (!t)
		return ret;
	t->phase = THREAD_RUNNABLE;
	t->is_woken = false;
	return 0;
}

/* The request gets another submitter; 0: it is over. */
static int set_submitter(struct thread_states *s, struct request *r, uint32_t thread,
			 uint64_t ts_ns)
{
	struct thread *before = thread_at(s, r->submitter), *now = thread_at(s, thread);
	int ret = 0;

	r->submitter = thread;
	if (before == now)
		return 0;
	if (before && before->phase == THREAD_UNINTERRUPTIBLE)
		ret = give_phase(s, before, ts_ns);
	if (before)
		before->in_flight--;
	if (now && now->phase == THREAD_UNINTERRUPTIBLE && ret >= 0)
		ret = give_phase(s, now, ts_ns);
	if (now)
		now->in_flight++;
	return ret;
}

static struct request *request_at(struct thread_states *s, uint64_t rq, uint64_t dev)
{
	uint32_t i;

	if (hash_map_intern(&s->by_address, rq, dev, &i) < 0 ||
	    array_reserve(&s->requests, &s->request_cap, (size_t)i + 1) < 0)
		return NULL;
	s->requests[i].rq = rq;
	s->requests[i].dev = dev;
	return &s->requests[i];
}

int thread_states_request(struct thread_states *s, const struct event *ev, uint32_t thread)
{
	const uint64_t *v = ev->v;
	struct request *r = request_at(s, v[EV_REQUEST_RQ], v[EV_REQUEST_DEV]);

	if (!r)
		return -ENOMEM;
	if (thread < EVENT_ID_FIRST)
		thread = EVENT_ID_UNKNOWN;
	switch (v[EV_REQUEST_ACTION]) {
	case EVENT_REQUEST_START:
		return set_submitter(s, r, thread, ev->ts_ns);
	case EVENT_REQUEST_INSERT:
	case EVENT_REQUEST_ISSUE:
		return r->submitter ? 0 : set_submitter(s, r, thread, ev->ts_ns);
	case EVENT_REQUEST_COMPLETE:
		if (v[EV_REQUEST_DONE_BYTES] < v[EV_REQUEST_BYTES])
			return 0;
		return set_submitter(s, r, 0, ev->ts_ns);
	case EVENT_REQUEST_DONE:
	case EVENT_REQUEST_MERGE:
		return set_submitter(s, r, 0, ev->ts_ns);
	default:
		return 0;
	}
}

int thread_states_until(struct thread_states *s, uint64_t ts_ns)
{
	size_t i;
	int ret = 0;

	/* backwards: the last one takes the place of one that ends */
	for (i = s->alive_cnt; i-- > 0 && ret >= 0;) {
		struct thread *t = &s->threads[s->alive[i]];

		ret = give_phase(s, t, ts_ns);
		t->is_woken &= t->phase == THREAD_RUNNING;
	}
	return ret;
}

void thread_states_forget(struct thread_states *s)
{
	size_t i;

	for (i = 0; i < s->alive_cnt; i++) {
		s->threads[s->alive[i]].phase = THREAD_UNKNOWN;
		s->threads[s->alive[i]].is_woken = false;
	}
}

/* ---- states as bytes: living threads, then requests in flight ---- */

void thread_states_save(const struct thread_states *s, thread_states_number id_of, void *ctx,
			struct buf *out)
{
	size_t i;

	packed_put(out, s->alive_cnt);
	for (i = 0; i < s->alive_cnt; i++) {
		const struct thread *t = &s->threads[s->alive[i]];

		packed_put(out, id_of(ctx, s->alive[i]));
		packed_put(out, (uint64_t)t->phase << 1 | t->is_woken);
	}
	for (i = 0; i < s->by_address.cnt; i++) {
		const struct request *r = &s->requests[i];

		if (!r->submitter)
			continue;
		packed_put(out, r->rq);
		packed_put(out, r->dev);
		packed_put(out, id_of(ctx, r->submitter));
	}
}

int thread_states_load(struct thread_states *s, thread_states_number thread_of, void *ctx,
		       struct packed_in *in)
{
	size_t cnt = packed_get_cnt(in);
	int ret = 0;

	while (cnt-- && !ret) {
		struct thread *t = thread_at(s, thread_of(ctx, (uint32_t)packed_get(in)));
		uint64_t phase = packed_get(in);

		if (!t || phase >> 1 >= PHASE_NONE || in->bad)
			return -EBADMSG;
		ret = begin(s, t, s->start_ns);
		t->phase = (uint8_t)(phase >> 1);
		t->is_woken = phase & 1;
	}
	while (in->p != in->end && !ret) {
		uint64_t rq = packed_get(in), dev = packed_get(in);
		uint32_t thread = thread_of(ctx, (uint32_t)packed_get(in));
		struct request *r = request_at(s, rq, dev);

		if (in->bad)
			return -EBADMSG;
		ret = r ? set_submitter(s, r, thread, s->start_ns) : -ENOMEM;
	}
	return ret;
}
