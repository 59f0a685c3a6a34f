/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Answers with an index are the answers without: every window function, every key, random
 * windows and bins, over random traces with losses, late records, unknown threads, lost frees,
 * split pages, tiny and empty blocks, finished or not. An index that is damaged, or that belongs
 * to another trace, costs nothing but time.
 */
#include <sys/stat.h>

#include "analyze/analyze.h"
#include "tests/unit/gen/fold_check.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_state.h"

#define below chaos_below

static void begin(struct chaos *f, uint64_t seed)
{
	chaos_begin(f, seed);
	f->m.irqs = 100;	/* interrupts, too */
}

/* ---- tests ---- */

/* Files that an analysis writes beside a trace belong to the trace's owner, not to the reader. */
static void expect_owner_of(const char *path, const struct stat *file)
{
	struct stat of;

	assert_int_equal(stat(path, &of), 0);
	assert_int_equal(file->st_uid, of.st_uid);
	assert_int_equal(file->st_gid, of.st_gid);
}

UNIT_TEST(test_index_of_a_growing_trace_grows)
{
	struct stat before, after;
	struct chaos f;
	struct fold_check p;

	begin(&f, 5);
	if (!geteuid())
		assert_int_equal(chown(f.path, 4242, 4243), 0);
	for (unsigned int i = 0; i < 5; i++) {
		chaos_add_blocks(&f, 1 + (unsigned int)below(5));
		fold_check_open(&p, &f);
		fold_check_windows(&p, 10, false);
		fold_check_close(&p);
	}
	assert_int_equal(stat(f.index, &before), 0);
	assert_int_equal(before.st_mode & 0777, 0600);
	expect_owner_of(f.path, &before);
	chaos_end(&f, true);
	fold_check_open(&p, &f);
	fold_check_windows(&p, 10, false);
	fold_check_close(&p);
	assert_int_equal(stat(f.index, &after), 0);
	assert_true(after.st_size != before.st_size);
	gen_remove_dir(f.dir);
}

/*
 * A damaged part is found when it is needed: the question fails or is answered right, and
 * nothing else.
 */
UNIT_TEST(test_index_that_is_damaged_gives_no_wrong_answer)
{
	struct chaos f;
	struct stat st;
	struct fold_check p;
	unsigned int i, cnt = gen_seeds(30);

	begin(&f, 9);
	chaos_add_blocks(&f, 8);
	chaos_end(&f, true);
	fold_check_open(&p, &f);
	fold_check_close(&p);
	assert_int_equal(stat(f.index, &st), 0);
	for (i = 0; i < cnt; i++) {
		off_t at = i % 3 == 0 ? (off_t)below(64) : (off_t)below((uint64_t)st.st_size);

		file_flip(f.index, (uint64_t)at, (uint8_t)(1u << below(8)));
		fold_check_open(&p, &f);
		fold_check_windows(&p, 3, false);
		fold_check_close(&p);
		assert_int_equal(unlink(f.index), 0);
		fold_check_open(&p, &f);
		fold_check_close(&p);
	}
	assert_int_equal(truncate(f.index, st.st_size / 2), 0);
	fold_check_open(&p, &f);
	fold_check_windows(&p, 3, false);
	fold_check_close(&p);
	gen_remove_dir(f.dir);
}

UNIT_TEST(test_index_of_another_trace_is_not_used)
{
	struct chaos f, other;
	struct fold_check p;

	begin(&other, 21);
	chaos_add_blocks(&other, 6);
	chaos_end(&other, true);
	fold_check_open(&p, &other);
	fold_check_close(&p);
	begin(&f, 22);
	chaos_add_blocks(&f, 6);
	chaos_end(&f, true);
	assert_int_equal(rename(other.index, f.index), 0);
	fold_check_open(&p, &f);
	fold_check_windows(&p, 10, false);
	fold_check_close(&p);
	gen_remove_dir(f.dir);
	gen_remove_dir(other.dir);
}

UNIT_TEST(test_index_goes_elsewhere_or_into_memory_where_nothing_may_be_written)
{
	struct chaos f;
	struct fold_check p;

	begin(&f, 31);
	chaos_add_blocks(&f, 6);
	chaos_end(&f, true);
	/* a directory of that name: nothing can be put in its place */
	assert_int_equal(mkdir(f.index, 0700), 0);
	fold_check_open(&p, &f);
	fold_check_windows(&p, 5, false);
	fold_check_close(&p);
	gen_remove_dir(f.dir);
}

/* ---- lists in the derived file ---- */

/*
 * Damage shows when the file is opened, which then is not used, or in a part, and then the blocks
 * are read.
 */
#define USED_OR_NOT (-1)

static void expect_mm_reset(const struct trace *full, const struct trace *quick, size_t i)
{
	const struct trace_mm_reset *x = trace_mm_reset_at(full, i),
				    *y = trace_mm_reset_at(quick, i);

	assert_int_equal(x->ts_ns, y->ts_ns);
	assert_int_equal(x->upid, y->upid);
	assert_int_equal(x->kind, y->kind);
}

/*
 * The resets of the full trace are in order and complete. The quick trace has the same resets, also
 * if it is the first to be prepared.
 */
static void compare_mm_resets(struct trace *full, struct trace *quick, struct analysis *a)
{
	const struct trace_mm_reset *x, *before = NULL;
	struct rows want;
	size_t cnt, i, at;

	assert_int_equal(trace_mm_resets_prepare(full), 0);
	assert_int_equal(trace_mm_resets_prepare(quick), 0);
	cnt = trace_mm_reset_cnt(full);
	assert_int_equal(trace_mm_reset_cnt(quick), cnt);
	for (i = 0; cnt && i < 10; i++) {
		uint64_t ts_ns = trace_mm_reset_at(full, below(cnt))->ts_ns + below(3) - 1;

		at = trace_mm_reset_from(quick, ts_ns);
		assert_int_equal(trace_mm_reset_from(full, ts_ns), at);
		if (at < cnt)
			expect_mm_reset(full, quick, at);
	}
	assert_int_equal(trace_mm_reset_from(quick, 0), 0);
	assert_int_equal(trace_mm_reset_from(quick, UINT64_MAX), cnt);
	for (i = 0; i < cnt; i++) {
		x = trace_mm_reset_at(full, i);
		assert_true(!before || before->ts_ns < x->ts_ns ||
			    (before->ts_ns == x->ts_ns &&
			     (before->kind < x->kind ||
			      (before->kind == x->kind && before->upid <= x->upid))));
		before = x;
		at = trace_mm_reset_from(full, x->ts_ns);
		assert_true(at <= i && trace_mm_reset_at(full, at)->ts_ns == x->ts_ns);
		assert_true(!at || trace_mm_reset_at(full, at - 1)->ts_ns < x->ts_ns);
		expect_mm_reset(full, quick, i);
	}
	rows_sql(&want, a, "SELECT (SELECT count(*) FROM task_events WHERE type = 'exec') +"
			   " (SELECT count(*) FROM processes WHERE end_ns IS NOT NULL)");
	assert_int_equal(rows_int(&want, 0, 0), cnt);
	rows_done(&want);
}

static void compare_lists(const struct chaos *f, int wants_quick)
{
	static const char *const tables[] = {
		"processes", "threads", "cpus", "names", "task_events", "rss_baselines", "losses",
		"cost", "hook_stats", "clocks", "blocks", "damages", "info",
		"memory_levels(3000000, 9000000, 500000)",
		"alloc_usage(3000000, 9000000, 500000, 'process')",
	};
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
		assert_int_equal(quick->lists != NULL, wants_quick);
	compare_mm_resets(full, quick, a);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", tables[i]);
		rows_sql(&x, a, sql);
		rows_sql(&y, b, sql);
		assert_int_equal(x.row_cnt, y.row_cnt);
		for (k = 0; k < (size_t)x.row_cnt * x.col_cnt; k++) {
			unsigned int row = (unsigned int)k / x.col_cnt,
				     col = (unsigned int)k % x.col_cnt;

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

UNIT_TEST(test_lists_are_those_of_the_blocks)
{
	struct chaos f;
	struct trace *t;
	struct stat st;
	char lists[128], chunk[128];

	begin(&f, 41);
	chaos_add_blocks(&f, 70);
	chaos_end(&f, true);
	snprintf(lists, sizeof(lists), "%s/derived.idx", f.path);
	snprintf(chunk, sizeof(chunk), "%s/chunk-000001.ebr", f.path);
	compare_lists(&f, false);
	if (!geteuid())
		assert_int_equal(chown(f.path, 4242, 4243), 0);
	for (unsigned int i = 0; i < 30; i++) {
		assert_int_equal(trace_open(&t, f.path, NULL), 0);
		trace_lists_save(t);
		trace_close(t);
		assert_int_equal(stat(lists, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		expect_owner_of(f.path, &st);
		if (i < 2)
			compare_lists(&f, true);
		file_flip(lists, (off_t)below((uint64_t)st.st_size), (uint8_t)(1u << below(8)));
		compare_lists(&f, USED_OR_NOT);
	}
	/* of a trace that is another one now */
	assert_int_equal(trace_open(&t, f.path, NULL), 0);
	trace_lists_save(t);
	trace_close(t);
	file_flip(chunk, 64 + 40, (uint8_t)(1u << below(8)));
	compare_lists(&f, false);
	gen_remove_dir(f.dir);
}

/*
 * The resets fill more than two parts. Most of them have the same instant, which is on both sides
 * of a border.
 */
UNIT_TEST(test_mm_resets_of_many_processes_are_read_by_the_part)
{
	const uint32_t first = 100000, cnt = 600;
	struct chaos f;
	struct trace *t;

	begin(&f, 43);
	chaos_add_blocks(&f, 66);
	f.m.now_ns += 1000;
	for (uint32_t i = first; i < first + cnt; i++)
		gen_new(f.g, f.m.now_ns, 0, 1, i, i, 1, "many");
	for (uint32_t i = first; i < first + cnt; i++)
		gen_exec(f.g, f.m.now_ns + 1000, 0, i, i, 0, "many", "/bin/many", "many",
			 sizeof("many"));
	for (uint32_t i = first; i < first + cnt; i++)
		gen_exit(f.g, f.m.now_ns + 2000 + i / 100, 0, i, i, 0, true, 1);
	f.m.now_ns += 100000;
	gen_slice(f.g, f.m.now_ns);
	f.edge_ns = f.m.now_ns;
	chaos_end(&f, true);
	compare_lists(&f, false);
	assert_int_equal(trace_open(&t, f.path, NULL), 0);
	assert_int_equal(trace_mm_resets_prepare(t), 0);
	assert_true(trace_mm_reset_cnt(t) >= 2 * cnt);
	trace_lists_save(t);
	trace_close(t);
	for (uint32_t i = 0; i < 5; i++)
		compare_lists(&f, true);
	gen_remove_dir(f.dir);
}

UNIT_TESTS
