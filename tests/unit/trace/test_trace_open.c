/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A trace gives back every descriptor that it takes, also 0, which is free without an input. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptor_0_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
