/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Enders of lock waits, what the lock's holders did during such waits, and where a path begins.
 * Hand-made events, by ms.
 */
#include "bpf/wire.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)
#define LOCK 0x7f33a0012000ull

static struct made_trace made;

enum { A = 101, B, C };
/* system calls of x86-64 */
enum { WRITE = 1, NANOSLEEP = 35, RECVFROM = 45, FUTEX = 202, TGKILL = 234 };

static void sleep_in(struct gen *g, unsigned int at_ms, unsigned int cpu, uint32_t tid,
		     unsigned int call, uint64_t object)
{
	gen_leave(g, AT(at_ms), cpu, tid, 1, call, object);
}

static void enter(struct gen *g, unsigned int at_ms, unsigned int cpu, uint32_t tid)
{
	gen_switch(g, AT(at_ms), cpu, 0, tid, 0);
}

/*
 * A has the lock and sleeps until 60 ms; B and C wait for it. A releases it to B at 61 ms, and
 * sleeps again; B has it until 71 ms, and sleeps for 8 ms of that.
 */
static void make_in_blocks(struct made_trace *m, bool are_more)
{
	struct gen *g;

	made_begin(m, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0, .machine = "x86_64" });
	g = m->g;
	gen_snap(g, T0, 0, A, A, 1, "lock");
	gen_snap(g, T0, 0, B, A, 1, "lock");
	gen_snap(g, T0, 0, C, A, 1, "lock");
	enter(g, 1, 0, A);
	enter(g, 2, 1, B);
	enter(g, 3, 2, C);
	sleep_in(g, 10, 0, A, NANOSLEEP, 0);
	sleep_in(g, 12, 1, B, FUTEX, LOCK);
	sleep_in(g, 14, 2, C, FUTEX, LOCK);
	for (unsigned int ms = 30; are_more && ms < 60; ms += 15)
		gen_slice(g, AT(ms));
	gen_wakeup(g, AT(60), 0, 0, A, WIRE_F_IRQ);
	enter(g, 60, 0, A);
	gen_wakeup(g, AT(61), 0, A, B, 0);
	enter(g, 61, 1, B);
	sleep_in(g, 62, 0, A, NANOSLEEP, 0);
	sleep_in(g, 62, 1, B, NANOSLEEP, 0);
	gen_wakeup(g, AT(70), 1, 0, B, WIRE_F_IRQ);
	enter(g, 70, 1, B);
	gen_wakeup(g, AT(71), 1, B, C, 0);
	enter(g, 71, 2, C);
	sleep_in(g, 72, 1, B, NANOSLEEP, 0);
	sleep_in(g, 80, 2, C, NANOSLEEP, 0);
	gen_slice(g, AT(100));
	made_open(m);
}

static void make(struct made_trace *m)
{
	make_in_blocks(m, false);
}

static int64_t meanwhile(struct made_trace *m, const char *what)
{
	return rows_one(m->a, "SELECT coalesce(sum(meanwhile_ns), 0) FROM wait_ends "
			      "WHERE kind = 'lock' AND meanwhile = '%s'", what);
}

/* B held the lock only briefly and passed it on: A, the longest holder, counts as C's ender. */
UNIT_TEST(test_who_had_the_lock_longest_ended_the_wait)
{
	make(&made);
	rows_want(made.a, 2, "SELECT sum(waits) FROM wait_ends JOIN threads AS t ON t.utid = "
		  "ender_utid WHERE kind = 'lock' AND tid = %d", A);
	rows_want(made.a, (49 + 57) * MS, "SELECT sum(wait_ns) FROM wait_ends WHERE kind = 'lock'");
}

/*
 * The same where blocks end at 30 and 45 ms: no part of B's wait in a block is longer than half of
 * C's wait, but all of them are one wait.
 */
UNIT_TEST(test_a_wait_is_one_in_several_blocks)
{
	make_in_blocks(&made, true);
	rows_want(made.a, 2, "SELECT sum(waits) FROM wait_ends JOIN threads AS t ON t.utid = "
		  "ender_utid WHERE kind = 'lock' AND tid = %d", A);
	assert_int_equal(meanwhile(&made, "timer"), (48 + 46 + 8) * MS);
}

/* The time of each wait is divided by the activities of the threads that held the lock in turn. */
UNIT_TEST(test_meanwhile_is_what_those_did_who_had_the_lock)
{
	make(&made);
	assert_int_equal(meanwhile(&made, "timer"), (48 + 46 + 8) * MS);
	assert_int_equal(meanwhile(&made, "running"), (1 + 1 + 1 + 1) * MS);
	rows_want(made.a, (49 + 57) * MS, "SELECT sum(meanwhile_ns) FROM wait_ends WHERE kind = "
		  "'lock'");
}

/* A is on its CPU from 1 ms on, B on another one from 2 ms on. */
static void begin_pair(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0, .machine = "x86_64" });
	gen_snap(m->g, T0, 0, A, A, 1, "lock");
	gen_snap(m->g, T0, 0, B, A, 1, "lock");
	enter(m->g, 1, 0, A);
	enter(m->g, 2, 1, B);
}

/*
 * A has the lock and sleeps from 10 ms on. The switch to the CPU on which A ends B's wait at 61 ms
 * is lost. Only the switch away from that CPU at 64 ms, after the end of the wait, states since
 * when A has been there.
 */
UNIT_TEST(test_meanwhile_of_a_thread_that_came_unseen)
{
	begin_pair(&made);
	sleep_in(made.g, 10, 0, A, NANOSLEEP, 0);
	sleep_in(made.g, 12, 1, B, FUTEX, LOCK);
	gen_wakeup(made.g, AT(61), 0, A, B, 0);
	enter(made.g, 61, 1, B);
	gen_switch_more(made.g, AT(64), 0, A, 0, 0, 0, 4 * MS);
	sleep_in(made.g, 80, 1, B, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	assert_int_equal(meanwhile(&made, "timer"), 48 * MS);
	assert_int_equal(meanwhile(&made, "running"), 1 * MS);
	assert_int_equal(meanwhile(&made, "unknown"), 0);
}

/* A runs from before B's wait begins until after it ends; the same in each window. */
UNIT_TEST(test_meanwhile_of_a_thread_that_ran_all_the_time)
{
	static const unsigned int froms[] = { 0, 3, 5, 20 };

	begin_pair(&made);
	sleep_in(made.g, 12, 1, B, FUTEX, LOCK);
	gen_wakeup(made.g, AT(61), 0, A, B, 0);
	enter(made.g, 61, 1, B);
	sleep_in(made.g, 64, 0, A, NANOSLEEP, 0);
	sleep_in(made.g, 80, 1, B, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	for (size_t i = 0; i < sizeof(froms) / sizeof(froms[0]); i++) {
		unsigned int from = froms[i];

		rows_want(made.a, (61 - (from > 12 ? from : 12)) * MS, "SELECT sum(meanwhile_ns) "
			  "FROM wait_ends(%u, %u) WHERE meanwhile = 'running'",
			  from * (unsigned int)MS, 63 * (unsigned int)MS);
		rows_want(made.a, 0, "SELECT count(*) FROM wait_ends(%u, %u) WHERE meanwhile = "
			  "'unknown'", from * (unsigned int)MS, 63 * (unsigned int)MS);
	}
}

/* While B waits, A leaves and enters its CPU 600 times, and sleeps a third of the time. */
UNIT_TEST(test_meanwhile_of_a_thread_that_slept_often)
{
	begin_pair(&made);
	sleep_in(made.g, 10, 1, B, FUTEX, LOCK);
	for (unsigned int i = 0; i < 600; i++) {
		sleep_in(made.g, 10 + 3 * i, 0, A, NANOSLEEP, 0);
		gen_wakeup(made.g, AT(11 + 3 * i), 0, 0, A, WIRE_F_IRQ);
		enter(made.g, 12 + 3 * i, 0, A);
	}
	gen_wakeup(made.g, AT(1810), 0, A, B, 0);
	enter(made.g, 1810, 1, B);
	sleep_in(made.g, 1820, 1, B, NANOSLEEP, 0);
	made_finish(&made, AT(1830));
	assert_int_equal(meanwhile(&made, "timer"), 600 * MS);
	assert_int_equal(meanwhile(&made, "cpu"), 600 * MS);
	assert_int_equal(meanwhile(&made, "running"), 600 * MS);
}

/*
 * A sleeps from 10 ms on. At 90 ms it leaves a CPU without a recorded switch to it: the CPU's
 * thread before that is unknown. A path that ends at 80 ms goes back from A.
 */
UNIT_TEST(test_a_path_begins_with_a_known_thread)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .machine = "x86_64" });
	gen_snap(made.g, T0, 0, A, A, 1, "lock");
	enter(made.g, 1, 0, A);
	sleep_in(made.g, 10, 0, A, NANOSLEEP, 0);
	sleep_in(made.g, 90, 0, A, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	assert_true(rows_one(made.a, "SELECT sum(oncpu_ns) FROM cpu_usage(50000000, 80000000) "
				     "WHERE utid = 1") > 0);
	rows_want(made.a, 80 * MS, "SELECT sum(end_ns - start_ns) FROM blocking_chain(0, "
		  "80000000)");
	rows_want(made.a, 1, "SELECT count(DISTINCT utid) FROM blocking_chain(0, 80000000)");
}

/* A and B pass the lock to each other 200 times while C waits. */
UNIT_TEST(test_meanwhile_of_a_lock_that_changes_hands_often)
{
	uint32_t has = A, waits = B;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0, .machine = "x86_64" });
	gen_snap(made.g, T0, 0, A, A, 1, "lock");
	gen_snap(made.g, T0, 0, B, A, 1, "lock");
	gen_snap(made.g, T0, 0, C, A, 1, "lock");
	enter(made.g, 1, A - A, A);
	enter(made.g, 1, B - A, B);
	enter(made.g, 1, C - A, C);
	sleep_in(made.g, 2, B - A, B, FUTEX, LOCK);
	sleep_in(made.g, 3, C - A, C, FUTEX, LOCK);
	for (unsigned int ms = 4; ms < 204; ms++) {
		uint32_t gives = has;

		gen_wakeup(made.g, AT(ms) - 1, gives - A, gives, waits, 0);
		enter(made.g, ms, waits - A, waits);
		sleep_in(made.g, ms, gives - A, gives, FUTEX, LOCK);
		has = waits;
		waits = gives;
	}
	gen_wakeup(made.g, AT(204), has - A, has, C, 0);
	enter(made.g, 204, C - A, C);
	sleep_in(made.g, 210, C - A, C, NANOSLEEP, 0);
	made_finish(&made, AT(220));
	rows_want(made.a, 201, "SELECT sum(waits) FROM wait_ends");
	rows_want(made.a, 201 * MS - 200, "SELECT sum(meanwhile_ns) FROM wait_ends JOIN threads AS "
		  "t USING (utid) WHERE tid = %d AND meanwhile = 'running'", C);
	assert_int_equal(meanwhile(&made, "unknown"), 0);
}

/*
 * C waits from 3 ms on. At 50 ms A makes B, which wakes C at 60 ms: before B had a CPU it is A that
 * counts.
 */
UNIT_TEST(test_meanwhile_of_a_thread_that_began_during_the_wait)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0, .machine = "x86_64" });
	gen_snap(made.g, T0, 0, A, A, 1, "made");
	gen_snap(made.g, T0, 0, C, C, 1, "waits");
	enter(made.g, 1, 0, A);
	enter(made.g, 1, 2, C);
	sleep_in(made.g, 3, 2, C, FUTEX, LOCK);
	sleep_in(made.g, 10, 0, A, NANOSLEEP, 0);
	gen_wakeup(made.g, AT(40), 0, 0, A, WIRE_F_IRQ);
	enter(made.g, 40, 0, A);
	gen_new(made.g, AT(50), 0, A, B, B, A, "born");
	enter(made.g, 51, 1, B);
	sleep_in(made.g, 55, 0, A, NANOSLEEP, 0);
	gen_wakeup(made.g, AT(60), 1, B, C, 0);
	enter(made.g, 60, 2, C);
	sleep_in(made.g, 70, 1, B, NANOSLEEP, 0);
	sleep_in(made.g, 70, 2, C, NANOSLEEP, 0);
	made_finish(&made, AT(80));
	assert_int_equal(meanwhile(&made, "timer"), (40 - 10) * MS);
	assert_int_equal(meanwhile(&made, "running"), (10 - 3 + 60 - 40) * MS);
	assert_int_equal(meanwhile(&made, "unknown"), 0);
}

/* A slept before the trace began. B wakes it at 40 ms: the path goes back along B. */
UNIT_TEST(test_a_sleep_from_before_the_trace_has_an_end)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0, .machine = "x86_64" });
	gen_snap(made.g, T0, 0, A, A, 1, "slept");
	gen_snap(made.g, T0, 0, B, B, 1, "woke");
	enter(made.g, 1, 1, B);
	gen_wakeup(made.g, AT(40), 1, B, A, 0);
	enter(made.g, 41, 0, A);
	sleep_in(made.g, 50, 1, B, NANOSLEEP, 0);
	sleep_in(made.g, 60, 0, A, NANOSLEEP, 0);
	made_finish(&made, AT(80));
	rows_want(made.a, 40 * MS, "SELECT sum(wait_ns) FROM wait_ends JOIN threads AS t ON t.utid "
		  "= ender_utid WHERE tid = %d AND waits = 1", B);
	rows_want(made.a, 40 * MS, "SELECT wait_max_ns FROM wait_ends WHERE waits = 1");
	rows_want(made.a, 39 * MS, "SELECT sum(meanwhile_ns) FROM wait_ends WHERE meanwhile = "
		  "'running'");
	rows_want(made.a, 0, "SELECT sum(waits) FROM wait_kinds WHERE kind <> 'cpu'");
	rows_want(made.a, 39 * MS, "SELECT sum(c.end_ns - c.start_ns) FROM blocking_chain(0, "
		  "60000000) AS c JOIN threads USING (utid) WHERE tid = %d AND kind = 'running'",
		  B);
}

/*
 * B waits for a lock. At 20 and 40 ms a waker that does not hold the lock wakes it, and it waits
 * again.
 */
static void begin_interrupted(struct made_trace *m, unsigned int flags, unsigned int call)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0, .machine = "x86_64" });
	gen_snap(m->g, T0, 0, A, A, 1, "lock");
	gen_snap(m->g, T0, 0, B, A, 1, "lock");
	gen_snap(m->g, T0, 0, C, C, 1, "signals");
	enter(m->g, 1, 0, C);
	enter(m->g, 1, 1, B);
	enter(m->g, 1, 2, A);
	sleep_in(m->g, 10, 1, B, FUTEX, LOCK);
	for (unsigned int ms = 20; ms <= 40; ms += 20) {
		gen_wakeup_in(m->g, AT(ms), 0, C, B, flags, call);
		enter(m->g, ms, 1, B);
		sleep_in(m->g, ms + 1, 1, B, FUTEX, LOCK);
	}
}

static void end_interrupted(struct made_trace *m)
{
	sleep_in(m->g, 80, 1, B, NANOSLEEP, 0);
	sleep_in(m->g, 80, 2, A, NANOSLEEP, 0);
	made_finish(m, AT(100));
}

static const struct {
	unsigned int flags, call;
} interrupts[] = {
	{ 0, WIRE_CALL_IS_NUMBER | TGKILL },	/* a signal */
	{ 0, WIRE_CALL_IS_NUMBER | WRITE },	/* the freezer */
	{ WIRE_F_IRQ, WIRE_CALL_IS_NUMBER | FUTEX },	/* a time-out */
};

/* A releases the lock at 60 ms: it is the holder of all three waits. */
UNIT_TEST(test_who_interrupts_a_wait_is_no_holder)
{
	struct made_trace m;

	for (size_t i = 0; i < sizeof(interrupts) / sizeof(interrupts[0]); i++) {
		begin_interrupted(&m, interrupts[i].flags, interrupts[i].call);
		gen_wakeup(m.g, AT(60) - 1, 2, A, B, 0);
		enter(m.g, 60, 1, B);
		end_interrupted(&m);
		rows_want(m.a, 3, "SELECT sum(waits) FROM wait_ends WHERE kind = 'lock'");
		rows_want(m.a, (10 + 19 + 19) * MS - 1, "SELECT sum(wait_ns) FROM wait_ends JOIN "
			  "threads AS t ON t.utid = ender_utid WHERE kind = 'lock' AND tid = %d",
			  A);
		assert_int_equal(meanwhile(&m, "running"), (10 + 19 + 19) * MS - 1);
		made_close(&m);
	}
}

/* No wake-up ends the last wait of B: the holder of the lock is unknown. */
UNIT_TEST(test_a_lock_that_nobody_releases_has_no_known_holder)
{
	struct made_trace m;

	for (size_t i = 0; i < sizeof(interrupts) / sizeof(interrupts[0]); i++) {
		begin_interrupted(&m, interrupts[i].flags, interrupts[i].call);
		made_finish(&m, AT(100));
		rows_want(m.a, 2, "SELECT sum(waits) FROM wait_ends WHERE kind = 'lock' AND "
			  "ender_utid IS NULL AND NOT irq");
		rows_want(m.a, 0, "SELECT count(*) FROM wait_ends WHERE kind = 'lock' AND "
			  "(ender_utid NOT NULL OR irq)");
		made_close(&m);
	}
}

/*
 * B reads from a socket of this machine. The data is delivered in soft interrupts that hit C: in
 * user code at 20 ms, in a write at 40 ms.
 */
UNIT_TEST(test_a_sender_and_no_bystander_ends_a_wait_for_a_local_socket)
{
	struct wire_socket s = { .hdr = { .ts_ns = AT(2), .hook = WIRE_SOCKET, .tid = B },
				 .ino = 4711, .family = 2, .type = 1, .local_port = 80,
				 .remote_port = 40112,
				 .local = { 127, 0, 0, 1 }, .remote = { 127, 0, 0, 1 } };
	unsigned int call = RECVFROM | WIRE_FILE_SOCKET << WIRE_CALL_FILE_SHIFT;

	begin_pair(&made);
	gen_snap(made.g, T0, 0, C, C, 1, "other");
	enter(made.g, 2, 0, C);
	gen_raw(made.g, &s, sizeof(s));
	sleep_in(made.g, 10, 1, B, call, 4711);
	gen_wakeup_in(made.g, AT(20), 0, C, B, WIRE_F_IRQ, WIRE_CALL_USER);
	enter(made.g, 20, 1, B);
	sleep_in(made.g, 30, 1, B, call, 4711);
	gen_wakeup_in(made.g, AT(40), 0, C, B, WIRE_F_IRQ, WIRE_CALL_IS_NUMBER | WRITE);
	enter(made.g, 40, 1, B);
	sleep_in(made.g, 50, 1, B, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	rows_want(made.a, 1, "SELECT sum(waits) FROM wait_ends WHERE object LIKE 'tcp %%' AND irq");
	rows_want(made.a, 40 * MS, "SELECT max(at_ns) FROM wait_ends JOIN threads AS t ON t.utid = "
		  "ender_utid WHERE object LIKE 'tcp %%' AND tid = %d AND waits = 1", C);
}

static int64_t path_ns(struct made_trace *m, uint32_t tid, const char *kind)
{
	return rows_one(m->a, "SELECT coalesce(sum(c.end_ns - c.start_ns), 0) FROM "
			      "blocking_chain(0, 80000000) AS c JOIN threads USING (utid) "
			      "WHERE tid = %d AND kind = '%s'", tid, kind);
}

/*
 * B waits for a lock of A from 50 to 60 ms, and ran before: the path is with A for these 10 ms. A
 * waited itself then, until C ended that at 58 ms.
 */
UNIT_TEST(test_a_path_is_with_others_only_for_the_time_of_the_wait)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0, .machine = "x86_64" });
	gen_snap(made.g, T0, 0, A, A, 1, "lock");
	gen_snap(made.g, T0, 0, B, A, 1, "lock");
	gen_snap(made.g, T0, 0, C, C, 1, "other");
	enter(made.g, 0, 0, C);
	enter(made.g, 0, 1, A);
	enter(made.g, 0, 2, B);
	sleep_in(made.g, 20, 1, A, RECVFROM, 0);
	sleep_in(made.g, 50, 2, B, FUTEX, LOCK);
	gen_wakeup_in(made.g, AT(58), 0, C, A, 0, WIRE_CALL_IS_NUMBER | WRITE);
	enter(made.g, 58, 1, A);
	gen_wakeup(made.g, AT(60), 1, A, B, 0);
	enter(made.g, 60, 2, B);
	sleep_in(made.g, 70, 0, C, NANOSLEEP, 0);
	sleep_in(made.g, 70, 1, A, NANOSLEEP, 0);
	sleep_in(made.g, 80, 2, B, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	assert_int_equal(path_ns(&made, B, "running"), (20 + 50) * MS);
	assert_int_equal(path_ns(&made, A, "running"), 2 * MS);
	assert_int_equal(path_ns(&made, C, "running"), 8 * MS);
}

/* A signal ends B's wait for the lock at 60 ms: the path does not continue with its sender. */
UNIT_TEST(test_a_path_does_not_follow_a_signal_out_of_a_wait_for_a_lock)
{
	begin_interrupted(&made, 0, WIRE_CALL_IS_NUMBER | TGKILL);
	gen_wakeup_in(made.g, AT(60) - 1, 0, C, B, 0, WIRE_CALL_IS_NUMBER | TGKILL);
	enter(made.g, 60, 1, B);
	sleep_in(made.g, 70, 0, C, NANOSLEEP, 0);
	sleep_in(made.g, 70, 2, A, NANOSLEEP, 0);
	sleep_in(made.g, 80, 1, B, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	assert_int_equal(path_ns(&made, B, "lock"), (10 + 19 + 19) * MS - 1);
	assert_int_equal(path_ns(&made, C, "running"), 0);
}

/* B, a thread of A's process, makes the process C at 40 ms, which runs until the end. */
UNIT_TEST(test_a_path_goes_from_a_birth_to_the_thread_that_forked)
{
	struct wire_waking first = { .hdr = { .ts_ns = AT(40), .hook = WIRE_WAKEUP_NEW, .cpu = 1,
					      .tid = B }, .target_tid = C, .is_new = 1 };

	begin_pair(&made);
	sleep_in(made.g, 10, 0, A, NANOSLEEP, 0);
	gen_new(made.g, AT(40), 1, B, C, C, A, "child");
	gen_raw(made.g, &first, sizeof(first));
	enter(made.g, 41, 0, C);
	sleep_in(made.g, 45, 1, B, NANOSLEEP, 0);
	sleep_in(made.g, 80, 0, C, NANOSLEEP, 0);
	made_finish(&made, AT(100));
	assert_int_equal(path_ns(&made, C, "running"), 39 * MS);
	assert_int_equal(path_ns(&made, C, "cpu"), 1 * MS);
	assert_int_equal(path_ns(&made, B, "running"), 38 * MS);
	assert_int_equal(path_ns(&made, A, "timer"), 0);
}

/* The recorder B holds COMMAND back until 14 ms: that is not a wait, nor a part of A's life. */
UNIT_TEST(test_a_command_lives_from_when_the_recorder_lets_it_go)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0, .machine = "x86_64",
						.recorder_pid = B, .command_pid = A });
	gen_snap(made.g, T0, 0, A, A, B, "ebpfrec");
	gen_snap(made.g, T0, 0, B, B, 1, "ebpfrec");
	enter(made.g, 1, 0, B);
	gen_wakeup_in(made.g, AT(14), 0, B, A, 0, WIRE_CALL_IS_NUMBER | WRITE);
	enter(made.g, 16, 1, A);
	sleep_in(made.g, 40, 1, A, NANOSLEEP, 0);
	made_finish(&made, AT(50));
	rows_want(made.a, 0, "SELECT count(*) FROM wait_ends");
	rows_want(made.a, 0, "SELECT count(*) FROM thread_states(0, 13000000, 0, 'thread') JOIN "
		  "threads USING (utid) WHERE tid = %d", A);
	rows_want(made.a, 2 * MS, "SELECT runnable_ns FROM thread_states(0, 40000000, 0, 'thread') "
		  "JOIN threads USING (utid) WHERE tid = %d", A);
	assert_int_equal(path_ns(&made, A, "unknown"), 0);
	rows_want(made.a, 0, "SELECT unknown_ns + sleeping_ns FROM thread_states(0, 40000000, 0, "
		  "'thread') JOIN threads USING (utid) WHERE tid = %d", A);
}

UNIT_TESTS_END(made_close, made)
