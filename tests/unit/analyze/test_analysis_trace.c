/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reports and tables over a small trace with answers known by hand. */
#include "analyze/analyze.h"
#include "analyze/context/context.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull

static struct made_trace known;

/* pid 100 "busy" and 200 "other" on CPU 0, memory, I/O, and a fork with pid reuse: all answers
 * known by hand. */
static void make_known(struct made_trace *f)
{
	struct gen *g;

	made_begin(f, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0, .recorder_pid = 300 });
	g = f->g;
	gen_snap(g, T0, 0, 100, 100, 1, "busy");
	gen_snap(g, T0, 0, 200, 200, 1, "other");
	gen_snap(g, T0, 0, 300, 300, 1, "recorder");
	/* CPU 0: busy 0..100 ms, other 100..150, busy 150..400 (preempted), recorder 400..410, idle
	 * ..1000 */
	gen_switch(g, T0, 0, 0, 100, 0);
	gen_switch(g, T0 + 100 * MS, 0, 100, 200, 0);
	gen_wakeup(g, T0 + 120 * MS, 0, 200, 100, 0);
	gen_switch(g, T0 + 150 * MS, 0, 200, 100, 0);
	gen_switch_more(g, T0 + 400 * MS, 0, 100, 300, WIRE_F_PREEMPT, 7 * MS, 0);
	gen_switch_more(g, T0 + 410 * MS, 0, 300, 0, 0, 12 * MS, 0);
	gen_switch(g, T0 + 500 * MS, 1, 0, 100, 0);
	gen_switch(g, T0 + 600 * MS, 1, 100, 0, 0);
	/* CPU 1: 900, a task that is hidden, 610..625, recorder ..630 */
	gen_switch(g, T0 + 610 * MS, 1, 0, 900, 0);
	gen_switch_more(g, T0 + 630 * MS, 1, 300, 0, WIRE_F_BREAK, 3 * MS, 5 * MS);
	/* slab: busy allocates 3, other frees one of them, an interrupt allocates one */
	gen_kmalloc(g, T0 + 10 * MS, 0, 100, 0x1000, 128, 0xc0de, 0);
	gen_kmalloc(g, T0 + 11 * MS, 0, 100, 0x2000, 256, 0xc0de, 0);
	gen_kmalloc(g, T0 + 12 * MS, 0, 100, 0x3000, 512, 0xc0de, 0);
	gen_kmalloc(g, T0 + 13 * MS, 0, 100, 0x4000, 64, 0xc0de, WIRE_F_IRQ);
	gen_kfree(g, T0 + 110 * MS, 0, 200, 0x2000);
	gen_kfree(g, T0 + 111 * MS, 0, 200, 0x9000);		/* from before the trace */
	/* busy grows by 300 MiB in 60 ms at 700 ms, keeps it, drops it at 950 ms */
	for (unsigned int i = 1; i <= 600; i++)
		gen_rss(g, T0 + 700 * MS + i * MS / 10, 1, 100, 100, 1, 100 + (int64_t)i * 128);
	gen_rss(g, T0 + 950 * MS, 1, 100, 100, 1, 100);
	/* two writes of busy, the later one completes first; a read issued by an unknown thread */
	gen_block(g, T0 + 20 * MS, 0, 100, WIRE_BLOCK_INSERT, 0xaaa0, 8 << 20, 0, 4096, 1);
	gen_block(g, T0 + 21 * MS, 0, 100, WIRE_BLOCK_INSERT, 0xbbb0, 8 << 20, 8, 8192, 1);
	gen_block(g, T0 + 22 * MS, 0, 100, WIRE_BLOCK_ISSUE, 0xaaa0, 8 << 20, 0, 4096, 1);
	gen_block(g, T0 + 23 * MS, 0, 100, WIRE_BLOCK_ISSUE, 0xbbb0, 8 << 20, 8, 8192, 1);
	gen_block(g, T0 + 30 * MS, 0, 200, WIRE_BLOCK_COMPLETE, 0xbbb0, 8 << 20, 8, 8192, 1);
	gen_block(g, T0 + 40 * MS, 0, 200, WIRE_BLOCK_COMPLETE, 0xaaa0, 8 << 20, 0, 4096, 1);
	gen_slice(g, T0 + 500 * MS);
	/* pid 400 twice: two processes */
	gen_new(g, T0 + 501 * MS, 0, 100, 400, 400, 100, "first");
	gen_switch(g, T0 + 510 * MS, 0, 0, 400, 0);
	gen_exit(g, T0 + 519 * MS, 0, 400, 400, 0, true, 10 * MS);
	gen_switch(g, T0 + 520 * MS, 0, 400, 0, 0);
	gen_new(g, T0 + 530 * MS, 0, 100, 400, 400, 100, "second");
	gen_switch(g, T0 + 540 * MS, 0, 0, 400, 0);
	gen_switch(g, T0 + 560 * MS, 0, 400, 0, 0);
	gen_slice(g, T0 + 1000 * MS);
	made_open(f);
}

static int setup(void **state)
{
	make_known(&known);
	return 0;
}

static int teardown(void **state)
{
	made_close(&known);
	return 0;
}

/* ---- known answers ---- */

static void expect_stolen(int64_t from_ns, int64_t to_ns, const char *comm, int64_t want_ns)
{
	char sql[256];
	struct rows r;

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(steal_ns), 0) FROM cpu_usage(%lld, %lld) JOIN threads "
		 "USING (utid) WHERE comm = '%s'", (long long)from_ns, (long long)to_ns, comm);
	rows_sql(&r, known.a, sql);
	assert_int_equal(rows_int(&r, 0, 0), want_ns);
	rows_done(&r);
}

UNIT_TEST(test_steal_is_the_last_part_of_a_stay_and_never_more)
{
	expect_stolen(0, 1000 * MS, "busy", 7 * MS);
	expect_stolen(0, 393 * MS, "busy", 0);
	expect_stolen(0, 395 * MS, "busy", 2 * MS);
	expect_stolen(395 * MS, 1000 * MS, "busy", 5 * MS);
	expect_stolen(400 * MS, 1000 * MS, "busy", 0);
	expect_stolen(0, 1000 * MS, "recorder", 10 * MS);
	expect_stolen(0, 500 * MS, "[unknown]", 2 * MS);
	/* from the recorder, or from the hidden task before it */
	expect_stolen(0, 1000 * MS, "[unknown]", 5 * MS);
}

/* Pseudo tasks and numbers after the last task have no row. */
UNIT_TEST(test_a_task_has_a_row_and_nothing_else_has)
{
	const struct dense_ids *d = &known.a->ids;

	assert_null(dense_thread_row(d, 0));
	assert_null(dense_thread_row(d, EVENT_ID_FIRST - 1));
	assert_non_null(dense_thread_row(d, EVENT_ID_FIRST));
	assert_non_null(dense_thread_row(d, d->thread_cnt - 1));
	assert_null(dense_thread_row(d, d->thread_cnt));
	assert_null(dense_process_row(d, 0));
	assert_null(dense_process_row(d, EVENT_ID_FIRST - 1));
	assert_non_null(dense_process_row(d, EVENT_ID_FIRST));
	assert_non_null(dense_process_row(d, d->process_cnt - 1));
	assert_null(dense_process_row(d, d->process_cnt));
}

UNIT_TEST(test_report_cpu_known_answers)
{
	struct report_request q = made_request(&known, "cpu");
	struct rows r;
	unsigned int i;

	rows_report(&r, known.a, &q);
	assert_string_equal(r.names[0], "pid");
	assert_string_equal(r.names[1], "comm");
	i = rows_find(&r, "comm", "busy");
	assert_int_equal(i, 0);		/* most first */
	rows_cells(&r, i, "oncpu_ns switches preempted complete", 450 * MS, 3, 1, 1);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "other"), "oncpu_ns"), 50 * MS);
	/* a pid used twice is two processes */
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "first"), "oncpu_ns"), 10 * MS);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "second"), "oncpu_ns"), 20 * MS);
	/* neither the recorder nor idle; [unknown] has the time of a task that is hidden */
	assert_int_equal(r.row_cnt, 5);
	rows_done(&r);
	/* the window cuts slices at the nanosecond */
	q.from_ns = T0 + 50 * MS + 1;
	q.to_ns = T0 + 100 * MS + 7;
	rows_report(&r, known.a, &q);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "busy"), "oncpu_ns"), 50 * MS - 1);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "other"), "oncpu_ns"), 7);
	rows_done(&r);
}

UNIT_TEST(test_report_cpu_filters_and_options)
{
	static const uint32_t pids[] = { 400 };
	struct report_request q = made_request(&known, "cpu");
	struct rows r;

	q.with_recorder = true;
	rows_report(&r, known.a, &q);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "recorder"), "oncpu_ns"), 15 * MS);
	rows_done(&r);
	q.with_idle = true;
	rows_report(&r, known.a, &q);
	/* idle and all others fill two CPUs for a second */
	rows_want(known.a, 2000 * MS, "SELECT sum(oncpu_ns) FROM cpu_usage(0, %llu)", 1000 * MS);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "[idle]"), "oncpu_ns"),
			 (2000 - 560) * MS);
	rows_done(&r);
	q = made_request(&known, "cpu");
	q.pids = pids;
	q.pid_cnt = 1;
	rows_report(&r, known.a, &q);
	assert_int_equal(r.row_cnt, 2);
	rows_done(&r);
	q = made_request(&known, "cpu");
	q.comm = "b?s*";
	q.limit = 5;
	rows_report(&r, known.a, &q);
	assert_int_equal(r.row_cnt, 1);
	rows_done(&r);
	q = made_request(&known, "cpu");
	q.sort = "-oncpu_ns";
	q.limit = 2;
	rows_report(&r, known.a, &q);
	assert_int_equal(r.row_cnt, 2);
	assert_int_equal(rows_find(&r, "comm", "first"), 0);
	rows_done(&r);
}

UNIT_TEST(test_report_alloc_known_answers)
{
	struct report_request q = made_request(&known, "alloc");
	struct rows r;
	unsigned int i, slab = 0, rss = 0, irq = 0, unknown = 0;

	rows_report(&r, known.a, &q);
	for (i = 0; i < r.row_cnt; i++) {
		const char *comm = rows_text(&r, i, rows_col(&r, "comm")),
			   *source = rows_text(&r, i, rows_col(&r, "source"));

		if (!strcmp(comm, "busy") && !strcmp(source, "slab"))
			slab = i + 1;
		if (!strcmp(comm, "busy") && !strcmp(source, "rss"))
			rss = i + 1;
		if (!strcmp(comm, "[irq]") && !strcmp(source, "slab"))
			irq = i + 1;
		if (!strcmp(comm, "[unknown]") && !strcmp(source, "slab"))
			unknown = i + 1;
	}
	assert_true(slab && rss && irq && unknown);
	assert_int_equal(rows_cell(&r, slab - 1, "allocs"), 3);
	assert_int_equal(rows_cell(&r, slab - 1, "frees"), 1);	/* freed by another process */
	rows_cells(&r, slab - 1, "alloc_bytes free_bytes peak_bytes peak_ns", 896, 256, 896,
		   12 * MS);
	assert_int_equal(rows_cell(&r, irq - 1, "alloc_bytes"), 64);
	rows_cells(&r, unknown - 1, "frees free_bytes", 1, 0);
	/* baseline of 111 pages (100 anon, 10 file, 1 shmem) + 300 MiB */
	rows_cells(&r, rss - 1, "peak_bytes peak_ns alloc_bytes net_bytes", 300 * MIB + 111 * 4096,
		   760 * MS, 300 * MIB, 0);
	assert_int_equal(rows_cell(&r, rss - 1, "now_bytes"), 111 * 4096);
	rows_done(&r);
	/* a window in the middle: the level at its beginning is part of the peak */
	q.from_ns = T0 + 800 * MS;
	q.to_ns = T0 + 900 * MS;
	rows_report(&r, known.a, &q);
	i = rows_find(&r, "comm", "busy");
	assert_string_equal(rows_text(&r, i, rows_col(&r, "source")), "rss");
	rows_cells(&r, i, "allocs peak_bytes peak_ns", 0, 300 * MIB + 111 * 4096, 800 * MS);
	rows_done(&r);
}

UNIT_TEST(test_report_spikes_finds_exactly_the_one)
{
	struct report_request q = made_request(&known, "spikes");
	struct rows r;

	rows_report(&r, known.a, &q);
	assert_int_equal(r.row_cnt, 1);
	assert_string_equal(rows_text(&r, 0, rows_col(&r, "comm")), "busy");
	assert_string_equal(rows_text(&r, 0, rows_col(&r, "source")), "rss");
	rows_cells(&r, 0, "start_ns dur_ns bytes baseline_bytes", 700 * MS + MS / 10, 599 * MS / 10,
		   300 * MIB, 111 * 4096);
	rows_done(&r);
	q.spike_min_bytes = 400 * MIB;
	rows_report(&r, known.a, &q);
	assert_int_equal(r.row_cnt, 0);
	rows_done(&r);
	q.spike_min_bytes = 0;
	q.from_ns = T0 + 701 * MS;	/* it begins before */
	rows_report(&r, known.a, &q);
	assert_int_equal(r.row_cnt, 0);
	rows_done(&r);
}

/*
 * 20 MiB in 20 ms, five times: "close" 90 ms apart, "apart" 120 ms, as slab objects and as resident
 * memory (which "close" gives back once). A small allocation lies between the first two.
 */
static void make_bursts(struct made_trace *f)
{
	static const unsigned int pauses[] = { 90, 120 };
	struct gen *g;
	int64_t level[2] = { 100, 100 };
	unsigned int i, k, p;

	made_begin(f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	g = f->g;
	gen_snap(g, T0, 0, 100, 100, 1, "close");
	gen_snap(g, T0, 0, 200, 200, 1, "apart");
	for (p = 0; p < 2; p++) {
		uint32_t pid = 100 + p * 100;

		for (i = 0; i < 5; i++) {
			uint64_t t = T0 + 100 * MS + i * (20 + pauses[p]) * MS;

			for (k = 0; k <= 40; k++, level[p] += 128) {
				gen_rss(g, t + k * MS / 2, 0, pid, pid, 1, level[p]);
				gen_kmalloc(g, t + k * MS / 2, 0, pid,
					    0x100000 + ((p * 5 + i) * 64 + k) * 0x100000ull,
					    MIB / 2, 0xf00, 0);
			}
			if (i == 0)
				gen_kmalloc(g, t + 60 * MS, 0, pid, 0x100 + p * 0x100, 64, 0xf00,
					    0);
			if (i == 2 && !p)
				gen_rss(g, t + 60 * MS, 0, pid, pid, 1, level[p] -= 30 * 256);
		}
	}
	gen_slice(g, T0 + 1000 * MS);
	made_open(f);
}

/* A child of 116 MiB calls exec; another shares 400 MiB, and gets 100 MiB in 50 ms of its own. */
UNIT_TEST(test_a_short_life_has_spikes_and_a_fork_has_none)
{
	const int64_t mib = 256;	/* pages */
	struct made_trace f;
	struct gen *g;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	g = f.g;
	gen_snap(g, T0, 0, 100, 100, 1, "parent");
	gen_new(g, T0 + 10 * MS, 0, 100, 200, 200, 100, "execs");
	gen_rss(g, T0 + 10 * MS, 0, 100, 200, 0, 2 * mib);
	gen_rss(g, T0 + 10 * MS, 0, 100, 200, 1, 114 * mib);
	gen_rss(g, T0 + 11 * MS, 0, 200, 200, 1, 1 * mib);
	gen_exec(g, T0 + 12 * MS, 0, 200, 200, 0, "true", "/bin/true", "true", 5);
	gen_rss(g, T0 + 13 * MS, 0, 200, 200, 1, 2 * mib);
	gen_exit(g, T0 + 14 * MS, 0, 200, 200, 0, true, 0);
	gen_new(g, T0 + 20 * MS, 0, 100, 300, 300, 100, "grows");
	gen_rss(g, T0 + 20 * MS, 0, 100, 300, 1, 400 * mib);
	for (int i = 1; i <= 100; i++)
		gen_rss(g, T0 + 20 * MS + (uint64_t)i * MS / 2, 0, 300, 300, 1, (400 + i) * mib);
	gen_exit(g, T0 + 80 * MS, 0, 300, 300, 9, true, 0);
	gen_slice(g, T0 + 1000 * MS);
	made_open(&f);
	rows_want(f.a, 1, "SELECT count(*) FROM spikes()");
	rows_want(f.a, 100 * MIB, "SELECT bytes FROM spikes() JOIN processes USING (upid) WHERE "
		  "comm = 'grows'");
	rows_want(f.a, 4 * MIB, "SELECT rss_peak_bytes FROM memory_levels() JOIN processes USING "
		  "(upid) WHERE pid = 200");
#define USAGE(pid, what)                                                                           \
	rows_one(f.a, "SELECT " what " FROM alloc_usage() JOIN processes USING (upid) "            \
		      "WHERE source = 'rss' AND pid = " #pid)
	assert_int_equal(USAGE(300, "alloc_bytes"), 100 * MIB);
	assert_int_equal(USAGE(300, "exit_bytes"), 100 * MIB);
	assert_int_equal(USAGE(300, "peak_bytes"), 500 * MIB);
	assert_int_equal(USAGE(200, "alloc_bytes - exit_bytes - free_bytes"), 0);
	assert_int_equal(USAGE(200, "alloc_bytes"), 4 * MIB);	/* of the new program alone */
#undef USAGE
	made_close(&f);
}

/* Rises 1 MiB every 5 ms from `from` to `to`, in MS. */
static void gen_rise(struct gen *g, uint32_t pid, uint64_t from, uint64_t to, int64_t pages)
{
	for (uint64_t t = from; t < to; t += 5)
		gen_rss(g, T0 + t * MS, 0, pid, pid, 1, pages += 256);
}

/*
 * "long" is 3 s old when it has got 500 MiB within 2.5 s, from its 0.5 s on. Five processes "many"
 * get 11 MiB each at 3.1 s, besides what they begin with; "old" gets 12 MiB then.
 */
UNIT_TEST(test_a_spike_lasts_as_long_as_its_burst_and_may_be_of_many)
{
	struct made_trace f;
	struct gen *g;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	g = f.g;
	gen_snap(g, T0, 0, 100, 100, 1, "long");
	gen_snap(g, T0, 0, 101, 101, 1, "old");
	gen_rise(g, 100, 500, 1000, 100);
	gen_slice(g, T0 + 1000 * MS);
	gen_rise(g, 100, 1000, 2000, 100 + 100 * 256);
	gen_slice(g, T0 + 2000 * MS);
	gen_rise(g, 100, 2000, 3000, 100 + 300 * 256);
	gen_slice(g, T0 + 3000 * MS);
	for (uint32_t pid = 200; pid < 205; pid++)
		gen_new(g, T0 + 3050 * MS, 0, 101, pid, pid, 101, "many");
	for (unsigned int i = 1; i <= 12; i++)
		for (uint32_t pid = 200; pid <= 205; pid++)
			gen_rss(g, T0 + (3100 + i) * MS, 0, pid == 205 ? 101 : pid,
				pid == 205 ? 101 : pid, 1, (pid == 205 ? 100 : 0) + i * 256);
	gen_slice(g, T0 + 4000 * MS);
	made_open(&f);
	rows_want(f.a, 1, "SELECT count(*) FROM spikes()");
	rows_want(f.a, 500 * MIB, "SELECT bytes FROM spikes()");
	rows_want(f.a, 2495 * MS, "SELECT dur_ns FROM spikes()");
#define BY(key, what)                                                                              \
	rows_one(f.a, "SELECT " what " FROM spikes(0, 1 << 40, 0, 0, 'rss', '" key "')")
	assert_int_equal(BY("comm", "count(*)"), 2);
	assert_int_equal(BY("comm", "sum(bytes * (name = 'many'))"), 55 * MIB);
	assert_int_equal(BY("comm", "count(upid)"), 0);
	assert_int_equal(BY("tree", "sum(bytes * (name = '101 old'))"), 67 * MIB);
	assert_int_equal(BY("none", "count(*)"), 2);
	assert_int_equal(BY("none", "min(bytes)"), 67 * MIB);
#undef BY
	/* each burst has one row: that of a group in which no process has half of it */
#define ROW(by, what)                                                                              \
	rows_one(f.a, "SELECT " what " FROM memory_spikes(0, 1 << 40, 0, 0, '" by "')")
	assert_int_equal(ROW("comm", "count(*)"), 2);
	assert_int_equal(ROW("comm", "sum(bytes * (kind = 'group' AND name = 'many'))"), 55 * MIB);
	assert_int_equal(ROW("comm", "sum(bytes * (kind = 'process'))"), 500 * MIB);
	assert_int_equal(ROW("tree", "count(*)"), 2);
	assert_int_equal(ROW("tree", "sum(bytes * (name = '101 old'))"), 67 * MIB);
#undef ROW
	made_close(&f);
}

/*
 * Sources that show one burst: 40 MiB of heap, of which 30 become resident, in pages; a churn of
 * 200 MiB of heap with 20 MiB resident is two rows, and so are 60 MiB of pages beside 20 resident.
 */
UNIT_TEST(test_a_burst_that_several_sources_show_is_one_spike)
{
	struct report_request q;
	struct made_trace f;
	struct rows r;
	struct gen *g;
	unsigned int t, i;

	made_begin(&f, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	g = f.g;
	gen_snap(g, T0, 0, 100, 100, 1, "both");
	gen_snap(g, T0, 0, 101, 101, 1, "churn");
	gen_snap(g, T0, 0, 102, 102, 1, "cache");
	for (t = 1; t <= 10; t++) {
		gen_heap(g, T0 + (100 + t) * MS, 0, 100, 0x1000000ull * t, 4 * MIB);
		for (unsigned int k = 0; k < 3; k++)
			gen_page_alloc(g, T0 + (100 + t) * MS + k, 0, 100, t * 4096 + k * 256, 8,
				       0);
		gen_rss(g, T0 + (100 + t) * MS + 10, 0, 100, 100, 1, 100 + t * 3 * 256);
	}
	for (t = 1; t <= 10; t++) {
		gen_heap(g, T0 + (400 + t) * MS, 0, 101, 0x100000000ull, 20 * MIB);
		gen_rss(g, T0 + (400 + t) * MS + 10, 0, 101, 101, 1, 100 + t * 2 * 256);
		gen_heap(g, T0 + (400 + t) * MS + 20, 0, 101, 0x100000000ull, 0);
	}
	for (t = 1; t <= 10; t++) {
		for (unsigned int k = 0; k < 6; k++)
			gen_page_alloc(g, T0 + (700 + t) * MS + k, 0, 102,
				       1000000 + t * 4096 + k * 256, 8, 0);
		gen_rss(g, T0 + (700 + t) * MS + 10, 0, 102, 102, 1, 100 + t * 2 * 256);
	}
	gen_slice(g, T0 + 1000 * MS);
	/* five compilers with one burst each, one after the other */
	for (uint32_t pid = 200; pid < 205; pid++) {
		gen_snap(g, T0 + 1000 * MS, 0, pid, pid, 1, "cc1");
		gen_rss(g, T0 + 1001 * MS, 0, pid, pid, 1, 0);
	}
	for (uint32_t pid = 200; pid < 205; pid++)
		for (t = 1; t <= 10; t++)
			gen_rss(g, T0 + (1000 + (pid - 199) * 150 + t) * MS, 0, pid, pid, 1,
				t * 2 * 256 + pid);
	gen_slice(g, T0 + 2000 * MS);
	made_open(&f);
#define ROWS(comm, what)                                                                           \
	rows_one(f.a, "SELECT " what " FROM memory_spikes() WHERE name = '" comm "'")
	assert_int_equal(ROWS("both", "count(*)"), 1);
	assert_int_equal(ROWS("both", "bytes * (source = 'rss') * (also = 'page,heap')"), 30 * MIB);
	assert_int_equal(ROWS("churn", "count(*) * (count(also) = 0)"), 2);
	assert_int_equal(ROWS("churn", "sum(bytes * (source = 'heap'))"), 200 * MIB);
	assert_int_equal(ROWS("cache", "count(*) * (count(also) = 0)"), 2);
	assert_int_equal(ROWS("cache", "sum(bytes * (source = 'page'))"), 60 * MIB);
	assert_int_equal(ROWS("cc1", "count(*) * (sum(kind = 'process') = 5)"), 5);
	rows_want(f.a, 10, "SELECT count(*) FROM memory_spikes()");
#undef ROWS
	/* a table has one row of the five */
	q = made_request(&f, "spikes");
	rows_report(&r, f.a, &q);
	assert_int_equal(r.row_cnt, 10);
	rows_done(&r);
	q.merge_alike = true;
	rows_report(&r, f.a, &q);
	assert_int_equal(r.row_cnt, 6);
	for (i = 0; strcmp(rows_text(&r, i, rows_col(&r, "comm")), "cc1"); i++)
		;
	assert_int_equal(rows_cell(&r, i, "pid"), 204);
	assert_string_equal(rows_text(&r, i, rows_col(&r, "cause")),
			    "anon, and 4 other processes (--limit 0)");
	rows_done(&r);
	made_close(&f);
}

UNIT_TEST(test_bursts_without_a_longer_pause_are_one_spike)
{
	struct made_trace f;

	make_bursts(&f);
#define SPIKES(what, comm, source)                                                             \
	rows_one(f.a,                                                                          \
		 "SELECT " what " FROM spikes() AS s JOIN processes USING (upid) WHERE comm = '" \
		 comm "' AND source = '" source "'")
	assert_int_equal(SPIKES("count(*)", "close", "slab"), 1);
	assert_int_equal(SPIKES("count(*)", "close", "rss"), 1);
	assert_int_equal(SPIKES("count(*)", "apart", "slab"), 5);
	assert_int_equal(SPIKES("count(*)", "apart", "rss"), 5);
	assert_int_equal(SPIKES("s.start_ns", "close", "slab"), 100 * MS);
	assert_int_equal(SPIKES("dur_ns", "close", "slab"), (4 * 110 + 20) * MS);
	/* everything between the first and the last event, the small one too */
	assert_int_equal(SPIKES("bytes", "close", "slab"), 5 * 41 * (MIB / 2) + 64);
	/* the highest rise of the level: 30 MiB were freed during the burst */
	assert_int_equal(SPIKES("bytes", "close", "rss"),
			 rows_one(f.a,
			     "SELECT peak_bytes - 111 * 4096 FROM alloc_usage() JOIN processes "
			     "USING (upid) WHERE comm = 'close' AND source = 'rss'"));
	/* a window that begins inside of it */
	rows_want(f.a, 0, "SELECT count(*) FROM spikes(400000000) JOIN processes USING (upid) "
		  "WHERE comm = 'close'");
	made_close(&f);
}

UNIT_TEST(test_report_io_known_answers)
{
	struct report_request q = made_request(&known, "io");
	struct rows r;

	rows_report(&r, known.a, &q);
	assert_int_equal(r.row_cnt, 1);
	assert_string_equal(rows_text(&r, 0, rows_col(&r, "comm")), "busy");
	assert_string_equal(rows_text(&r, 0, rows_col(&r, "op")), "write");
	rows_cells(&r, 0, "ios bytes lat_p50_ns lat_max_ns", 2, 12288, 9 * MS, 20 * MS);
	rows_done(&r);
	q.to_ns = T0 + 40 * MS;		/* the second ends at its very end: outside */
	rows_report(&r, known.a, &q);
	assert_int_equal(rows_cell(&r, 0, "ios"), 1);
	rows_done(&r);
	rows_want(known.a, 2, "SELECT count(*) FROM block_requests WHERE owner = 'busy'");
	rows_want(known.a, 2 * MS, "SELECT queue_ns FROM block_requests WHERE bytes = 4096");
	rows_want(known.a, 18 * MS, "SELECT device_ns FROM block_requests WHERE bytes = 4096");
}

UNIT_TEST(test_sched_slices_know_their_wait)
{
	rows_want(known.a, 30 * MS, "SELECT wait_ns FROM sched_slices WHERE start_ns = 150000000");
	rows_want(known.a, 250 * MS, "SELECT dur_ns FROM sched_slices WHERE start_ns = 150000000");
	rows_want(known.a, 1, "SELECT count(*) FROM sched_slices WHERE start_ns = 150000000 AND "
		  "end_reason = 'preempted'");
	/* preempted at 400, runs again at 500, on the other CPU */
	rows_want(known.a, 100 * MS, "SELECT wait_ns FROM sched_slices WHERE start_ns = 500000000 "
		  "AND cpu = 1");
}

UNIT_TEST(test_allocations_pair_with_frees)
{
	rows_want(known.a, 4, "SELECT count(*) FROM allocations WHERE source = 'slab'");
	rows_want(known.a, 99 * MS, "SELECT life_ns FROM allocations WHERE addr = 8192");
	rows_want(known.a, 1, "SELECT count(*) FROM allocations a JOIN threads t ON t.utid = "
		  "a.free_utid WHERE a.addr = 8192 AND t.comm = 'other'");
	rows_want(known.a, 3, "SELECT count(*) FROM allocations WHERE free_ns IS NULL");
	rows_want(known.a, 2, "SELECT count(*) FROM allocations WHERE alloc_ns >= 11000000 AND "
		  "alloc_ns < 13000000");
}

/*
 * The switch of 8 ms is stored in the block that begins at 10 ms. It decides which thread has the
 * CPU from 8 ms on.
 */
UNIT_TEST(test_a_late_switch_goes_before_the_keyframe)
{
	static const char sql[] = "SELECT coalesce(sum(oncpu_ns), 0) FROM cpu_usage(0, 20000000) "
				  "JOIN threads USING (utid) WHERE tid = %d";
	struct made_trace m;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(m.g, T0, 0, 100, 100, 1, "first");
	gen_snap(m.g, T0, 0, 200, 200, 1, "late");
	gen_switch(m.g, T0 + 2 * MS, 0, 0, 100, 0);
	gen_slice(m.g, T0 + 10 * MS);
	gen_switch(m.g, T0 + 8 * MS, 0, 100, 200, 0);
	gen_switch(m.g, T0 + 15 * MS, 0, 200, 0, 0);
	made_finish(&m, T0 + 20 * MS);
	rows_want(m.a, 6 * MS, sql, 100);
	rows_want(m.a, 7 * MS, sql, 200);
	made_close(&m);
}

UNIT_TESTS_IN(setup, teardown)
