/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Requests of programs: which there are, who worked for them, and what their time went to. */
#include "bpf/wire.h"
#include "format/event.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)
#define LOCK 0x7f33a0012000ull

static struct made_trace made;

enum { A = 101, B, C, X = 201 };
enum { POLL = 7, NANOSLEEP = 35, FUTEX = 202 };	/* system calls of x86-64 */

static void leave(struct gen *g, unsigned int at_ms, unsigned int cpu, uint32_t tid,
		  unsigned int call, uint64_t object)
{
	gen_leave(g, AT(at_ms), cpu, tid, 1, call, object);
}

static void enter(struct gen *g, unsigned int at_ms, unsigned int cpu, uint32_t tid)
{
	gen_switch(g, AT(at_ms), cpu, 0, tid, 0);
}

/* Threads A and B of one process, C of the same, X of another, all on CPUs of their own. */
static void begin(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 4, .from_ns = T0, .machine = "x86_64" });
	gen_snap(m->g, T0, 0, A, A, 1, "shop");
	gen_snap(m->g, T0, 0, B, A, 1, "worker");
	gen_snap(m->g, T0, 0, C, A, 1, "audit");
	gen_snap(m->g, T0, 0, X, X, 1, "other");
}

/* The time of request id in a kind of wait, in ms; by: tid, or 0 for all. */
static int64_t part(struct made_trace *m, int64_t id, const char *kind, uint32_t by)
{
	char who[64] = "";

	if (by)
		snprintf(who, sizeof(who),
			 " AND by_utid = (SELECT utid FROM threads WHERE tid = %u)", by);
	return rows_one(m->a, "SELECT coalesce(sum(dur_ns), 0) / 1000000 FROM request_time("
			"0, 100000000) WHERE id = %lld AND kind = '%s'%s", (long long)id, kind,
			who);
}

/*
 * A begins request 17 and leaves it to nobody at 10 ms; B works for it from 20 ms on, waits for a
 * lock that C has from 30 to 60 ms, then for X to leave its CPU until 70 ms, and ends it at 80 ms.
 */
UNIT_TEST(test_parts_of_a_handed_over_request)
{
	begin(&made);
	enter(made.g, 0, 0, A);
	enter(made.g, 0, 1, B);
	enter(made.g, 0, 2, C);
	gen_span(made.g, AT(5), 0, A, EVENT_SPAN_BEGIN, "GET", 17);
	gen_span(made.g, AT(10), 0, A, EVENT_SPAN_ATTACH, NULL, 0);
	gen_span(made.g, AT(20), 1, B, EVENT_SPAN_ATTACH, NULL, 17);
	gen_span(made.g, AT(25), 1, B, EVENT_SPAN_STEP, "save", 0);
	leave(made.g, 30, 1, B, FUTEX, LOCK);
	enter(made.g, 30, 1, X);
	gen_wakeup(made.g, AT(60), 2, C, B, 0);
	gen_switch(made.g, AT(70), 1, X, B, WIRE_F_PREEMPT);
	gen_span(made.g, AT(80), 1, B, EVENT_SPAN_END, NULL, 17);
	made_finish(&made, AT(100));
	rows_want(made.a, 75 * MS, "SELECT dur_ns FROM requests(0, 100000000) WHERE id = 17 AND "
		  "name = 'GET' AND NOT failed AND NOT is_call");
	assert_int_equal(part(&made, 17, "running", 0), 5 + 10 + 10);
	assert_int_equal(part(&made, 17, "queued", 0), 10);
	assert_int_equal(part(&made, 17, "lock", C), 30);
	assert_int_equal(part(&made, 17, "cpu", X), 10);
	rows_want(made.a, 75 * MS, "SELECT sum(dur_ns) FROM request_time(0, 100000000)");
	rows_want(made.a, 25 * MS * 1000 + 55, "SELECT start_ns * 1000 + dur_ns / 1000000 FROM "
		  "request_steps(0, 100000000) WHERE step = 'save'");
	/* it ends in the second window, with its whole length, and is open in the first */
	rows_want(made.a, 75 * MS, "SELECT sum(dur_ns) FROM request_time(50000000, 90000000)");
	rows_want(made.a, 45 * MS, "SELECT dur_ns FROM requests(0, 50000000) WHERE end_ns IS NULL");
	rows_want(made.a, 45 * MS, "SELECT sum(dur_ns) FROM request_time(0, 50000000)");
	rows_want(made.a, 0, "SELECT count(*) FROM requests(85000000, 100000000)");
}

/* Calls of functions nest, and a return ends those inside it that have not returned. */
UNIT_TEST(test_calls_nest)
{
	begin(&made);
	enter(made.g, 0, 0, A);
	gen_span(made.g, AT(10), 0, A, EVENT_SPAN_BEGIN, "outer", 0);
	gen_span(made.g, AT(20), 0, A, EVENT_SPAN_BEGIN, "inner", 0);
	gen_span(made.g, AT(30), 0, A, EVENT_SPAN_END, NULL, 0);
	gen_span(made.g, AT(40), 0, A, EVENT_SPAN_BEGIN, "inner", 0);
	gen_span(made.g, AT(45), 0, A, EVENT_SPAN_BEGIN, "thrown", 0);
	gen_span(made.g, AT(50), 0, A, EVENT_SPAN_END, "inner", 0);
	gen_span(made.g, AT(90), 0, A, EVENT_SPAN_FAIL, NULL, 0);
	/* ends of what never began */
	gen_span(made.g, AT(91), 0, A, EVENT_SPAN_END, NULL, 0);
	gen_span(made.g, AT(92), 0, A, EVENT_SPAN_END, NULL, 99);
	made_finish(&made, AT(100));
	rows_want(made.a, 20 * MS, "SELECT sum(dur_ns) FROM requests(0, 100000000) WHERE name = "
		  "'inner' AND is_call");
	rows_want(made.a, 80 * MS, "SELECT dur_ns FROM requests(0, 100000000) WHERE name = 'outer' "
		  "AND failed");
	rows_want(made.a, 5 * MS, "SELECT dur_ns FROM requests(0, 100000000) WHERE name = 'thrown' "
		  "AND end_ns NOTNULL");
	rows_want(made.a, 4, "SELECT count(*) FROM requests(0, 100000000)");
	rows_want(made.a, 80 * MS, "SELECT sum(dur_ns) FROM request_time(0, 100000000) WHERE name "
		  "= 'outer' AND kind = 'running'");
}

/* Ids belong to processes; another process ends the last one with an id that it did not begin. */
UNIT_TEST(test_ids_belong_to_processes)
{
	begin(&made);
	enter(made.g, 0, 0, A);
	enter(made.g, 0, 1, X);
	gen_span(made.g, AT(10), 0, A, EVENT_SPAN_BEGIN, "a", 1);
	gen_span(made.g, AT(20), 1, X, EVENT_SPAN_BEGIN, "x", 1);
	gen_span(made.g, AT(30), 0, A, EVENT_SPAN_END, NULL, 1);
	gen_span(made.g, AT(50), 1, X, EVENT_SPAN_END, NULL, 1);
	gen_span(made.g, AT(60), 0, A, EVENT_SPAN_BEGIN, "far", 2);
	gen_span(made.g, AT(65), 1, X, EVENT_SPAN_END, NULL, 2);
	made_finish(&made, AT(100));
	rows_want(made.a, 20 * MS, "SELECT dur_ns FROM requests(0, 100000000) WHERE name = 'a'");
	rows_want(made.a, 30 * MS, "SELECT dur_ns FROM requests(0, 100000000) WHERE name = 'x'");
	rows_want(made.a, 5 * MS, "SELECT dur_ns FROM requests(0, 100000000) WHERE name = 'far'");
}

/* One of four requests waits in poll until 20 ms are over. */
UNIT_TEST(test_the_slow_one_is_compared)
{
	struct rows r;

	begin(&made);
	enter(made.g, 0, 0, A);
	for (unsigned int i = 1; i <= 4; i++) {
		gen_span(made.g, AT(10 * i), 0, A, EVENT_SPAN_BEGIN, "GET", i);
		if (i == 4) {
			leave(made.g, 42, 0, A, POLL, 0);
			gen_wakeup_in(made.g, AT(62), 0, 0, A, WIRE_F_IRQ, WIRE_CALL_TIMEOUT);
			enter(made.g, 63, 0, A);
		}
		gen_span(made.g, AT(i == 4 ? 65 : 10 * i + 4), 0, A, EVENT_SPAN_END, NULL, i);
	}
	made_finish(&made, AT(100));
	rows_sql(&r, made.a, "SELECT kind, slow_ns, others_ns, diff_ns, error_ns, answer FROM "
		 "slow_requests(0, 100000000, 'GET') LIMIT 1");
	assert_string_equal(rows_text(&r, 0, 5), "The slowest request (25.0 ms) waited 20.0 ms "
			    "for events in poll, until a timeout; the others 0 ns");
	assert_int_equal(rows_int(&r, 0, 3), 20 * MS);
	assert_string_equal(rows_text(&r, 0, 4), "");	/* one request has no variance */
	rows_done(&r);
	rows_want(made.a, 25 * MS, "SELECT sum(slow_ns) FROM slow_requests(0, 100000000, 'GET')");
	rows_want(made.a, 4 * MS, "SELECT sum(others_ns) FROM slow_requests(0, 100000000, 'GET')");
}

/* In any window of a random trace, the parts of each request add up to its length. */
static void one_seed(uint64_t seed)
{
	static const char *const names[] = { "GET", "PUT", "LIST" };
	const uint32_t tids[] = { A, B, C, X };
	uint32_t on[4] = { 0 };
	uint64_t s = seed, ts = T0;
	struct made_trace m;

	begin(&m);
	for (unsigned int i = 0; i < 600; i++) {
		unsigned int cpu = gen_random(&s) % 4, t = gen_random(&s) % 4;
		uint32_t tid = on[cpu];
		bool runs = false;

		ts += 1 + gen_random(&s) % 100000;
		for (unsigned int c = 0; c < 4; c++)
			runs |= on[c] == tids[t];
		if (gen_random(&s) % 3 == 0) {
			if (runs)
				continue;
			gen_switch(m.g, ts, cpu, tid, tids[t],
				   tid && gen_random(&s) % 2 ? WIRE_F_PREEMPT : 0);
			on[cpu] = tids[t];
		} else if (gen_random(&s) % 4 == 0) {
			gen_wakeup(m.g, ts, cpu, tid, tids[t], 0);
		} else if (tid) {
			gen_span(m.g, ts, cpu, tid, EVENT_SPAN_BEGIN + gen_random(&s) % 5,
				 names[gen_random(&s) % 3], gen_random(&s) % 6);
		}
		if (i % 100 == 99)
			gen_slice(m.g, ++ts);
	}
	made_finish(&m, ts + 1);
	for (unsigned int i = 0; i < 8; i++) {
		long long end = (long long)(ts + 1 - T0), from = 0, to = end;

		if (i) {
			from = (long long)(gen_random(&s) % (uint64_t)end);
			to = from + (long long)(gen_random(&s) % (uint64_t)(end - from + 1));
		}
		rows_want(m.a, 0, "WITH r AS (SELECT name, id, start_ns, dur_ns FROM "
			  "requests(%lld, %lld)), p AS (SELECT name, id, start_ns, sum(dur_ns) AS "
			  "dur_ns FROM request_time(%lld, %lld) GROUP BY 1, 2, 3) SELECT count(*) "
			  "FROM (SELECT * FROM r WHERE dur_ns > 0 EXCEPT SELECT * FROM p UNION ALL "
			  "SELECT * FROM p EXCEPT SELECT * FROM r)", from, to, from, to);
	}
	made_close(&m);
}

UNIT_TEST(test_parts_add_up_in_any_window)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		one_seed(seed);
}

UNIT_TESTS_END(made_close, made)
