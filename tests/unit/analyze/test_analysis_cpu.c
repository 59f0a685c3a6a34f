/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The CPU timeline, from hand-made events with known answers. */
#include <string.h>

#include "model/cpu_timeline.h"
#include "tests/unit/unit_test.h"

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

UNIT_TEST(test_cpu_timeline_gives_time_to_who_ran)
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

UNIT_TEST(test_cpu_timeline_says_unknown_where_a_switch_is_missing)
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
	assert_int_equal(all.p[1].end->utid, 30);	/* known from the switch */
	cpu_timeline_free(tl);
}

UNIT_TEST(test_cpu_timeline_gives_a_thread_the_stay_that_the_kernel_knows)
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
	assert_int_equal(all.cnt, 7);
	check(&all.p[1], 0, EVENT_ID_UNKNOWN, 120, 130);
	check(&all.p[2], 0, 30, 130, 180);
	check(&all.p[3], 0, 31, 180, 200);
	/* 32 came before the boundary */
	check(&all.p[4], 0, 32, 200, 260);
	/* the same thread entered and left, but it has been there only since 275 */
	check(&all.p[5], 0, EVENT_ID_UNKNOWN, 260, 275);
	check(&all.p[6], 0, 33, 275, 280);
	assert_false(all.p[1].is_restored || all.p[5].is_restored);
	assert_true(all.p[2].is_restored && all.p[4].is_restored && all.p[6].is_restored);
	cpu_timeline_free(tl);
}

/* In a cut of some processes, the time before the stay is that of the others. */
UNIT_TEST(test_cpu_timeline_gives_the_stay_after_threads_that_are_left_out)
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

UNIT_TEST(test_cpu_timeline_does_not_guess_who_ran_before_the_first_switch)
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

UNIT_TEST(test_cpu_timeline_never_lets_a_thread_have_two_cpus)
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
	/* leaving one CPU and entering another at the same instant is not a contradiction */
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

UNIT_TEST(test_cpu_timeline_keeps_filtered_time_apart)
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

UNIT_TEST(test_cpu_timeline_never_goes_back_in_time)
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

UNIT_TESTS
