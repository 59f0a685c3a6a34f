/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Addresses of user space are found by process, address and time, in whatever order they came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/gen/made_trace.h"

#define T0 1000000ull
#define SITE 0x7f0000ull
#define CNT 8

/* Of two processes, the later one first, and the highest address first; in a block each. */
static void test_sites_are_found_in_whatever_order_they_came(void **state)
{
	const struct trace_site *v, *s;
	struct made_trace m;
	size_t cnt;

	(void)state;
	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .sites = true });
	gen_snap(m.g, T0, 0, 50, 50, 1, "one");
	gen_snap(m.g, T0, 0, 60, 60, 1, "two");
	for (unsigned int i = 0; i < CNT; i++) {
		uint64_t ts_ns = T0 + 1000 * i, addr = SITE + 256 * (CNT - i / 2);

		gen_heap(m.g, ts_ns + 1, 0, i % 2 ? 50 : 60, 4096 + 64 * i, 64);
		gen_stack(m.g, ts_ns + 1, 0, i % 2 ? 50 : 60, WIRE_HEAP_ALLOC, 4096 + 64 * i, 64,
			  &addr, 0, 1);
		gen_slice(m.g, ts_ns + 1000);
	}
	made_open(&m);
	v = trace_sites(m.t, &cnt);
	assert_in_range(cnt, CNT, SIZE_MAX);
	for (size_t i = 0; i < cnt; i++) {
		s = trace_site_find(m.t, v[i].upid, v[i].addr, UINT64_MAX);
		assert_non_null(s);
		assert_int_equal(s->upid, v[i].upid);
		assert_int_equal(s->addr, v[i].addr);
	}
	assert_null(trace_site_find(m.t, v[0].upid, SITE, UINT64_MAX));
	made_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_are_found_in_whatever_order_they_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
