/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tests of ranks: published examples, and how often noise alone looks like a change. */
#include <math.h>

#include "analyze/diff/groups.h"
#include "tests/unit/unit_test.h"

static void near(double got, double want, double allowed)
{
	if (!(fabs(got - want) <= allowed))
		fail_msg("got %.12g, expected %.12g", got, want);
}

/* Hollander and Wolfe, example 4.1: the second ranks sum up to 30, and p is 0.1272 one-sided. */
UNIT_TEST(test_ranks_have_the_books_values)
{
	double a[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46 };
	double b[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
	struct ranks r;

	assert_int_equal(ranks_compare(a, 10, b, 5, &r), 0);
	near(r.p, 2 * 0.1272, 0.0002);
	near(r.shift, -0.305, 1e-9);
	near(r.median[0], 1.415, 1e-9);
	near(r.median[1], 0.90, 1e-9);
	assert_true(r.has_interval && r.low < r.shift && r.shift < r.high);
}

UNIT_TEST(test_ranks_of_few_values_have_no_interval)
{
	double a[4] = { 1, 2, 3, 4 }, b[4] = { 5, 6, 7, 8 };
	struct ranks r;

	assert_int_equal(ranks_compare(a, 4, b, 4, &r), 0);
	near(r.p, 2.0 / 70, 1e-12);
	near(r.least_p, 2.0 / 70, 1e-12);
	/* P(U <= 1) is 2/70, P(U <= 2) 4/70: the second differences from both ends */
	assert_true(r.has_interval);
	near(r.low, 2, 0);
	near(r.high, 6, 0);
	assert_int_equal(ranks_compare(a, 2, b, 4, &r), 0);
	assert_false(r.has_interval);
	assert_int_equal(ranks_compare(a, 1, b, 1, &r), 0);
	assert_false(r.has_interval);
	near(r.p, 1, 0);
}

UNIT_TEST(test_ranks_of_ties_count_each_division)
{
	double a[3] = { 1, 1, 2 }, b[3] = { 2, 2, 2 }, c[3] = { 5, 5, 5 }, d[3] = { 5, 5, 5 };
	struct ranks r;

	/* two ones among six values: in 4 of 20 divisions the first three have both, in 4 none */
	assert_int_equal(ranks_compare(a, 3, b, 3, &r), 0);
	near(r.p, 8.0 / 20, 1e-12);
	assert_int_equal(ranks_compare(c, 3, d, 3, &r), 0);
	near(r.p, 1, 0);
	near(r.shift, 0, 0);
}

static double noise(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*seed >> 33) / (double)(1u << 31);
}

/* With few values exactly, with many by the normal distribution. */
UNIT_TEST(test_ranks_err_as_often_as_they_say)
{
	uint64_t seed = 3;

	for (size_t n = 6; n <= 40; n += 17) {
		unsigned int below = 0, outside = 0, found = 0;

		for (int run = 0; run < 500; run++) {
			double a[40], b[40], c[40];
			struct ranks r;

			for (size_t i = 0; i < n; i++) {
				a[i] = noise(&seed);
				b[i] = noise(&seed);
				c[i] = noise(&seed) + 1;
			}
			assert_int_equal(ranks_compare(a, n, b, n, &r), 0);
			below += r.p <= 0.05;
			outside += r.low > 0 || r.high < 0;
			assert_int_equal(ranks_compare(a, n, c, n, &r), 0);
			found += r.low > 0;
		}
		assert_in_range(below, 5, 38);
		assert_in_range(outside, 25, 70);
		assert_in_range(found, 490, 500);
	}
}

UNIT_TEST(test_correction_keeps_the_share_of_wrong_ones)
{
	double p[] = { 0.04, 0.01, 0.03, 0.02, 0.05 }, q[] = { 0.001, 0.5, 0.9 };

	assert_int_equal(ranks_correct(p, 5), 0);
	for (size_t i = 0; i < 5; i++)
		near(p[i], 0.05, 1e-12);
	assert_int_equal(ranks_correct(q, 3), 0);
	near(q[0], 0.003, 1e-12);
	near(q[1], 0.75, 1e-12);
	near(q[2], 0.9, 1e-12);
	assert_int_equal(ranks_correct(q, 0), 0);
}

UNIT_TESTS
