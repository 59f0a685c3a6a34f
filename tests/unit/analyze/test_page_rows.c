/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The rows of a page with many sleeping threads: active threads have rows of their own, and all
 * others are added up in the rows of their names.
 */
#include "analyze/context/context.h"
#include "analyze/page/page_rows.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull

enum { BINS = 1000, BIN_NS = 10000, SLEEPERS = 520 };

static const struct page_rows_def of_processes = {
	"states", "thread_states", "process", .keys = { "upid" }, .ranked = 1,
	.values = { "running_ns", "runnable_ns", "preempted_ns", "throttled_ns", "disk_ns",
		    "uninterruptible_ns", "sleeping_ns", "stopped_ns", "unknown_ns" },
	.measured = 6, .is_sparse = true
};

/*
 * 40 and 41 run in turns; 42 runs once and ends; 41 has the same name as half of the sleeping
 * threads.
 */
static void make_crowd(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(m->g, T0, 0, 40, 40, 1, "runs");
	gen_snap(m->g, T0, 0, 41, 41, 1, "sleeps");
	gen_snap(m->g, T0, 0, 42, 42, 1, "ends");
	/* a snapshot row of such a number is of a thread that sleeps */
	for (uint32_t i = 0, tid = 101; i < SLEEPERS; i++, tid += 4)
		gen_snap(m->g, T0, 0, tid, tid, 1, i % 2 ? "sleeps" : "rests");
	gen_switch(m->g, T0 + 1 * MS, 0, 0, 40, 0);
	gen_switch(m->g, T0 + 3 * MS, 0, 40, 41, 0);
	gen_switch(m->g, T0 + 4 * MS, 0, 41, 42, 0);
	gen_exit(m->g, T0 + 5 * MS - 100, 0, 42, 42, 0, true, MS);
	gen_switch(m->g, T0 + 5 * MS, 0, 42, 40, 0);
	gen_switch(m->g, T0 + 8 * MS, 0, 40, 0, 0);
	made_finish(m, T0 + BINS * BIN_NS);
}

static int on_section(void *ctx, const char *title)
{
	return 0;
}

static int on_end(void *ctx)
{
	return 0;
}

static void find_rows(struct rows *r, struct made_trace *m, const struct page_rows_def *def,
		      size_t rows_wanted)
{
	struct row_sink sink = rows_sink(r);
	uint64_t edges[BINS + 1];
	const struct page_bins bins = { .edges = edges, .cnt = BINS + 1 };
	struct err e = { "" };

	sink.section = on_section;
	sink.end = on_end;
	for (unsigned int i = 0; i <= BINS; i++)
		edges[i] = T0 + i * BIN_NS;
	if (page_rows_put(m->a, def, &bins, &sink, rows_wanted, &e) < 0)
		fail_msg("%s", e.text);
}

/*
 * Returns true if the row is that of process upid. upid -1: the row of others with this name, or of
 * others without a name (NULL). The name of others of the command begins with w; so does the row of
 * all others without a name.
 */
static bool is_of(const struct rows *r, unsigned int row, int64_t upid, const char *name)
{
	const struct value *v = &r->values[row * r->col_cnt + rows_col(r, "upid")];

	if (upid >= 0)
		return v->type == VALUE_INT && v->i == upid;
	return name ? v->type == VALUE_TEXT && !strcmp(v->text, name) : v->type == VALUE_NULL;
}

/* The sum of a column over the rows of a process, or of others with a name, in bin, -1: in all. */
static int64_t sum_of(const struct rows *r, int64_t bin, int64_t upid, const char *name,
		      const char *column)
{
	unsigned int at = rows_col(r, "t_ns"), col = rows_col(r, column);
	int64_t sum = 0;

	for (unsigned int i = 0; i < r->row_cnt; i++)
		if ((bin < 0 || rows_int(r, i, at) == bin * BIN_NS) && is_of(r, i, upid, name))
			sum += rows_int(r, i, col);
	return sum;
}

static int64_t upid_of(const struct made_trace *m, int pid)
{
	return rows_one(m->a, "SELECT upid FROM processes WHERE pid = %d", pid);
}

UNIT_TEST(test_sleepers_are_in_the_rows_of_their_names)
{
	struct made_trace m;
	struct rows r = { 0 };
	int64_t all = 0;

	make_crowd(&m);
	find_rows(&r, &m, &of_processes, 6 * BINS);
	for (unsigned int bin = 0; bin < BINS; bin += 9) {
		bool runs = (bin >= 100 && bin < 300) || (bin >= 500 && bin < 800);
		bool sleeps = !runs && bin >= 100;

		assert_int_equal(sum_of(&r, bin, upid_of(&m, 40), NULL, "running_ns"),
				 runs * BIN_NS);
		assert_int_equal(sum_of(&r, bin, upid_of(&m, 40), NULL, "sleeping_ns"),
				 sleeps * BIN_NS);
	}
	assert_int_equal(sum_of(&r, -1, upid_of(&m, 40), NULL, "running_ns"), 5 * MS);
	assert_int_equal(sum_of(&r, -1, upid_of(&m, 101), NULL, "sleeping_ns"), 0);
	for (unsigned int bin = 0; bin < BINS; bin += 199) {
		assert_int_equal(sum_of(&r, bin, -1, "wsleeps", "sleeping_ns"),
				 SLEEPERS / 2 * BIN_NS);
		assert_int_equal(sum_of(&r, bin, -1, NULL, "sleeping_ns") +
					 sum_of(&r, bin, -1, "wrests", "sleeping_ns"),
				 SLEEPERS / 2 * BIN_NS);
	}
	for (unsigned int i = 0; i < r.row_cnt; i++)
		all += rows_cell(&r, i, "sleeping_ns");
	assert_int_equal(all, rows_one(m.a, "SELECT sum(sleeping_ns) FROM thread_states(0, %d, 0, "
				       "'none')", BINS * BIN_NS));
	assert_true(r.row_cnt < 6 * BINS);
	rows_done(&r);
	made_close(&m);
}

/*
 * The same processes have rows of their own, whether only measured values are scanned first or all.
 */
UNIT_TEST(test_both_ways_to_scan_twice)
{
	struct page_rows_def once = of_processes;
	struct made_trace m;
	struct rows two = { 0 }, one = { 0 };

	once.is_sparse = false;
	make_crowd(&m);
	find_rows(&two, &m, &of_processes, 2 * BINS);
	find_rows(&one, &m, &once, 2 * BINS);
	for (unsigned int i = 0; i < once.measured; i++)
		for (int pid = 40; pid <= 42; pid++)
			assert_int_equal(sum_of(&two, -1, upid_of(&m, pid), NULL, once.values[i]),
					 sum_of(&one, -1, upid_of(&m, pid), NULL, once.values[i]));
	assert_int_equal(sum_of(&two, -1, -1, "sleeps", "sleeping_ns"),
			 sum_of(&one, -1, -1, "sleeps", "sleeping_ns"));
	assert_int_equal(sum_of(&two, -1, -1, NULL, "sleeping_ns"),
			 sum_of(&one, -1, -1, NULL, "sleeping_ns"));
	rows_done(&two);
	rows_done(&one);
	made_close(&m);
}

UNIT_TESTS
