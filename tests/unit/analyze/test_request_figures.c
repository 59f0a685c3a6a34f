/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * io_pattern, latency_hist and device_usage: by hand, against brute force over block_requests on
 * random traces, and bins against the whole.
 */
#include "analyze/analyze.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull
#define DISK (8u << 20)

static struct made_trace made;

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

UNIT_TEST(test_figures_by_hand)
{
	struct analysis *a;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 100, 100, 1, "dd");
	/* in flight: 10..50, 20..40, 60..70, 90..; twice at once */
	put(&made, 0x10, 0, 4096, 1, 10, 12, 50);
	put(&made, 0x20, 8, 4096, 1, 20, 21, 40);	/* borders on the first, ends before it */
	put(&made, 0x10, 1000, 8192, 1, 60, 60, 70);
	put(&made, 0x30, 5000, 512, 0, 90, 95, 0);
	made_finish(&made, T0 + 100 * MS);
	a = made.a;
	rows_want(a, 60 * MS, "SELECT busy_ns FROM device_usage");
	rows_want(a, 80 * MS, "SELECT inflight_ns FROM device_usage");
	rows_want(a, 2, "SELECT depth_max FROM device_usage");
	rows_want(a, 3, "SELECT write_ios FROM device_usage");
	rows_want(a, 16384, "SELECT write_bytes FROM device_usage");
	rows_want(a, 70 * MS, "SELECT lat_sum_ns FROM device_usage");
	/* the last one is still open at the end, and two are at 30 ms */
	rows_want(a, 1, "SELECT open_ios FROM device_usage");
	rows_want(a, 3, "SELECT timed_ios FROM device_usage");
	rows_want(a, 1, "SELECT count(*) FROM open_requests");
	rows_want(a, 10 * MS, "SELECT open_ns FROM open_requests");
	rows_want(a, 30 * MS, "SELECT sum(open_ns) FROM open_requests(0, %lld)", 30 * MS);
	/* a window inside one request, and one in which nothing is going on */
	rows_want(a, 5 * MS, "SELECT busy_ns FROM device_usage(%lld, %lld)", 25 * MS, 30 * MS);
	rows_want(a, 2, "SELECT depth_max FROM device_usage(%lld, %lld)", 25 * MS, 30 * MS);
	rows_want(a, 10 * MS, "SELECT inflight_ns FROM device_usage(%lld, %lld)", 25 * MS, 30 * MS);
	rows_want(a, 0, "SELECT count(*) FROM device_usage(%lld, %lld)", 72 * MS, 89 * MS);

	rows_want(a, 3, "SELECT ios FROM io_pattern");
	rows_want(a, 1, "SELECT seq_ios FROM io_pattern");
	rows_want(a, 4096, "SELECT size_p50_bytes FROM io_pattern");
	rows_want(a, 8192, "SELECT size_max_bytes FROM io_pattern");
	rows_want(a, 20 * MS, "SELECT lat_p50_ns FROM io_usage");
	rows_want(a, 2 * MS, "SELECT queue_p90_ns FROM io_usage");
	rows_want(a, 38 * MS, "SELECT device_p999_ns FROM io_usage");
	/* 40, 20 and 10 ms: 2^25 is 33.6 ms, 2^24 16.8, 2^23 8.4 */
	assert_int_equal(ios_of_bin(a, 25), 1);
	assert_int_equal(ios_of_bin(a, 24), 1);
	assert_int_equal(ios_of_bin(a, 23), 1);
	rows_want(a, 1, "SELECT ios FROM latency_hist WHERE phase = 'queue' AND high_ns = 1");
}

/* Two of three requests fail. */
UNIT_TEST(test_requests_that_failed_are_counted)
{
	static const uint32_t status[] = { 5, 0, 28 };
	struct report_request q;
	struct rows r;
	uint32_t i;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 100, 100, 1, "dd");
	for (i = 0; i < 3; i++) {
		struct wire_request end = {
			.hdr = { .ts_ns = T0 + (i * 10 + 5) * MS, .hook = WIRE_BLOCK_COMPLETE },
			.rq = 0x10, .sector = i * 8, .bytes = 4096, .dev = DISK, .part = DISK,
			.done_bytes = 4096, .status = status[i],
		};

		put(&made, 0x10, i * 8, 4096, 0, i * 10, i * 10 + 1, 0);
		gen_raw(made.g, &end, sizeof(end));
	}
	made_finish(&made, T0 + 100 * MS);
	rows_want(made.a, 2, "SELECT errors FROM io_usage");
	rows_want(made.a, 2, "SELECT errors FROM device_usage");
	rows_want(made.a, 2, "SELECT count(*) FROM block_requests WHERE status > 0");
	rows_want(made.a, 2, "SELECT count(*) FROM block_requests WHERE (status, error) IN ((5, "
		  "'EIO'), (28, 'ENOSPC'))");
	rows_want(made.a, 1, "SELECT errno_name(110) = 'ETIMEDOUT' AND errno_name(0) IS NULL AND "
		  "errno_name(9999) = 9999");
	q = made_request(&made, "devices");
	rows_report(&r, made.a, &q);
	for (i = 0; i < r.col_cnt && strcmp(r.names[i], "error"); i++)
		;
	assert_string_equal(rows_text(&r, 0, i), "EIO ENOSPC");
	rows_done(&r);
}

/* As /proc/diskstats: zeroes are writes, a discard is not. */
UNIT_TEST(test_device_counts_zeroes_as_writes)
{
	static const uint32_t ops[] = { 0, 1, 9, 3, 2 };

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	for (uint32_t i = 0; i < 5; i++)
		put(&made, 0x10, i * 8, 4096, ops[i], i * 10, i * 10 + 1, i * 10 + 5);
	made_finish(&made, T0 + 100 * MS);
	rows_want(made.a, 1, "SELECT read_ios FROM device_usage");
	rows_want(made.a, 2, "SELECT write_ios FROM device_usage");
	rows_want(made.a, 8192, "SELECT write_bytes FROM device_usage");
	rows_want(made.a, 2, "SELECT other_ios FROM device_usage");
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
	for (unsigned int i = 0; i < 30; i++) {
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

UNIT_TEST(test_figures_equal_brute_force)
{
	struct gen_mix m = { .seed = 77, .now_ns = T0 };

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0 });
	gen_mix_start(made.g, &m);
	for (unsigned int i = 0; i < 6; i++) {
		gen_mix_run(made.g, &m, 8000);
		gen_slice(made.g, m.now_ns + 1);
	}
	gen_mix_done(&m);
	made_open(&made);
	assert_true(rows_one(made.a, "SELECT count(*) FROM block_requests") > 200);
	check_windows(made.a, 5, (int64_t)(trace_end_ns(made.t) - T0));
}

UNIT_TESTS_END(made_close, made)
