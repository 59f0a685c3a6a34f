/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Ends of threads when some of their time is left out, in exact numbers. */
#include "model/replay.h"
#include "tests/unit/unit_test.h"

enum { A = 1, B, C, THREADS };

static struct replay *r;

static int setup(void **state)
{
	return replay_new(&r, THREADS);
}

static int teardown(void **state)
{
	replay_free(r);
	return 0;
}

/* After the last piece. */
static size_t prepare(void)
{
	size_t cnt;

	assert_int_equal(replay_prepare(r, &cnt), 0);
	return cnt;
}

static void add(uint32_t thread, enum replay_what what, uint64_t from_ns, uint64_t to_ns,
		uint32_t waker, uint16_t cpu)
{
	const struct replay_piece p = { .from_ns = from_ns, .to_ns = to_ns, .thread = thread,
					.waker = waker, .cpu = cpu, .what = (uint8_t)what };

	assert_int_equal(replay_add(r, &p), 0);
}

static uint64_t end_of(enum replay_variant variant, uint32_t thread)
{
	uint32_t place;
	uint64_t ns = 0;

	assert_true(replay_last_run(r, thread, &place));
	assert_int_equal(replay_run(r, variant, &place, 1, &ns, &place), 0);
	return ns;
}

/* A waits from 20 to 50 for B, which runs from 0 to 80, and for a CPU until 60; it creates C. */
static void three_threads(void)
{
	add(B, REPLAY_RUN, 0, 80, 0, 1);
	add(A, REPLAY_RUN, 0, 20, 0, 0);
	add(A, REPLAY_SLEEP, 20, 50, B, 0);
	add(A, REPLAY_CPU, 50, 60, 0, 0);
	add(A, REPLAY_RUN, 60, 100, 0, 0);
	add(C, REPLAY_RUN, 90, 95, 0, 1);
	assert_int_equal(replay_add_birth(r, C, A, 90), 0);
	assert_int_equal(prepare(), 7);
}

static uint64_t half_of_b(void *ctx, const struct replay_piece *p)
{
	return (p->to_ns - p->from_ns) / (p->thread == B ? 2 : 1);
}

static uint64_t half_of_a(void *ctx, const struct replay_piece *p)
{
	return (p->to_ns - p->from_ns) / (p->thread == A && p->what == REPLAY_RUN ? 2 : 1);
}

static uint64_t none_of_b(void *ctx, const struct replay_piece *p)
{
	return p->thread == B ? 0 : p->to_ns - p->from_ns;
}

static uint64_t no_sleep(void *ctx, const struct replay_piece *p)
{
	return p->what == REPLAY_SLEEP ? 0 : p->to_ns - p->from_ns;
}

UNIT_TEST_IN(test_threads_end_as_recorded_without_a_change, setup, teardown)
{
	three_threads();
	for (int i = REPLAY_STRUCTURE; i <= REPLAY_FIXED; i++) {
		assert_int_equal(end_of((enum replay_variant)i, A), 100);
		assert_int_equal(end_of((enum replay_variant)i, B), 80);
		assert_int_equal(end_of((enum replay_variant)i, C), 95);
	}
	/* the CPU that A waited for was free */
	assert_int_equal(end_of(REPLAY_SCHEDULED, A), 90);
	assert_int_equal(end_of(REPLAY_SCHEDULED, C), 85);
}

static void sum_part(void *ctx, const struct replay_piece *p, uint64_t ns)
{
	uint64_t *sums = ctx;

	sums[ns ? p->thread : 0] += ns ?: p->to_ns - p->from_ns;
}

UNIT_TEST_IN(test_a_wake_up_moves_with_its_offset_in_the_wakers_piece, setup, teardown)
{
	uint64_t sums[THREADS] = { 0 };
	uint32_t place;

	three_threads();
	assert_int_equal(replay_change(r, half_of_b, NULL), 40);
	assert_int_equal(end_of(REPLAY_STRUCTURE, A), 75);	/* 25 + 10 + 40 */
	assert_int_equal(end_of(REPLAY_STRUCTURE, C), 70);	/* created at 65 */
	assert_true(replay_last_run(r, A, &place));
	replay_path(r, place, sum_part, sums);
	assert_int_equal(sums[0], 30);		/* the sleep that the path leaves for B */
	assert_int_equal(sums[A], 50);
	assert_int_equal(sums[B], 25);
	/* the sleep is over before it begins */
	replay_change(r, none_of_b, NULL);
	assert_int_equal(end_of(REPLAY_STRUCTURE, A), 70);
	assert_int_equal(end_of(REPLAY_SCHEDULED, A), 60);
	assert_int_equal(end_of(REPLAY_SCHEDULED, C), 55);
}

/* An interrupt wakes B at 50, on behalf of A, which sleeps from 20 until B wakes it at 60. */
UNIT_TEST_IN(test_a_server_is_woken_for_the_sleep_that_it_ends, setup, teardown)
{
	const struct replay_piece served = { .to_ns = 50, .thread = B, .what = REPLAY_SLEEP,
					     .is_instant = true };
	uint64_t sums[THREADS] = { 0 };
	uint32_t place;
	add(A, REPLAY_RUN, 0, 20, 0, 0);
	add(A, REPLAY_SLEEP, 20, 60, B, 0);
	add(A, REPLAY_RUN, 60, 100, 0, 0);
	assert_int_equal(replay_add(r, &served), 0);
	add(B, REPLAY_RUN, 50, 70, 0, 1);
	prepare();
	for (int i = REPLAY_STRUCTURE; i <= REPLAY_SCHEDULED; i++) {
		replay_change(r, NULL, NULL);
		assert_int_equal(end_of((enum replay_variant)i, A), 100);
		replay_change(r, half_of_a, NULL);
		/* A sleeps from 10 and ends 20 after it is woken; B is woken at 40 and A at 50 */
		assert_int_equal(end_of((enum replay_variant)i, A), 70);
		assert_int_equal(end_of((enum replay_variant)i, B), 60);
	}
	assert_int_equal(end_of(REPLAY_STRUCTURE, A), 70);
	assert_true(replay_last_run(r, A, &place));
	replay_path(r, place, sum_part, sums);
	assert_int_equal(sums[A], 30);
	assert_int_equal(sums[B], 40);
}

static uint64_t third_of_sleep(void *ctx, const struct replay_piece *p)
{
	return (p->to_ns - p->from_ns) / (p->what == REPLAY_SLEEP ? 3 : 1);
}

/* One CPU: A waits for B's time on it, which is left out. */
UNIT_TEST_IN(test_a_wait_for_a_cpu_is_shorter_by_what_is_left_out_there, setup, teardown)
{
	add(B, REPLAY_RUN, 0, 30, 0, 0);
	add(A, REPLAY_CPU, 0, 40, 0, 0);
	add(A, REPLAY_RUN, 40, 60, 0, 0);
	prepare();
	assert_int_equal(end_of(REPLAY_STRUCTURE, A), 60);
	assert_int_equal(end_of(REPLAY_SCHEDULED, A), 50);
	replay_change(r, half_of_b, NULL);
	assert_int_equal(end_of(REPLAY_STRUCTURE, A), 45);
	replay_change(r, none_of_b, NULL);
	assert_int_equal(end_of(REPLAY_STRUCTURE, A), 30);
	assert_int_equal(end_of(REPLAY_SCHEDULED, A), 20);
}

/* Without the lock both could run at once, but there is one CPU. */
UNIT_TEST_IN(test_scheduled_threads_share_the_cpus_that_there_are, setup, teardown)
{
	add(A, REPLAY_RUN, 0, 30, 0, 0);
	add(B, REPLAY_SLEEP, 0, 30, A, 0);
	add(B, REPLAY_RUN, 30, 50, 0, 0);
	prepare();
	assert_int_equal(end_of(REPLAY_SCHEDULED, B), 50);
	replay_change(r, no_sleep, NULL);
	assert_int_equal(end_of(REPLAY_STRUCTURE, B), 20);
	assert_int_equal(end_of(REPLAY_SCHEDULED, B), 50);
}

static uint64_t one_less(void *ctx, const struct replay_piece *p)
{
	return p->to_ns - p->from_ns - 1;
}

/* A part of a length may not be a number that has an exact floating-point form. */
UNIT_TEST(test_a_piece_that_is_scaled_ends_in_the_simulation)
{
	for (uint64_t dur_ns = 2; dur_ns < 1000; dur_ns++) {
		setup(NULL);
		add(A, REPLAY_RUN, 0, dur_ns, 0, 0);
		prepare();
		replay_change(r, one_less, NULL);
		assert_int_equal(end_of(REPLAY_SCHEDULED, A), dur_ns - 1);
		teardown(NULL);
	}
}

/* B runs until A, which sleeps shorter, takes the CPU from it; in the trace that was at 40. */
UNIT_TEST_IN(test_a_thread_takes_the_cpu_from_one_that_was_preempted, setup, teardown)
{
	add(A, REPLAY_RUN, 0, 10, 0, 0);
	add(A, REPLAY_SLEEP, 10, 40, 0, 0);
	add(A, REPLAY_RUN, 40, 60, 0, 0);
	add(B, REPLAY_CPU, 0, 10, 0, 0);
	add(B, REPLAY_RUN, 10, 40, 0, 0);
	add(B, REPLAY_CPU, 40, 60, 0, 0);
	add(B, REPLAY_RUN, 60, 90, 0, 0);
	prepare();
	assert_int_equal(end_of(REPLAY_SCHEDULED, A), 60);
	assert_int_equal(end_of(REPLAY_SCHEDULED, B), 90);
	replay_change(r, third_of_sleep, NULL);
	assert_int_equal(end_of(REPLAY_SCHEDULED, A), 40);
	assert_int_equal(end_of(REPLAY_SCHEDULED, B), 90);
}

UNIT_TESTS
