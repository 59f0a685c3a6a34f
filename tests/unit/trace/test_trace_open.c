/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A trace gives back every descriptor that it takes, also 0, which is free without an input. What
 * goes on in the next block is one.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/gen/made_trace.h"

static void test_descriptor_0_is_given_back(void **state)
{
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
	struct made_trace m;
	struct trace *t;

	(void)state;
	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 1000 });
	gen_snap(m.g, 1000, 0, 100, 100, 1, "task");
	gen_slice(m.g, 2000);
	made_open(&m);
	close(0);
	assert_int_equal(trace_open(&t, m.path, NULL), 0);
	assert_int_not_equal(fcntl(0, F_GETFD), -1);
	trace_close(t);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	if (kept >= 0) {
		assert_int_equal(dup2(kept, 0), 0);
		close(kept);
	}
	made_close(&m);
}

/* Group 77 has the same quota all the time, in three blocks. */
static void test_a_quota_that_stays_the_same_is_one(void **state)
{
	const struct trace_quota *q;
	struct made_trace m;
	size_t cnt, of_77 = 0;

	(void)state;
	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 1000, .quotas = true });
	gen_snap(m.g, 1000, 0, 100, 100, 1, "task");
	for (uint64_t to_ns = 2000; to_ns <= 4000; to_ns += 1000)
		gen_slice(m.g, to_ns);
	made_open(&m);
	q = trace_quotas(m.t, &cnt);
	for (size_t i = 0; i < cnt; i++)
		if (q[i].cgroup_id == 77) {
			of_77++;
			assert_int_equal(q[i].from_ns, 1000);
			assert_int_equal(q[i].to_ns, 4000);
		}
	assert_int_equal(of_77, 1);
	made_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptor_0_is_given_back),
		cmocka_unit_test(test_a_quota_that_stays_the_same_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
