/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * io_pattern, latency_hist and device_usage: by hand, against brute force over block_requests on
 * random traces, and bins against the whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/analyze.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"

#define T0 1000000000ull
#define MS 1000000ll
#define DISK (8u << 20)

/* A request: queued at q, issued at i, completed at c, all in ms. */
static void put(struct made_trace *f, uint64_t rq, uint64_t sector, uint32_t bytes, uint32_t flags,
		uint64_t q, uint64_t i, uint64_t c)
{
	gen_block(f->g, T0 + q * MS, 0, 100, WIRE_BLOCK_INSERT, rq, DISK, sector, bytes, flags);
	gen_block(f->g, T0 + i * MS, 0, 100, WIRE_BLOCK_ISSUE, rq, DISK, sector, bytes, flags);
	if (c)
		gen_block(f->g, T0 + c * MS, 0, 0, WIRE_BLOCK_COMPLETE, rq, DISK, sector, bytes,
			  flags);
}

static int64_t ios_of_bin(struct analysis *a, unsigned int low_bit)
{
	return rows_one(a,
			"SELECT ios FROM latency_hist WHERE phase = 'total' AND low_ns = 1 << %u",
			low_bit);
}

static void test_figures_by_hand(void **state)
{
	struct made_trace f;
	struct analysis *a;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(f.g, T0, 0, 100, 100, 1, "dd");
	/* in flight: 10..50, 20..40, 60..70, 90..; twice at once */
	put(&f, 0x10, 0, 4096, 1, 10, 12, 50);
	put(&f, 0x20, 8, 4096, 1, 20, 21, 40);	/* borders on the first, ends before it */
	put(&f, 0x10, 1000, 8192, 1, 60, 60, 70);
	put(&f, 0x30, 5000, 512, 0, 90, 95, 0);
	gen_slice(f.g, T0 + 100 * MS);
	made_open(&f);
	a = f.a;
	assert_int_equal(rows_one(a, "SELECT busy_ns FROM device_usage"), 60 * MS);
	assert_int_equal(rows_one(a, "SELECT inflight_ns FROM device_usage"), 80 * MS);
	assert_int_equal(rows_one(a, "SELECT depth_max FROM device_usage"), 2);
	assert_int_equal(rows_one(a, "SELECT write_ios FROM device_usage"), 3);
	assert_int_equal(rows_one(a, "SELECT write_bytes FROM device_usage"), 16384);
	assert_int_equal(rows_one(a, "SELECT lat_sum_ns FROM device_usage"), 70 * MS);
	/* the last one is still open at the end, and two are at 30 ms */
	assert_int_equal(rows_one(a, "SELECT open_ios FROM device_usage"), 1);
	assert_int_equal(rows_one(a, "SELECT timed_ios FROM device_usage"), 3);
	assert_int_equal(rows_one(a, "SELECT count(*) FROM open_requests"), 1);
	assert_int_equal(rows_one(a, "SELECT open_ns FROM open_requests"), 10 * MS);
	assert_int_equal(rows_one(a, "SELECT sum(open_ns) FROM open_requests(0, %lld)", 30 * MS),
			 30 * MS);
	/* a window inside one request, and one in which nothing is going on */
	assert_int_equal(
		rows_one(a, "SELECT busy_ns FROM device_usage(%lld, %lld)", 25 * MS, 30 * MS),
		5 * MS);
	assert_int_equal(
		rows_one(a, "SELECT depth_max FROM device_usage(%lld, %lld)", 25 * MS, 30 * MS), 2);
	assert_int_equal(
		rows_one(a, "SELECT inflight_ns FROM device_usage(%lld, %lld)", 25 * MS, 30 * MS),
		10 * MS);
	assert_int_equal(
		rows_one(a, "SELECT count(*) FROM device_usage(%lld, %lld)", 72 * MS, 89 * MS), 0);

	assert_int_equal(rows_one(a, "SELECT ios FROM io_pattern"), 3);
	assert_int_equal(rows_one(a, "SELECT seq_ios FROM io_pattern"), 1);
	assert_int_equal(rows_one(a, "SELECT size_p50_bytes FROM io_pattern"), 4096);
	assert_int_equal(rows_one(a, "SELECT size_max_bytes FROM io_pattern"), 8192);
	assert_int_equal(rows_one(a, "SELECT lat_p50_ns FROM io_usage"), 20 * MS);
	assert_int_equal(rows_one(a, "SELECT queue_p90_ns FROM io_usage"), 2 * MS);
	assert_int_equal(rows_one(a, "SELECT device_p999_ns FROM io_usage"), 38 * MS);
	/* 40, 20 and 10 ms: 2^25 is 33.6 ms, 2^24 16.8, 2^23 8.4 */
	assert_int_equal(ios_of_bin(a, 25), 1);
	assert_int_equal(ios_of_bin(a, 24), 1);
	assert_int_equal(ios_of_bin(a, 23), 1);
	assert_int_equal(
		rows_one(a, "SELECT ios FROM latency_hist WHERE phase = 'queue' AND high_ns = 1"),
		1);
	made_close(&f);
}

/* Two of three requests fail. */
static void test_requests_that_failed_are_counted(void **state)
{
	static const uint32_t status[] = { 5, 0, 28 };
	struct report_request q;
	struct made_trace f;
	struct rows r;
	uint32_t i;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(f.g, T0, 0, 100, 100, 1, "dd");
	for (i = 0; i < 3; i++) {
		struct wire_request end = {
			.hdr = { .ts_ns = T0 + (i * 10 + 5) * MS, .hook = WIRE_BLOCK_COMPLETE },
			.rq = 0x10, .sector = i * 8, .bytes = 4096, .dev = DISK, .part = DISK,
			.done_bytes = 4096, .status = status[i],
		};

		put(&f, 0x10, i * 8, 4096, 0, i * 10, i * 10 + 1, 0);
		gen_raw(f.g, &end, sizeof(end));
	}
	gen_slice(f.g, T0 + 100 * MS);
	made_open(&f);
	assert_int_equal(rows_one(f.a, "SELECT errors FROM io_usage"), 2);
	assert_int_equal(rows_one(f.a, "SELECT errors FROM device_usage"), 2);
	assert_int_equal(rows_one(f.a, "SELECT count(*) FROM block_requests WHERE status > 0"), 2);
	assert_int_equal(rows_one(f.a, "SELECT count(*) FROM block_requests WHERE "
				       "(status, error) IN ((5, 'EIO'), (28, 'ENOSPC'))"), 2);
	assert_int_equal(rows_one(f.a, "SELECT errno_name(110) = 'ETIMEDOUT' AND errno_name(0) "
				       "IS NULL AND errno_name(9999) = 9999"), 1);
	q = made_request(&f, "devices");
	rows_report(&r, f.a, &q);
	for (i = 0; i < r.col_cnt && strcmp(r.names[i], "error"); i++)
		;
	assert_string_equal(rows_text(&r, 0, i), "EIO ENOSPC");
	rows_done(&r);
	made_close(&f);
}

/* As /proc/diskstats: zeroes are writes, a discard is not. */
static void test_device_counts_zeroes_as_writes(void **state)
{
	static const uint32_t ops[] = { 0, 1, 9, 3, 2 };
	struct made_trace f;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	for (uint32_t i = 0; i < 5; i++)
		put(&f, 0x10, i * 8, 4096, ops[i], i * 10, i * 10 + 1, i * 10 + 5);
	gen_slice(f.g, T0 + 100 * MS);
	made_open(&f);
	assert_int_equal(rows_one(f.a, "SELECT read_ios FROM device_usage"), 1);
	assert_int_equal(rows_one(f.a, "SELECT write_ios FROM device_usage"), 2);
	assert_int_equal(rows_one(f.a, "SELECT write_bytes FROM device_usage"), 8192);
	assert_int_equal(rows_one(f.a, "SELECT other_ios FROM device_usage"), 2);
	made_close(&f);
}

/* A sum over a view in a window. every: length of the bins; 0: no bins. */
static int64_t figure(struct analysis *a, const char *sum, const char *view, long long from,
		      long long to, long long every)
{
	return rows_one(a, "SELECT coalesce(%s, 0) FROM %s(%lld, %lld, %lld)", sum, view, from, to,
		   every);
}

/* A sum over the block_requests that ended in a window. */
static int64_t of_ended(struct analysis *a, const char *sum, long long from, long long to)
{
	return rows_one(a,
		   "SELECT coalesce(%s, 0) FROM block_requests"
		   " WHERE end_ns >= %lld AND end_ns < %lld",
		   sum, from, to);
}

/* Compares every figure that is a sum with block_requests itself, for random windows. */
static void check_windows(struct analysis *a, uint64_t seed, int64_t span)
{
	unsigned int i;

	for (i = 0; i < 30; i++) {
		int64_t from = (int64_t)(gen_random(&seed) % (uint64_t)span);
		int64_t to = from + 1 + (int64_t)(gen_random(&seed) % (uint64_t)(span - from));
		long long f = from, t = to, every = 1 + (to - from) / 7;

		assert_int_equal(figure(a, "sum(inflight_ns)", "device_usage", f, t, 0),
				 rows_one(a,
				     "SELECT coalesce(sum(min(coalesce(complete_ns, %lld), %lld)"
				     " - max(queued_ns, %lld)), 0) FROM block_requests"
				     " WHERE queued_ns < %lld"
				     " AND coalesce(complete_ns, %lld) > %lld",
				     t, t, f, t, t, f));
		assert_int_equal(figure(a, "sum(busy_ns)", "device_usage", f, t, 0),
				 figure(a, "sum(busy_ns)", "device_usage", f, t, every));
		assert_int_equal(figure(a, "sum(inflight_ns)", "device_usage", f, t, 0),
				 figure(a, "sum(inflight_ns)", "device_usage", f, t, every));
		assert_int_equal(figure(a, "max(depth_max)", "device_usage", f, t, 0),
				 figure(a, "max(depth_max)", "device_usage", f, t, every));
		assert_int_equal(figure(a, "sum(ios * 1000000 + bytes)", "io_pattern", f, t, 0),
				 of_ended(a, "sum(1000000 + bytes)", f, t));
		assert_int_equal(
			figure(a, "sum(ios * low_ns) FILTER (WHERE phase = 'total')",
			       "latency_hist", f, t, every),
			of_ended(a,
				 "sum(CASE WHEN latency_ns"
				 " THEN 1 << cast(floor(log2(latency_ns)) AS INTEGER) ELSE 0 END)",
				 f, t));
	}
}

static void test_figures_equal_brute_force(void **state)
{
	struct gen_mix m = { .seed = 77, .now_ns = T0 };
	struct made_trace f;
	unsigned int i;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0 });
	gen_mix_start(f.g, &m);
	for (i = 0; i < 6; i++) {
		gen_mix_run(f.g, &m, 8000);
		gen_slice(f.g, m.now_ns + 1);
	}
	gen_mix_done(&m);
	made_open(&f);
	assert_true(rows_one(f.a, "SELECT count(*) FROM block_requests") > 200);
	check_windows(f.a, 5, (int64_t)(trace_end_ns(f.t) - T0));
	made_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_by_hand),
		cmocka_unit_test(test_requests_that_failed_are_counted),
		cmocka_unit_test(test_device_counts_zeroes_as_writes),
		cmocka_unit_test(test_figures_equal_brute_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
