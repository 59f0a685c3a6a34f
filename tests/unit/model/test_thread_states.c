/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * States and waits of threads: hand-made events with known answers, and brute force over random
 * ones.
 */
#include "model/call.h"
#include "model/thread_states.h"
#include "tests/unit/unit_test.h"

#define THREADS (EVENT_ID_FIRST + 8)

static struct event sw(uint64_t ts, unsigned int cpu, uint32_t prev, uint32_t next,
		       unsigned int flags, unsigned int state)
{
	struct event ev = { .ts_ns = ts, .cpu = (uint16_t)cpu, .utid = prev, .kind = EVENT_SWITCH,
			    .flags = (uint8_t)flags };

	ev.v[EV_SWITCH_NEXT_UTID] = next;
	ev.v[EV_SWITCH_PREV_STATE] = state;
	return ev;
}

/* The same of a thread that was in a call (model/call.h). */
static struct event sw_in(uint64_t ts, uint32_t prev, unsigned int flags, unsigned int state,
			  unsigned int call)
{
	struct event ev = sw(ts, 0, prev, 0, flags, state);

	ev.v[EV_SWITCH_CALL] = call;
	return ev;
}

struct lives {
	uint64_t ns[THREADS][THREAD_STATE_CNT];
	uint64_t end_ns[THREADS];
	struct thread_wait last;	/* the wait that ended last */
	struct thread_sleep last_sleep;
	struct thread_piece last_piece;
	unsigned int waits, sleeps;
};

static int on_state(void *ctx, const struct thread_piece *p)
{
	struct lives *l = ctx;

	assert_true(p->thread < THREADS && p->from_ns < p->to_ns);
	assert_true(p->from_ns >= l->end_ns[p->thread]);	/* no instant has two states */
	l->end_ns[p->thread] = p->to_ns;
	l->last_piece = *p;
	l->ns[p->thread][p->state] += p->to_ns - p->from_ns;
	return 0;
}

static int on_sleep(void *ctx, const struct thread_sleep *x)
{
	struct lives *l = ctx;

	/* its pieces were there before */
	assert_true(x->left_ns <= x->end_ns && x->end_ns <= l->end_ns[x->thread]);
	l->last_sleep = *x;
	l->sleeps++;
	return 0;
}

static int on_wait(void *ctx, const struct thread_wait *w)
{
	struct lives *l = ctx;

	l->last = *w;
	l->waits++;
	return 0;
}

/* The machine of a test, and what it said. */
static struct thread_states *s;
static struct lives lives;

static int setup(void **state)
{
	const struct thread_states_sink sink = { &lives, NULL, on_state, on_sleep, on_wait };

	memset(&lives, 0, sizeof(lives));
	assert_int_equal(thread_states_new(&s, THREADS, &sink), 0);
	thread_states_start(s, 100);
	return 0;
}

static int teardown(void **state)
{
	thread_states_free(s);
	return 0;
}

/* The thread gets a CPU and leaves it. */
static void stay(uint32_t thread, uint64_t from, uint64_t to, unsigned int flags, unsigned int bits)
{
	struct event ev = sw(to, 0, thread, 0, flags, bits);

	assert_int_equal(thread_states_enter(s, thread, 0, from), 0);
	assert_int_equal(thread_states_ran(s, thread, 0, from, to), 0);
	assert_int_equal(thread_states_leave(s, &ev, thread), 0);
}

enum { WAKER = 21 };

static void wake(uint32_t thread, uint64_t ts)
{
	assert_int_equal(thread_states_wake(s, thread, ts, WAKER, false, 0), 0);
}

static void check_life(uint32_t thread, const uint64_t want[THREAD_STATE_CNT])
{
	for (unsigned int i = 0; i < THREAD_STATE_CNT; i++)
		if (lives.ns[thread][i] != want[i])
			fail_msg("thread %u, state %u: %llu ns, wanted %llu", thread, i,
				 (unsigned long long)lives.ns[thread][i],
				 (unsigned long long)want[i]);
}

UNIT_TEST_IN(test_thread_states_divide_a_life, setup, teardown)
{
	thread_states_begin(s, 20, 100, 0, 0);		/* unknown until it is woken */
	wake(20, 110);
	stay(20, 113, 120, EVENT_F_PREEMPT, 0);
	stay(20, 125, 130, 0, 0x402);		/* an idle sleep */
	wake(20, 150);
	stay(20, 151, 160, 0, 0x104);		/* stopped, by a signal that may kill */
	wake(20, 190);
	stay(20, 190, 200, 0, 0x80);			/* dead */
	thread_states_until(s, 300);
	check_life(20, (const uint64_t[]){ 31, 4, 5, 0, 0, 0, 20, 30, 10 });
}

enum { CALL_READ = CALL_IS_NUMBER | CALL_FILE_PIPE << 9 };

/* A sleep has the call that led to it: in its pieces, over an edge of a block, and at its end. */
UNIT_TEST_IN(test_sleeps_have_the_call_that_the_thread_was_in, setup, teardown)
{
	struct event ev = sw_in(120, 20, 0, 0x1, CALL_READ);

	thread_states_begin(s, 20, 100, 1 + 0x1, CALL_KERNEL);
	wake(20, 110);
	thread_states_enter(s, 20, 0, 110);
	assert_int_equal(lives.last_piece.call, CALL_KERNEL);
	thread_states_ran(s, 20, 0, 110, 120);
	thread_states_leave(s, &ev, 20);
	assert_int_equal(lives.last_piece.state, THREAD_RUNNING);
	assert_int_equal(lives.last_piece.call, 0);
	thread_states_until(s, 150);
	assert_int_equal(lives.last_piece.call, CALL_READ);
	wake(20, 160);
	thread_states_enter(s, 20, 0, 170);
	assert_int_equal(lives.last_sleep.call, CALL_READ);
	assert_int_equal(lives.last_sleep.left_ns, 120);
	assert_int_equal(lives.last_sleep.end_ns, 160);
	assert_int_equal(lives.last_piece.state, THREAD_RUNNABLE);
	assert_int_equal(lives.last_piece.call, 0);
}

/* Throttling is not a wait for a CPU, and a sleeping thread is not throttled. */
UNIT_TEST_IN(test_threads_without_quota_are_throttled, setup, teardown)
{
	struct event ev = sw_in(120, 20, EVENT_F_PREEMPT, 0, CALL_THROTTLED);

	thread_states_enter(s, 20, 0, 100);
	thread_states_ran(s, 20, 0, 100, 120);
	thread_states_leave(s, &ev, 20);
	thread_states_until(s, 150);
	thread_states_enter(s, 20, 0, 200);
	check_life(20, (const uint64_t[]){ 20, 0, 0, 80, 0, 0, 0, 0, 0 });
	assert_int_equal(lives.last.reason, THREAD_WAIT_THROTTLED);
	assert_int_equal(lives.last.from_ns, 120);
	thread_states_ran(s, 20, 0, 200, 210);
	ev = sw_in(210, 20, 0, 0x1, CALL_THROTTLED);
	thread_states_leave(s, &ev, 20);
	thread_states_until(s, 220);
	check_life(20, (const uint64_t[]){ 30, 0, 0, 80, 0, 0, 10, 0, 0 });
}

UNIT_TEST_IN(test_thread_states_begin_with_what_a_snapshot_read, setup, teardown)
{
	thread_states_begin(s, 20, 100, 1 + 0x1, 0);
	thread_states_begin(s, 21, 100, 1 + 0x4, 0);
	thread_states_begin(s, 22, 100, 1 + 0, 0);		/* waits for a CPU */
	thread_states_begin(s, 23, 100, 1 + 0x80, 0);	/* a zombie has no state any more */
	wake(20, 150);
	stay(20, 151, 160, 0, 0x2);
	stay(22, 130, 140, 0, 0x1);
	thread_states_until(s, 300);
	check_life(20, (const uint64_t[]){ 9, 1, 0, 0, 0, 140, 50, 0, 0 });
	check_life(21, (const uint64_t[]){ 0, 0, 0, 0, 0, 0, 0, 200, 0 });
	check_life(22, (const uint64_t[]){ 10, 0, 30, 0, 0, 0, 160, 0, 0 });
	check_life(23, (const uint64_t[THREAD_STATE_CNT]){ 0 });
}

UNIT_TEST_IN(test_thread_states_tell_disk_from_other_uninterruptible_sleep, setup, teardown)
{
	wake(20, 100);
	thread_states_flight(s, 20, 1, 105);
	thread_states_flight(s, 20, 1, 106);
	stay(20, 100, 110, 0, 0x2);
	thread_states_flight(s, 20, -1, 120);		/* one of the two */
	thread_states_flight(s, 20, -1, 130);
	wake(20, 137);
	stay(20, 140, 150, 0, 0x1);
	thread_states_flight(s, 22, 1, 160);		/* another thread's */
	stay(20, 170, 180, 0, 0x102);
	thread_states_until(s, 200);
	check_life(20, (const uint64_t[]){ 30, 3, 0, 0, 20, 27, 20, 0, 0 });
}

UNIT_TEST_IN(test_thread_states_handle_a_wakeup_before_the_sleeper_has_left, setup, teardown)
{
	struct event ev = sw(110, 0, 20, 0, 0, 0x1);

	thread_states_enter(s, 20, 0, 100);
	wake(20, 109);
	thread_states_ran(s, 20, 0, 100, 110);
	thread_states_leave(s, &ev, 20);
	stay(20, 117, 120, 0, 0x1);		/* was runnable since 110 */
	thread_states_enter(s, 21, 0, 120);
	wake(21, 125);		/* only kept it awake */
	thread_states_ran(s, 21, 0, 120, 130);
	ev = sw(130, 0, 21, 0, 0, 0x1);
	thread_states_leave(s, &ev, 21);
	wake(21, 180);
	stay(21, 185, 190, 0, 0x80);
	thread_states_until(s, 200);
	check_life(20, (const uint64_t[]){ 13, 7, 0, 0, 0, 0, 80, 0, 0 });
	check_life(21, (const uint64_t[]){ 15, 5, 0, 0, 0, 0, 50, 0, 0 });
}

UNIT_TEST_IN(test_thread_states_do_not_guess, setup, teardown)
{
	struct event ev = sw(150, 0, 20, 0, 0, 0x1);

	stay(20, 100, 110, 0, 0x1);
	thread_states_leave(s, &ev, 20);	/* it must have come back in between */
	thread_states_forget(s);
	thread_states_until(s, 170);
	wake(20, 180);
	thread_states_enter(s, 20, 0, 185);
	thread_states_until(s, 200);		/* the timeline has no time of it */
	check_life(20, (const uint64_t[]){ 10, 5, 0, 0, 0, 0, 0, 0, 85 });
}

/* ---- stays that come to light late ---- */

/* The thread left its CPU at 110, in an uninterruptible sleep with a request in flight. */
static void in_disk_sleep(void)
{
	thread_states_enter(s, 20, 0, 100);
	thread_states_flight(s, 20, 1, 105);
	thread_states_ran(s, 20, 0, 100, 110);
	thread_states_leave(s, &(struct event){ .ts_ns = 110, .v[EV_SWITCH_PREV_STATE] = 2 }, 20);
}

/*
 * Wake-up and switch-in are missing; the switch away states that the thread had run since `since`.
 */
static void leave_after_unseen_stay(uint64_t since, uint64_t to)
{
	thread_states_ran(s, 20, 0, since, to);
	thread_states_leave(s, &(struct event){ .ts_ns = to, .v[EV_SWITCH_PREV_STATE] = 1 }, 20);
}

UNIT_TEST_IN(test_thread_states_do_not_take_an_unseen_stay_for_a_wait_for_a_disk, setup, teardown)
{
	in_disk_sleep();
	/* it runs from 150 on, where its request's end reaches it; then it submits the next one */
	thread_states_flight(s, 20, -1, 160);
	thread_states_flight(s, 20, 1, 170);
	thread_states_flight(s, 20, -1, 175);
	leave_after_unseen_stay(150, 190);
	thread_states_until(s, 200);
	check_life(20, (const uint64_t[]){ 50, 0, 0, 0, 40, 0, 10, 0, 0 });
}

UNIT_TEST_IN(test_thread_states_do_not_take_an_unseen_stay_for_a_wait_for_a_cpu, setup, teardown)
{
	in_disk_sleep();
	thread_states_flight(s, 20, -1, 130);
	wake(20, 170);		/* already on its CPU, which is not known yet */
	leave_after_unseen_stay(150, 190);
	thread_states_until(s, 200);
	check_life(20, (const uint64_t[]){ 50, 0, 0, 0, 20, 20, 10, 0, 0 });
}

/* A task that is hidden from BPF leaves the CPU to the thread, repeatedly. */
UNIT_TEST_IN(test_thread_states_know_that_who_is_woken_twice_has_run, setup, teardown)
{
	stay(20, 100, 110, 0, 0x1);
	wake(20, 120);
	wake(20, 120);		/* the same instant: no other wake-up */
	thread_states_until(s, 130);		/* an edge: nothing is proven until now */
	wake(20, 140);
	thread_states_until(s, 150);
	wake(20, 160);
	thread_states_enter(s, 20, 0, 165);
	thread_states_ran(s, 20, 0, 165, 170);
	thread_states_until(s, 170);
	check_life(20, (const uint64_t[]){ 15, 10, 0, 0, 0, 0, 10, 0, 35 });
}

/* ---- waits ---- */

static void check_wait(unsigned int nr, unsigned int reason, uint64_t from, uint64_t to)
{
	assert_int_equal(lives.waits, nr);
	assert_int_equal(lives.last.thread, 20);
	assert_int_equal(lives.last.reason, reason);
	assert_int_equal(lives.last.from_ns, from);
	assert_int_equal(lives.last.to_ns, to);
}

UNIT_TEST_IN(test_waits_begin_with_a_wakeup_or_a_preemption, setup, teardown)
{
	stay(20, 110, 120, 0, 0x1);
	check_wait(1, THREAD_WAIT_UNKNOWN, 110, 110);	/* it was not seen before */
	wake(20, 150);
	thread_states_until(s, 160);				/* a block's edge changes nothing */
	stay(20, 180, 200, EVENT_F_PREEMPT, 0x1);
	check_wait(2, THREAD_WAIT_WAKEUP, 150, 180);
	assert_false(lives.last.is_migrated);
	thread_states_until(s, 220);
	thread_states_enter(s, 20, 1, 240);
	check_wait(3, THREAD_WAIT_PREEMPT, 200, 240);
	assert_int_equal(lives.last.cpu, 1);
	assert_true(lives.last.is_migrated);
	thread_states_ran(s, 20, 1, 240, 250);
	assert_int_equal(lives.waits, 3);
}

UNIT_TEST_IN(test_waits_begin_where_a_thread_leaves_that_was_woken_before, setup, teardown)
{
	thread_states_enter(s, 20, 0, 100);
	wake(20, 109);
	stay(20, 100, 110, 0, 0x1);	/* a second switch to it: its wait is unknown */
	check_wait(2, THREAD_WAIT_UNKNOWN, 100, 100);
	wake(20, 130);
	thread_states_enter(s, 20, 0, 131);
	check_wait(3, THREAD_WAIT_WAKEUP, 130, 131);
	wake(20, 139);
	thread_states_ran(s, 20, 0, 131, 140);
	thread_states_leave(s, &(struct event){ .ts_ns = 140, .v[EV_SWITCH_PREV_STATE] = 1 }, 20);
	thread_states_enter(s, 20, 0, 147);
	check_wait(4, THREAD_WAIT_WAKEUP, 140, 147);
}

UNIT_TEST_IN(test_waits_are_unknown_without_a_wakeup_or_a_switch, setup, teardown)
{
	stay(20, 100, 110, 0, 0x1);
	thread_states_enter(s, 20, 1, 150);		/* nothing woke it */
	check_wait(2, THREAD_WAIT_UNKNOWN, 150, 150);
	assert_true(lives.last.is_migrated);
	thread_states_ran(s, 20, 1, 150, 160);
	thread_states_leave(s, &(struct event){ .ts_ns = 160, .v[EV_SWITCH_PREV_STATE] = 1 }, 20);
	wake(20, 170);
	thread_states_leave(s, &(struct event){ .ts_ns = 190, .v[EV_SWITCH_PREV_STATE] = 1 }, 20);
	check_wait(3, THREAD_WAIT_UNKNOWN, 190, 190);	/* no switch to it */
	wake(20, 200);
	wake(20, 210);			/* it ran in between */
	thread_states_enter(s, 20, 0, 220);
	check_wait(4, THREAD_WAIT_UNKNOWN, 220, 220);
}

/* The switch away states since when the thread had the CPU. */
UNIT_TEST_IN(test_waits_end_where_an_unseen_stay_begins, setup, teardown)
{
	stay(20, 100, 110, 0, 0x1);
	wake(20, 120);
	leave_after_unseen_stay(150, 190);
	check_wait(2, THREAD_WAIT_WAKEUP, 120, 150);
	wake(20, 230);		/* on its CPU */
	leave_after_unseen_stay(220, 240);
	check_wait(3, THREAD_WAIT_UNKNOWN, 220, 220);
	thread_states_leave(s, &(struct event){ .ts_ns = 160, .v[EV_SWITCH_PREV_STATE] = 1 }, 21);
	assert_int_equal(lives.waits, 3);		/* it may have run from the beginning */
}

/* ---- sleeps ---- */

static void check_sleep(unsigned int nr, enum thread_state state,
			uint64_t left, uint64_t end, bool is_seen)
{
	assert_int_equal(lives.sleeps, nr);
	assert_int_equal(lives.last_sleep.thread, 20);
	assert_int_equal(lives.last_sleep.state, state);
	assert_int_equal(lives.last_sleep.left_ns, left);
	assert_int_equal(lives.last_sleep.end_ns, end);
	assert_int_equal(lives.last_sleep.is_seen, is_seen);
	if (is_seen)
		assert_int_equal(lives.last_sleep.waker, WAKER);
}

UNIT_TEST_IN(test_sleeps_end_with_the_wakeup, setup, teardown)
{
	stay(20, 100, 110, 0, 0x1);
	wake(20, 130);
	thread_states_wake(s, 20, 135, 22, false, 0);	/* a later one, by another thread */
	assert_int_equal(lives.sleeps, 0);
	stay(20, 140, 150, 0, 0x4);
	check_sleep(1, THREAD_SLEEPING, 110, 130, true);
	thread_states_until(s, 155);
	thread_states_wake(s, 20, 160, 22, true, 0);	/* an interrupt at the same instant */
	wake(20, 160);
	thread_states_until(s, 170);			/* an edge: it will not be longer */
	check_sleep(2, THREAD_STOPPED, 150, 160, true);
	assert_false(lives.last_sleep.is_irq);
	stay(20, 180, 190, EVENT_F_PREEMPT, 0x1);
	check_sleep(2, THREAD_STOPPED, 150, 160, true);
	assert_int_equal(lives.last.slept, THREAD_STOPPED); /* the wait knows it across the edge */
	stay(20, 195, 200, 0, 0x80);
	assert_int_equal(lives.last.slept, THREAD_RUNNING);
	assert_int_equal(lives.sleeps, 2);			/* that was not a sleep */
}

/* The first wake-up counts. At one instant a thread's wake-up replaces an interrupt's, no other. */
UNIT_TEST_IN(test_sleeps_end_with_the_first_wakeup, setup, teardown)
{
	stay(20, 100, 110, 0, 0x1);
	wake(20, 130);
	thread_states_wake(s, 20, 130, 22, false, 0);
	stay(20, 140, 150, 0, 0x1);
	check_sleep(1, THREAD_SLEEPING, 110, 130, true);
	thread_states_wake(s, 20, 160, WAKER, true, 0);
	thread_states_wake(s, 20, 165, 22, false, 0);
	stay(20, 170, 180, 0, 0x1);
	check_sleep(2, THREAD_SLEEPING, 150, 160, true);
	assert_true(lives.last_sleep.is_irq);
}

UNIT_TEST_IN(test_sleeps_end_where_the_thread_is_on_a_cpu, setup, teardown)
{
	in_disk_sleep();
	wake(20, 170);		/* on its CPU since 150, which is not known yet */
	leave_after_unseen_stay(150, 190);
	check_sleep(1, THREAD_DISK, 110, 150, false);
	stay(20, 200, 210, 0, 0x1);
	thread_states_enter(s, 20, 0, 220);
	check_sleep(2, THREAD_SLEEPING, 210, 220, false);
}

UNIT_TEST_IN(test_sleeps_are_waits_for_a_disk_if_half_of_them_was, setup, teardown)
{
	in_disk_sleep();
	thread_states_until(s, 120);
	thread_states_flight(s, 20, -1, 130);
	wake(20, 150);
	stay(20, 150, 160, 0, 0x2);
	check_sleep(1, THREAD_DISK, 110, 150, true);
	assert_int_equal(lives.last.slept, THREAD_DISK);
	wake(20, 180);
	stay(20, 181, 190, 0, 0x2);
	check_sleep(2, THREAD_UNINTERRUPTIBLE, 160, 180, true);
	teardown(NULL);

	setup(NULL);
	in_disk_sleep();
	thread_states_flight(s, 20, -1, 130);
	wake(20, 152);
	thread_states_enter(s, 20, 0, 153);
	check_sleep(1, THREAD_UNINTERRUPTIBLE, 110, 152, true);
}

/* A sleep from before the trace has an end, if it was recorded, and no beginning. */
UNIT_TEST_IN(test_sleeps_that_nobody_saw_begin_or_end_are_none, setup, teardown)
{
	thread_states_begin(s, 20, 100, 1 + 0x1, 0);
	wake(20, 120);
	stay(20, 121, 130, 0, 0x1);
	check_sleep(1, THREAD_SLEEPING, 0, 120, true);
	assert_int_equal(lives.last.slept, THREAD_RUNNING);
	thread_states_begin(s, 22, 100, 1 + 0x1, 0);
	stay(22, 131, 140, 0, 0x1);
	thread_states_leave(s, &(struct event){ .ts_ns = 150, .v[EV_SWITCH_PREV_STATE] = 1 }, 20);
	thread_states_enter(s, 21, 0, 150);
	wake(21, 155);		/* before it sleeps: it is runnable all the time */
	thread_states_ran(s, 21, 0, 150, 160);
	thread_states_leave(s, &(struct event){ .ts_ns = 160, .v[EV_SWITCH_PREV_STATE] = 1 }, 21);
	thread_states_enter(s, 21, 0, 170);
	thread_states_forget(s);
	thread_states_until(s, 200);
	assert_int_equal(lives.sleeps, 1);
}

/* ---- brute force: every ns of a thread that does anything ---- */

#define SPAN 4000

static uint64_t dice;

static unsigned int below(unsigned int n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)((dice >> 33) % n);
}

/* A thread that runs, leaves its CPU and returns. Its next step begins at `at`. */
struct walk {
	struct thread_states *s;
	struct thread_states_sink sink;
	uint8_t truth[SPAN + 200];
	unsigned int at, edge, cpu;
	bool has_request;		/* one is in flight */
	struct thread_wait waits[SPAN];	/* as they have to be */
	struct thread_sleep sleeps[SPAN];
	unsigned int wait_cnt, sleep_cnt;
	/* as reported by thread_states */
	uint8_t got[SPAN];
	unsigned int got_cnt, got_sleeps;
};

static void is(struct walk *w, unsigned int cnt, enum thread_state state)
{
	memset(&w->truth[w->at], state, cnt);
	w->at += cnt;
}

static uint32_t same_number(void *ctx, uint32_t number)
{
	return number;
}

/* Another machine continues with the saved state of this one at an edge. */
static void take_over(struct walk *w, uint64_t at_ns)
{
	struct buf state = { 0 };
	struct packed_in in;

	thread_states_save(w->s, at_ns, same_number, NULL, &state);
	thread_states_free(w->s);
	in = (struct packed_in){ .p = state.data, .end = state.data + state.len };
	assert_int_equal(thread_states_new(&w->s, THREADS, &w->sink), 0);
	thread_states_start(w->s, at_ns);
	assert_int_equal(thread_states_load(w->s, same_number, NULL, &in), 0);
	if (w->has_request)
		thread_states_flight(w->s, 20, 1, at_ns);
	buf_done(&state);
}

/* Edges of blocks up to the present; a stay on a CPU is cut there. */
static void edges(struct walk *w, bool runs, unsigned int *since)
{
	for (; w->edge <= w->at; w->edge += 50 + below(300)) {
		if (runs && *since < w->edge) {
			thread_states_ran(w->s, 20, w->cpu, 1000 + *since, 1000 + w->edge);
			*since = w->edge;
		}
		thread_states_until(w->s, 1000 + w->edge);
		if (below(2))
			take_over(w, 1000 + w->edge);
	}
}

static void one_round(struct walk *w)
{
	static const struct { unsigned int bits; enum thread_state state; } sleeps[] = {
		{ 0x1, THREAD_SLEEPING }, { 0x2, THREAD_UNINTERRUPTIBLE }, { 0x4, THREAD_STOPPED },
		{ 0x402, THREAD_SLEEPING }, { 0, THREAD_PREEMPTED },
	};
	unsigned int kind = below(5), since = w->at, wait, disk = 0;
	enum thread_state state = sleeps[kind].state;
	struct thread_sleep sleep = { .thread = 20, .state = state, .is_irq = below(2) };
	uint64_t since_wait;
	uint32_t cpu = below(3);
	struct event ev;

	is(w, 2 + below(40), THREAD_RUNNING);
	w->has_request = below(2);
	if (w->has_request)
		thread_states_flight(w->s, 20, 1, 1000 + since);
	edges(w, true, &since);
	ev = sw(1000 + w->at, w->cpu, 20, 0, 0, sleeps[kind].bits);
	ev.v[EV_SWITCH_CALL] = sleep.call = CALL_IS_NUMBER | below(3);
	since_wait = sleep.left_ns = 1000 + w->at;
	thread_states_ran(w->s, 20, w->cpu, 1000 + since, 1000 + w->at);
	thread_states_leave(w->s, &ev, 20);
	if (state == THREAD_UNINTERRUPTIBLE && w->has_request)
		disk = 1 + below(60);
	is(w, disk ? disk : 1 + below(60), disk ? THREAD_DISK : state);
	edges(w, false, NULL);
	if (w->has_request)
		thread_states_flight(w->s, 20, -1, 1000 + w->at);
	w->has_request = false;
	is(w, 1 + below(60), state);
	edges(w, false, NULL);
	wait = state == THREAD_PREEMPTED ? 0 : 1 + below(60);
	if (wait) {
		since_wait = sleep.end_ns = 1000 + w->at;
		sleep.waker = below(THREADS);
		thread_states_wake(w->s, 20, since_wait, sleep.waker, sleep.is_irq, 0);
		if (disk >= (sleep.end_ns - sleep.left_ns) / 2)
			sleep.state = THREAD_DISK;
		w->sleeps[w->sleep_cnt++] = sleep;
	}
	is(w, wait, THREAD_RUNNABLE);
	edges(w, false, NULL);
	w->waits[w->wait_cnt++] = (struct thread_wait){
		.thread = 20, .cpu = cpu, .from_ns = since_wait, .to_ns = 1000 + w->at,
		.reason = wait ? THREAD_WAIT_WAKEUP : THREAD_WAIT_PREEMPT,
		.slept = wait ? sleep.state : THREAD_RUNNING, .is_migrated = cpu != w->cpu,
	};
	thread_states_enter(w->s, 20, cpu, 1000 + w->at);
	w->cpu = cpu;
}

static int paint(void *ctx, const struct thread_piece *p)
{
	uint8_t *got = ((struct walk *)ctx)->got;

	for (uint64_t ns = p->from_ns; ns < p->to_ns && ns < 1000 + SPAN; ns++) {
		assert_int_equal(got[ns - 1000], THREAD_STATE_CNT);
		got[ns - 1000] = p->state;
	}
	return 0;
}

static int compare_sleep(void *ctx, const struct thread_sleep *got)
{
	struct walk *w = ctx;
	const struct thread_sleep *want = &w->sleeps[w->got_sleeps++];

	assert_true(w->got_sleeps <= w->sleep_cnt);
	assert_int_equal(got->thread, want->thread);
	assert_int_equal(got->left_ns, want->left_ns);
	assert_int_equal(got->end_ns, want->end_ns);
	assert_int_equal(got->state, want->state);
	assert_int_equal(got->call, want->call);
	assert_int_equal(got->waker, want->waker);
	assert_int_equal(got->is_irq, want->is_irq);
	assert_true(got->is_seen);
	return 0;
}

static int compare_wait(void *ctx, const struct thread_wait *got)
{
	struct walk *w = ctx;
	const struct thread_wait *want;

	if (!w->got_cnt++)	/* the first switch of all */
		return 0;
	assert_true(w->got_cnt <= w->wait_cnt + 1);
	want = &w->waits[w->got_cnt - 2];
	assert_int_equal(got->thread, want->thread);
	assert_int_equal(got->cpu, want->cpu);
	assert_int_equal(got->from_ns, want->from_ns);
	assert_int_equal(got->to_ns, want->to_ns);
	assert_int_equal(got->reason, want->reason);
	assert_int_equal(got->slept, want->slept);
	assert_int_equal(got->is_migrated, want->is_migrated);
	return 0;
}

UNIT_TEST(test_thread_states_sleeps_and_waits_are_those_of_every_ns)
{
	unsigned int seed, ns;

	for (seed = 1; seed <= 300; seed++) {
		struct walk w = { .edge = 50 };

		dice = seed;
		w.sink = (struct thread_states_sink){ &w, NULL, paint, compare_sleep,
						      compare_wait };
		memset(w.got, THREAD_STATE_CNT, sizeof(w.got));
		assert_int_equal(thread_states_new(&w.s, THREADS, &w.sink), 0);
		thread_states_start(w.s, 1000);
		thread_states_enter(w.s, 20, 0, 1000);
		while (w.at < SPAN)
			one_round(&w);
		thread_states_until(w.s, 1000 + w.at);
		for (ns = 0; ns < SPAN; ns++)
			if (w.got[ns] != w.truth[ns])
				fail_msg("seed %u, %u ns: %u, wanted %u", seed, ns, w.got[ns],
					 w.truth[ns]);
		assert_int_equal(w.got_cnt, w.wait_cnt + 1);
		assert_int_equal(w.got_sleeps, w.sleep_cnt);
		thread_states_free(w.s);
	}
}

UNIT_TESTS
