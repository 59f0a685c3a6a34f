/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Memory that processes held when they ended: alloc and leaks agree, also on how it was released.
 */
#include "analyze/analyze.h"
#include "model/mem_levels.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull
#define SLAB 0xffff888000000000ull

static struct made_trace made;

/*
 * 50 allocates 5 heap objects, frees 2 and ends; it keeps 3 slab objects of one call site, 1 with a
 * stack. 60 holds 3 heap objects when it calls exec, and 1 of the new program until the end.
 */
static int setup(void **state)
{
	static const uint64_t frames[] = { 0xffffffff81000000ull, 0x7f0000 };
	struct gen *g;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0,
						.sources = "alloc.heap,alloc.slab,alloc.rss,"
								   "alloc.page" });
	g = made.g;
	gen_snap(g, T0, 0, 40, 40, 1, "parent");
	gen_snap_full(g, T0 + MS, 45, 45, 40, T0 - 1, "older",
		      (const int64_t[4]){ 10, 100, 9, 5 }, 1000, 0, 0, false);
	gen_new(g, T0 + 1 * MS, 0, 40, 50, 50, 40, "keeper");
	gen_new(g, T0 + 1 * MS, 0, 40, 60, 60, 40, "changer");
	gen_rss(g, T0 + 2 * MS, 0, 50, 50, 1, 0);	/* nothing is inherited */
	gen_rss(g, T0 + 2 * MS, 0, 50, 50, 1, 100);
	for (unsigned int i = 0; i < 5; i++)
		gen_heap(g, T0 + 3 * MS + i, 0, 50, 0x1000 * (i + 1), 1000);
	for (unsigned int i = 0; i < 3; i++)
		gen_heap(g, T0 + 4 * MS + i, 0, 60, 0x1000 * (i + 1), 200);
	for (unsigned int i = 0; i < 3; i++)
		gen_kmalloc(g, T0 + 5 * MS + i, 0, 50, SLAB + 512 * i, 512, 0x81000, 0);
	gen_stack(g, T0 + 5 * MS + 2, 0, 50, WIRE_KMALLOC, SLAB + 1024, 512, frames, 1, 1);
	gen_rss(g, T0 + 6 * MS, 0, 50, 50, 1, 60);
	for (unsigned int i = 0; i < 2; i++)
		gen_heap(g, T0 + 7 * MS + i, 0, 50, 0x1000 * (i + 1), 0);
	gen_exec(g, T0 + 8 * MS, 0, 60, 60, 0, "changed", "/changed", "changed", 8);
	gen_heap(g, T0 + 9 * MS, 0, 60, 0x1000, 70);
	gen_exit(g, T0 + 10 * MS, 0, 50, 50, 0, true, MS);
	/* memory that the exec and the exit released cannot be freed again */
	gen_heap(g, T0 + 11 * MS, 0, 50, 0x3000, 0);
	gen_heap(g, T0 + 11 * MS, 0, 60, 0x2000, 0);
	/* an order that no kernel has is damage, and frees nothing */
	gen_page_alloc(g, T0 + 12 * MS, 0, 40, 0x100, 0, 0);
	gen_page_free(g, T0 + 13 * MS, 0, 40, 0x100, 70);
	gen_slice(g, T0 + 20 * MS);
	made_open(&made);
	return 0;
}

static int teardown(void **state)
{
	made_close(&made);
	return 0;
}

static void check_alloc(int64_t pid, const char *source, const int64_t wanted[7])
{
	static const char *const columns[] = { "allocs", "frees", "alloc_bytes", "free_bytes",
					       "exit_bytes", "net_bytes", "now_bytes" };

	for (unsigned int i = 0; i < 7; i++)
		rows_want(made.a, wanted[i], "SELECT sum(%s) FROM alloc_usage(0, 20000000, 0, "
			  "'process') AS u JOIN processes USING (upid) WHERE pid = %lld AND source "
			  "= '%s'", columns[i], (long long)pid, source);
}

UNIT_TEST(test_what_an_exit_gives_back_is_not_freed)
{
	check_alloc(50, "heap", (const int64_t[]){ 5, 2, 5000, 2000, 3000, 0, 0 });
	check_alloc(50, "rss", (const int64_t[]){ 1, 1, 409600, 163840, 245760, 0, 0 });
	check_alloc(50, "slab", (const int64_t[]){ 3, 0, 1536, 0, 0, 1536, 1536 });
	check_alloc(60, "heap", (const int64_t[]){ 4, 0, 670, 0, 600, 70, 70 });
	check_alloc(40, "page", (const int64_t[]){ 1, 0, 4096, 0, 0, 4096, 4096 });
	/* a window before the exit, and one with nothing but it */
	rows_want(made.a, 3000 + 70, "SELECT sum(net_bytes) FROM alloc_usage(0, 10000000, 0, "
		  "'none') WHERE source = 'heap'");
	rows_want(made.a, 3000, "SELECT -sum(net_bytes) FROM alloc_usage(10000000, 20000000, 0, "
		  "'none') WHERE source = 'heap'");
}

UNIT_TEST(test_pairs_are_the_same_in_every_answer)
{
	static const char *const sources[] = { "heap", "slab", "page" };
	static const int64_t freed[] = { 2, 0, 0 };

	for (unsigned int i = 0; i < 3; i++) {
		rows_want(made.a, freed[i], "SELECT sum(frees) FROM alloc_usage(0, 20000000, 0, "
			  "'process') WHERE source = '%s' AND upid >= 16", sources[i]);
		rows_want(made.a, freed[i], "SELECT count(free_ns) FROM allocations(20000000) "
			  "WHERE source = '%s'", sources[i]);
		rows_want(made.a, freed[i], "SELECT sum(freed) FROM lifetime_usage(0, 20000000) "
			  "WHERE source = '%s'", sources[i]);
	}
}

static struct rows leaks(enum report_by by)
{
	struct report_request q = { .view = "leaks", .by = 1u << by, .from_ns = T0,
				    .to_ns = T0 + 20 * MS };
	struct rows r;

	rows_report(&r, made.a, &q);
	return r;
}

UNIT_TEST(test_leaks_say_what_outlived_its_process)
{
	struct rows r = leaks(REPORT_BY_PROCESS);
	int64_t bytes[3] = { 0 }, slab = 0;

	for (unsigned int i = 0; i < r.row_cnt; i++) {
		const char *held = rows_text(&r, i, rows_col(&r, "held"));
		bool is_heap = !strcmp(rows_text(&r, i, rows_col(&r, "source")), "heap");

		if (is_heap)
			bytes[!strcmp(held, "live") ? 0 : !strcmp(held, "at exit") ? 1 : 2] +=
				rows_cell(&r, i, "bytes");
		else if (!strcmp(held, "after exit"))
			slab += rows_cell(&r, i, "bytes");
	}
	assert_int_equal(bytes[0], 70);
	assert_int_equal(bytes[1], 3000 + 600);	/* as exit_bytes of alloc_usage() */
	assert_int_equal(bytes[2], 0);
	assert_int_equal(slab, 1536);
	rows_done(&r);
}

UNIT_TEST(test_leaks_by_site_have_one_row_per_call_site)
{
	struct rows r = leaks(REPORT_BY_SITE);
	unsigned int i = rows_find(&r, "source", "slab");

	assert_int_equal(r.row_cnt, 3);		/* no heap call site has a name: all are one */
	assert_int_equal(rows_cell(&r, i, "objects"), 3);
	assert_true(*rows_text(&r, i, rows_col(&r, "kernel_stack")));
	i = rows_find(&r, "source", "heap");
	assert_int_equal(rows_cell(&r, i, "bytes"), 3670);
	assert_string_equal(rows_text(&r, i, rows_col(&r, "held")), "at exit, live");
	rows_done(&r);
}

UNIT_TEST(test_levels_are_what_alloc_has_now)
{
	static const char wanted[] = "SELECT coalesce(sum(rss_bytes), 0) FROM memory_levels(0, "
				     "20000000, 0, 'process') JOIN processes USING (upid) "
				     "WHERE pid = %d";
	static const struct {
		int pid;
		int64_t pages;
	} known[] = { { 40, 111 }, { 45, 115 }, { 50, 0 } };

	for (unsigned int i = 0; i < 3; i++) {
		rows_want(made.a, known[i].pages * 4096, wanted, known[i].pid);
		rows_want(made.a, known[i].pages * 4096, "SELECT sum(now_bytes) FROM "
			  "alloc_usage(0, 20000000, 0, 'process') JOIN processes USING (upid) "
			  "WHERE pid = %d AND source = 'rss'", known[i].pid);
	}
}

/* A heap object from [0x55551234] = xmalloc, whose caller is at 0x555513xx or 0x555514xx. */
static void add_called(struct gen *g, uint64_t ts, uint64_t addr, uint64_t bytes, bool is_churner)
{
	const uint64_t frames[] = { 0x55551234, is_churner ? 0x55551410 : 0x55551310 };

	gen_heap(g, ts, 0, 50, addr, bytes);
	gen_stack(g, ts, 0, 50, WIRE_HEAP_ALLOC, addr, bytes, frames, 0, 2);
}

/*
 * The keeper holds all of its objects, 100 bytes per ms; the churner replaces one of 50,000 bytes
 * every ms, and has one from the first one on. Both call the allocator through a wrapper.
 */
UNIT_TEST(test_growth_names_who_keeps_and_not_who_churns)
{
	static const char *const symbols[16] = { [2] = "xmalloc", [3] = "keeper", [4] = "churner" };
	struct made_trace m;
	struct report_request q;
	struct rows r;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .sites = true,
					     .symbols = symbols,
					     .sources = "alloc.heap,alloc.stacks" });
	gen_snap(m.g, T0, 0, 50, 50, 1, "worker");
	for (unsigned int i = 0; i < 40; i++) {
		uint64_t at = T0 + i * MS + 1;

		if (i)
			gen_heap(m.g, at + 1, 0, 50, 0x1000000, 0);
		add_called(m.g, at + 2, 0x1000000, 50000, true);
		add_called(m.g, at + 3, 0x2000 + 128 * i, 100, false);
	}
	made_finish(&m, T0 + 40 * MS);
	q = made_request(&m, "growth");
	q.from_ns = T0 + 20 * MS;
	rows_report(&r, m.a, &q);
	assert_int_equal(r.row_cnt, 1);
	assert_int_equal(rows_cell(&r, 0, "grown_bytes"), 2000);
	assert_non_null(strstr(rows_text(&r, 0, rows_col(&r, "call_site")), "keeper"));
	assert_int_equal(rows_cell(&r, 0, "kept_bytes"), 2000);
	rows_done(&r);
	/* of the whole trace, the churner's object is more than the keeper's */
	q.from_ns = T0;
	rows_report(&r, m.a, &q);
	assert_non_null(strstr(rows_text(&r, 0, rows_col(&r, "call_site")), "churner"));
	rows_done(&r);
	q.view = "leaks";
	q.by = 1u << REPORT_BY_SITE;
	rows_report(&r, m.a, &q);
	assert_int_equal(r.row_cnt, 2);
	assert_int_equal(rows_cell(&r, 0, "bytes"), 50000);
	assert_int_equal(rows_cell(&r, 1, "bytes"), 4000);
	rows_done(&r);
	rows_want(m.a, 0, "SELECT count(DISTINCT symbol) FROM lifetime_usage(0, 40000000) WHERE "
		  "symbol LIKE 'xmalloc%%'");
	made_close(&m);
}

static void assert_stack(const struct made_trace *m, const char *text)
{
	rows_want(m->a, 1, "SELECT stack_text(stack, alloc_ns) = '%s' FROM allocations", text);
}

/* A Python function calls another one directly, and a third through a library. */
UNIT_TEST(test_interpreter_is_folded_between_functions_of_python)
{
	static const char *const symbols[16] = { "main", "_PyRun", "py::outer", "_PyEval",
						 "_PyCall", "py::inner", "library", "py::key" };
	static const unsigned int order[] = { 0, 1, 2, 3, 4, 5, 3, 6, 4, 7, 3, 6 };
	enum { CNT = sizeof(order) / sizeof(order[0]) };
	uint64_t frames[CNT];
	struct made_trace m;

	for (unsigned int i = 0; i < CNT; i++)
		frames[CNT - 1 - i] = 0x55550010 + 0x100ull * order[i];
	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .sites = true,
					     .symbols = symbols,
					     .sources = "alloc.heap,alloc.stacks" });
	gen_snap(m.g, T0, 0, 50, 50, 1, "python3");
	gen_heap(m.g, T0 + 1, 0, 50, 0x1000000, 8);
	gen_stack(m.g, T0 + 1, 0, 50, WIRE_HEAP_ALLOC, 0x1000000, 8, frames, 0, CNT);
	made_finish(&m, T0 + 40 * MS);
	assert_stack(&m, "main;_PyRun;py::outer;py::inner;library;py::key;_PyEval;library");
	analysis_use_raw_frames(m.a);
	assert_stack(&m, "main;_PyRun;py::outer;_PyEval;_PyCall;py::inner;_PyEval;library;_PyCall;"
			"py::key;_PyEval;library");
	made_close(&m);
}

/*
 * A program of 300 pages that execs twice, each time into 20: at 2 ms inside a slice, and 1 ms
 * before the trace's end. Another process never does.
 */
UNIT_TEST(test_alloc_and_memory_agree_about_a_new_program)
{
	static const char same[] =
		"SELECT count(*) FROM alloc_usage(%u, %u, %u, 'process') AS u JOIN "
		"memory_levels(%u, %u, %u, 'process') AS m USING (t_ns, upid) "
		"WHERE u.source = 'rss' AND (u.peak_bytes, u.peak_ns, u.now_bytes) = "
		"(m.rss_peak_bytes, m.rss_peak_ns, m.rss_bytes)";
	static const struct {
		unsigned int from_ms, to_ms, every_ms, pages, rows;
	} known[] = { { 0, 40, 0, 20, 2 }, { 0, 3, 0, 20, 2 }, { 0, 39, 0, 300, 2 },
		      { 3, 38, 0, 300, 2 }, { 1, 40, 0, 20, 2 }, { 0, 40, 13, 300, 8 } };
	struct made_trace m;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .sources = "alloc.rss" });
	gen_snap(m.g, T0, 0, 50, 50, 1, "older");
	gen_new(m.g, T0 + MS / 2, 0, 50, 60, 60, 50, "changer");
	for (unsigned int i = 0; i < 4; i++) {
		uint64_t at = T0 + 10 * i * MS;

		if (i == 0)
			gen_rss(m.g, at + MS, 0, 60, 60, MEM_ANON, 300);
		gen_rss(m.g, at + MS + 1, 0, 50, 50, MEM_ANON, 100 + i);
		if (i == 0) {
			gen_rss(m.g, at + 2 * MS - 1, 0, 60, 60, MEM_ANON, 10);
			gen_exec(m.g, at + 2 * MS, 0, 60, 60, 0, "x", "/x", "x", 2);
			gen_rss(m.g, at + 2 * MS + 1, 0, 60, 60, MEM_ANON, 20);
			gen_rss(m.g, at + 2 * MS + 2, 0, 60, 60, MEM_ANON, 15);
		}
		if (i == 2)
			gen_rss(m.g, at + MS, 0, 60, 60, MEM_ANON, 300);
		if (i == 3) {
			gen_rss(m.g, at + 9 * MS - 1, 0, 60, 60, MEM_ANON, 20);
			gen_exec(m.g, at + 9 * MS, 0, 60, 60, 0, "y", "/y", "y", 2);
		}
		gen_slice(m.g, T0 + 10 * (i + 1) * MS);
	}
	made_open(&m);
	for (unsigned int k = 0; k < 2 * sizeof(known) / sizeof(known[0]); k++) {
		unsigned int i = k / 2, from = known[i].from_ms * (unsigned int)MS,
			     to = known[i].to_ms * (unsigned int)MS,
			     every = known[i].every_ms * (unsigned int)MS;

		analysis_use_index(m.a, &(struct analysis_index_use){ .use = k % 2,
								      .always = true });
		rows_want(m.a, known[i].rows, same, from, to, every, from, to, every);
		rows_want(m.a, known[i].pages, "SELECT max(peak_bytes) / 4096 FROM alloc_usage(%u, "
			  "%u, %u, 'process') JOIN processes USING (upid) WHERE pid = 60", from, to,
			  every);
	}
	/* the sum of all processes has no program */
	rows_want(m.a, 300 + 103 + 11, "SELECT peak_bytes / 4096 FROM alloc_usage(0, 40000000, 0, "
		  "'none') WHERE source = 'rss'");
	made_close(&m);
}

static void add_pressure(struct gen *g, uint64_t ts, unsigned int action, uint64_t pages)
{
	struct wire_pressure r = { .hdr = { .ts_ns = ts, .hook = WIRE_PRESSURE, .tid = 50 },
				   .action = action, .pages = pages };

	gen_raw(g, &r, sizeof(r));
}

UNIT_TEST(test_pressure_has_stalls_and_who_was_killed)
{
	struct wire_oom_kill kill = { .hdr = { .ts_ns = T0 + 15 * MS, .hook = WIRE_OOM_KILL,
					       .tid = 50 }, .victim_tid = 60, .victim_pid = 60,
				      .limit_cgroup_id = 77, .limit_pages = 5100 };
	struct made_trace m;
	struct report_request q;
	struct rows r;
	unsigned int i;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0,
					     .sources = "mem.pressure,alloc.rss" });
	gen_snap(m.g, T0, 0, 50, 50, 1, "staller");
	gen_snap(m.g, T0, 0, 60, 60, 1, "victim");
	add_pressure(m.g, T0 + 1 * MS, EVENT_PRESSURE_RECLAIM_BEGIN, 0);
	add_pressure(m.g, T0 + 4 * MS, EVENT_PRESSURE_RECLAIM_END, 7);
	add_pressure(m.g, T0 + 5 * MS, EVENT_PRESSURE_GROUP_BEGIN, 0);
	add_pressure(m.g, T0 + 6 * MS, EVENT_PRESSURE_GROUP_END, 0);
	add_pressure(m.g, T0 + 12 * MS, EVENT_PRESSURE_RECLAIM_BEGIN, 0);
	gen_rss(m.g, T0 + 14 * MS, 0, 60, 60, MEM_ANON, 5000);
	gen_raw(m.g, &kill, sizeof(kill));
	gen_rss(m.g, T0 + 16 * MS, 0, 60, 60, MEM_ANON, 0);
	add_pressure(m.g, T0 + 18 * MS, EVENT_PRESSURE_RECLAIM_END, 3);
	made_finish(&m, T0 + 20 * MS);
	q = made_request(&m, "pressure");
	rows_report(&r, m.a, &q);
	assert_int_equal(r.row_cnt, 3);
	assert_string_equal(rows_text(&r, 0, rows_col(&r, "comm")), "victim");
	rows_cells(&r, 0, "at_ns rss_bytes", 15 * MS, (5000 + 11) * 4096);
	assert_string_equal(rows_text(&r, 0, rows_col(&r, "limit_of")), "/group-77");
	assert_int_equal(rows_cell(&r, 0, "limit_bytes"), 5100 * 4096);
	i = rows_find(&r, "kind", "reclaim");
	rows_cells(&r, i, "stalls stall_ns stall_max_ns reclaimed_bytes", 2, 9 * MS, 6 * MS,
		   10 * 4096);
	assert_int_equal(rows_cell(&r, rows_find(&r, "kind", "group limit"), "stall_ns"), MS);
	rows_done(&r);
	/* one stall began before the window, another one ends after it */
	q.from_ns = T0 + 2 * MS;
	q.to_ns = T0 + 13 * MS;
	rows_report(&r, m.a, &q);
	assert_int_equal(r.row_cnt, 2);
	i = rows_find(&r, "kind", "reclaim");
	rows_cells(&r, i, "stalls stall_ns", 1, 3 * MS);
	rows_done(&r);
	made_close(&m);
}

struct stall_plan {
	unsigned int tid, action;	/* of its begin; its end is the next one */
	uint64_t from_ms, to_ms, pages;	/* to_ms 0: it goes on */
};

/* Of [from_ms, to_ms), what a stall has in [lo_ms, hi_ms). */
static uint64_t overlap(uint64_t from_ms, uint64_t to_ms, uint64_t lo_ms, uint64_t hi_ms)
{
	from_ms = from_ms > lo_ms ? from_ms : lo_ms;
	to_ms = to_ms < hi_ms ? to_ms : hi_ms;
	return to_ms > from_ms ? to_ms - from_ms : 0;
}

UNIT_TEST(test_stalls_of_neighbouring_windows_add_up)
{
	static const struct stall_plan plan[] = {	/* by time of the begin */
		{ 50, EVENT_PRESSURE_RECLAIM_BEGIN, 2, 9, 30 },
		{ 51, EVENT_PRESSURE_RECLAIM_BEGIN, 3, 4, 1 },
		{ 50, EVENT_PRESSURE_COMPACT_BEGIN, 5, 7, 0 },	/* inside its reclaim */
		{ 60, EVENT_PRESSURE_KSWAPD_WAKE, 5, 13, 0 },
		{ 51, EVENT_PRESSURE_GROUP_BEGIN, 6, 12, 200 },
		{ 50, EVENT_PRESSURE_RECLAIM_BEGIN, 11, 12, 4 },
		{ 51, EVENT_PRESSURE_RECLAIM_BEGIN, 17, 0, 0 },
	};
	enum { PLAN_CNT = sizeof(plan) / sizeof(plan[0]), LEN = 20 };
	struct made_trace m;
	struct report_request q;
	struct rows r;
	uint64_t ms, all_ms = 0;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0,
					     .sources = "mem.pressure" });
	gen_snap(m.g, T0, 0, 50, 50, 1, "first");
	gen_snap(m.g, T0, 0, 51, 51, 1, "second");
	gen_snap(m.g, T0, 0, 60, 60, 2, "kswapd0");
	for (ms = 0; ms < LEN; ms++) {
		for (unsigned int i = 0; i < PLAN_CNT; i++) {
			struct wire_pressure x = { .hdr = { .ts_ns = T0 + ms * MS,
							    .hook = WIRE_PRESSURE,
							    .tid = plan[i].tid } };

			x.action = plan[i].action;
			if (ms == plan[i].from_ms)
				gen_raw(m.g, &x, sizeof(x));
			/* kswapd is woken again while it runs */
			if (plan[i].tid == 60 && ms == plan[i].from_ms + 2)
				gen_raw(m.g, &x, sizeof(x));
			x.action++;
			x.pages = plan[i].pages;
			if (plan[i].to_ms && ms == plan[i].to_ms)
				gen_raw(m.g, &x, sizeof(x));
		}
	}
	made_finish(&m, T0 + LEN * MS);
	for (unsigned int i = 0; i < PLAN_CNT; i++)
		all_ms += (plan[i].to_ms ? plan[i].to_ms : LEN) - plan[i].from_ms;
	rows_want(m.a, all_ms * MS, "SELECT sum(dur_ns) FROM memory_stalls()");
	for (ms = 1; ms < LEN; ms++) {
		uint64_t lo_ms = 0;

		for (unsigned int i = 0; i < PLAN_CNT; i++)
			if (plan[i].tid != 60)
				lo_ms += overlap(plan[i].from_ms,
						 plan[i].to_ms ? plan[i].to_ms : LEN, 0, ms);
		rows_want(m.a, lo_ms * MS, "SELECT coalesce(sum(dur_ns), 0) FROM memory_stalls(0, "
			  "%d) WHERE kind <> 'kswapd'", (int)(ms * MS));
		/* a begin and its end are in one of the two each; the last has no end */
		assert_int_equal(rows_one(m.a, "SELECT coalesce(sum(dur_ns), 0) FROM "
					       "memory_stalls(%d) WHERE kind <> 'kswapd'",
					  (int)(ms * MS)),
				 (all_ms - 8 - lo_ms) * MS - (ms > 17 ? (LEN - ms) * MS : 0));
		rows_want(m.a, PLAN_CNT - 1, "SELECT sum(began) FROM (SELECT began FROM "
			  "memory_stalls(0, %d) WHERE kind <> 'kswapd' UNION ALL SELECT began FROM "
			  "memory_stalls(%d) WHERE kind <> 'kswapd')", (int)(ms * MS),
			  (int)(ms * MS));
	}
	rows_want(m.a, 235, "SELECT sum(pages) FROM memory_stalls()");
	/* the view has the same sums, and the sentences of why those of reclaim */
	q = made_request(&m, "pressure");
	rows_report(&r, m.a, &q);
	assert_int_equal(r.row_cnt, 5);
	for (unsigned int i = 0; i < r.row_cnt; i++)
		all_ms -= (uint64_t)rows_cell(&r, i, "stall_ns") / MS;
	assert_int_equal(all_ms, 0);
	rows_done(&r);
	made_close(&m);
}

static void check_heap(uint64_t to_ms, int pid, int64_t live, int64_t kept)
{
	struct report_request q = made_request(&made, "memory");
	unsigned int i = 0;
	struct rows r;

	q.to_ns = T0 + to_ms * MS;
	rows_report(&r, made.a, &q);
	while (i < r.row_cnt && rows_cell(&r, i, "pid") != pid)
		i++;
	rows_cells(&r, i, "heap_bytes heap_kept_bytes", live, kept);
	rows_done(&r);
}

/* What 50 has freed is kept as long as its anonymous memory is as large as its heap was. */
UNIT_TEST(test_memory_has_the_live_heap_and_what_was_freed)
{
	check_heap(5, 50, 5000, 0);
	check_heap(9, 50, 3000, 2000);
}

UNIT_TEST(test_temporary_is_what_lived_less_than_1_ms)
{
	struct made_trace m;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0,
					     .sources = "alloc.heap" });
	gen_snap(m.g, T0, 0, 50, 50, 1, "worker");
	for (unsigned int i = 0; i < 3; i++)
		gen_heap(m.g, T0 + MS, 0, 50, 0x1000 * (i + 1), 100);
	for (unsigned int i = 0; i < 3; i++)
		gen_heap(m.g, T0 + 2 * MS - 1 + i, 0, 50, 0x1000 * (i + 1), 0);
	made_finish(&m, T0 + 5 * MS);
	rows_want(m.a, 3, "SELECT sum(freed) FROM lifetime_usage(0, 5000000)");
	rows_want(m.a, 1, "SELECT sum(temporary) FROM lifetime_usage(0, 5000000)");
	rows_want(m.a, 100, "SELECT sum(temporary_bytes) FROM lifetime_usage(0, 5000000)");
	made_close(&m);
}

UNIT_TESTS_IN(setup, teardown)
