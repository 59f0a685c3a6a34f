/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fold_check: one table of functions; the dice are those of gen_chaos. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/gen/fold_check.h"
#include "tests/unit/gen/table_rows.h"

#define below chaos_below

static const struct fold_function {
	const char *name, *order;	/* order: of the rows that are compared one by one */
	bool has_by, has_bins;
	const char *key, *sum;		/* sums by key are those of neighbours together */
} functions[] = {
	{ "cpu_usage", "1, 4, 5", false, true, "cpu, utid",
	  "sum(oncpu_ns), sum(switches), sum(preempted)" },
	{ "sched_waits", "1, 4, 5, 6", true, true, "upid, utid, name",
	  "sum(waits), sum(wait_ns), max(wait_max_ns), sum(wakeups), sum(preempts), "
	  "sum(unknown_waits), sum(migrations)" },
	{ "alloc_usage", "1, 4, 5, 6, 7", true, true, "upid, utid, name, source",
	  "sum(allocs), sum(frees), sum(lost_frees), sum(alloc_bytes), sum(free_bytes), "
	  "max(peak_bytes)" },
	{ "memory_levels", "1, 4", false, true, "upid", "max(rss_peak_bytes)" },
	{ "io_usage", "1, 4, 5, 6, 7, 8, 27, 28", true, true, "upid, utid, name, dev, op",
	  "sum(ios), sum(bytes), sum(errors), sum(merges), sum(requeues), "
	  "sum(unknown_owner_ios), sum(lat_sum_ns), max(lat_max_ns), max(queue_max_ns), "
	  "max(device_max_ns)" },
	{ "io_pattern", "1, 4, 5, 6, 7, 8, 9, 10", true, true, "upid, utid, name, dev, op",
	  "sum(ios), sum(bytes), sum(sized_ios), max(size_max_bytes)" },
	{ "latency_hist", "1, 4, 5, 6, 7, 8, 9, 10, 11, 12", true, true,
	  "upid, utid, name, dev, op, phase, low_ns, high_ns", "sum(ios)" },
	{ "device_usage", "1, 4", false, true, "dev",
	  "sum(busy_ns), sum(inflight_ns), max(depth_max), sum(read_ios), sum(read_bytes), "
	  "sum(write_ios), sum(write_bytes), sum(other_ios), sum(merges), sum(errors), "
	  "sum(lat_sum_ns)" },
	{ "irq_usage", "1, 4, 5, 6, 7, 8, 9", true, true, "upid, utid, name, type, vector",
	  "sum(runs), sum(run_ns), max(run_max_ns), sum(broken)" },
	{ "spikes", "3, 1, 2, 4", false, false,
	  "upid, source, start_ns, end_ns, bytes, baseline_bytes, threshold_bytes", "count(*)" },
};

static const char *const keys[] = { "process", "thread", "comm", "cgroup", "none" };

void fold_check_open(struct fold_check *c, const struct chaos *f)
{
	struct analysis_index_use use = { .use = true, .always = true, .save = true };
	struct err e = { "" };

	if (trace_open(&c->t, f->path, &e) < 0 || analysis_open(&c->plain, c->t, &e) < 0 ||
	    analysis_open(&c->indexed, c->t, &e) < 0)
		fail_msg("%s", e.text);
	analysis_use_index(c->indexed, &use);
	if (analysis_prepare(c->indexed, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(analysis_knows_block(c->indexed, 0));
}

void fold_check_close(struct fold_check *c)
{
	analysis_close(c->plain);
	analysis_close(c->indexed);
	trace_close(c->t);
}

/* Percentiles of buckets: the middle of one that is at most 1/128 wide. */
static bool is_close(const char *name, int64_t a, int64_t b)
{
	if (strstr(name, "_p50_") || strstr(name, "_p90_") || strstr(name, "_p99"))
		return llabs(a - b) <= llabs(a) / 256 + 1;
	return a == b;
}

void fold_check_rows(const struct fold_check *c, const char *sql)
{
	struct rows a, b;
	unsigned int row, col;

	rows_sql(&a, c->plain, sql);
	rows_sql(&b, c->indexed, sql);
	if (a.row_cnt != b.row_cnt)
		fail_msg("%s: %u rows without index, %u with", sql, a.row_cnt, b.row_cnt);
	for (row = 0; row < a.row_cnt; row++)
		for (col = 0; col < a.col_cnt; col++) {
			if (strcmp(rows_text(&a, row, col), rows_text(&b, row, col)))
				fail_msg("%s: row %u %s: '%s', '%s'", sql, row, a.names[col],
					 rows_text(&a, row, col), rows_text(&b, row, col));
			if (!is_close(a.names[col], rows_int(&a, row, col), rows_int(&b, row, col)))
				fail_msg("%s: row %u %s: %lld, with index %lld", sql, row,
					 a.names[col], (long long)rows_int(&a, row, col),
					 (long long)rows_int(&b, row, col));
		}
	rows_done(&a);
	rows_done(&b);
}

/* from or to may be a block's edge, or the trace's, or anywhere, also outside. */
static int64_t instant(const struct fold_check *c)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(c->t, &cnt);
	uint64_t start = trace_start_ns(c->t), end = trace_end_ns(c->t);

	switch (below(6)) {
	case 0:
		return (int64_t)(b[below(cnt)].from_ns - start);
	case 1:
		return below(2) ? 0 : (int64_t)(end - start);
	case 2:
		return (int64_t)below(end - start + 2000) - 1000;
	default:
		return (int64_t)below(end - start + 1);
	}
}

static void sort_three(int64_t v[3])
{
	int i;

	for (i = 0; i < 3; i++) {
		int k = i % 2;	/* two passes of neighbours are enough for three, and one more */

		if (v[k] > v[k + 1]) {
			int64_t x = v[k];

			v[k] = v[k + 1];
			v[k + 1] = x;
		}
	}
}

/* The arguments behind the window; every: of functions with bins. */
static void put_arguments(char *out, size_t size, const struct fold_function *f, uint64_t every)
{
	static const char *const sources[] = { "NULL", "'rss'", "'slab,page'", "'vm,heap,slab'" };

	if (f->has_by) {
		snprintf(out, size, ", %llu, '%s'", (unsigned long long)every, keys[below(5)]);
	} else if (f->has_bins) {
		snprintf(out, size, ", %llu", (unsigned long long)every);
	} else {
		uint64_t window = below(4) ? 10000000 * (1 + below(3)) : below(2) ? 3333333 : 0;
		uint64_t min = below(3) ? 20000 + below(1000000) * below(100) : 0;

		snprintf(out, size, ", %llu, %llu, %s", (unsigned long long)window,
			 (unsigned long long)min, sources[below(4)]);
	}
}

/* Sums of [at[0], at[2]) are those of [at[0], at[1]) and [at[1], at[2]) together. */
static void check_neighbours(const struct fold_check *c, const struct fold_function *f,
			     const char *table, const int64_t at[3])
{
	struct analysis *a = below(2) ? c->plain : c->indexed;
	char sql[1024];
	struct rows whole, parts;

	snprintf(sql, sizeof(sql), "SELECT %s, %s FROM %s GROUP BY %s ORDER BY %s", f->key, f->sum,
		 table, f->key, f->key);
	rows_window(&whole, a, sql, at[0], at[2]);
	rows_windows2(&parts, a, f->key, f->sum, table, at[0], at[1], at[2]);
	rows_compare(&whole, &parts);
	rows_done(&whole);
	rows_done(&parts);
}

/* The sums of all bins are those of the window. */
static void check_bins(const struct fold_check *c, const struct fold_function *f,
		       const char *arguments, uint64_t every, const int64_t at[3])
{
	struct analysis *a = below(2) ? c->plain : c->indexed;
	const char *by = strchr(arguments, '\'');
	char sql[1024];
	struct rows bins, whole;

	snprintf(sql, sizeof(sql), "SELECT %s, %s FROM %s(:w%s) GROUP BY %s ORDER BY %s", f->key,
		 f->sum, f->name, arguments, f->key, f->key);
	rows_window(&bins, a, sql, at[0], at[2]);
	snprintf(sql, sizeof(sql), "SELECT %s, %s FROM %s(:w, 0%s%s) GROUP BY %s ORDER BY %s",
		 f->key, f->sum, f->name, by ? ", " : "", by ? by : "", f->key, f->key);
	rows_window(&whole, a, sql, at[0], at[2]);
	if (every)
		rows_compare(&whole, &bins);
	rows_done(&bins);
	rows_done(&whole);
}

void fold_check_windows(const struct fold_check *c, unsigned int cnt, bool with_sums)
{
	uint64_t span = trace_end_ns(c->t) - trace_start_ns(c->t), every;
	char sql[400], arguments[100], table[200];
	unsigned int i, k;

	for (i = 0; i < cnt; i++) {
		int64_t at[3] = { instant(c), instant(c), instant(c) };

		sort_three(at);
		every = below(2) ? 0 : 1 + below(span / 3 + 1) + span / 200;
		for (k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
			const struct fold_function *f = &functions[k];

			put_arguments(arguments, sizeof(arguments), f, every);
			snprintf(sql, sizeof(sql), "SELECT * FROM %s(%lld, %lld%s) ORDER BY %s",
				 f->name, (long long)at[0], (long long)at[2], arguments, f->order);
			fold_check_rows(c, sql);
			if (!with_sums)
				continue;
			if (f->has_bins)
				check_bins(c, f, arguments, every, at);
			put_arguments(arguments, sizeof(arguments), f, 0);
			snprintf(table, sizeof(table), "%s(:w%s)", f->name, arguments);
			check_neighbours(c, f, table, at);
		}
	}
}
