/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The CPU timeline and the run queue, from hand-made events with known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/cpu_timeline.h"
#include "model/run_queue.h"
#include "model/thread_states.h"

struct pieces {
	struct cpu_piece p[64];
	unsigned int cnt;
};

static int collect(void *ctx, const struct cpu_piece *p)
{
	struct pieces *all = ctx;

	assert_true(all->cnt < 64);
	all->p[all->cnt++] = *p;
	return 0;
}

static struct event sw(uint64_t ts, unsigned int cpu, uint32_t prev, uint32_t next,
		       unsigned int flags, unsigned int state)
{
	struct event ev = { .ts_ns = ts,
			    .cpu = (uint16_t)cpu,
			    .utid = prev,
			    .kind = EVENT_SWITCH,
			    .flags = (uint8_t)flags };

	ev.v[EV_SWITCH_NEXT_UTID] = next;
	ev.v[EV_SWITCH_PREV_STATE] = state;
	return ev;
}

static struct event wake(uint64_t ts, uint32_t waker, uint32_t target)
{
	struct event ev = { .ts_ns = ts, .utid = waker, .kind = EVENT_WAKEUP };

	ev.v[EV_WAKEUP_TARGET_UTID] = target;
	return ev;
}

static uint32_t runs_20_and_idle(void *ctx, unsigned int cpu)
{
	return cpu ? EVENT_ID_IDLE : 20;
}

static uint32_t runs_unknown(void *ctx, unsigned int cpu)
{
	return EVENT_ID_UNKNOWN;
}

static void check(const struct cpu_piece *p, unsigned int cpu, uint32_t utid, uint64_t from,
		  uint64_t to)
{
	assert_int_equal(p->cpu, cpu);
	assert_int_equal(p->utid, utid);
	assert_int_equal(p->from_ns, from);
	assert_int_equal(p->to_ns, to);
}

static void test_cpu_timeline_gives_time_to_who_ran(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	struct event a = sw(150, 0, 20, 21, 0, 1), b = sw(170, 0, 21, 0, 0, 1);

	assert_int_equal(cpu_timeline_new(&tl, 2, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_20_and_idle, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_switch(tl, &b);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	assert_int_equal(all.cnt, 4);
	check(&all.p[0], 0, 20, 100, 150);
	check(&all.p[1], 0, 21, 150, 170);
	check(&all.p[2], 0, EVENT_ID_IDLE, 170, 200);
	check(&all.p[3], 1, EVENT_ID_IDLE, 100, 200);	/* a CPU without any switch */
	assert_non_null(all.p[0].end);
	assert_null(all.p[2].end);
	cpu_timeline_free(tl);
}

static void test_cpu_timeline_says_unknown_where_a_switch_is_missing(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	struct event a = sw(120, 0, 20, 21, 0, 1), b = sw(180, 0, 30, 31, 0, 1);

	assert_int_equal(cpu_timeline_new(&tl, 1, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_20_and_idle, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_switch(tl, &b);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	check(&all.p[1], 0, EVENT_ID_UNKNOWN, 120, 180);
	check(&all.p[2], 0, 31, 180, 200);
	assert_int_equal(all.p[1].end->utid, 30);	/* whose switch it is, is known */
	cpu_timeline_free(tl);
}

static void test_cpu_timeline_gives_a_thread_the_stay_that_the_kernel_knows(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	struct event a = sw(120, 0, 20, 21, 0, 1), b = sw(180, 0, 30, 31, 0, 1),
		     c = sw(260, 0, 32, 33, 0, 1), d = sw(280, 0, 33, 34, 0, 1);

	b.v[EV_SWITCH_STAY_NS] = 50;
	c.v[EV_SWITCH_STAY_NS] = 75;
	d.v[EV_SWITCH_STAY_NS] = 5;
	assert_int_equal(cpu_timeline_new(&tl, 1, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_20_and_idle, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_switch(tl, &b);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	cpu_timeline_switch(tl, &c);
	cpu_timeline_switch(tl, &d);
	assert_int_equal(all.cnt, 6);
	check(&all.p[1], 0, EVENT_ID_UNKNOWN, 120, 130);
	check(&all.p[2], 0, 30, 130, 180);
	check(&all.p[3], 0, 31, 180, 200);
	/* 32 came before the boundary */
	check(&all.p[4], 0, 32, 200, 260);
	/* who came is who leaves: nothing is missing */
	check(&all.p[5], 0, 33, 260, 280);
	assert_false(all.p[1].is_restored);
	assert_true(all.p[2].is_restored && all.p[4].is_restored);
	assert_false(all.p[5].is_restored);
	cpu_timeline_free(tl);
}

/* In a cut of some processes, the time before the stay is that of the others. */
static void test_cpu_timeline_gives_the_stay_after_threads_that_are_left_out(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	struct event a = sw(120, 0, 20, EVENT_ID_FILTERED, EVENT_F_NEXT_OUT, 1),
		     b = sw(180, 0, 20, EVENT_ID_FILTERED, EVENT_F_NEXT_OUT, 1),
		     c = sw(190, 0, EVENT_ID_FILTERED, 20, 0, 1);

	b.v[EV_SWITCH_STAY_NS] = 50;
	c.v[EV_SWITCH_STAY_NS] = 5;
	assert_int_equal(cpu_timeline_new(&tl, 1, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_20_and_idle, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_switch(tl, &b);
	cpu_timeline_switch(tl, &c);
	assert_int_equal(all.cnt, 4);
	check(&all.p[1], 0, EVENT_ID_FILTERED, 120, 130);
	check(&all.p[2], 0, 20, 130, 180);
	assert_true(all.p[2].is_restored);
	check(&all.p[3], 0, EVENT_ID_FILTERED, 180, 190);
	cpu_timeline_free(tl);
}

static void test_cpu_timeline_does_not_guess_who_ran_before_the_first_switch(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	struct event a = sw(160, 0, 25, 0, 0, 1);

	assert_int_equal(cpu_timeline_new(&tl, 2, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_unknown, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	check(&all.p[0], 0, EVENT_ID_UNKNOWN, 100, 160);
	check(&all.p[1], 0, EVENT_ID_IDLE, 160, 200);
	check(&all.p[2], 1, EVENT_ID_UNKNOWN, 100, 200);
	cpu_timeline_free(tl);
}

static uint32_t runs_20_and_30(void *ctx, unsigned int cpu)
{
	return cpu ? 30 : 20;
}

static void test_cpu_timeline_never_lets_a_thread_have_two_cpus(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	/* 20 is seen to come to CPU 1 and leave it again; how it got there and back went lost */
	struct event a = sw(120, 1, 30, 20, 0, 1), b = sw(140, 1, 20, 30, 0, 1),
		     c = sw(160, 0, 20, 21, 0, 1), d = sw(180, 0, 21, 0, 0, 1),
		     e = sw(180, 1, 30, 21, 0, 1);

	assert_int_equal(cpu_timeline_new(&tl, 2, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_20_and_30, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_switch(tl, &b);
	cpu_timeline_switch(tl, &c);
	/* leaving here and coming there at one instant is no contradiction */
	cpu_timeline_switch(tl, &e);
	cpu_timeline_switch(tl, &d);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	check(&all.p[0], 1, 30, 100, 120);
	check(&all.p[1], 1, 20, 120, 140);
	check(&all.p[2], 0, EVENT_ID_UNKNOWN, 100, 160);
	check(&all.p[3], 1, 30, 140, 180);
	check(&all.p[4], 0, 21, 160, 180);
	check(&all.p[6], 1, 21, 180, 200);
	cpu_timeline_free(tl);
}

static void test_cpu_timeline_keeps_filtered_time_apart(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	struct event a = sw(120, 0, 20, 0, EVENT_F_NEXT_OUT, 1), b = sw(150, 0, 77, 20, 0, 0);

	assert_int_equal(cpu_timeline_new(&tl, 1, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_20_and_idle, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_switch(tl, &b);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	check(&all.p[1], 0, EVENT_ID_FILTERED, 120, 150);
	check(&all.p[2], 0, 20, 150, 200);
	cpu_timeline_free(tl);
}

static void test_cpu_timeline_never_goes_back_in_time(void **state)
{
	struct pieces all = { .cnt = 0 };
	struct cpu_timeline *tl;
	struct event a = sw(150, 0, 20, 21, 0, 1), late = sw(140, 0, 21, 22, 0, 1),
		     far = sw(150, 9, 1, 2, 0, 0);

	assert_int_equal(cpu_timeline_new(&tl, 1, collect, &all), 0);
	cpu_timeline_boundary(tl, 100, runs_20_and_idle, NULL);
	cpu_timeline_switch(tl, &a);
	cpu_timeline_switch(tl, &late);
	cpu_timeline_switch(tl, &far);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	assert_int_equal(all.cnt, 3);
	check(&all.p[1], 0, 21, 150, 150);
	check(&all.p[2], 0, 22, 150, 200);
	cpu_timeline_free(tl);
}

/* ---- run queue: two real threads, utids 16 and 17 ---- */

#define THREADS (EVENT_ID_FIRST + 8)

/* Hands an event to the queue; a thread's number is its utid. */
static int run_queue_event(struct run_queue *q, const struct event *ev, struct run_queue_wait *w)
{
	if (ev->kind == EVENT_WAKEUP)
		return run_queue_wake(q, (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID], ev->ts_ns);
	return run_queue_switch(q, ev, ev->utid, (uint32_t)ev->v[EV_SWITCH_NEXT_UTID], w);
}

static void expect_wait(struct run_queue *q, struct event ev, unsigned int reason, uint64_t from,
			uint64_t to)
{
	struct run_queue_wait w;

	assert_int_equal(run_queue_event(q, &ev, &w), 1);
	assert_int_equal(w.reason, reason);
	assert_int_equal(w.from_ns, from);
	assert_int_equal(w.to_ns, to);
}

static void expect_nothing(struct run_queue *q, struct event ev)
{
	struct run_queue_wait w;

	assert_int_equal(run_queue_event(q, &ev, &w), 0);
}

static void test_run_queue_measures_from_wakeup_and_preemption(void **state)
{
	struct run_queue *q;

	assert_int_equal(run_queue_new(&q, THREADS), 0);
	expect_wait(q, sw(100, 0, 0, 16, 0, 0), RUN_QUEUE_UNKNOWN, 100, 100);
	expect_nothing(q, sw(110, 0, 16, 0, 0, 1));
	expect_nothing(q, wake(150, 17, 16));
	expect_nothing(q, wake(160, 17, 16));		/* again: the first one counts */
	expect_wait(q, sw(180, 0, 0, 16, 0, 0), RUN_QUEUE_WAKEUP, 150, 180);
	expect_wait(q, sw(200, 0, 16, 17, EVENT_F_PREEMPT, 1), RUN_QUEUE_UNKNOWN, 200, 200);
	expect_wait(q, sw(240, 0, 17, 16, 0, 1), RUN_QUEUE_PREEMPT, 200, 240);
	run_queue_free(q);
}

static void test_run_queue_handles_wakeup_before_the_sleeper_has_left(void **state)
{
	struct run_queue *q;

	assert_int_equal(run_queue_new(&q, THREADS), 0);
	expect_wait(q, sw(100, 0, 0, 16, 0, 0), RUN_QUEUE_UNKNOWN, 100, 100);
	expect_nothing(q, wake(109, 17, 16));
	expect_nothing(q, sw(110, 0, 16, 0, 0, 1));
	expect_wait(q, sw(130, 1, 0, 16, 0, 0), RUN_QUEUE_WAKEUP, 110, 130);
	/* the same, but that wake-up only kept it from sleeping; the later sleep is ended by its
	 * own */
	expect_nothing(q, wake(131, 17, 16));
	expect_nothing(q, sw(140, 1, 16, 0, 0, 1));
	expect_nothing(q, wake(190, 17, 16));
	expect_wait(q, sw(195, 1, 0, 16, 0, 0), RUN_QUEUE_WAKEUP, 190, 195);
	run_queue_free(q);
}

static void test_run_queue_does_not_guess_when_the_wakeup_was_lost(void **state)
{
	struct run_queue *q;
	struct run_queue_wait w;
	struct event ev = sw(500, 1, 0, 16, 0, 0);

	assert_int_equal(run_queue_new(&q, THREADS), 0);
	expect_wait(q, sw(100, 0, 0, 16, 0, 0), RUN_QUEUE_UNKNOWN, 100, 100);
	expect_nothing(q, sw(110, 0, 16, 0, 0, 1));
	assert_int_equal(run_queue_event(q, &ev, &w), 1);
	assert_int_equal(w.reason, RUN_QUEUE_UNKNOWN);
	assert_int_equal(w.migrated, 1);
	run_queue_free(q);
}

static void test_run_queue_says_where_a_switch_to_a_thread_is_missing(void **state)
{
	struct event leaves = sw(300, 1, 16, 17, 0, 1);
	struct run_queue_wait w;
	struct run_queue *q;

	assert_int_equal(run_queue_new(&q, THREADS), 0);
	assert_false(run_queue_missed(q, &leaves, 16, &w));	/* it may have run from the start */
	assert_false(run_queue_missed(q, &leaves, EVENT_ID_IDLE, &w));
	expect_wait(q, sw(100, 0, 0, 16, 0, 0), RUN_QUEUE_UNKNOWN, 100, 100);
	assert_false(run_queue_missed(q, &leaves, 16, &w));
	expect_nothing(q, sw(110, 0, 16, 0, 0, 1));
	expect_nothing(q, wake(150, 17, 16));
	assert_true(run_queue_missed(q, &leaves, 16, &w));
	assert_int_equal(w.thread, 16);
	assert_int_equal(w.reason, RUN_QUEUE_UNKNOWN);
	assert_int_equal(w.from_ns, 300);
	assert_int_equal(w.to_ns, 300);
	assert_int_equal(w.migrated, 1);
	run_queue_free(q);
}

/* ---- states of threads ---- */

struct lives {
	uint64_t ns[THREADS][THREAD_STATE_CNT];
	uint64_t end_ns[THREADS];
};

static int on_state(void *ctx, const struct thread_piece *p)
{
	struct lives *l = ctx;

	assert_true(p->thread < THREADS && p->from_ns < p->to_ns);
	assert_true(p->from_ns >= l->end_ns[p->thread]);	/* no instant has two states */
	l->end_ns[p->thread] = p->to_ns;
	l->ns[p->thread][p->state] += p->to_ns - p->from_ns;
	return 0;
}

static struct thread_states *new_states(struct lives *l)
{
	struct thread_states *s;

	memset(l, 0, sizeof(*l));
	assert_int_equal(thread_states_new(&s, THREADS, on_state, l), 0);
	thread_states_start(s, 100);
	return s;
}

/* The thread gets a CPU and leaves it. */
static void stay(struct thread_states *s, uint32_t thread, uint64_t from, uint64_t to,
		 unsigned int flags, unsigned int bits)
{
	struct event ev = sw(to, 0, thread, 0, flags, bits);

	assert_int_equal(thread_states_enter(s, thread, from), 0);
	assert_int_equal(thread_states_ran(s, thread, from, to), 0);
	assert_int_equal(thread_states_leave(s, &ev, thread), 0);
}

static void request(struct thread_states *s, uint64_t ts, unsigned int action, uint32_t thread,
		    uint64_t done)
{
	struct event ev = { .ts_ns = ts, .kind = EVENT_REQUEST };

	ev.v[EV_REQUEST_ACTION] = action;
	ev.v[EV_REQUEST_RQ] = 0x1000;
	ev.v[EV_REQUEST_BYTES] = 8192;
	ev.v[EV_REQUEST_DONE_BYTES] = done;
	assert_int_equal(thread_states_request(s, &ev, thread), 0);
}

static void check_life(const struct lives *l, uint32_t thread,
		       const uint64_t want[THREAD_STATE_CNT])
{
	unsigned int i;

	for (i = 0; i < THREAD_STATE_CNT; i++)
		if (l->ns[thread][i] != want[i])
			fail_msg("thread %u, state %u: %llu ns, wanted %llu", thread, i,
				 (unsigned long long)l->ns[thread][i],
				 (unsigned long long)want[i]);
}

static void test_thread_states_divide_a_life(void **state)
{
	struct lives l;
	struct thread_states *s = new_states(&l);

	thread_states_begin(s, 20, 100, 0);		/* unknown until it is woken */
	thread_states_wake(s, 20, 110);
	stay(s, 20, 113, 120, EVENT_F_PREEMPT, 0);
	stay(s, 20, 125, 130, 0, 0x402);		/* an idle sleep */
	thread_states_wake(s, 20, 150);
	stay(s, 20, 151, 160, 0, 0x104);		/* stopped, by a signal that may kill */
	thread_states_wake(s, 20, 190);
	stay(s, 20, 190, 200, 0, 0x80);			/* dead */
	thread_states_until(s, 300);
	check_life(&l, 20, (const uint64_t[]){ 31, 4, 5, 0, 0, 20, 30, 10 });
	thread_states_free(s);
}

static void test_thread_states_begin_with_what_a_snapshot_read(void **state)
{
	struct lives l;
	struct thread_states *s = new_states(&l);

	thread_states_begin(s, 20, 100, 1 + 0x1);
	thread_states_begin(s, 21, 100, 1 + 0x4);
	thread_states_begin(s, 22, 100, 1 + 0);		/* waits for a CPU */
	thread_states_begin(s, 23, 100, 1 + 0x80);	/* a zombie has no state any more */
	thread_states_wake(s, 20, 150);
	stay(s, 20, 151, 160, 0, 0x2);
	stay(s, 22, 130, 140, 0, 0x1);
	thread_states_until(s, 300);
	check_life(&l, 20, (const uint64_t[]){ 9, 1, 0, 0, 140, 50, 0, 0 });
	check_life(&l, 21, (const uint64_t[]){ 0, 0, 0, 0, 0, 0, 200, 0 });
	check_life(&l, 22, (const uint64_t[]){ 10, 0, 30, 0, 0, 160, 0, 0 });
	check_life(&l, 23, (const uint64_t[THREAD_STATE_CNT]){ 0 });
	thread_states_free(s);
}

static void test_thread_states_tell_disk_from_other_uninterruptible_sleep(void **state)
{
	struct lives l;
	struct thread_states *s = new_states(&l);

	thread_states_wake(s, 20, 100);
	request(s, 105, EVENT_REQUEST_START, 20, 0);
	request(s, 106, EVENT_REQUEST_ISSUE, 21, 0);	/* somebody else issues it */
	stay(s, 20, 100, 110, 0, 0x2);
	request(s, 120, EVENT_REQUEST_COMPLETE, EVENT_ID_UNKNOWN, 4096);	/* half of it */
	request(s, 130, EVENT_REQUEST_COMPLETE, EVENT_ID_UNKNOWN, 8192);
	request(s, 131, EVENT_REQUEST_DONE, EVENT_ID_UNKNOWN, 0);
	thread_states_wake(s, 20, 137);
	stay(s, 20, 140, 150, 0, 0x1);
	request(s, 160, EVENT_REQUEST_INSERT, 22, 0);	/* another thread's at that address */
	stay(s, 20, 170, 180, 0, 0x102);
	thread_states_until(s, 200);
	check_life(&l, 20, (const uint64_t[]){ 30, 3, 0, 20, 27, 20, 0, 0 });
	thread_states_free(s);
}

static void test_thread_states_handle_a_wakeup_before_the_sleeper_has_left(void **state)
{
	struct lives l;
	struct thread_states *s = new_states(&l);
	struct event ev = sw(110, 0, 20, 0, 0, 0x1);

	thread_states_enter(s, 20, 100);
	thread_states_wake(s, 20, 109);
	thread_states_ran(s, 20, 100, 110);
	thread_states_leave(s, &ev, 20);
	stay(s, 20, 117, 120, 0, 0x1);		/* was runnable since 110 */
	thread_states_enter(s, 21, 120);
	thread_states_wake(s, 21, 125);		/* only kept it awake */
	thread_states_ran(s, 21, 120, 130);
	ev = sw(130, 0, 21, 0, 0, 0x1);
	thread_states_leave(s, &ev, 21);
	thread_states_wake(s, 21, 180);
	stay(s, 21, 185, 190, 0, 0x80);
	thread_states_until(s, 200);
	check_life(&l, 20, (const uint64_t[]){ 13, 7, 0, 0, 0, 80, 0, 0 });
	check_life(&l, 21, (const uint64_t[]){ 15, 5, 0, 0, 0, 50, 0, 0 });
	thread_states_free(s);
}

static void test_thread_states_do_not_guess(void **state)
{
	struct lives l;
	struct thread_states *s = new_states(&l);
	struct event ev = sw(150, 0, 20, 0, 0, 0x1);

	stay(s, 20, 100, 110, 0, 0x1);
	thread_states_leave(s, &ev, 20);	/* it must have come back in between */
	thread_states_forget(s);
	thread_states_until(s, 170);
	thread_states_wake(s, 20, 180);
	thread_states_enter(s, 20, 185);
	thread_states_until(s, 200);		/* the timeline has no time of it */
	check_life(&l, 20, (const uint64_t[]){ 10, 5, 0, 0, 0, 0, 0, 85 });
	thread_states_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_timeline_gives_time_to_who_ran),
		cmocka_unit_test(test_cpu_timeline_says_unknown_where_a_switch_is_missing),
		cmocka_unit_test(test_cpu_timeline_gives_a_thread_the_stay_that_the_kernel_knows),
		cmocka_unit_test(test_cpu_timeline_gives_the_stay_after_threads_that_are_left_out),
		cmocka_unit_test(test_cpu_timeline_does_not_guess_who_ran_before_the_first_switch),
		cmocka_unit_test(test_cpu_timeline_never_lets_a_thread_have_two_cpus),
		cmocka_unit_test(test_cpu_timeline_keeps_filtered_time_apart),
		cmocka_unit_test(test_cpu_timeline_never_goes_back_in_time),
		cmocka_unit_test(test_run_queue_measures_from_wakeup_and_preemption),
		cmocka_unit_test(test_run_queue_handles_wakeup_before_the_sleeper_has_left),
		cmocka_unit_test(test_run_queue_does_not_guess_when_the_wakeup_was_lost),
		cmocka_unit_test(test_run_queue_says_where_a_switch_to_a_thread_is_missing),
		cmocka_unit_test(test_thread_states_divide_a_life),
		cmocka_unit_test(test_thread_states_begin_with_what_a_snapshot_read),
		cmocka_unit_test(
			test_thread_states_tell_disk_from_other_uninterruptible_sleep),
		cmocka_unit_test(test_thread_states_handle_a_wakeup_before_the_sleeper_has_left),
		cmocka_unit_test(test_thread_states_do_not_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
