/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Answers with an index are the answers without: every window function, every key, random windows and
 * bins, over random traces with losses, late records, unknown threads, lost frees, split pages, tiny
 * and empty blocks, finished or not. And an index that is damaged or of another trace costs nothing
 * but time.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/analysis.h"
#include "gen_chaos.h"
#include "table_rows.h"

#define below chaos_below

static void begin(struct chaos *f, uint64_t seed)
{
	chaos_begin(f, seed);
	f->m.irqs = 100;	/* interrupts, too */
}

/* ---- comparing ---- */

struct pair {
	struct trace *t;
	struct analysis *plain, *indexed;
};

static void open_pair(struct pair *p, const struct chaos *f)
{
	struct analysis_index_use use = { .use = true, .always = true, .save = true };
	struct err e = { "" };

	if (trace_open(&p->t, f->path, &e) < 0 || analysis_open(&p->plain, p->t, &e) < 0 ||
	    analysis_open(&p->indexed, p->t, &e) < 0)
		fail_msg("%s", e.text);
	analysis_use_index(p->indexed, &use);
	if (analysis_prepare(p->indexed, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(analysis_knows_block(p->indexed, 0));
}

static void close_pair(struct pair *p)
{
	analysis_close(p->plain);
	analysis_close(p->indexed);
	trace_close(p->t);
}

/* Percentiles of buckets: the middle of one that is at most 1/128 wide. */
static bool is_close(const char *name, int64_t a, int64_t b)
{
	if (strstr(name, "_p50_") || strstr(name, "_p90_") || strstr(name, "_p99"))
		return llabs(a - b) <= llabs(a) / 256 + 1;
	return a == b;
}

static void compare(struct pair *p, const char *sql)
{
	struct rows a, b;
	unsigned int row, col;

	rows_sql(&a, p->plain, sql);
	rows_sql(&b, p->indexed, sql);
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

static const struct {
	const char *name, *order;
	bool has_by;
} functions[] = {
	{ "cpu_usage", "1, 4, 5", false },
	{ "sched_waits", "1, 4, 5, 6", true },
	{ "alloc_usage", "1, 4, 5, 6, 7", true },
	{ "io_usage", "1, 4, 5, 6, 7, 8, 27, 28", true },
	{ "irq_usage", "1, 4, 5, 6, 7, 8, 9", true },
};

static const char *const keys[] = { "process", "thread", "comm", "cgroup", "none" };

/* from or to may be a block's edge, or the trace's, or anywhere, also outside. */
static int64_t instant(const struct pair *p)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(p->t, &cnt);
	uint64_t start = trace_start_ns(p->t), end = trace_end_ns(p->t), x;

	switch (below(6)) {
	case 0:
		return (int64_t)(b[below(cnt)].from_ns - start);
	case 1:
		return below(2) ? 0 : (int64_t)(end - start);
	case 2:
		return (int64_t)below(end - start + 2000) - 1000;
	default:
		x = below(end - start + 1);
		return (int64_t)x;
	}
}

static void compare_spikes(struct pair *p, int64_t from, int64_t to)
{
	static const char *const sources[] = { "NULL", "'rss'", "'slab,page'", "'vm,heap,slab'" };
	uint64_t window = below(4) ? 10000000 * (1 + below(3)) : below(2) ? 3333333 : 0;
	uint64_t min = below(3) ? 20000 + below(1000000) * below(100) : 0;
	char sql[300];

	snprintf(sql, sizeof(sql),
		 "SELECT * FROM spikes(%lld, %lld, %llu, %llu, %s) ORDER BY 3, 1, 2, 4",
		 (long long)from, (long long)to, (unsigned long long)window,
		 (unsigned long long)min, sources[below(4)]);
	compare(p, sql);
}

static void compare_windows(struct pair *p, unsigned int cnt)
{
	uint64_t span = trace_end_ns(p->t) - trace_start_ns(p->t);
	unsigned int i, k;
	char sql[300];

	for (i = 0; i < cnt; i++) {
		int64_t a = instant(p), b = instant(p), every;

		compare_spikes(p, a < b ? a : b, a < b ? b : a);
		every = below(2) ? 0 : (int64_t)(1 + below(span / 3 + 1) + span / 200);
		for (k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
			const char *key = keys[below(5)];

			snprintf(sql, sizeof(sql), "SELECT * FROM %s(%lld, %lld, %lld%s%s%s) ORDER BY %s",
				 functions[k].name, (long long)(a < b ? a : b),
				 (long long)(a < b ? b : a), (long long)every,
				 functions[k].has_by ? ", '" : "", functions[k].has_by ? key : "",
				 functions[k].has_by ? "'" : "", functions[k].order);
			compare(p, sql);
		}
	}
}

static void compare_reports(struct pair *p)
{
	static const struct {
		const char *view;
		enum report_by by;
	} reports[] = {
		{ "cpu", REPORT_BY_CPU },     { "cpu", REPORT_BY_COMM },
		{ "alloc", REPORT_BY_CGROUP }, { "alloc", REPORT_BY_PROCESS },
		{ "sched", REPORT_BY_THREAD }, { "io", REPORT_BY_DEVICE },
	};
	unsigned int i, k;

	for (i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		struct report_request q = { .view = reports[i].view, .by = reports[i].by,
					    .by_set = true };
		struct rows a, b;

		q.from_ns = trace_start_ns(p->t) + below(100000);
		q.to_ns = trace_end_ns(p->t);
		rows_report(&a, p->plain, &q);
		rows_report(&b, p->indexed, &q);
		assert_int_equal(a.row_cnt, b.row_cnt);
		/* rows of equal weight may change places: sums of all are compared */
		for (k = 0; k < a.col_cnt; k++) {
			int64_t x = 0, y = 0;
			unsigned int row;

			if (strstr(a.names[k], "_p50_") || strstr(a.names[k], "_p9"))
				continue;
			for (row = 0; row < a.row_cnt; row++) {
				x += rows_int(&a, row, k);
				y += rows_int(&b, row, k);
			}
			if (x != y)
				fail_msg("report %s: %s", reports[i].view, a.names[k]);
		}
		rows_done(&a);
		rows_done(&b);
	}
}

/* ---- tests ---- */

static void test_index_answers_as_the_whole_trace_does(void **state)
{
	struct chaos f;
	struct pair p;
	unsigned int i;

	for (i = 0; i < 12; i++) {
		begin(&f, 100 + i);
		chaos_add_blocks(&f, 4 + (unsigned int)below(16));
		chaos_end(&f, i % 3 != 2);
		open_pair(&p, &f);
		compare_windows(&p, 30);
		compare_reports(&p);
		close_pair(&p);
		/* again, from the file */
		assert_int_equal(access(f.index, R_OK), 0);
		open_pair(&p, &f);
		compare_windows(&p, 6);
		close_pair(&p);
		gen_remove_dir(f.dir);
	}
}

/* What is left beside a trace is of whom the trace is of, whoever reads it. */
static void expect_owner_of(const char *path, const struct stat *file)
{
	struct stat of;

	assert_int_equal(stat(path, &of), 0);
	assert_int_equal(file->st_uid, of.st_uid);
	assert_int_equal(file->st_gid, of.st_gid);
}

static void test_index_of_a_growing_trace_grows(void **state)
{
	struct stat before, after;
	struct chaos f;
	struct pair p;
	unsigned int i;

	begin(&f, 5);
	if (!geteuid())
		assert_int_equal(chown(f.path, 4242, 4243), 0);
	for (i = 0; i < 5; i++) {
		chaos_add_blocks(&f, 1 + (unsigned int)below(5));
		open_pair(&p, &f);
		compare_windows(&p, 10);
		close_pair(&p);
	}
	assert_int_equal(stat(f.index, &before), 0);
	assert_int_equal(before.st_mode & 0777, 0600);
	expect_owner_of(f.path, &before);
	chaos_end(&f, true);
	open_pair(&p, &f);
	compare_windows(&p, 10);
	close_pair(&p);
	assert_int_equal(stat(f.index, &after), 0);
	assert_true(after.st_size != before.st_size);
	gen_remove_dir(f.dir);
}

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= (uint8_t)(1u << below(8));
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* A damaged part is found when it is needed: the question fails or is answered right, nothing else. */
static void test_index_that_is_damaged_gives_no_wrong_answer(void **state)
{
	struct chaos f;
	struct stat st;
	struct pair p;
	unsigned int i;

	begin(&f, 9);
	chaos_add_blocks(&f, 8);
	chaos_end(&f, true);
	open_pair(&p, &f);
	close_pair(&p);
	assert_int_equal(stat(f.index, &st), 0);
	for (i = 0; i < 60; i++) {
		off_t at = i < 20 ? (off_t)below(64) : (off_t)below((uint64_t)st.st_size);

		flip(f.index, at);
		open_pair(&p, &f);
		compare_windows(&p, 3);
		close_pair(&p);
		assert_int_equal(unlink(f.index), 0);
		open_pair(&p, &f);
		close_pair(&p);
	}
	assert_int_equal(truncate(f.index, st.st_size / 2), 0);
	open_pair(&p, &f);
	compare_windows(&p, 3);
	close_pair(&p);
	gen_remove_dir(f.dir);
}

static void test_index_of_another_trace_is_not_used(void **state)
{
	struct chaos f, other;
	struct pair p;

	begin(&other, 21);
	chaos_add_blocks(&other, 6);
	chaos_end(&other, true);
	open_pair(&p, &other);
	close_pair(&p);
	begin(&f, 22);
	chaos_add_blocks(&f, 6);
	chaos_end(&f, true);
	assert_int_equal(rename(other.index, f.index), 0);
	open_pair(&p, &f);
	compare_windows(&p, 10);
	close_pair(&p);
	gen_remove_dir(f.dir);
	gen_remove_dir(other.dir);
}

static void test_index_goes_elsewhere_or_into_memory_where_nothing_may_be_written(void **state)
{
	struct chaos f;
	struct pair p;

	begin(&f, 31);
	chaos_add_blocks(&f, 6);
	chaos_end(&f, true);
	/* a directory of that name: nothing can be put in its place */
	assert_int_equal(mkdir(f.index, 0700), 0);
	open_pair(&p, &f);
	compare_windows(&p, 5);
	close_pair(&p);
	gen_remove_dir(f.dir);
}

/* ---- lists.idx ---- */

/* Damage shows when the file is opened, which then is not used, or in a piece, which then is made again. */
#define USED_OR_NOT (-1)

static void expect_turn(const struct trace *full, const struct trace *quick, size_t i)
{
	const struct trace_turn *x = trace_turn_at(full, i), *y = trace_turn_at(quick, i);

	assert_int_equal(x->ts_ns, y->ts_ns);
	assert_int_equal(x->upid, y->upid);
	assert_int_equal(x->kind, y->kind);
}

/* Those of the full trace are in order, and all there are; the quick one's are those, whichever is asked for first. */
static void compare_turns(struct trace *full, struct trace *quick, struct analysis *a)
{
	const struct trace_turn *x, *before = NULL;
	struct rows want;
	size_t cnt, i, at;

	assert_int_equal(trace_turns_prepare(full), 0);
	assert_int_equal(trace_turns_prepare(quick), 0);
	cnt = trace_turn_cnt(full);
	assert_int_equal(trace_turn_cnt(quick), cnt);
	for (i = 0; cnt && i < 10; i++) {
		uint64_t ts_ns = trace_turn_at(full, below(cnt))->ts_ns + below(3) - 1;

		at = trace_turn_from(quick, ts_ns);
		assert_int_equal(trace_turn_from(full, ts_ns), at);
		if (at < cnt)
			expect_turn(full, quick, at);
	}
	assert_int_equal(trace_turn_from(quick, 0), 0);
	assert_int_equal(trace_turn_from(quick, UINT64_MAX), cnt);
	for (i = 0; i < cnt; i++) {
		x = trace_turn_at(full, i);
		assert_true(!before || before->ts_ns < x->ts_ns ||
			    (before->ts_ns == x->ts_ns &&
			     (before->kind < x->kind || (before->kind == x->kind && before->upid <= x->upid))));
		before = x;
		at = trace_turn_from(full, x->ts_ns);
		assert_true(at <= i && trace_turn_at(full, at)->ts_ns == x->ts_ns);
		assert_true(!at || trace_turn_at(full, at - 1)->ts_ns < x->ts_ns);
		expect_turn(full, quick, i);
	}
	rows_sql(&want, a, "SELECT (SELECT count(*) FROM task_events WHERE type = 'exec') +"
			   " (SELECT count(*) FROM processes WHERE end_ns IS NOT NULL)");
	assert_int_equal(rows_int(&want, 0, 0), cnt);
	rows_done(&want);
}

static void compare_lists(const struct chaos *f, int wants_quick)
{
	static const char *const tables[] = { "processes", "threads", "cpus", "names", "task_events",
					      "rss_baselines", "losses", "cost", "hook_stats",
					      "clocks", "blocks", "damages", "info",
					      "memory_levels(3000000, 9000000, 500000)",
					      "alloc_usage(3000000, 9000000, 500000, 'process')" };
	struct trace *full, *quick = NULL;
	struct analysis *a = NULL, *b;
	struct err e = { "" };
	struct rows x, y;
	char sql[100];
	size_t i, k;

	if (trace_open(&full, f->path, &e) < 0 || trace_open_quick(&quick, f->path, &e) < 0 ||
	    analysis_open(&a, full, &e) < 0 || analysis_open(&b, quick, &e) < 0)
		fail_msg("%s", e.text);
	if (wants_quick != USED_OR_NOT)
		assert_int_equal(trace_has_lists(quick), wants_quick);
	compare_turns(full, quick, a);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", tables[i]);
		rows_sql(&x, a, sql);
		rows_sql(&y, b, sql);
		assert_int_equal(x.row_cnt, y.row_cnt);
		for (k = 0; k < (size_t)x.row_cnt * x.col_cnt; k++) {
			unsigned int row = (unsigned int)k / x.col_cnt, col = (unsigned int)k % x.col_cnt;

			assert_string_equal(rows_text(&x, row, col), rows_text(&y, row, col));
			assert_int_equal(rows_int(&x, row, col), rows_int(&y, row, col));
		}
		rows_done(&x);
		rows_done(&y);
	}
	rows_sql(&x, a, "SELECT sum(oncpu_ns), sum(switches) FROM cpu_usage(1000000, 9000000)");
	rows_sql(&y, b, "SELECT sum(oncpu_ns), sum(switches) FROM cpu_usage(1000000, 9000000)");
	assert_int_equal(rows_int(&x, 0, 0), rows_int(&y, 0, 0));
	assert_int_equal(rows_int(&x, 0, 1), rows_int(&y, 0, 1));
	rows_done(&x);
	rows_done(&y);
	analysis_close(a);
	analysis_close(b);
	trace_close(full);
	trace_close(quick);
}

static void test_lists_are_those_of_the_blocks(void **state)
{
	struct chaos f;
	struct trace *t;
	struct err e = { "" };
	struct stat st;
	char lists[128], chunk[128];
	unsigned int i;

	begin(&f, 41);
	chaos_add_blocks(&f, 70);
	chaos_end(&f, true);
	snprintf(lists, sizeof(lists), "%s/lists.idx", f.path);
	snprintf(chunk, sizeof(chunk), "%s/chunk-000001.ebr", f.path);
	compare_lists(&f, false);
	if (!geteuid())
		assert_int_equal(chown(f.path, 4242, 4243), 0);
	for (i = 0; i < 30; i++) {
		assert_int_equal(trace_open(&t, f.path, &e), 0);
		trace_lists_save(t);
		trace_close(t);
		assert_int_equal(stat(lists, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		expect_owner_of(f.path, &st);
		if (i < 2)
			compare_lists(&f, true);
		flip(lists, (off_t)below((uint64_t)st.st_size));
		compare_lists(&f, USED_OR_NOT);
	}
	/* of a trace that is another one now */
	assert_int_equal(trace_open(&t, f.path, &e), 0);
	trace_lists_save(t);
	trace_close(t);
	flip(chunk, 64 + 40);
	compare_lists(&f, false);
	gen_remove_dir(f.dir);
}

/* More than two pieces of them, most at one instant: it lies on both sides of a border. */
static void test_turns_of_many_processes_are_read_by_the_piece(void **state)
{
	const uint32_t first = 100000, cnt = 600;
	struct err e = { "" };
	struct chaos f;
	struct trace *t;
	uint32_t i;

	begin(&f, 43);
	chaos_add_blocks(&f, 66);
	f.m.now_ns += 1000;
	for (i = first; i < first + cnt; i++)
		gen_new(f.g, f.m.now_ns, 0, 1, i, i, 1, "many");
	for (i = first; i < first + cnt; i++)
		gen_exec(f.g, f.m.now_ns + 1000, 0, i, i, 0, "many", "/bin/many", "many", sizeof("many"));
	for (i = first; i < first + cnt; i++)
		gen_exit(f.g, f.m.now_ns + 2000 + i / 100, 0, i, i, 0, true, 1);
	f.m.now_ns += 100000;
	gen_slice(f.g, f.m.now_ns);
	f.edge_ns = f.m.now_ns;
	chaos_end(&f, true);
	compare_lists(&f, false);
	assert_int_equal(trace_open(&t, f.path, &e), 0);
	assert_int_equal(trace_turns_prepare(t), 0);
	assert_true(trace_turn_cnt(t) >= 2 * cnt);
	trace_lists_save(t);
	trace_close(t);
	for (i = 0; i < 5; i++)
		compare_lists(&f, true);
	gen_remove_dir(f.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_answers_as_the_whole_trace_does),
		cmocka_unit_test(test_index_of_a_growing_trace_grows),
		cmocka_unit_test(test_index_that_is_damaged_gives_no_wrong_answer),
		cmocka_unit_test(test_index_of_another_trace_is_not_used),
		cmocka_unit_test(test_lists_are_those_of_the_blocks),
		cmocka_unit_test(test_turns_of_many_processes_are_read_by_the_piece),
		cmocka_unit_test(test_index_goes_elsewhere_or_into_memory_where_nothing_may_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
