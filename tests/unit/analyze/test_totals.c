/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* totals(): the same as GROUP BY of the same table. */
#include "analyze/analyze.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull

static struct made_trace made;

static int setup(void **state)
{
	struct gen_mix m = { .seed = 21, .now_ns = T0 };
	struct gen *g;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0 });
	g = made.g;
	gen_mix_start(g, &m);
	for (int i = 0; i < 4; i++) {
		gen_mix_run(g, &m, 8000);
		gen_slice(g, m.now_ns + 1);
	}
	/* the lowest of all addresses, as SQL's integers go */
	gen_kmalloc(g, m.now_ns + 1, 0, 0, 1ull << 63, 8, 1, 0);
	gen_kmalloc(g, m.now_ns + 1, 0, 0, (1ull << 63) + 64, 8, 1, 0);
	gen_slice(g, m.now_ns + 2);
	gen_mix_done(&m);
	made_open(&made);
	return 0;
}

static int teardown(void **state)
{
	made_close(&made);
	return 0;
}

UNIT_TEST(test_totals_equal_group_by)
{
	/* arguments of totals(), columns to group by, value, and which rows */
	static const char *const cases[][4] = {
		{ "'slab_allocs', 'utid', 'bytes'", "utid, NULL, NULL", "bytes", "1" },
		{ "'SLAB_ALLOCS', 'cpu, call_site, UTID', 'Bytes_Req'", "cpu, call_site, utid",
		  "bytes_req", "1" },
		{ "'sched_slices', 'end_reason,cpu', 'wait_ns'", "end_reason, cpu, NULL", "wait_ns",
		  "1" },
		{ "'block_requests', 'op,owner', 'latency_ns'", "op, owner, NULL", "latency_ns",
		  "1" },
		{ "'allocations', 'cache,free_utid,source', 'life_ns'", "cache, free_utid, source",
		  "life_ns", "1" },
		{ "'switches', 'utid', 'ts_ns', 5000000, 9000000", "utid, NULL, NULL", "ts_ns",
		  "ts_ns >= 5000000 AND ts_ns < 9000000" },
		{ "'block_requests', 'op', 'end_ns', NULL, 9000000", "op, NULL, NULL", "end_ns",
		  "end_ns < 9000000" },
		{ "'processes', 'is_kthread', 'start_ns'", "is_kthread, NULL, NULL", "start_ns",
		  "1" },
		{ "'cpu_usage', 'upid', 'oncpu_ns'", "upid, NULL, NULL", "oncpu_ns", "1" },
		{ "'wakeups', 'cpu,irq'", "cpu, irq, NULL", "NULL", "1" },
	};
	struct rows fast, slow;
	char sql[1024], table[32];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *c = cases[i];
		const char *v = c[2];

		sscanf(c[0], "'%31[^']", table);
		snprintf(sql, sizeof(sql),
			 "SELECT key1, key2, key3, row_cnt, nullif(value_cnt, 0) AS value_cnt,"
			 " value_sum, value_min, value_max, value_p50, value_p99"
			 " FROM totals(%s) ORDER BY 1, 2, 3", c[0]);
		rows_sql(&fast, made.a, sql);
		snprintf(sql, sizeof(sql),
			 "SELECT * FROM (SELECT %s, count(*) AS row_cnt,"
			 " nullif(count(%s), 0) AS value_cnt, sum(%s), min(%s), max(%s),"
			 " CASE WHEN min(%s) >= 0 THEN percentile(%s, 50) END,"
			 " CASE WHEN min(%s) >= 0 THEN percentile(%s, 99) END"
			 " FROM %s WHERE %s GROUP BY 1, 2, 3) ORDER BY 1, 2, 3",
			 c[1], v, v, v, v, v, v, v, v, table, c[3]);
		rows_sql(&slow, made.a, sql);
		assert_true(fast.row_cnt > 0);
		rows_compare(&fast, &slow);
		rows_done(&fast);
		rows_done(&slow);
	}
}

UNIT_TEST(test_totals_without_columns_is_one_group)
{
	struct rows r;

	rows_sql(&r, made.a, "SELECT key1, row_cnt, value_cnt, (SELECT count(*) FROM switches)"
			       " FROM totals('switches')");
	assert_int_equal(r.row_cnt, 1);
	assert_int_equal(rows_int(&r, 0, 1), rows_int(&r, 0, 3));
	rows_done(&r);
	rows_sql(&r, made.a, "SELECT * FROM totals('heap_allocs', 'utid', 'bytes')");
	assert_int_equal(r.row_cnt, 0);
	rows_done(&r);
}

UNIT_TEST(test_totals_sum_beyond_64_bits_is_a_real_number)
{
	struct rows r;

	rows_sql(&r, made.a,
		 "SELECT value_sum, total(addr) "
		 "FROM totals('slab_allocs', '', 'addr'), slab_allocs");
	assert_true(rows_real(&r, 0, 0) < -9.3e18);
	assert_true(rows_real(&r, 0, 0) / rows_real(&r, 0, 1) > 0.999999);
	assert_true(rows_real(&r, 0, 0) / rows_real(&r, 0, 1) < 1.000001);
	rows_done(&r);
}

UNIT_TEST(test_totals_says_what_is_wrong_with_arguments)
{
	static const char *const cases[][2] = {
		{ "NULL", "the name of a table" },
		{ "'nothing'", "no table \"nothing\"" },
		{ "'switches', 'utid,nothing'", "no column \"nothing\"" },
		{ "'switches', 'uti'", "no column \"uti\"" },
		{ "'wakeups', 'utid,cpu,irq,ts_ns'", "at most 3 columns" },
		{ "'processes', 'pid', 'comm'", "comm is not a column of whole numbers" },
		{ "'processes', 'pid', 'upid', 0, 5", "no time" },
		{ "'switches', 'utid', 'cpu', 'now'", "whole numbers" },
		{ "'totals'", "the name of a table" },
	};
	struct rows r;
	char sql[256];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = { "" };

		snprintf(sql, sizeof(sql), "SELECT * FROM totals(%s)", cases[i][0]);
		assert_true(rows_try_sql(&r, made.a, sql, &e) < 0);
		if (!strstr(e.text, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], e.text);
	}
}

UNIT_TESTS_IN(setup, teardown)
