/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Quantiles of more values than are kept: those of buckets, which are off by 0.4 % at most, and not
 * at all below 256, and the smallest and the largest value, which are exact.
 */
#include "model/quantile.h"
#include "tests/unit/unit_test.h"

#define CNT (3 * QUANTILE_EXACT)

/* A third of the values is small, a third is v, and a third is large. */
static uint64_t middle_of(uint64_t v)
{
	struct quantile q = { 0 };
	uint64_t got;

	for (unsigned int i = 0; i < CNT; i++)
		assert_int_equal(quantile_add(&q, i % 3 == 0 ? 1 : i % 3 == 1 ? v : v + 100000), 0);
	got = quantile_get(&q, 50);
	assert_int_equal(quantile_get(&q, 0), 1);
	assert_int_equal(quantile_get(&q, 100), v + 100000);
	quantile_done(&q);
	return got;
}

UNIT_TEST(test_small_values_are_exact)
{
	static const uint64_t small[] = { 2, 127, 128, 129, 130, 254, 255 };

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		assert_int_equal(middle_of(small[i]), small[i]);
}

UNIT_TEST(test_large_values_are_off_by_less_than_half_a_percent)
{
	static const uint64_t large[] = { 256, 257, 511, 512, 1000, 123456, 1ull << 40 };

	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		assert_in_range(middle_of(large[i]), large[i] - large[i] / 256,
				large[i] + large[i] / 256);
}

/* Stored buckets give the same quantiles, also of values that came after an earlier storing. */
UNIT_TEST(test_stored_buckets_have_all_values)
{
	struct quantile q = { 0 }, copy = { 0 };
	struct packed_in in;
	struct buf b = { 0 };

	for (uint64_t v = 1; v <= 3000; v++) {
		assert_int_equal(quantile_add(&q, v), 0);
		if (v % 2000)
			continue;
		quantile_put(&q, &b);
		b.len = 0;
	}
	quantile_put(&q, &b);
	in = (struct packed_in){ .p = b.data, .end = b.data + b.len };
	assert_int_equal(quantile_merge(&copy, &in), 0);
	assert_ptr_equal(in.p, in.end);
	for (unsigned int pct = 0; pct <= 100; pct++)
		assert_int_equal(quantile_get(&copy, pct), quantile_get(&q, pct));
	quantile_done(&copy);
	quantile_done(&q);
	buf_done(&b);
}

UNIT_TESTS
