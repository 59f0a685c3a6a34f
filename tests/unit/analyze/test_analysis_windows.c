/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Properties of reports and table-valued functions over random windows of a random trace. */
#include "analyze/engine/report_view.h"
#include "analyze/engine/table.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/slice_count.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_state.h"

#define T0 1000000000ull

static struct made_trace mix;

/* A random machine in eight blocks, with a loss of class sched in the third. */
static void make_mix(struct made_trace *f)
{
	struct gen_mix m = { .seed = 11, .now_ns = T0 };
	struct gen *g;

	/* the third CPU never runs anything */
	made_begin(f, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0 });
	g = f->g;
	gen_mix_start(g, &m);
	for (int i = 0; i < 8; i++) {
		struct trace_loss l = { .from_ns = m.now_ns, .cpu = 1, .hook = WIRE_SWITCH,
					.cls = EVENT_CLASS_SCHED, .full_cnt = 5, .other_cnt = 1,
					.missed_cnt = 1 };

		gen_mix_run(g, &m, 12000);
		l.to_ns = m.now_ns;
		if (i == 2)
			gen_loss(g, &l);
		gen_slice(g, m.now_ns + 1);
	}
	gen_mix_done(&m);
	made_open(f);
}

static int setup(void **state)
{
	make_mix(&mix);
	return 0;
}

static int teardown(void **state)
{
	made_close(&mix);
	return 0;
}

/* ---- completeness ---- */

UNIT_TEST(test_reports_mark_what_a_loss_touches)
{
	struct report_request q = made_request(&mix, "cpu");
	size_t cnt;
	const struct trace_loss *l = trace_losses(mix.t, &cnt);
	struct rows r;

	assert_int_equal(cnt, 1);
	rows_report(&r, mix.a, &q);
	rows_cells(&r, 0, "complete lost_events", 0, 7);
	rows_done(&r);
	q.to_ns = l->from_ns;
	rows_report(&r, mix.a, &q);
	assert_int_equal(rows_cell(&r, 0, "complete"), 1);
	rows_done(&r);
	q.from_ns = l->to_ns;
	q.to_ns = trace_end_ns(mix.t);
	rows_report(&r, mix.a, &q);
	assert_int_equal(rows_cell(&r, 0, "lost_events"), 0);
	rows_done(&r);
	q = made_request(&mix, "alloc");	/* another class */
	rows_report(&r, mix.a, &q);
	assert_int_equal(rows_cell(&r, 0, "complete"), 1);
	rows_done(&r);
	q = made_request(&mix, "cpu");
	q.every_ns = 10 * MS;
	rows_report(&r, mix.a, &q);
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		uint64_t from = T0 + (uint64_t)rows_cell(&r, i, "t_ns");
		int touched = from < l->to_ns && from + 10 * MS > l->from_ns;
		int ends = touched && from + 10 * MS >= l->to_ns;

		/* it counts where its interval ends */
		assert_int_equal(rows_cell(&r, i, "lost_events"), ends ? 7 : 0);
		/* the last bin is cut at the window's end, which is the trace's */
		assert_int_equal(rows_cell(&r, i, "complete"), !touched);
	}
	rows_done(&r);
	q = made_request(&mix, "cpu");
	q.to_ns += 1;			/* beyond the trace */
	q.from_ns = trace_end_ns(mix.t) - 5 * MS;
	rows_report(&r, mix.a, &q);
	rows_cells(&r, 0, "complete lost_events", 0, 0);
	rows_done(&r);
}

/* A view that shows or derives data of requests is incomplete if requests were lost. */
UNIT_TEST(test_views_of_a_window_agree_on_what_a_loss_of_requests_means)
{
	static const char *const with[] = { "summary", "totals", "states", "why",     "io",
					    "latency", "devices", "pattern", "bins" };
	static const char *const without[] = { "cpu", "sched", "parallel", "alloc", "spikes" };
	struct loss_index x;
	struct made_trace f;
	uint64_t to;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_loss(f.g, &(struct trace_loss){ .from_ns = T0 + MS, .to_ns = T0 + 2 * MS, .cpu = 0,
					    .hook = WIRE_BLOCK_ISSUE, .cls = EVENT_CLASS_BLOCK,
					    .full_cnt = 2 });
	made_finish(&f, T0 + 3 * MS);
	assert_int_equal(loss_index_init(&x, f.t), 0);
	to = trace_end_ns(f.t);
	for (unsigned int i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		assert_false(loss_index_is_complete(&x, report_view_find(with[i])->needs, T0, to,
						    NULL, NULL));
	for (unsigned int i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_true(loss_index_is_complete(&x, report_view_find(without[i])->needs, T0, to,
						   NULL, NULL));
	loss_index_done(&x);
	made_close(&f);
}

/* ---- properties over random windows ---- */

static uint64_t dice = 99;

static uint64_t below(uint64_t n)
{
	return gen_random(&dice) % n;
}

static void random_window(int64_t *from, int64_t *to)
{
	uint64_t span = trace_end_ns(mix.t) - trace_start_ns(mix.t), a = below(span + 1),
		 b = below(span + 1);

	*from = (int64_t)(a < b ? a : b);
	*to = (int64_t)(a < b ? b : a);
}

UNIT_TEST(test_tasks_and_idle_fill_every_window_of_every_cpu)
{
	int64_t from, to;
	int i, cpu;

	for (i = 0; i < 150; i++) {
		random_window(&from, &to);
		if (from == to)
			continue;
		for (cpu = 0; cpu < 2; cpu++)
			rows_want(mix.a, to - from, "SELECT sum(oncpu_ns) FROM cpu_usage(%lld, "
				  "%lld) WHERE cpu = %d", (long long)from, (long long)to, cpu);
		rows_want(mix.a, 2 * (to - from), "SELECT sum(dur_ns) FROM sched_slices(%lld, "
			  "%lld)", (long long)from, (long long)to);
	}
}

UNIT_TEST(test_tasks_and_idle_fill_every_bin_of_every_cpu)
{
	int64_t from, to, every;

	for (unsigned int i = 0; i < 12; i++) {
		random_window(&from, &to);
		every = 1 + (int64_t)below((uint64_t)(to - from) / 7 + 50000) + (to - from) / 1000;
		rows_want(mix.a, 0, "SELECT count(*) FROM (SELECT sum(oncpu_ns) - span_ns AS d "
			  "FROM cpu_usage(%lld, %lld, %lld) GROUP BY t_ns, cpu) WHERE d <> 0",
			  (long long)from, (long long)to, (long long)every);
	}
}

UNIT_TEST(test_no_thread_has_more_than_one_cpu)
{
	struct report_request q = made_request(&mix, "cpu");
	struct rows r;
	unsigned int i, util;

	q.by = 1u << REPORT_BY_THREAD;
	q.every_ns = 10 * MS;
	rows_report(&r, mix.a, &q);
	assert_true(r.row_cnt > 100);
	util = rows_col(&r, "util_pct");
	for (i = 0; i < r.row_cnt; i++)
		assert_true(rows_real(&r, i, util) <= 100.0);
	rows_done(&r);
}

/*
 * The writer's summaries follow the same rules: for whole blocks they equal the sums of the events.
 */
UNIT_TEST(test_usage_equals_block_summaries)
{
	const struct slice_share *rows;
	const struct trace_block *blocks;
	size_t block_cnt, cnt, b, i;
	int64_t absent;

	blocks = trace_blocks(mix.t, &block_cnt);
	for (b = 0; b < block_cnt; b++) {
		long long from = (long long)(blocks[b].from_ns - trace_start_ns(mix.t)),
			  to = (long long)(blocks[b].to_ns - trace_start_ns(mix.t));
		int64_t oncpu = 0, switches = 0;

		/* a summary counts the unused third CPU as unknown, cpu_usage() skips it */
		absent = to - from;

		assert_int_equal(slice_count(mix.t, b, &rows, &cnt, NULL), 0);
		for (i = 0; i < cnt; i++) {
			if (rows[i].utid >= EVENT_ID_FIRST &&
			    rows[i].utid % 5 == 0) /* some alone, all in sum */
				rows_want(mix.a, rows[i].oncpu_ns, "SELECT coalesce(sum(oncpu_ns), "
					  "0) FROM cpu_usage(%lld, %lld) WHERE utid = %u", from, to,
					  rows[i].utid);
			oncpu += (int64_t)rows[i].oncpu_ns;
			switches += (int64_t)rows[i].switches;
		}
		assert_int_equal(rows_one(mix.a, "SELECT sum(oncpu_ns) FROM cpu_usage(%lld, %lld)",
					  from, to) + absent, oncpu);
		rows_want(mix.a, switches, "SELECT sum(switches) FROM cpu_usage(%lld, %lld)", from,
			  to);
	}
}

UNIT_TEST(test_push_down_changes_no_answer)
{
	static const char *const tables[][2] = {
		{ "switches", "ts_ns" },	{ "slab_allocs", "ts_ns" },
		{ "block_events", "ts_ns" },	{ "rss_points", "ts_ns" },
		{ "sched_slices", "start_ns" }, { "allocations", "alloc_ns" },
		{ "block_requests", "end_ns" },
	};
	int64_t from, to;
	unsigned int i, k;

	for (i = 0; i < 10; i++) {
		random_window(&from, &to);
		for (k = 0; k < sizeof(tables) / sizeof(tables[0]); k++) {
			const char *t = tables[k][0], *c = tables[k][1];

			/* "+" keeps a condition from the table */
			assert_int_equal(
				rows_one(mix.a,
				     "SELECT count(*) FROM %s WHERE %s >= %lld AND %s < %lld", t, c,
				     (long long)from, c, (long long)to),
				rows_one(mix.a,
				     "SELECT count(*) FROM %s WHERE +%s >= %lld AND +%s < %lld", t,
				     c, (long long)from, c, (long long)to));
		}
		assert_int_equal(rows_one(mix.a,
				      "SELECT coalesce(sum(dur_ns + coalesce(wait_ns, 0)), 0) FROM "
				      "sched_slices WHERE "
				      "start_ns > %lld AND cpu = 1",
				      (long long)from),
				 rows_one(mix.a,
				      "SELECT coalesce(sum(dur_ns + coalesce(wait_ns, 0)), 0) FROM "
				      "sched_slices WHERE "
				      "+start_ns > %lld AND +cpu = 1",
				      (long long)from));
		assert_int_equal(rows_one(mix.a,
				      "SELECT count(*) FROM switches WHERE utid = 20 AND cpu = 2 "
				      "AND ts_ns <= %lld.5",
				      (long long)to),
				 rows_one(mix.a,
				      "SELECT count(*) FROM switches WHERE +utid = 20 AND +cpu = 2 "
				      "AND +ts_ns <= %lld.5",
				      (long long)to));
	}
}

/*
 * Rows of one CPU are selected while they are read. The result has the rows of the SQL condition in
 * the same order, and is empty if the value is not a CPU.
 */
UNIT_TEST(test_rows_of_a_cpu_are_those_of_the_condition)
{
	static const char *const cpus[] = { "0", "1", "2", "3", "65535", "65536", "-1",
					    "4294967296", "1.0", "1.5", "NULL", "'1'" };
	const struct table_def *d;
	char sql[256];
	struct rows picked, all;

	for (d = tables_of_events; d->name; d++) {
		for (unsigned int i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
			snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE cpu = %s", d->name,
				 cpus[i]);
			rows_sql(&picked, mix.a, sql);
			snprintf(sql, sizeof(sql),
				 "SELECT * FROM %s WHERE CAST(cpu AS INTEGER) = %s + 0", d->name,
				 cpus[i]);
			rows_sql(&all, mix.a, sql);
			rows_compare(&picked, &all);
			if (!i && !strcmp(d->name, "switches"))
				assert_true(picked.row_cnt > 0);
			rows_done(&picked);
			rows_done(&all);
		}
	}
}

/* Blocks that a question decodes. */
static uint64_t decoded_by(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static uint64_t decoded_by(const char *fmt, ...)
{
	uint64_t before = atomic_load(&mix.t->decoded_blocks);
	char sql[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	rows_one(mix.a, "%s", sql);
	return atomic_load(&mix.t->decoded_blocks) - before;
}

UNIT_TEST(test_event_tables_decode_only_blocks_that_can_matter)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(mix.t, &cnt);
	long long at = (long long)(b[3].from_ns - trace_start_ns(mix.t)),
		  len = (long long)(b[3].to_ns - b[3].from_ns);
	int64_t born;

	assert_int_equal(decoded_by("SELECT count(*) FROM slab_allocs"), cnt);
	/* time: one block, two across an edge */
	assert_int_equal(
		decoded_by("SELECT count(*) FROM slab_allocs WHERE ts_ns > %lld AND ts_ns < %lld",
			   at + 5, at + len - 5),
		1);
	assert_int_equal(
		decoded_by("SELECT count(*) FROM slab_allocs WHERE ts_ns BETWEEN %lld AND %lld",
			   at - 30000, at + 30000),
		2);
	assert_int_equal(decoded_by("SELECT count(*) FROM switches WHERE ts_ns >= %lld",
				    (long long)(trace_end_ns(mix.t) - trace_start_ns(mix.t))), 0);
	/* kind: no process used a heap */
	assert_int_equal(decoded_by("SELECT count(*) FROM heap_allocs"), 0);
	/* thread: one that was born late is in no block before */
	born = rows_one(mix.a,
		   "SELECT utid FROM threads WHERE start_ns = (SELECT max(start_ns) FROM threads)");
	assert_true(decoded_by("SELECT count(*) FROM slab_allocs WHERE utid = %lld",
			       (long long)born) < cnt / 2);
	/* the first rows of a table cost one block */
	assert_int_equal(decoded_by("SELECT sum(x) FROM (SELECT ts_ns AS x FROM slab_allocs"
				    " ORDER BY ts_ns LIMIT 5)"), 1);
}

UNIT_TEST(test_event_tables_are_in_order_of_time_by_themselves)
{
	static const char *const statements[][2] = {
		{ "SELECT * FROM switches ORDER BY ts_ns", "0" },
		{ "SELECT * FROM slab_allocs WHERE ts_ns > 5 AND cpu = 1 ORDER BY ts_ns LIMIT 3",
		  "0" },
		{ "SELECT * FROM switches ORDER BY cpu", "1" },
	};
	char sql[300];
	struct rows r;
	unsigned int i, k, sorts;

	for (i = 0; i < 3; i++) {
		snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", statements[i][0]);
		rows_sql(&r, mix.a, sql);
		for (sorts = k = 0; k < r.row_cnt; k++)
			sorts += strstr(rows_text(&r, k, rows_col(&r, "detail")), "TEMP B-TREE") !=
				 NULL;
		assert_int_equal(sorts, statements[i][1][0] - '0');
		rows_done(&r);
	}
}

/* ---- every report, every key, every kind of window ---- */

UNIT_TEST(test_every_report_runs_with_every_key_and_window)
{
	const struct report_view *views = report_view_list;
	unsigned int cnt = report_view_cnt, v, w, by;

	for (v = 0; v < cnt; v++) {
		for (by = 0; by <= REPORT_BY_CNT; by++) {
			for (w = 0; w < 12; w++) {
				struct report_request q = made_request(&mix, views[v].name);
				uint64_t windows[6][2] = {
					{ trace_start_ns(mix.t), trace_end_ns(mix.t) },
					{ trace_start_ns(mix.t) + 5, trace_start_ns(mix.t) + 5 },
					{ 0, 1 },
					{ trace_end_ns(mix.t) + 5, UINT64_MAX },
					{ 0, UINT64_MAX },
					{ trace_start_ns(mix.t) + 100,
					  trace_start_ns(mix.t) + 101 },
				};
				struct err e = { "" };
				struct rows r;
				int ret;

				q.from_ns = windows[w % 6][0];
				q.to_ns = windows[w % 6][1];
				q.every_ns =
					w < 6 ? 0
					      : (trace_end_ns(mix.t) - trace_start_ns(mix.t)) / 3;
				q.by = by < REPORT_BY_CNT ? 1u << by : 0;
				ret = rows_try_report(&r, mix.a, &q, &e);
				if (q.by & ~views[v].by_mask ||
				    (q.every_ns && !(views[v].takes & REPORT_TAKES_EVERY))) {
					assert_int_equal(ret, -EINVAL);
					continue;
				}
				if (ret < 0)
					fail_msg("report %s by %u window %u: %s", views[v].name, by,
						 w, e.text);
				if (q.every_ns && strcmp(views[v].name, "summary"))
					assert_string_equal(r.names[0], "t_ns");
				rows_done(&r);
			}
		}
	}
}

UNIT_TEST(test_bad_requests_say_what_is_wrong)
{
	struct report_request q = made_request(&mix, "nonsense");
	struct err e = { "" };
	struct rows r;

	assert_int_equal(rows_try_report(&r, mix.a, &q, &e), -EINVAL);
	assert_non_null(strstr(e.text, "nonsense"));
	q = made_request(&mix, "cpu");
	q.sort = "colour";
	e.text[0] = 0;
	assert_int_equal(rows_try_report(&r, mix.a, &q, &e), -EINVAL);
	assert_non_null(strstr(e.text, "oncpu_ns"));
	q.sort = NULL;
	q.every_ns = 1;
	e.text[0] = 0;
	assert_int_equal(rows_try_report(&r, mix.a, &q, &e), -E2BIG);
	assert_non_null(strstr(e.text, "bins"));
}

UNIT_TESTS_IN(setup, teardown)
