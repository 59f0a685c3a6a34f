/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The sentences of causes(): one rule each. Hand-made events, by ms. */
#include "bpf/wire.h"
#include "record/encode/block_writer.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)
#define LOCK 0x7f33a0012000ull

static struct made_trace made;

enum { A = 101, B, C };
/* system calls of x86-64 */
enum { NANOSLEEP = 35, KILL = 62, FUTEX = 202 };
enum { SLEEPING = 1, STOPPED = 4 };

static void leave(struct gen *g, unsigned int at_ms, unsigned int cpu, uint32_t tid,
		  unsigned int state, unsigned int call, uint64_t object)
{
	gen_leave(g, AT(at_ms), cpu, tid, state, call, object);
}

static void enter(struct gen *g, unsigned int at_ms, unsigned int cpu, uint32_t tid)
{
	gen_switch(g, AT(at_ms), cpu, 0, tid, 0);
}

/* Three threads of one process, "shop": A "audit", B "shop" itself, C "other". */
static void begin(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 4, .from_ns = T0, .machine = "x86_64" });
	gen_snap(m->g, T0, 0, B, B, 1, "shop");
	gen_snap(m->g, T0, 0, A, B, 1, "audit");
	gen_snap(m->g, T0, 0, C, B, 1, "other");
}

static void end(struct made_trace *m)
{
	made_finish(m, AT(100));
}

/* The n-th sentence of the rule in the whole trace, and its cost and command. */
static void check(struct made_trace *m, const char *rule, unsigned int rank, uint64_t cost_ns,
		  const char *answer, const char *command)
{
	char sql[300];
	struct rows r;

	snprintf(sql, sizeof(sql), "SELECT rank, cost_ns, answer, coalesce(command, '') FROM "
		 "causes(0, 100000000, 1, 0) WHERE rule = '%s' LIMIT 1", rule);
	rows_sql(&r, m->a, sql);
	assert_int_equal(r.row_cnt, 1);
	assert_string_equal(rows_text(&r, 0, 2), answer);
	assert_int_equal(rows_int(&r, 0, 0), rank);
	assert_int_equal(rows_int(&r, 0, 1), cost_ns);
	assert_string_equal(rows_text(&r, 0, 3), command);
	rows_done(&r);
	made_close(m);
}

/* A has the lock, and sleeps for 30 of the 60 ms during which B waits for it. */
UNIT_TEST(test_held)
{
	struct made_trace m;

	begin(&m);
	enter(m.g, 0, 1, A);
	enter(m.g, 0, 2, B);
	leave(m.g, 20, 2, B, SLEEPING, FUTEX, LOCK);
	leave(m.g, 30, 1, A, SLEEPING, NANOSLEEP, 0);
	gen_wakeup(m.g, AT(60), 0, 0, A, WIRE_F_IRQ);
	enter(m.g, 60, 1, A);
	gen_wakeup(m.g, AT(80), 1, A, B, 0);
	enter(m.g, 80, 2, B);
	leave(m.g, 85, 1, A, SLEEPING, NANOSLEEP, 0);
	end(&m);
	check(&m, "held", 1, 60 * MS,
	      "shop waited 60.0 ms of the critical path (60 %) for lock 7f33a0012000, held by "
	      "audit (101): running 50 %, timer 50 %; removing it saves 60.0 ms of 100 ms",
	      "locks --comm shop");
}

/* The thread leaves its CPU because the group is frozen. */
static void freeze(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t group)
{
	struct wire_switch r = {
		.hdr = { .ts_ns = ts, .hook = WIRE_SWITCH, .cpu = (wire_u16)cpu, .tid = tid },
		.prev_state = SLEEPING, .call = WIRE_CALL_FROZEN, .object_low = group,
	};

	gen_raw(g, &r, sizeof(r));
}

/* C stops B with a signal or the freezer, and continues it 40 ms later. */
static void stopped(bool is_frozen, const char *answer)
{
	struct made_trace m;

	begin(&m);
	enter(m.g, 0, 0, C);
	enter(m.g, 0, 1, B);
	if (is_frozen)
		freeze(m.g, AT(20), 1, B, 77);
	else
		leave(m.g, 20, 1, B, STOPPED, KILL, 0);
	gen_wakeup_in(m.g, AT(60), 0, C, B, 0, WIRE_CALL_IS_NUMBER | KILL);
	enter(m.g, 60, 1, B);
	leave(m.g, 70, 0, C, SLEEPING, NANOSLEEP, 0);
	end(&m);
	check(&m, "held", 2, 40 * MS, answer, "why --comm shop");
}

UNIT_TEST(test_stopped)
{
	stopped(false,
		"shop was stopped for 40.0 ms of the critical path (40 %), until other (103) "
		"continued it; removing it saves 40.0 ms of 100 ms");
	stopped(true, "shop was stopped for 40.0 ms of the critical path (40 %) by the freezer of "
		      "/group-77, until other (103) continued it; "
		      "removing it saves 40.0 ms of 100 ms");
}

/* C waits for A's lock, while A runs, sleeps and loses its CPU: the lock is one of three causes. */
UNIT_TEST(test_a_lock_beside_the_path_is_third)
{
	struct made_trace m;

	begin(&m);
	block_writer_add_workload(gen_block_writer(m.g), B);
	enter(m.g, 0, 0, A);
	enter(m.g, 0, 1, C);
	leave(m.g, 5, 1, C, SLEEPING, FUTEX, LOCK);
	for (unsigned int ms = 10; ms < 60; ms += 20) {
		leave(m.g, ms, 0, A, SLEEPING, NANOSLEEP, 0);
		gen_wakeup(m.g, AT(ms + 9), 0, 0, A, WIRE_F_IRQ);
		enter(m.g, ms + 10, 0, A);
	}
	gen_switch(m.g, AT(70), 0, A, B, WIRE_F_PREEMPT);
	gen_switch(m.g, AT(82), 0, B, A, WIRE_F_PREEMPT);
	gen_wakeup(m.g, AT(99), 0, A, C, 0);
	end(&m);
	check(&m, "held", 3, 94 * MS,
	      "On average 0.9 of the 3 threads of shop waited for lock 7f33a0012000, 94.0 ms in "
	      "all, held by audit (101): running 55 %, timer 28 %; removing it saves at "
	      "most 15.0 ms of 100 ms", "locks --comm shop");
}

/* C has the CPU during most of B's wait for it. 0: no fact about B's scheduling is recorded. */
static void waited_for_cpu(int policy, int nice, unsigned int rt_priority, const char *answer)
{
	struct wire_sched_facts facts = {
		.hdr = { .ts_ns = AT(1), .hook = WIRE_SCHED_FACTS, .tid = B }, .pid = B,
		.policy = (wire_u8)policy, .static_prio = (wire_u8)(120 + nice),
		.rt_priority = (wire_u8)rt_priority, .allowed_cnt = 1, .cpu_mask = 1,
	};
	struct made_trace m;

	begin(&m);
	if (policy || nice)
		gen_raw(m.g, &facts, sizeof(facts));
	enter(m.g, 0, 0, B);
	gen_switch(m.g, AT(20), 0, B, C, WIRE_F_PREEMPT);
	gen_switch(m.g, AT(70), 0, C, B, 0);
	end(&m);
	check(&m, "cpu", 1, 50 * MS, answer, "why --comm shop");
}

#define WAITED                                                                                     \
	"shop waited 50.0 ms of the critical path (50 %) for a CPU, the longest behind other "     \
	"(100 %); "
#define SAVES "removing it saves 50.0 ms of 100 ms"

UNIT_TEST(test_cpu)
{
	waited_for_cpu(0, 0, 0, WAITED SAVES);
	waited_for_cpu(0, 10, 0, WAITED "shop runs at nice 10; " SAVES);
	waited_for_cpu(3, 5, 0, WAITED "shop has policy batch, runs at nice 5; " SAVES);
	waited_for_cpu(1, 0, 7, WAITED "shop has policy fifo, priority 7; " SAVES);
}

/* n sleeps, after the same time on a CPU, from from_ms on. */
static void pace(struct made_trace *m, unsigned int from_ms, unsigned int cpu, uint32_t tid,
		 unsigned int n, unsigned int run_ms, unsigned int sleep_ms)
{
	for (unsigned int i = 0; i < n; i++) {
		leave(m->g, from_ms + run_ms, cpu, tid, SLEEPING, NANOSLEEP, 0);
		from_ms += run_ms + sleep_ms;
		gen_wakeup(m->g, AT(from_ms), 0, 0, tid, WIRE_F_IRQ);
		enter(m->g, from_ms, cpu, tid);
	}
}

/*
 * B waits for A until 62 ms and then for C until 64 ms, both of which sleep as long: a wait for a
 * CPU takes less of the path than the wait for A, and saves more.
 */
UNIT_TEST(test_rank_is_by_saving)
{
	struct made_trace m;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 4, .from_ns = T0, .machine = "x86_64" });
	gen_snap(m.g, T0, 0, A, A, 1, "audit");
	gen_snap(m.g, T0, 0, B, B, 1, "shop");
	gen_snap(m.g, T0, 0, C, C, 1, "other");
	block_writer_add_workload(gen_block_writer(m.g), B);
	for (unsigned int i = 0; i < 3; i++)
		enter(m.g, 0, 1 + i, A + i);
	leave(m.g, 5, 2, B, SLEEPING, FUTEX, LOCK);
	pace(&m, 0, 1, A, 5, 2, 10);
	pace(&m, 0, 3, C, 5, 2, 10);
	gen_wakeup(m.g, AT(62), 1, A, B, 0);
	enter(m.g, 62, 2, B);
	leave(m.g, 62, 1, A, SLEEPING, NANOSLEEP, 0);
	leave(m.g, 63, 2, B, SLEEPING, FUTEX, LOCK + 64);
	gen_wakeup(m.g, AT(64), 3, C, B, 0);
	enter(m.g, 65, 2, B);
	leave(m.g, 66, 3, C, SLEEPING, NANOSLEEP, 0);
	gen_switch(m.g, AT(70), 2, B, C, WIRE_F_PREEMPT);
	gen_switch(m.g, AT(85), 2, C, B, 0);
	end(&m);
	rows_want(m.a, 2, "SELECT rank FROM causes(0, 100000000, 1, 0) WHERE rule = 'cpu'");
	check(&m, "held", 3, 57 * MS,
	      "shop waited 57.0 ms of the critical path (57 %) for lock 7f33a0012000, held by "
	      "audit (101): timer 82 %, running 17 %; removing it saves at most 16.0 ms of 100 ms",
	      "locks --comm shop");
}

/* A wakes nine threads at once: one has work, the others sleep again after 0.15 ms. */
UNIT_TEST(test_herd)
{
	begin(&made);
	for (unsigned int i = 0; i < 9; i++) {
		gen_snap(made.g, T0, 0, 201 + i, B, 1, "worker");
		enter(made.g, 1 + i, 2, 201 + i);
		leave(made.g, 2 + i, 2, 201 + i, SLEEPING, FUTEX, LOCK + i % 2 * 4);
	}
	enter(made.g, 30, 1, A);
	for (unsigned int i = 0; i < 9; i++)
		gen_wakeup(made.g, AT(40) + i * 1000, 1, A, 201 + i, 0);
	leave(made.g, 41, 1, A, SLEEPING, NANOSLEEP, 0);
	for (unsigned int i = 0; i < 9; i++) {
		uint64_t from_ns = AT(42 + i);

		gen_switch(made.g, from_ns, 2, 0, 201 + i, 0);
		gen_leave(made.g, from_ns + (i ? 150000 : 900000), 2, 201 + i, SLEEPING, FUTEX,
			  LOCK);
	}
	end(&made);
	rows_want(made.a, 1200000, "SELECT cost_ns FROM causes(0, 100000000, 1, 0) WHERE rule = "
		  "'herd' AND rank NOT NULL AND answer = 'audit (101) woke 9 threads of worker at "
		  "a time, 8 of 9 in vain, which ran for 1.20 ms: 7f33a0012000'");
}

/* Sleeps that pace the work are its cost; one long sleep is that of a thread that waits. */
UNIT_TEST(test_wait)
{
	struct made_trace m;

	begin(&m);
	for (unsigned int i = 0; i < 5; i++) {
		enter(m.g, 20 * i, 0, B);
		leave(m.g, 20 * i + 8, 0, B, SLEEPING, NANOSLEEP, 0);
		gen_wakeup(m.g, AT(20 * i + 19), 0, 0, B, WIRE_F_IRQ);
	}
	enter(m.g, 99, 0, B);
	end(&m);
	check(&m, "wait", 1, 55 * MS,
	      "shop waited 55.0 ms of the critical path (55 %) for timers: nanosleep",
	      "why --comm shop");
}

UNIT_TEST(test_one_long_sleep_is_idle)
{
	begin(&made);
	enter(made.g, 0, 0, B);
	leave(made.g, 20, 0, B, SLEEPING, NANOSLEEP, 0);
	gen_wakeup(made.g, AT(80), 0, 0, B, WIRE_F_IRQ);
	enter(made.g, 80, 0, B);
	end(&made);
	rows_want(made.a, 60 * MS, "SELECT cost_ns FROM causes(0, 100000000, 1, 0) WHERE rule = "
		  "'wait' AND rank IS NULL AND verdict = 'no: it waits for others, or is idle'");
}

UNIT_TEST(test_running)
{
	struct made_trace m;

	begin(&m);
	enter(m.g, 0, 0, A);
	end(&m);
	check(&m, "running", 1, 100 * MS,
	      "audit ran for 100 ms of the critical path (100 %) on CPUs",
	      "cpu --by thread --thread audit");
}

/* A burst of memory is the third cause at the latest. */
UNIT_TEST(test_memory)
{
	struct made_trace m;

	begin(&m);
	enter(m.g, 0, 0, B);
	gen_rss(m.g, AT(10), 0, B, B, 1, 100);
	gen_rss(m.g, AT(20), 0, B, B, 1, 100 + 8192);
	end(&m);
	check(&m, "memory", 2, 0, "shop took 32.0 MiB of memory within 0 ns, at 0.020 s",
	      "spikes --comm shop");
}

/* A rule that finds nothing says so. */
UNIT_TEST(test_verdicts)
{
	begin(&made);
	enter(made.g, 0, 0, B);
	end(&made);
	rows_want(made.a, 9, "SELECT count(DISTINCT rule) FROM causes(0, 100000000, 1, 0) WHERE "
		  "rank IS NULL AND answer IS NULL AND verdict GLOB 'no: *'");
}

UNIT_TESTS_END(made_close, made)
