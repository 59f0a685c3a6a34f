/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Time, memory and requests belong to the name that a thread or process had at that time. In an
 * hour of a simulated machine threads run, rename themselves, call exec, and are stopped by
 * signals; its wall clock is set; and it keeps a log. Sums by name, thread and process equal the
 * log's in every window, with an index and without.
 */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000ull
#define PAGE 4096

enum { PROCESSES = 4, THREADS = 8, NAMES = 5, STEPS = 3000, BLOCKS = 12, WINDOWS = 8 };

static const char *const names[NAMES] = { "ash", "bash", "cash", "dash", "[idle]" };

struct piece {			/* a thread ran, or a process had pages */
	uint64_t from_ns, to_ns;
	unsigned int thread, comm, name;
	int64_t pages;
};

static struct {
	struct made_trace m;
	struct piece ran[2 * STEPS], had[4 * STEPS];
	struct piece stopped[2 * STEPS];
	unsigned int ran_cnt, had_cnt, stopped_cnt;
	uint64_t stopped_since[THREADS];	/* 0: it is not stopped */
	int64_t clock_ns, clock_min_ns, clock_max_ns;	/* by how much the wall clock was set */
	unsigned int name_of[THREADS];	/* 2n is the main thread of process n, 2n + 1 another */
	int64_t pages_of[PROCESSES];
	uint64_t since_of[PROCESSES], end_ns;
	uint64_t seed;
} world;

static uint64_t below(uint64_t n)
{
	return gen_random(&world.seed) % n;
}

static uint32_t tid_of(unsigned int thread)
{
	return 100 + thread;
}

static uint32_t pid_of(unsigned int thread)
{
	return 100 + thread / 2 * 2;
}

/* ---- the machine ---- */

static void log_ran(unsigned int thread, uint64_t from_ns, uint64_t to_ns)
{
	world.ran[world.ran_cnt++] = (struct piece){
		from_ns, to_ns, thread, world.name_of[thread / 2 * 2], world.name_of[thread], 0
	};
}

static void log_had(unsigned int process, uint64_t to_ns)
{
	world.had[world.had_cnt++] = (struct piece){
		world.since_of[process], to_ns, 2 * process, world.name_of[2 * process], 0,
		world.pages_of[process]
	};
	world.since_of[process] = to_ns;
}

/* A thread gets a name while it runs: its time up to here was that of the name before. */
static void rename_thread(unsigned int cpu, unsigned int thread, uint64_t ts)
{
	unsigned int name = (unsigned int)below(NAMES);

	if (thread % 2 == 0)
		log_had(thread / 2, ts);
	if (thread % 2 == 0 && below(3) == 0) {
		gen_rename(world.m.g, ts - 5, cpu, tid_of(thread), pid_of(thread), names[name]);
		gen_exec(world.m.g, ts, cpu, tid_of(thread), pid_of(thread), 0, names[name],
			 "/bin/x", "x", 2);
	} else {
		gen_rename(world.m.g, ts, cpu, tid_of(thread), pid_of(thread), names[name]);
	}
	world.name_of[thread] = name;
}

/* A thread leaves a CPU: it sleeps, or a signal stops it. */
static void leave_cpu(unsigned int cpu, int prev, int next, uint64_t ts)
{
	struct wire_switch r = { .hdr = { .ts_ns = ts, .hook = WIRE_SWITCH, .cpu = (wire_u16)cpu },
				 .prev_prio = 120, .next_prio = 120, .prev_state = 1 };

	if (next >= 0 && world.stopped_since[next]) {
		gen_wakeup(world.m.g, ts - 2, cpu, prev < 0 ? 0 : tid_of((unsigned int)prev),
			   tid_of((unsigned int)next), 0);
		world.stopped[world.stopped_cnt++] = (struct piece){
			world.stopped_since[next], ts - 2, (unsigned int)next, 0, 0, 0 };
		world.stopped_since[next] = 0;
	}
	r.next_tid = next < 0 ? 0 : tid_of((unsigned int)next);
	if (prev >= 0) {
		r.hdr.tid = tid_of((unsigned int)prev);
		if (below(4) == 0) {
			r.prev_state = 4;
			world.stopped_since[prev] = ts;
		}
	}
	gen_raw(world.m.g, &r, sizeof(r));
}

static void set_clock(void)
{
	int64_t by_ns = (int64_t)below(7200000000000) - 3600000000000;

	gen_set_clock(world.m.g, by_ns);
	world.clock_ns += by_ns;
	if (world.clock_ns < world.clock_min_ns)
		world.clock_min_ns = world.clock_ns;
	if (world.clock_ns > world.clock_max_ns)
		world.clock_max_ns = world.clock_ns;
}

static void make_world(uint64_t seed)
{
	uint64_t ts = T0, since[2] = { T0, T0 };
	int on[2] = { -1, -1 };

	memset(&world, 0, sizeof(world));
	world.seed = seed;
	made_begin(&world.m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	for (unsigned int i = 0; i < THREADS; i++) {
		world.name_of[i] = i % NAMES;
		gen_snap_full(world.m.g, T0, tid_of(i), pid_of(i), 1, 1 + i, names[i % NAMES],
			      (int64_t[4]){ 0 }, 0, 0, 0, false);
		world.since_of[i / 2] = T0;
	}
	for (unsigned int i = 0; i < STEPS; i++) {
		unsigned int cpu = (unsigned int)below(2);
		int thread = on[cpu];

		ts += 1000 + below(2400000000);
		if (thread >= 0 && below(2) == 0) {
			/* another thread of the process may run, too */
			for (unsigned int k = 0; k < 2; k++) {
				if (on[k] >= 0)
					log_ran((unsigned int)on[k], since[k], ts);
				since[k] = ts;
			}
			rename_thread(cpu, (unsigned int)thread, ts);
		} else if (thread >= 0 && below(3) == 0) {
			unsigned int process = (unsigned int)thread / 2;

			log_had(process, ts);
			world.pages_of[process] = (int64_t)below(1000);
			gen_rss(world.m.g, ts, cpu, tid_of((unsigned int)thread),
				pid_of((unsigned int)thread), 1, world.pages_of[process]);
		} else {
			int next = (int)below(THREADS + 1) - 1;

			next = next == on[!cpu] ? -1 : next;
			if (thread >= 0)
				log_ran((unsigned int)thread, since[cpu], ts);
			leave_cpu(cpu, thread, next == thread ? -1 : next, ts);
			next = next == thread ? -1 : next;
			since[cpu] = ts;
			on[cpu] = next;
		}
		if (i % (STEPS / BLOCKS) == STEPS / BLOCKS - 1) {
			gen_slice(world.m.g, ts + 7);
			if (i + 1 < STEPS)
				set_clock();
		}
	}
	world.end_ns = ts + 7;
	for (unsigned int i = 0; i < 2; i++)
		if (on[i] >= 0)
			log_ran((unsigned int)on[i], since[i], world.end_ns);
	for (unsigned int i = 0; i < PROCESSES; i++)
		log_had(i, world.end_ns);
	for (unsigned int i = 0; i < THREADS; i++)
		if (world.stopped_since[i])
			world.stopped[world.stopped_cnt++] = (struct piece){
				world.stopped_since[i], world.end_ns, i, 0, 0, 0 };
	made_open(&world.m);
}

/* ---- the log's answers ---- */

enum by { BY_COMM, BY_NAME, BY_THREAD, BY_PROCESS };

static uint64_t ran_ns(enum by by, unsigned int which, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < world.ran_cnt; i++) {
		const struct piece *p = &world.ran[i];
		unsigned int key = by == BY_COMM ? p->comm : by == BY_NAME ? p->name :
				   by == BY_THREAD ? p->thread : p->thread / 2;
		uint64_t from = p->from_ns > from_ns ? p->from_ns : from_ns;
		uint64_t to = p->to_ns < to_ns ? p->to_ns : to_ns;

		sum += key == which && from < to ? to - from : 0;
	}
	return sum;
}

static int64_t stopped_ns(unsigned int thread, const uint64_t w[2])
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < world.stopped_cnt; i++) {
		const struct piece *p = &world.stopped[i];
		uint64_t from = p->from_ns > w[0] ? p->from_ns : w[0];
		uint64_t to = p->to_ns < w[1] ? p->to_ns : w[1];

		sum += p->thread == thread && from < to ? to - from : 0;
	}
	return (int64_t)sum;
}

/* Bytes that processes of the name have at an instant, which must not be the edge of a piece. */
static int64_t had_bytes(unsigned int comm, uint64_t at_ns)
{
	int64_t sum = 0;

	for (unsigned int i = 0; i < world.had_cnt; i++)
		if (world.had[i].comm == comm && world.had[i].from_ns < at_ns &&
		    world.had[i].to_ns >= at_ns)
			sum += world.had[i].pages * PAGE;
	return sum;
}

/* A process that is named like a pseudo process is not one. */
static const char *shown(unsigned int name)
{
	return *names[name] == '[' ? "[idle] (process)" : names[name];
}

/* sum(expression) over the rows of a table's window that satisfy a condition. */
static void expect_sum(struct analysis *a, int64_t want, const char *what, const char *table,
		       const uint64_t window[2], const char *by, const char *where,
		       const char *text)
{
	int64_t got = rows_one(a, "SELECT ifnull(sum(%s), 0) FROM %s(%lld, %lld%s) %s '%s'", what,
			       table, (long long)(window[0] - T0), (long long)(window[1] - T0),
			       by, where, text);

	if (got != want)
		fail_msg("%s of %s %s %s: %lld, not %lld", what, table, where, text,
			 (long long)got, (long long)want);
}

static void expect_window(struct analysis *a, const uint64_t w[2])
{
	int64_t by_comm = 0, by_process = 0, ns;
	char number[16];

	for (unsigned int i = 0; i < NAMES; i++) {
		ns = (int64_t)ran_ns(BY_COMM, i, w[0], w[1]);
		by_comm += ns;
		expect_sum(a, ns, "oncpu_ns", "cpu_usage", w, "", "WHERE comm_then =", shown(i));
		expect_sum(a, ns, "running_ns", "thread_states", w, ", 0, 'comm'", "WHERE name =",
			   shown(i));
		expect_sum(a, (int64_t)ran_ns(BY_NAME, i, w[0], w[1]), "running_ns",
			   "thread_states", w, ", 0, 'thread_name'", "WHERE name =", shown(i));
		expect_sum(a, had_bytes(i, w[1]), "rss_bytes", "memory_levels", w,
			   ", 0, 'comm'", "WHERE name =", shown(i));
		expect_sum(a, had_bytes(i, w[1]), "now_bytes", "alloc_usage", w, ", 0, 'comm'",
			   "WHERE source = 'rss' AND name =", shown(i));
	}
	for (unsigned int i = 0; i < PROCESSES; i++) {
		ns = (int64_t)ran_ns(BY_PROCESS, i, w[0], w[1]);
		by_process += ns;
		snprintf(number, sizeof(number), "%u", pid_of(2 * i));
		expect_sum(a, ns, "running_ns", "thread_states", w, ", 0, 'process,comm'",
			   "JOIN processes USING (upid) WHERE pid =", number);
	}
	assert_int_equal(by_comm, by_process);
	for (unsigned int i = 0; i < THREADS; i++) {
		snprintf(number, sizeof(number), "%u", tid_of(i));
		expect_sum(a, (int64_t)ran_ns(BY_THREAD, i, w[0], w[1]), "oncpu_ns", "cpu_usage",
			   w, "", "JOIN threads USING (utid) WHERE comm_then NOT NULL AND tid =",
			   number);
		expect_sum(a, stopped_ns(i, w), "stopped_ns", "thread_states", w, ", 0, 'thread'",
			   "JOIN threads USING (utid) WHERE tid =", number);
	}
}

static void expect_windows(struct analysis *a)
{
	const uint64_t whole[2] = { T0, world.end_ns };

	expect_window(a, whole);
	for (unsigned int n = 1; n < WINDOWS; n++) {
		uint64_t from = T0 + below(world.end_ns - T0);
		const uint64_t window[2] = { from, from + 1 + below(world.end_ns - from) };

		expect_window(a, window);
	}
}

UNIT_TEST(test_sums_by_name_are_the_logs)
{
	const struct analysis_index_use use = { .use = true, .always = true };

	for (uint64_t seed = 1; seed <= 2; seed++) {
		make_world(seed);
		assert_in_range(world.stopped_cnt, 100, 2 * STEPS);
		rows_want(world.m.a, world.clock_max_ns - world.clock_min_ns, "SELECT max(real_ns "
			  "- mono_ns) - min(real_ns - mono_ns) FROM clocks");
		expect_windows(world.m.a);
		analysis_use_index(world.m.a, &use);
		expect_windows(world.m.a);
		made_close(&world.m);
	}
}

/* A report about a name is about the time for which it was had. */
UNIT_TEST(test_scope_of_a_name_is_its_time)
{
	struct report_request q;
	struct rows r;

	make_world(4);
	for (unsigned int i = 0; i + 1 < NAMES; i++) {
		int64_t ns = 0;

		q = made_request(&world.m, "cpu");
		q.comm = names[i];
		rows_report(&r, world.m.a, &q);
		for (unsigned int row = 0; row < r.row_cnt; row++) {
			ns += rows_cell(&r, row, "oncpu_ns");
			assert_string_equal(rows_text(&r, row, rows_col(&r, "comm")), names[i]);
		}
		assert_int_equal(ns, ran_ns(BY_COMM, i, T0, world.end_ns));
		rows_done(&r);
		q = made_request(&world.m, "states");
		q.thread = names[i];
		q.by = 1u << REPORT_BY_THREAD_NAME;
		rows_report(&r, world.m.a, &q);
		assert_int_equal(r.row_cnt, 1);
		assert_int_equal(rows_cell(&r, 0, "running_ns"),
				 ran_ns(BY_NAME, i, T0, world.end_ns));
		rows_done(&r);
	}
	made_close(&world.m);
}

/* Rows of processes have the name that they had at the window's end. */
UNIT_TEST(test_a_process_is_labelled_with_the_windows_last_name)
{
	struct report_request q;
	struct rows r;

	memset(&world, 0, sizeof(world));
	made_begin(&world.m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(world.m.g, T0, 0, 100, 100, 1, "bash");
	gen_switch(world.m.g, T0 + 100, 0, 0, 100, 0);
	gen_rename(world.m.g, T0 + 595, 0, 100, 100, "sleep");
	gen_exec(world.m.g, T0 + 600, 0, 100, 100, 0, "sleep", "/bin/sleep", "sleep", 6);
	gen_switch(world.m.g, T0 + 700, 0, 100, 0, 0);
	gen_slice(world.m.g, T0 + 1000);
	made_open(&world.m);
	q = made_request(&world.m, "cpu");
	rows_report(&r, world.m.a, &q);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "sleep"), "oncpu_ns"), 600);
	rows_done(&r);
	q.to_ns = T0 + 600;
	rows_report(&r, world.m.a, &q);
	assert_int_equal(rows_cell(&r, rows_find(&r, "comm", "bash"), "oncpu_ns"), 500);
	rows_done(&r);
	rows_want(world.m.a, 1, "SELECT comm_at(upid, 599) = 'bash' AND comm_at(upid, 600) = "
		  "'sleep' FROM processes WHERE pid = 100");
	made_close(&world.m);
}

/* Before its exec the command is a part of the recorder, so that name does not describe it. */
UNIT_TEST(test_the_command_has_its_own_name_from_its_birth)
{
	const struct gen_config config = { .cpu_cnt = 1, .from_ns = T0, .recorder_pid = 50,
					   .command_pid = 100 };

	memset(&world, 0, sizeof(world));
	made_begin(&world.m, &config);
	gen_snap(world.m.g, T0, 0, 50, 50, 1, "ebpfrec");
	gen_snap(world.m.g, T0, 0, 100, 100, 50, "ebpfrec");
	gen_switch(world.m.g, T0 + 100, 0, 0, 100, 0);
	gen_rename(world.m.g, T0 + 595, 0, 100, 100, "sh");
	gen_exec(world.m.g, T0 + 600, 0, 100, 100, 0, "sh", "/bin/sh", "sh", 3);
	gen_switch(world.m.g, T0 + 700, 0, 100, 0, 0);
	gen_slice(world.m.g, T0 + 1000);
	made_open(&world.m);
	rows_want(world.m.a, 600, "SELECT sum(oncpu_ns) FROM cpu_usage(0, NULL, 0) WHERE comm_then "
		  "= 'sh'");
	rows_want(world.m.a, 1, "SELECT comm_at(upid, 1) = 'sh' FROM processes WHERE pid = 100");
	made_close(&world.m);
}

UNIT_TESTS
