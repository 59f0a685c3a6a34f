/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Savings of causes that follow each other, are side by side, off the path, or hide each other. */
#include "bpf/wire.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)
#define LOCK 0x7f33a0012000ull

static struct made_trace made;

enum { A = 101, B, C, D };
enum { NANOSLEEP = 35, FUTEX = 202 };	/* of x86-64 */

/* Each thread has a CPU. Events of one instant are in order of CPUs: interrupts first, A last. */
static unsigned int cpu_of(uint32_t tid)
{
	return 1 + D - tid;
}

static void sleep_in(struct gen *g, unsigned int at_ms, uint32_t tid, unsigned int call,
		     uint64_t object)
{
	gen_leave(g, AT(at_ms), cpu_of(tid), tid, 1, call, object);
}

static void enter(struct gen *g, unsigned int at_ms, uint32_t tid)
{
	gen_switch(g, AT(at_ms), cpu_of(tid), 0, tid, 0);
}

static void begin(struct made_trace *m, const char *const names[4])
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 5, .from_ns = T0, .machine = "x86_64" });
	for (unsigned int i = 0; i < 4; i++) {
		gen_snap(m->g, T0, 0, A + i, A + i, 1, names[i]);
		enter(m->g, 1, A + i);
	}
}

/* main and left share CPU 1; main has it from 1 ms on. */
static void begin_on_one_cpu(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0, .machine = "x86_64" });
	gen_snap(m->g, T0, 0, A, A, 1, "main");
	gen_snap(m->g, T0, 0, B, B, 1, "left");
	gen_switch(m->g, AT(1), 1, 0, A, 0);
}

static void timer(struct gen *g, unsigned int at_ms, uint32_t tid)
{
	gen_wakeup(g, AT(at_ms), 0, 0, tid, WIRE_F_IRQ);
	enter(g, at_ms, tid);
}

static void wake(struct gen *g, unsigned int at_ms, uint32_t tid, uint32_t target)
{
	gen_wakeup(g, AT(at_ms), cpu_of(tid), tid, target, 0);
	enter(g, at_ms, target);
}

static void check(struct made_trace *m, const char *without, int64_t ms)
{
	rows_want(m->a, ms * MS, "SELECT saves_min_ns FROM whatif(NULL, NULL, replace('%s', ',', "
		  "char(10)))", without);
	rows_want(m->a, ms * MS, "SELECT saves_max_ns FROM whatif(NULL, NULL, replace('%s', ',', "
		  "char(10)))", without);
}

/* main waits for left, until 51 ms, then for right, until 61 ms, and ends at 70 ms. */
static void make_two_paths(struct made_trace *m)
{
	struct gen *g;

	begin(m, (const char *const[]){ "main", "left", "right", "other" });
	g = m->g;
	sleep_in(g, 5, A, FUTEX, LOCK);
	sleep_in(g, 10, B, NANOSLEEP, 40 * MS);
	sleep_in(g, 10, C, NANOSLEEP, 50 * MS);
	sleep_in(g, 11, D, NANOSLEEP, 30 * MS);
	timer(g, 41, D);
	sleep_in(g, 42, D, NANOSLEEP, 0);
	timer(g, 50, B);
	wake(g, 51, B, A);
	sleep_in(g, 52, A, FUTEX, LOCK + 64);
	sleep_in(g, 52, B, NANOSLEEP, 0);
	timer(g, 60, C);
	wake(g, 61, C, A);
	sleep_in(g, 62, C, NANOSLEEP, 0);
	sleep_in(g, 70, A, NANOSLEEP, 0);
	gen_slice(g, AT(100));
	made_open(m);
}

UNIT_TEST(test_a_second_path_bounds_the_saving)
{
	make_two_paths(&made);
	check(&made, "sleep:left", 0);
	check(&made, "sleep:right", 9);		/* until left is ready at 52 ms */
	check(&made, "sleep:left,sleep:right", 49);	/* both are ready at 11 ms */
	check(&made, "sleep", 49);
	check(&made, "sleep:other", 0);		/* not on the path */
	check(&made, "lock:7f33a0012000", 0);
	check(&made, "lock:7f33a0012040", 9);
	/* right has answered at once; it has waited for nobody */
	check(&made, "process:right", 9);
}

UNIT_TEST(test_causes_of_the_path_are_found)
{
	make_two_paths(&made);
	rows_want(made.a, 3, "SELECT count(*) FROM whatif() WHERE cause IN ('sleep:right', "
		  "'process:right', 'lock:7f33a0012040')");
	rows_want(made.a, 0, "SELECT count(*) FROM whatif() WHERE cause LIKE '%%other'");
	rows_want(made.a, 0, "SELECT count(*) FROM whatif() WHERE verdict NOT NULL OR of_ns <> "
		  "70000000 OR drift_ns <> 0");
	/* without right, the path is that of left, with its sleep of 40 ms */
	rows_want(made.a, 1, "SELECT next = 'left timer' AND next_ns = 40000000 FROM whatif() "
		  "WHERE cause = 'process:right'");
	/* the recorded path is not in that sleep: alone, it saves nothing */
	rows_want(made.a, 0, "SELECT saves_max_ns FROM whatif() WHERE cause = 'sleep:left'");
	rows_want(made.a, 1, "SELECT verdict = 'not found in the window' FROM whatif(NULL, NULL, "
		  "'quota')");
}

/* main ends at 70 ms, or when left has ended: it did not have to wait for that in the trace. */
UNIT_TEST(test_the_end_is_not_before_that_of_threads_that_ended)
{
	begin(&made, (const char *const[]){ "main", "left", "right", "other" });
	sleep_in(made.g, 3, D, NANOSLEEP, 0);
	sleep_in(made.g, 10, A, FUTEX, LOCK);
	sleep_in(made.g, 10, B, NANOSLEEP, 29 * MS);
	sleep_in(made.g, 10, C, NANOSLEEP, 49 * MS);
	timer(made.g, 39, B);
	gen_exit(made.g, AT(39) + 1, cpu_of(B), B, B, 0, true, 0);
	gen_leave(made.g, AT(40), cpu_of(B), B, 0x80, 231, 0);
	timer(made.g, 59, C);
	wake(made.g, 60, C, A);
	sleep_in(made.g, 62, C, NANOSLEEP, 0);
	sleep_in(made.g, 70, A, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	check(&made, "lock:7f33a0012000", 30);
	check(&made, "lock:7f33a0012000,sleep:left", 50);
}

/* B has the lock three times for 10 ms, each time that A wants it: A ends 30 ms later. */
UNIT_TEST(test_savings_of_one_thread_add_up)
{
	begin(&made, (const char *const[]){ "main", "main", "right", "other" });
	sleep_in(made.g, 3, C, NANOSLEEP, 0);
	sleep_in(made.g, 3, D, NANOSLEEP, 0);
	for (unsigned int i = 0; i < 3; i++) {
		sleep_in(made.g, 10 + 20 * i, A, FUTEX, LOCK);
		wake(made.g, 20 + 20 * i, B, A);
	}
	sleep_in(made.g, 65, B, NANOSLEEP, 0);
	sleep_in(made.g, 70, A, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	check(&made, "lock:7f33a0012000", 30);
}

UNIT_TEST(test_a_thread_that_polls_makes_the_answer_unknown)
{
	begin(&made, (const char *const[]){ "main", "main", "right", "other" });
	sleep_in(made.g, 3, C, NANOSLEEP, 0);
	sleep_in(made.g, 3, D, NANOSLEEP, 0);
	sleep_in(made.g, 5, A, FUTEX, LOCK);
	wake(made.g, 10, B, A);
	sleep_in(made.g, 11, B, NANOSLEEP, 0);
	for (unsigned int i = 0; i < 12; i++) {
		sleep_in(made.g, 11 + 6 * i, A, NANOSLEEP, 5 * MS);
		timer(made.g, 16 + 6 * i, A);
	}
	sleep_in(made.g, 90, A, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	rows_want(made.a, 1, "SELECT verdict = 'cannot tell: main polls for 60.0 ms of the path' "
		  "FROM whatif(NULL, NULL, 'lock:7f33a0012000')");
	rows_want(made.a, 1, "SELECT verdict IS NULL FROM whatif(NULL, NULL, 'sleep')");
}

/* On CPU 1, prev leaves in nanosleep(), and next enters. */
static void switch_to(struct gen *g, uint64_t ts_ns, uint32_t prev, uint32_t next, uint64_t ns)
{
	gen_leave(g, ts_ns, 1, prev, 1, NANOSLEEP, ns);
	gen_switch(g, ts_ns, 1, 0, next, 0);
}

/* main sleeps from 10 to 20 ms, then waits for the CPU, which left has until 23 ms. */
UNIT_TEST(test_a_sleep_that_is_left_out_has_no_wait_for_a_cpu_after_it)
{
	begin_on_one_cpu(&made);
	gen_wakeup(made.g, AT(10), 1, A, B, 0);
	switch_to(made.g, AT(10), A, B, 10 * MS);
	gen_wakeup(made.g, AT(20), 0, 0, A, WIRE_F_IRQ);
	switch_to(made.g, AT(23), B, A, 0);
	gen_leave(made.g, AT(30), 1, A, 1, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	/* at most: main goes on; at least: left, which main woke before, comes first */
	rows_want(made.a, 1, "SELECT saves_min_ns = 0 AND saves_max_ns = 13000000 AND drift_ns = 0 "
		  "FROM whatif(NULL, NULL, 'sleep:main')");
}

/* main loses its CPU nine times for 1 ms after its sleep: 1.96 * sqrt(9) ms. */
UNIT_TEST(test_waits_for_a_cpu_that_are_left_widen_the_interval)
{
	begin_on_one_cpu(&made);
	gen_leave(made.g, AT(10), 1, A, 1, NANOSLEEP, 30 * MS);
	gen_wakeup(made.g, AT(40), 0, 0, A, WIRE_F_IRQ);
	gen_switch(made.g, AT(40), 1, 0, A, 0);
	for (unsigned int i = 0; i < 9; i++) {
		gen_wakeup(made.g, AT(44 + 4 * i), 0, 0, B, WIRE_F_IRQ);
		gen_switch(made.g, AT(44 + 4 * i), 1, A, B, WIRE_F_PREEMPT);
		switch_to(made.g, AT(45 + 4 * i), B, A, 0);
	}
	gen_leave(made.g, AT(90), 1, A, 1, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	rows_want(made.a, 5880000, "SELECT drift_ns FROM whatif(NULL, NULL, 'sleep:main')");
	rows_want(made.a, 0, "SELECT drift_ns FROM whatif(NULL, NULL, 'cpu')");
}

UNIT_TESTS_END(made_close, made)
