/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fold_sums: rows are returned in order of their numbers; time is divided among bins. */
#include "analyze/fold/fold_sums.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/unit_test.h"

#define ROWS 3000

static const struct fold_sums_def def = { .bytes = sizeof(uint64_t), .count_cnt = 1 };

/* Number i of the rows, in one of four orders. */
static uint64_t place(unsigned int order, uint64_t i)
{
	switch (order) {
	case 0:
		return i;
	case 1:
		return ROWS - 1 - i;
	case 2:
		return i ^ 1;
	default:
		return i * 1013 % ROWS;
	}
}

static void check_order(unsigned int order, uint64_t below)
{
	static struct fold_sums s;
	uint64_t last = 0, cnt = 0;
	struct fold_row *r;

	fold_sums_init(&s, &def);
	for (unsigned int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < ROWS; i++) {
			uint64_t n = place(order, i), *sum = fold_sums_of(&s, n / 7, n % 7);

			assert_non_null(sum);
			*sum += n;
		}
	assert_int_equal(fold_sums_cnt(&s), ROWS);
	assert_int_equal(fold_sums_order(&s, below, true), 0);
	while ((r = fold_sums_next(&s))) {
		uint64_t n = r->a * 7 + r->b;

		assert_true(!cnt || n > last);
		assert_int_equal(*(uint64_t *)r->sum, 2 * n);
		assert_true(r->a < below);
		last = n;
		cnt++;
	}
	assert_int_equal(cnt, below * 7 < ROWS ? below * 7 : ROWS);
	fold_sums_done(&s);
}

UNIT_TEST(test_rows_come_out_by_number)
{
	for (unsigned int order = 0; order < 4; order++) {
		check_order(order, UINT64_MAX / 7);
		check_order(order, 100);
		check_order(order, 0);
	}
}

/* Bins of 10 ns, three of which the target has; asked: number of look-ups. */
struct bins {
	struct fold_target target;
	uint64_t ns[3];
	int answer;
	unsigned int asked;
};

static int bin_of(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key, void **ret_sum,
		  uint64_t *ret_end_ns)
{
	struct bins *b = (struct bins *)((char *)t - offsetof(struct bins, target));

	(void)key;
	b->asked++;
	assert_in_range(ts_ns, 100, 129);
	*ret_sum = &b->ns[(ts_ns - 100) / 10];
	*ret_end_ns = ts_ns / 10 * 10 + 10;
	return b->answer;
}

static void check_time(int answer, uint64_t from_ns, uint64_t to_ns, const uint64_t want[3],
		       unsigned int asked)
{
	struct bins b = { .target = { .from_ns = 100, .to_ns = 130, .sum = bin_of },
			  .answer = answer };
	const struct fold_key key = { 1, 2 };

	assert_int_equal(fold_sum_add_time(&b.target, &key, 0, from_ns, to_ns),
			 answer < 0 ? answer : 0);
	assert_memory_equal(b.ns, want, sizeof(b.ns));
	assert_int_equal(b.asked, asked);
}

/*
 * An interval is divided among the bins that it overlaps. The sum of every such bin is looked up,
 * also after an unwanted bin: the thread's name may have changed to a wanted one by the next bin.
 */
UNIT_TEST(test_time_goes_to_the_bins_it_lies_in)
{
	check_time(1, 0, 1000, (const uint64_t[]){ 10, 10, 10 }, 3);
	check_time(1, 105, 121, (const uint64_t[]){ 5, 10, 1 }, 3);
	check_time(1, 110, 120, (const uint64_t[]){ 0, 10, 0 }, 1);
	check_time(1, 129, 131, (const uint64_t[]){ 0, 0, 1 }, 1);
	check_time(1, 130, 140, (const uint64_t[]){ 0, 0, 0 }, 0);
	check_time(1, 110, 110, (const uint64_t[]){ 0, 0, 0 }, 0);
	check_time(0, 100, 130, (const uint64_t[]){ 0, 0, 0 }, 3);
	check_time(-ENOMEM, 100, 130, (const uint64_t[]){ 0, 0, 0 }, 1);
}

UNIT_TESTS
