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

#define THREADS (EVENT_ID_FIRST + 2)

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_timeline_gives_time_to_who_ran),
		cmocka_unit_test(test_cpu_timeline_says_unknown_where_a_switch_is_missing),
		cmocka_unit_test(test_cpu_timeline_does_not_guess_who_ran_before_the_first_switch),
		cmocka_unit_test(test_cpu_timeline_never_lets_a_thread_have_two_cpus),
		cmocka_unit_test(test_cpu_timeline_keeps_filtered_time_apart),
		cmocka_unit_test(test_cpu_timeline_never_goes_back_in_time),
		cmocka_unit_test(test_run_queue_measures_from_wakeup_and_preemption),
		cmocka_unit_test(test_run_queue_handles_wakeup_before_the_sleeper_has_left),
		cmocka_unit_test(test_run_queue_does_not_guess_when_the_wakeup_was_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
