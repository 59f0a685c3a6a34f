/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_states: per thread a phase, the end of its reported time, and the events since it left its
 * CPU. Live threads are in a list, because their time is reported at every edge of a block.
 *
 * For example, events of thread A on CPU 0, and what the sink gets (times in ms):
 *
 *      0  enter A
 *     10  leave A, uninterruptible     running 0 .. 10 (from the CPU timeline)
 *     14  its block request ends
 *     15  B wakes A
 *     18  enter A                      disk 10 .. 14, uninterruptible 14 .. 15,
 *                                      the sleep 10 .. 15 (a disk wait, ended by B),
 *                                      runnable 15 .. 18, the wait 15 .. 18 (wake-up)
 */
#include "model/thread_states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/call.h"

/*
 * A phase is an enum thread_state, except THREAD_DISK, or PHASE_HIDDEN: the thread ran unseen
 * before the last edge of a block. THREAD_RUNNING: thread_states_ran() adds the time on the CPU.
 * THREAD_RUNNABLE: woken before the last edge.
 */
#define PHASE_HIDDEN THREAD_STATE_CNT

/* A timestamp is 0 if its event has not occurred since the thread left its CPU. */
struct thread {
	uint64_t since_ns;	/* all time before this is reported */
	uint64_t off_ns;	/* when it left its CPU */
	uint64_t woken_ns;
	uint64_t seen_ns;	/* the thread ran unseen before this */
	/* time with its block requests in flight; disk_to_ns UINT64_MAX: until now */
	uint64_t disk_from_ns, disk_to_ns;
	uint64_t disk_ns;	/* disk time of this sleep that is reported */
	uint64_t end_ns;	/* UINT64_MAX: alive */
	uint32_t place;		/* index in alive */
	uint32_t in_flight;	/* block requests that it submitted, in flight */
	uint32_t waker;
	uint16_t cpu;		/* 1 + CPU of the last switch from or to it; 0: unknown */
	uint16_t call;		/* the thread's activity when it fell asleep */
	uint16_t waker_call;	/* the waker's activity */
	uint64_t object;	/* object that it waits for */
	uint8_t phase;
	uint8_t slept;		/* state of its sleep since it left its CPU: enum thread_state */
	bool is_alive;		/* false: only in_flight is valid */
	bool is_behind;		/* an event occurred after end_ns */
	/*
	 * a wake-up occurred while the thread was on its CPU; remains set during the following
	 * sleep
	 */
	bool is_woken;
	/* is_seen: the wake-up at woken_ns was seen; is_irq: an interrupt caused it */
	bool is_seen, is_irq;
	/* the waker is a thread that was not on a CPU, according to the events so far */
	bool is_waker_unseen;
};

struct thread_states {
	struct thread_states_sink sink;
	uint64_t start_ns;
	uint32_t *alive;	/* numbers of threads */
	size_t alive_cnt, alive_cap;
	uint32_t thread_cnt;
	struct thread threads[];
};

int thread_states_new(struct thread_states **ret, uint32_t thread_cnt,
		      const struct thread_states_sink *sink)
{
	struct thread_states *s = calloc(1, sizeof(*s) + thread_cnt * sizeof(s->threads[0]));

	if (!s)
		return -ENOMEM;
	s->sink = *sink;
	s->thread_cnt = thread_cnt;
	*ret = s;
	return 0;
}

int thread_states_grow(struct thread_states **s, uint32_t thread_cnt)
{
	struct thread_states *grown;

	if (thread_cnt <= (*s)->thread_cnt)
		return 0;
	grown = realloc(*s, sizeof(*grown) + thread_cnt * sizeof(grown->threads[0]));
	if (!grown)
		return -ENOMEM;
	memset(grown->threads + grown->thread_cnt, 0,
	       (thread_cnt - grown->thread_cnt) * sizeof(grown->threads[0]));
	grown->thread_cnt = thread_cnt;
	*s = grown;
	return 0;
}

void thread_states_free(struct thread_states *s)
{
	if (!s)
		return;
	free(s->alive);
	free(s);
}

void thread_states_start(struct thread_states *s, uint64_t from_ns)
{
	s->start_ns = from_ns;
}

enum thread_state thread_state_of_bits(uint64_t prev_state)
{
	switch (task_state_of_bits(prev_state)) {
	case TASK_STATE_RUNNABLE:
		return THREAD_PREEMPTED;
	case TASK_STATE_UNINTERRUPTIBLE:
		return THREAD_UNINTERRUPTIBLE;
	case TASK_STATE_STOPPED:
	case TASK_STATE_TRACED:
		return THREAD_STOPPED;
	default:
		return THREAD_SLEEPING;
	}
}

const char *thread_state_name(unsigned int state)
{
	static const char *const names[THREAD_STATE_CNT] = {
		"running", "runnable", "preempted", "throttled", "disk",
		"uninterruptible", "sleeping", "stopped", "unknown",
	};

	return names[state];
}

const char *thread_wait_reason_name(unsigned int reason)
{
	static const char *const names[THREAD_WAIT_REASON_CNT] = {
		"unknown", "wakeup", "preempt", "throttled",
	};

	return names[reason];
}

/* ---- lives ---- */

static struct thread *thread_at(struct thread_states *s, uint32_t thread)
{
	return thread >= EVENT_ID_FIRST && thread < s->thread_cnt ? &s->threads[thread] : NULL;
}

static int begin(struct thread_states *s, struct thread *t, uint64_t ts_ns)
{
	uint32_t thread = (uint32_t)(t - s->threads);
	uint64_t end_ns;

	if (t->is_alive)
		return 0;
	if (array_reserve(&s->alive, &s->alive_cap, s->alive_cnt + 1) < 0)
		return -ENOMEM;
	end_ns = s->sink.end_ns ? s->sink.end_ns(s->sink.ctx, thread) : 0;
	*t = (struct thread){ .since_ns = ts_ns > s->start_ns ? ts_ns : s->start_ns,
			      .end_ns = end_ns ? end_ns : UINT64_MAX,
			      .place = (uint32_t)s->alive_cnt, .in_flight = t->in_flight,
			      .phase = THREAD_UNKNOWN, .is_alive = true };
	s->alive[s->alive_cnt++] = thread;
	return 0;
}

static void end(struct thread_states *s, struct thread *t)
{
	uint32_t last = s->alive[--s->alive_cnt];

	s->alive[t->place] = last;
	s->threads[last].place = t->place;
	*t = (struct thread){ .in_flight = t->in_flight };
}

static bool is_asleep(const struct thread *t)
{
	return t->phase == THREAD_UNINTERRUPTIBLE || t->phase == THREAD_SLEEPING ||
	       t->phase == THREAD_STOPPED;
}

/* Returns whether the thread has been ready to run since it left its CPU. */
static bool is_ready(const struct thread *t)
{
	return t->phase == THREAD_PREEMPTED || t->phase == THREAD_THROTTLED;
}

/* Reports the thread's time before to_ns. The sink may report that the thread has ended. */
static int give(struct thread_states *s, struct thread *t, enum thread_state state, uint64_t to_ns)
{
	struct thread_piece p = {
		.thread = (uint32_t)(t - s->threads), .state = (uint8_t)state,
		.is_behind = t->is_behind, .from_ns = t->since_ns, .to_ns = to_ns,
		.call = state >= THREAD_DISK && state != THREAD_UNKNOWN ? t->call : 0,
	};
	int ret;

	if (to_ns <= t->since_ns || !t->is_alive)
		return 0;
	t->since_ns = to_ns;
	ret = s->sink.piece(s->sink.ctx, &p);
	if (ret > 0)
		end(s, t);
	return ret < 0 ? ret : 0;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Reports the time in the current phase up to to_ns, or up to the wake-up if that is earlier. */
static int give_phase(struct thread_states *s, struct thread *t, uint64_t to_ns)
{
	enum thread_state state = (enum thread_state)t->phase;
	int ret = 0;

	if (t->woken_ns)
		to_ns = sooner(t->woken_ns, to_ns);
	if (t->phase == THREAD_RUNNING || t->phase == PHASE_HIDDEN)
		state = THREAD_UNKNOWN;	/* time on CPUs was already reported */
	if (state == THREAD_UNINTERRUPTIBLE && t->disk_to_ns > t->since_ns) {
		uint64_t disk_to_ns = sooner(t->disk_to_ns, to_ns);

		ret = give(s, t, state, sooner(t->disk_from_ns, to_ns));
		if (disk_to_ns > t->since_ns)
			t->disk_ns += disk_to_ns - t->since_ns;
		if (ret >= 0)
			ret = give(s, t, THREAD_DISK, disk_to_ns);
	}
	return ret < 0 ? ret : give(s, t, state, to_ns);
}

/*
 * Ends a sleep: at the wake-up if it was not after by_ns, else at by_ns, when the thread has a CPU.
 */
static int end_sleep(struct thread_states *s, struct thread *t, uint64_t by_ns)
{
	bool is_woken = t->woken_ns && t->woken_ns <= by_ns;
	struct thread_sleep x = {
		.thread = (uint32_t)(t - s->threads), .waker = t->waker, .left_ns = t->off_ns,
		.end_ns = is_woken ? t->woken_ns : by_ns, .state = (uint8_t)t->phase,
		.is_seen = is_woken && t->is_seen, .is_irq = t->is_irq,
		.is_waker_unseen = t->is_waker_unseen, .waker_call = t->waker_call,
		.call = t->call, .object = t->object,
	};

	if (!is_asleep(t) || (!t->off_ns && !x.is_seen) || x.end_ns + x.is_seen <= x.left_ns)
		return 0;
	if (t->disk_ns && t->off_ns && t->disk_ns >= (x.end_ns - x.left_ns) / 2)
		x.state = THREAD_DISK;
	if (t->off_ns)
		t->slept = x.state;
	return s->sink.slept ? s->sink.slept(s->sink.ctx, &x) : 0;
}

/*
 * Reports all time before to_ns. is_missed: the thread left or entered a CPU unseen in this time:
 * time after the wake-up, or the whole phase if there was none, is unknown. A sleep ends if there
 * was a wake-up, or if is_end.
 */
static int give_all(struct thread_states *s, struct thread *t, uint64_t to_ns, bool is_missed,
		    bool is_end)
{
	int ret = 0;

	if (t->woken_ns || !is_missed)
		ret = give_phase(s, t, to_ns);
	if (ret >= 0 && (t->woken_ns || is_end))
		ret = end_sleep(s, t, to_ns);
	return ret < 0 ? ret : give(s, t, is_missed ? THREAD_UNKNOWN : THREAD_RUNNABLE, to_ns);
}

/* Reports the time before ts_ns. is_end: the thread is on a CPU at ts_ns. */
static int give_until(struct thread_states *s, struct thread *t, uint64_t ts_ns, bool is_end)
{
	return give_all(s, t, ts_ns, t->seen_ns && t->seen_ns < ts_ns, is_end);
}

/*
 * Prepares the thread for an event. If the event is at or after the thread's end: if the thread had
 * a CPU at its end, it has yet to leave this CPU; otherwise events were lost, and a new life
 * begins.
 */
static int meet(struct thread_states *s, struct thread *t, uint64_t ts_ns)
{
	int ret = begin(s, t, ts_ns);

	if (ret < 0 || ts_ns < t->end_ns || t->is_behind)
		return ret;
	if (t->phase != THREAD_RUNNING) {
		ret = give_all(s, t, ts_ns, false, false);
		if (t->is_alive)
			end(s, t);
		if (ret >= 0)
			ret = begin(s, t, ts_ns);
	}
	t->is_behind = true;
	return ret;
}

/* Begins the disk time again: for a new phase, or after an edge of a block. */
static void set_disk(struct thread *t)
{
	t->disk_from_ns = 0;
	t->disk_to_ns = t->in_flight ? UINT64_MAX : 0;
}

static void set_phase(struct thread *t, uint8_t phase, uint64_t off_ns)
{
	t->phase = phase;
	t->off_ns = off_ns;
	t->woken_ns = t->seen_ns = t->disk_ns = 0;
	t->slept = 0;
	t->is_seen = false;
	t->call = 0;
	t->object = 0;
	set_disk(t);
}

static void set_off_cpu(struct thread_states *s, struct thread *t, bool preempt, uint64_t bits,
			uint16_t call, uint64_t ts_ns)
{
	enum thread_state state = preempt ? THREAD_PREEMPTED : thread_state_of_bits(bits);

	if (!preempt && task_state_of_bits(bits) == TASK_STATE_DEAD) {
		end(s, t);
		return;
	}
	if (state == THREAD_PREEMPTED && call == CALL_THROTTLED)
		state = THREAD_THROTTLED;
	if (!preempt && call == CALL_FROZEN)
		state = THREAD_STOPPED;
	set_phase(t, (uint8_t)state, ts_ns);
	if (is_asleep(t))
		t->call = call;
}

int thread_states_begin(struct thread_states *s, uint32_t thread, uint64_t ts_ns,
			uint32_t start_state, uint32_t start_call)
{
	struct thread *t = thread_at(s, thread);
	int ret = t ? begin(s, t, ts_ns) : 0;

	if (t && ret >= 0 && start_state)
		set_off_cpu(s, t, false, start_state - 1, (uint16_t)start_call, 0);
	return ret;
}

bool thread_states_lives(const struct thread_states *s, uint32_t thread)
{
	return thread < s->thread_cnt && s->threads[thread].is_alive;
}

/* ---- events ---- */

void thread_states_on_cpu(struct thread_states *s, uint32_t thread)
{
	struct thread *t = thread_at(s, thread);

	if (t && t->phase == THREAD_UNKNOWN && !t->woken_ns)
		t->phase = THREAD_RUNNING;
}

/*
 * Handles a wake-up while the thread was on its CPU: if no other wake-up followed, the thread has
 * not slept.
 */
static void wake_early(struct thread *t)
{
	if (t->is_woken && is_asleep(t) && !t->woken_ns)
		t->woken_ns = t->since_ns;
}

/*
 * Returns whether the thread has no CPU: it is asleep or ready. False: it has one, or its state is
 * unknown, as before the first event of its life or after thread_states_forget().
 */
static bool is_waiting(const struct thread *t)
{
	return t->is_alive && t->phase != THREAD_RUNNING &&
	       (t->phase != THREAD_UNKNOWN || t->woken_ns);
}

static int end_wait(struct thread_states *s, struct thread *t, struct thread_wait *w)
{
	w->slept = t->slept;
	t->slept = 0;
	return s->sink.waited ? s->sink.waited(s->sink.ctx, w) : 0;
}

static struct thread_wait wait_until(const struct thread_states *s, const struct thread *t,
				     uint32_t cpu, uint64_t ts_ns)
{
	return (struct thread_wait){ .thread = (uint32_t)(t - s->threads), .cpu = cpu,
				     .from_ns = ts_ns, .to_ns = ts_ns,
				     .is_migrated = t->cpu && t->cpu != cpu + 1 };
}

/*
 * Updates the thread, which has the CPU from ts_ns on. is_switch: a switch to the thread was seen;
 * otherwise only its time on the CPU is known.
 */
static int get_cpu(struct thread_states *s, struct thread *t, uint32_t cpu, uint64_t ts_ns,
		   bool is_switch)
{
	struct thread_wait w = wait_until(s, t, cpu, ts_ns);
	bool is_end = is_switch || is_waiting(t);
	uint64_t since_ns;
	int ret;

	wake_early(t);
	since_ns = is_ready(t) ? t->off_ns : t->woken_ns;
	if (since_ns && since_ns <= ts_ns && !(t->seen_ns && t->seen_ns < ts_ns)) {
		w.from_ns = since_ns;
		if (!is_ready(t) && t->is_seen && !t->is_irq)
			w.waker = t->waker;
		w.reason = t->phase == THREAD_THROTTLED ? THREAD_WAIT_THROTTLED :
			   t->phase == THREAD_PREEMPTED ? THREAD_WAIT_PREEMPT :
							  THREAD_WAIT_WAKEUP;
	}
	ret = give_until(s, t, ts_ns, true);
	if (ret >= 0)
		ret = begin(s, t, ts_ns);
	return ret < 0 || !is_end ? ret : end_wait(s, t, &w);
}

int thread_states_ran(struct thread_states *s, uint32_t thread, uint32_t cpu, uint64_t from_ns,
		      uint64_t to_ns)
{
	struct thread *t = thread_at(s, thread);
	bool is_woken;
	int ret = t ? meet(s, t, from_ns) : 0;

	if (from_ns == to_ns || !t || ret < 0)
		return ret;
	is_woken = t->phase == THREAD_RUNNING ?
			   t->is_woken :
			   t->woken_ns >= from_ns || t->seen_ns >= from_ns;
	ret = get_cpu(s, t, cpu, from_ns, false);
	if (ret < 0)
		return ret;
	t->phase = THREAD_RUNNING;
	t->woken_ns = t->seen_ns = 0;
	t->is_woken = is_woken;
	return give(s, t, THREAD_RUNNING, to_ns);
}

int thread_states_leave(struct thread_states *s, const struct event *ev, uint32_t prev)
{
	uint64_t bits = ev->v[EV_SWITCH_PREV_STATE];
	struct thread *t = thread_at(s, prev);
	struct thread_wait w;
	bool is_end;
	int ret = t ? meet(s, t, ev->ts_ns) : 0;

	if (!t || ret < 0)
		return ret;
	w = wait_until(s, t, ev->cpu, ev->ts_ns);
	is_end = is_waiting(t);
	/*
	 * unless the thread was known to run, it entered this CPU unseen: only the timeline has its
	 * time there
	 */
	t->is_woken &= t->phase == THREAD_RUNNING;
	ret = give_all(s, t, ev->ts_ns, true, false);
	if (ret >= 0)
		ret = begin(s, t, ev->ts_ns);
	if (ret >= 0 && is_end)
		ret = end_wait(s, t, &w);
	if (ret < 0)
		return ret;
	t->cpu = ev->cpu + 1;
	set_off_cpu(s, t, ev->flags & EVENT_F_PREEMPT, bits, (uint16_t)ev->v[EV_SWITCH_CALL],
		    ev->ts_ns);
	if (is_asleep(t))
		t->object = ev->v[EV_SWITCH_OBJECT];
	t->is_woken &= !is_ready(t);
	return 0;
}

int thread_states_enter(struct thread_states *s, uint32_t next, uint32_t cpu, uint64_t ts_ns)
{
	struct thread *t = thread_at(s, next);
	int ret = t ? meet(s, t, ts_ns) : 0;

	if (t && ret >= 0)
		ret = get_cpu(s, t, cpu, ts_ns, true);
	if (!t || ret < 0)
		return ret;
	set_phase(t, THREAD_RUNNING, 0);
	t->cpu = (uint16_t)(cpu + 1);
	t->is_woken = false;
	return 0;
}

static bool is_off_cpu(const struct thread *t)
{
	return t->is_alive && t->phase != THREAD_RUNNING && t->phase != PHASE_HIDDEN;
}

int thread_states_wake(struct thread_states *s, uint32_t thread, uint64_t ts_ns, uint32_t waker,
		       bool is_irq, uint16_t call)
{
	struct thread *t = thread_at(s, thread), *by = is_irq ? NULL : thread_at(s, waker);
	int ret = t ? meet(s, t, ts_ns) : 0;

	if (!t || ret < 0)
		return ret;
	if (t->phase == THREAD_RUNNING) {
		t->is_woken = true;
	} else if (is_off_cpu(t) && !is_ready(t)) {
		if (!t->woken_ns || (t->woken_ns == ts_ns && t->is_seen && t->is_irq && !is_irq)) {
			t->woken_ns = ts_ns;
			t->waker = waker;
			t->is_irq = is_irq;
			t->waker_call = call;
			t->is_waker_unseen = by && is_off_cpu(by);
			t->is_seen = true;
		} else if (!t->seen_ns && ts_ns > t->woken_ns) {
			t->seen_ns = ts_ns;
		}
		t->is_woken = false;
	}
	return 0;
}

void thread_states_flight(struct thread_states *s, uint32_t thread, int more, uint64_t ts_ns)
{
	struct thread *t = thread_at(s, thread);

	if (!t)
		return;
	t->in_flight += (uint32_t)more;
	if (more < 0 && !t->in_flight && t->disk_to_ns == UINT64_MAX)
		t->disk_to_ns = ts_ns;
	if (more > 0 && t->in_flight == 1 && t->disk_to_ns <= t->since_ns) {
		t->disk_from_ns = ts_ns;
		t->disk_to_ns = UINT64_MAX;
	}
}

int thread_states_until(struct thread_states *s, uint64_t ts_ns)
{
	int ret = 0;

	/* backwards: when a thread ends, the last one replaces it */
	for (size_t i = s->alive_cnt; i-- > 0 && ret >= 0;) {
		struct thread *t = &s->threads[s->alive[i]];

		ret = give_until(s, t, ts_ns, false);
		if (t->seen_ns && is_off_cpu(t))
			set_phase(t, PHASE_HIDDEN, 0);
		else if (t->woken_ns && is_off_cpu(t))
			t->phase = THREAD_RUNNABLE;
		t->seen_ns = 0;
		set_disk(t);
	}
	return ret;
}

void thread_states_forget(struct thread_states *s)
{
	for (size_t i = 0; i < s->alive_cnt; i++) {
		set_phase(&s->threads[s->alive[i]], THREAD_UNKNOWN, 0);
		s->threads[s->alive[i]].is_woken = false;
	}
}

/* ---- states as bytes ---- */

/* Returns the timestamp that the thread's phase needs after an edge of a block; NULL: none. */
static uint64_t *kept_ns(struct thread *t)
{
	return t->phase == THREAD_RUNNABLE ? &t->woken_ns :
	       is_ready(t) || is_asleep(t) ? &t->off_ns :
					     NULL;
}

void thread_states_save(struct thread_states *s, uint64_t at_ns, thread_states_number id_of,
			void *ctx, struct buf *out)
{
	packed_put(out, s->alive_cnt);
	for (size_t i = 0; i < s->alive_cnt; i++) {
		struct thread *t = &s->threads[s->alive[i]];
		const uint64_t *kept = kept_ns(t);

		packed_put(out, id_of(ctx, s->alive[i]));
		packed_put(out, (uint64_t)t->cpu << 6 | (uint64_t)t->is_behind << 5 |
					(uint64_t)t->phase << 1 | t->is_woken);
		if (kept)
			packed_put(out, *kept ? at_ns - *kept + 1 : 0);
		if (t->phase == THREAD_UNINTERRUPTIBLE)
			packed_put(out, t->disk_ns);
		if (is_asleep(t)) {
			packed_put(out, t->call);
			packed_put(out, t->object);
		}
		if (t->phase == THREAD_RUNNABLE)
			packed_put(out, t->slept);
	}
}

int thread_states_load(struct thread_states *s, thread_states_number thread_of, void *ctx,
		       struct packed_in *in)
{
	size_t cnt = packed_get_cnt(in);
	int ret = 0;

	while (cnt-- && !ret) {
		uint32_t thread = thread_of(ctx, (uint32_t)packed_get(in));
		struct thread gone = { 0 };
		struct thread *t = thread == EVENT_ID_UNKNOWN ? &gone : thread_at(s, thread);
		uint64_t is = packed_get(in), *kept, ago;

		if (!t || (is >> 1 & 15) > PHASE_HIDDEN || is >> 6 > UINT16_MAX || in->bad)
			return -EBADMSG;
		ret = t == &gone ? 0 : begin(s, t, s->start_ns);
		t->cpu = (uint16_t)(is >> 6);
		t->is_behind = is >> 5 & 1;
		t->phase = is >> 1 & 15;
		t->is_woken = is & 1;
		kept = kept_ns(t);
		ago = kept ? packed_get(in) : 0;
		t->disk_ns = t->phase == THREAD_UNINTERRUPTIBLE ? packed_get(in) : 0;
		t->call = is_asleep(t) ? (uint16_t)packed_get(in) : 0;
		t->object = is_asleep(t) ? packed_get(in) : 0;
		t->slept = t->phase == THREAD_RUNNABLE ? packed_get(in) & 15 : 0;
		if (in->bad || ago > s->start_ns + 1 || (!ago && t->phase == THREAD_RUNNABLE))
			return -EBADMSG;
		if (ago)
			*kept = s->start_ns - (ago - 1);
	}
	return ret;
}
