/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A query for rows of a list that end late begins there, unless rows are in another order. */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)
#define BLOCKS 4

/* Each block has a sample, which ends so many ms after the beginning of the trace. */
static void make(struct made_trace *m, const unsigned int *end_ms)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	for (unsigned int i = 0; i < BLOCKS; i++) {
		gen_hook_stat(m->g, &(struct trace_hook_stat){ .from_ns = T0, .hook = WIRE_SWITCH,
							       .to_ns = AT(end_ms[i]),
							       .attempted_cnt = 1, .read_cnt = 1 });
		gen_slice(m->g, AT((i + 1) * 10));
	}
	made_open(m);
}

UNIT_TEST(test_rows_that_end_late_are_found_in_any_order)
{
	static const unsigned int orders[][BLOCKS] = {
		{ 10, 20, 30, 40 }, { 10, 20, 20, 40 }, { 40, 10, 30, 20 }, { 10, 40, 20, 30 },
	};
	struct made_trace m;

	for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
		make(&m, orders[k]);
		for (unsigned int ms = 0; ms < 60; ms += 5) {
			int64_t wanted = 0;

			for (unsigned int i = 0; i < BLOCKS; i++)
				wanted += orders[k][i] >= ms;
			rows_want(m.a, wanted, "SELECT count(*) FROM hook_stats WHERE to_ns >= "
				  "%llu", ms * MS);
		}
		/* in order, rows before are not even read */
		assert_int_equal(trace_hook_stats_ending(m.t, AT(20)), k < 2 ? 1 : 0);
		assert_int_equal(trace_blocks_ending(m.t, AT(20)), 1);
		made_close(&m);
	}
}

UNIT_TESTS
