/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fold_sums: rows come out by their numbers, each once, whatever order they went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/fold/fold_sums.h"
#include "tests/unit/gen/gen_trace.h"

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

static void test_rows_come_out_by_number(void **state)
{
	for (unsigned int order = 0; order < 4; order++) {
		check_order(order, UINT64_MAX / 7);
		check_order(order, 100);
		check_order(order, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_come_out_by_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
