/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include <math.h>
#include <pthread.h>

#include "model/live_objects.h"
#include "preload/heap_share.h"
#include "tests/unit/unit_test.h"

UNIT_TEST(test_logarithm_is_that_of_libm)
{
	for (double x = 0x1p-53; x < 1; x *= 1.0009765625)
		assert_true(fabs(heap_sample_ln(x) - log(x)) < 1e-11);
	assert_true(fabs(heap_sample_ln(1 - 0x1p-53)) < 1e-11);
}

/* Returns the number of samples among cnt allocations. */
static unsigned int sample(uint64_t *random, uint64_t mean, uint64_t bytes, unsigned int cnt)
{
	int64_t left = heap_sample_distance(random, mean);
	unsigned int samples = 0;

	for (; cnt; cnt--) {
		left -= (int64_t)bytes;
		if (left > 0)
			continue;
		left = heap_sample_distance(random, mean);
		samples++;
	}
	return samples;
}

/* The numbers are those of the seed; beside them the expected value and its standard deviation. */
UNIT_TEST(test_samples_have_the_probability_of_their_size)
{
	static const struct {
		uint64_t mean, bytes;
		unsigned int samples;	/* of a million */
	} cases[] = {
		{ 4096, 16, 3881 }, { 4096, 2048, 393469 }, { 4096, 4096, 631725 },
		{ 4096, 12288, 950257 }, { 1, 1, 631877 },
	};
	uint64_t random = heap_sample_seed(42);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double p = -expm1(-(double)cases[i].bytes / (double)cases[i].mean);
		unsigned int got = sample(&random, cases[i].mean, cases[i].bytes, 1000000);

		assert_true(fabs(got - 1e6 * p) < 4 * sqrt(1e6 * p * (1 - p)));
		assert_int_equal(got, cases[i].samples);
	}
	/* exp(-64): each one is a sample */
	assert_int_equal(sample(&random, 64, 4096, 1000000), 1000000);
}

UNIT_TEST(test_weights_are_the_inverse_of_the_probability)
{
	uint64_t mean = 512 << 10;

	for (uint64_t bytes = 1; bytes < 64 << 20; bytes += bytes / 3 + 1) {
		double p = -expm1(-(double)bytes / (double)mean);

		assert_true(fabs((double)heap_weight_bytes(mean, bytes) * p - (double)bytes) < 1);
		assert_true(fabs((double)heap_weight_cnt(mean, bytes) * p / 1024 - 1) < 1e-3);
	}
	assert_int_equal(heap_weight_bytes(mean, 1), 524289);	/* mean + bytes / 2, up to 1 */
	assert_int_equal(heap_weight_bytes(mean, 64 << 20), 64 << 20);
	assert_int_equal(heap_weight_cnt(mean, 64 << 20), heap_weight_unit(mean));
	assert_int_equal(heap_weight_bytes(0, 100), 100);
	assert_int_equal(heap_weight_cnt(0, 100), 1);
	assert_int_equal(heap_weight_unit(0), 1);
	/* Z90 squared times mean for nothing; about Z90 * sqrt(n) * mean for many */
	assert_int_equal(heap_weight_error(1000, 0), 2706);
	assert_int_equal(heap_weight_error(1000, 10000000), 165844);
}

UNIT_TEST(test_a_live_sample_is_removed_once)
{
	struct heap_samples *s = calloc(1, sizeof(*s));
	unsigned int left = 0;

	assert_non_null(s);
	for (uintptr_t i = 1; i <= 100000; i++)
		assert_true(heap_sample_add(s, i << 4));
	for (uintptr_t i = 1; i <= 100000; i += 2) {
		assert_int_not_equal(s->counters[heap_sample_counter(i << 4)], 0);
		assert_true(heap_sample_remove(s, i << 4));
		assert_false(heap_sample_remove(s, i << 4));
	}
	for (uintptr_t i = 2; i <= 100000; i += 2)
		assert_true(heap_sample_remove(s, i << 4));
	for (unsigned int i = 0; i < HEAP_SAMPLE_COUNTERS; i++)
		left += s->counters[i];
	assert_int_equal(left, 0);
	/* repeated adds of an address fill its rows */
	for (unsigned int i = 0; i < HEAP_SAMPLE_LEVELS * HEAP_SAMPLE_ROW; i++)
		assert_true(heap_sample_add(s, 0x7f0000000010));
	assert_false(heap_sample_add(s, 0x7f0000000010));
	assert_int_equal(s->counters[heap_sample_counter(0x7f0000000010)], UINT8_MAX);
	free(s);
}

struct freer {
	struct heap_samples *s;
	uintptr_t own;		/* bits of its own addresses */
	unsigned int freed, missed;
};

static void *free_all(void *arg)
{
	struct freer *f = arg;

	for (unsigned int round = 0; round < 200; round++)
		for (uintptr_t i = 1; i <= 500; i++) {
			if (heap_sample_remove(f->s, i << 6))
				f->freed++;
			else if (!heap_sample_add(f->s, i << 6 | f->own) ||
				 !heap_sample_remove(f->s, i << 6 | f->own))
				f->missed++;
		}
	return NULL;
}

UNIT_TEST(test_two_threads_that_free_share_the_samples)
{
	struct heap_samples *s = calloc(1, sizeof(*s));
	struct freer f[2] = { { .s = s, .own = 1 << 20 }, { .s = s, .own = 1 << 21 } };
	unsigned int left = 0;
	pthread_t t;

	assert_non_null(s);
	for (uintptr_t i = 1; i <= 500; i++)
		assert_true(heap_sample_add(s, i << 6));
	assert_int_equal(pthread_create(&t, NULL, free_all, &f[1]), 0);
	free_all(&f[0]);
	pthread_join(t, NULL);
	assert_int_equal(f[0].freed + f[1].freed, 500);
	assert_int_equal(f[0].missed + f[1].missed, 0);
	for (unsigned int i = 0; i < HEAP_SAMPLE_COUNTERS; i++)
		left += s->counters[i];
	assert_int_equal(left, 0);
	free(s);
}

UNIT_TESTS
