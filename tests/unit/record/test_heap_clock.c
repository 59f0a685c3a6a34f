/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Instants of a counter as ns: exact between two readings, and never in another order. */

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "base/clock.h"
#include "ring/heap_ring.h"
#include "tests/unit/unit_test.h"

UNIT_TEST(test_instants_lie_on_the_lines_between_pairs)
{
	struct heap_clock c = { .cnt = 0 };

	heap_clock_add(&c, (struct heap_clock_pair){ 1000, 50000 });
	assert_int_equal(heap_clock_ns(&c, 1000), 0);	/* a single pair has no rate */
	heap_clock_add(&c, (struct heap_clock_pair){ 4000, 51000 });
	heap_clock_add(&c, (struct heap_clock_pair){ 5000, 52000 });
	assert_int_equal(heap_clock_ns(&c, 1000), 50000);
	assert_int_equal(heap_clock_ns(&c, 2500), 50500);
	assert_int_equal(heap_clock_ns(&c, 4000), 51000);
	assert_int_equal(heap_clock_ns(&c, 4500), 51500);
	/* before and after the pairs, at most by the span of all pairs */
	assert_int_equal(heap_clock_ns(&c, 400), 49800);
	assert_int_equal(heap_clock_ns(&c, 5100), 52100);
	assert_int_equal(heap_clock_ns(&c, 9001), 0);
	assert_int_equal(heap_clock_ns(&c, UINT64_MAX), 0);
	/* a pair that is not later is none */
	heap_clock_add(&c, (struct heap_clock_pair){ 5000, 53000 });
	heap_clock_add(&c, (struct heap_clock_pair){ 6000, 52000 });
	assert_int_equal(heap_clock_ns(&c, 4500), 51500);
	assert_int_equal(c.cnt, 3);
}

UNIT_TEST(test_the_latest_pairs_are_kept)
{
	struct heap_clock c = { .cnt = 0 };

	for (uint64_t i = 1; i <= 3 * HEAP_CLOCK_PAIRS; i++)
		heap_clock_add(&c, (struct heap_clock_pair){ 1000000 + 300 * i, 100 * i });
	for (uint64_t i = 2 * HEAP_CLOCK_PAIRS + 1; i <= 3 * HEAP_CLOCK_PAIRS; i++)
		assert_int_equal(heap_clock_ns(&c, 1000000 + 300 * i - 150), 100 * i - 50);
	assert_int_equal(heap_clock_ns(&c, 1000000), 0);
}

UNIT_TEST(test_order_stays_whatever_the_pairs_are)
{
	struct heap_clock c = { .cnt = 0 };
	uint64_t cycles = 1, ns = 1, last = 0, now, i;

	srandom(1);
	for (i = 0; i < HEAP_CLOCK_PAIRS; i++) {
		cycles += 1 + (uint64_t)random() % 5000;
		ns += 1 + (uint64_t)random() % 5000;
		heap_clock_add(&c, (struct heap_clock_pair){ cycles, ns });
	}
	for (i = 1; i <= cycles; i += 7) {
		now = heap_clock_ns(&c, i);
		assert_true(now >= last);
		last = now;
	}
	assert_true(last > 0);
}

/* This machine's own counter: an instant between two readings of the clock is converted. */
UNIT_TEST(test_the_counter_agrees_with_the_clock)
{
#ifdef __x86_64__
	struct heap_clock c = { .cnt = 0 };
	uint64_t before_ns, after_ns, cycles, ns;

	if (!heap_clock_is_there())
		skip();
	for (unsigned int i = 0; i < 20; i++) {
		heap_clock_read(&c);
		before_ns = clock_mono_ns();
		cycles = __rdtsc();
		after_ns = clock_mono_ns();
		heap_clock_read(&c);
		ns = heap_clock_ns(&c, cycles);
		assert_true(ns + c.error_ns + 1 >= before_ns && ns <= after_ns + c.error_ns + 1);
	}
#else
	skip();
#endif
}

UNIT_TESTS
