/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sleeps and waits for a disk, and their enders, compared with `states` of the same threads.
 * Hand-made events, by ms.
 */
#include "bpf/wire.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)
#define DEV 0x800000

static struct made_trace made;

/*
 * dd runs until 10 ms and sleeps. At 50 ms a task that is hidden from BPF leaves the CPU to dd, so
 * no wake-up of dd and no switch to it are recorded; cc1 wakes it at 70 ms. At 90 ms dd leaves the
 * CPU, and that switch states since when it had it. At 95 ms cc1 wakes it once more, and it runs to
 * the end.
 */
static void make(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(m->g, T0, 0, 100, 100, 1, "dd");
	gen_snap(m->g, T0, 1, 200, 200, 1, "cc1");
	gen_switch(m->g, AT(1), 0, 0, 100, 0);
	gen_switch(m->g, AT(2), 1, 0, 200, 0);
	gen_switch(m->g, AT(10), 0, 100, 0, 0);
	gen_wakeup(m->g, AT(70), 1, 200, 100, 0);
	gen_switch_more(m->g, AT(90), 0, 100, 0, 0, 0, 40 * MS);
	gen_wakeup(m->g, AT(95), 1, 200, 100, 0);
	gen_switch(m->g, AT(96), 0, 0, 100, 0);
	made_finish(m, AT(100));
}

static void leave_in_d(struct gen *g, uint64_t ts, uint32_t tid)
{
	struct wire_switch r = { .hdr = { .ts_ns = ts, .hook = WIRE_SWITCH, .tid = tid },
				 .prev_state = 2 };

	gen_raw(g, &r, sizeof(r));
}

/*
 * dd queues a request and sleeps in D from 20 ms on. The request's end is lost; at 30 ms cc1 queues
 * other I/O under the same address, which completes at 60 ms. dd is woken at 70 ms.
 */
UNIT_TEST(test_a_lost_end_of_a_request_does_not_make_a_sleep_a_wait_for_a_disk)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 100, 100, 1, "dd");
	gen_snap(made.g, T0, 1, 200, 200, 1, "cc1");
	gen_switch(made.g, AT(1), 0, 0, 100, 0);
	gen_switch(made.g, AT(2), 1, 0, 200, 0);
	gen_block(made.g, AT(20), 0, 100, WIRE_BLOCK_INSERT, 0x10, DEV, 0, 4096, 0);
	leave_in_d(made.g, AT(20), 100);
	gen_block(made.g, AT(30), 1, 200, WIRE_BLOCK_INSERT, 0x10, DEV, 5000, 4096, 0);
	gen_block(made.g, AT(60), 1, 0, WIRE_BLOCK_COMPLETE, 0x10, DEV, 5000, 4096, 0);
	gen_wakeup(made.g, AT(70), 1, 200, 100, 0);
	gen_switch(made.g, AT(70), 0, 0, 100, 0);
	made_finish(&made, AT(100));
	rows_want(made.a, 10 * MS, "SELECT disk_ns FROM thread_states(0, 1 << 60, 0, 'comm') WHERE "
		  "name = 'dd'");
	rows_want(made.a, 40 * MS, "SELECT uninterruptible_ns FROM thread_states(0, 1 << 60, 0, "
		  "'comm') WHERE name = 'dd'");
}

UNIT_TEST(test_woken_by_agrees_with_states_after_a_stay_that_was_not_seen)
{
	make(&made);
	rows_want(made.a, 45 * MS, "SELECT sleeping_ns FROM thread_states(0, 1 << 60, 0, 'comm') "
		  "WHERE name = 'dd'");
	/* the end of the first of the two sleeps, of 40 ms, is unknown */
	rows_want(made.a, 1, "SELECT sum(wakeups) FROM woken_by");
	rows_want(made.a, 5 * MS, "SELECT sum(slept_ns) FROM woken_by");
}

/*
 * cc1 wakes the first of two threads after 5 ms, and before that the second after 20 ms: the
 * longest sleep is the second one's, although the first one has the lower number.
 */
UNIT_TEST(test_the_longest_sleep_is_not_a_later_one_of_a_lower_thread)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 100, 100, 1, "low");
	gen_snap(made.g, T0, 0, 300, 300, 1, "high");
	gen_snap(made.g, T0, 1, 200, 200, 1, "cc1");
	gen_switch(made.g, AT(1), 1, 0, 200, 0);
	gen_switch(made.g, AT(2), 0, 0, 300, 0);
	gen_switch(made.g, AT(10), 0, 300, 100, 0);
	gen_wakeup(made.g, AT(30), 1, 200, 300, 0);
	gen_switch(made.g, AT(31), 0, 100, 300, 0);
	gen_wakeup(made.g, AT(36), 1, 200, 100, 0);
	gen_switch(made.g, AT(37), 0, 300, 100, 0);
	made_finish(&made, AT(100));
	rows_want(made.a, 2, "SELECT sum(wakeups) FROM woken_by");
	rows_want(made.a, 20 * MS, "SELECT max(slept_max_ns) FROM woken_by");
	rows_want(made.a, 30 * MS, "SELECT max(at_ns) FROM woken_by");
}

/*
 * make sleeps from 10 to 30 ms, which a timer ends, and starts cc1 at 40 ms, which sleeps from 60
 * to 70 ms, until make wakes it, and ends at 99 ms. cc1_sleeps: false leaves its sleep out.
 */
static void make_build(struct made_trace *m, bool cc1_sleeps)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(m->g, T0, 0, 100, 100, 1, "make");
	gen_switch(m->g, AT(1), 0, 0, 100, 0);
	gen_switch(m->g, AT(10), 0, 100, 0, 0);
	gen_wakeup(m->g, AT(30), 0, 0, 100, WIRE_F_IRQ);
	gen_switch(m->g, AT(31), 0, 0, 100, 0);
	gen_new(m->g, AT(40), 0, 100, 300, 300, 100, "cc1");
	gen_switch(m->g, AT(41), 1, 0, 300, 0);
	if (cc1_sleeps) {
		gen_switch(m->g, AT(60), 1, 300, 0, 0);
		gen_wakeup(m->g, AT(70), 0, 100, 300, 0);
		gen_switch(m->g, AT(71), 1, 0, 300, 0);
	}
	gen_switch(m->g, AT(95), 0, 100, 0, 0);
	gen_switch(m->g, AT(99), 1, 300, 0, 0);
	made_finish(m, AT(100));
}

/* ms of the path, by the thread's name and the kind of its part; 0 if no such row exists */
static int64_t path_ms(const struct made_trace *m, const char *comm, const char *kind)
{
	struct report_request q = made_request(m, "path");
	int64_t ns = 0;
	struct rows r;

	rows_report(&r, m->a, &q);
	for (unsigned int i = 0; i < r.row_cnt; i++)
		if (!*comm || (!strcmp(rows_text(&r, i, rows_col(&r, "comm")), comm) &&
			       !strcmp(rows_text(&r, i, rows_col(&r, "kind")), kind)))
			ns += rows_cell(&r, i, "path_ns");
	rows_done(&r);
	return (ns + (int64_t)MS / 2) / (int64_t)MS;	/* a thread began just before its event */
}

UNIT_TEST(test_the_path_goes_from_the_end_of_the_window_to_its_beginning)
{
	make_build(&made, true);
	/* an unknown call is a kind of its own */
	assert_int_equal(path_ms(&made, "cc1", "unknown"), 1);
	assert_int_equal(path_ms(&made, "cc1", "running"), 28 + 19);
	assert_int_equal(path_ms(&made, "cc1", "cpu"), 1);
	/* with make only while cc1 slept, and before it made cc1 */
	assert_int_equal(path_ms(&made, "make", "running"), 10 + 10 + 9);
	assert_int_equal(path_ms(&made, "make", "cpu"), 1 + 1);
	assert_int_equal(path_ms(&made, "make", "unknown"), 20);
	assert_int_equal(path_ms(&made, "", ""), 100);
}

UNIT_TEST(test_who_began_a_thread_is_on_the_path_before_it)
{
	make_build(&made, false);
	assert_int_equal(path_ms(&made, "cc1", "running"), 58);
	/* until its first event, at 41 ms, it is its maker that makes it */
	assert_int_equal(path_ms(&made, "make", "running"), 9 + 10);
	assert_int_equal(path_ms(&made, "make", "cpu"), 1 + 1);
	assert_int_equal(path_ms(&made, "", ""), 100);
}

UNIT_TEST(test_a_sleep_whose_wake_up_was_not_seen_is_on_the_path)
{
	make(&made);
	/* cc1 ended dd's last sleep, and is on the path for its length */
	assert_int_equal(path_ms(&made, "dd", "running"), 4 + 40 + 9);
	assert_int_equal(path_ms(&made, "cc1", "running"), 5);
	assert_int_equal(path_ms(&made, "", ""), 100);
	made_close(&made);

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 100, 100, 1, "dd");
	gen_switch(made.g, AT(1), 0, 0, 100, 0);
	gen_switch(made.g, AT(10), 0, 100, 0, 0);
	gen_switch_more(made.g, AT(90), 0, 100, 0, 0, 0, 40 * MS);
	made_finish(&made, AT(100));
	assert_int_equal(path_ms(&made, "dd", "running"), 9 + 40);
	assert_int_equal(path_ms(&made, "dd", "unknown"), 40 + 10);
	assert_int_equal(path_ms(&made, "", ""), 100);
}

/*
 * dd sleeps from 10 ms on. A kernel thread that has waited for work since 5 ms is woken by an
 * interrupt at 50 ms, and wakes dd at 60 ms.
 */
UNIT_TEST(test_a_kernel_thread_that_waited_for_work_is_no_part_of_the_path)
{
	struct wire_switch idle = { .hdr = { .ts_ns = AT(5), .hook = WIRE_SWITCH, .tid = 300,
					     .cpu = 1 },
				    .prev_state = 1, .call = WIRE_CALL_KERNEL };

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 100, 100, 1, "dd");
	gen_snap(made.g, T0, 1, 300, 300, 2, "kworker");
	gen_switch(made.g, AT(1), 0, 0, 100, 0);
	gen_switch(made.g, AT(1), 1, 0, 300, 0);
	gen_raw(made.g, &idle, sizeof(idle));
	gen_switch(made.g, AT(10), 0, 100, 0, 0);
	gen_wakeup(made.g, AT(50), 1, 0, 300, WIRE_F_IRQ);
	gen_switch(made.g, AT(51), 1, 0, 300, 0);
	gen_wakeup(made.g, AT(60), 1, 300, 100, 0);
	gen_switch(made.g, AT(61), 0, 0, 100, 0);
	made_finish(&made, AT(100));
	assert_int_equal(path_ms(&made, "kworker", "running"), 9);
	assert_int_equal(path_ms(&made, "kworker", "cpu"), 1);
	assert_int_equal(path_ms(&made, "kworker", "kernel"), 0);
	assert_int_equal(path_ms(&made, "dd", "unknown"), 40);
	assert_int_equal(path_ms(&made, "dd", "running"), 39 + 9);
	assert_int_equal(path_ms(&made, "", ""), 100);
}

/* A later row of a thread, here for its end, has neither state nor call of the beginning. */
UNIT_TEST(test_what_a_thread_slept_in_at_the_start_stays_known)
{
	struct wire_snap r = {
		.task = { { .ts_ns = T0, .hook = WIRE_TASK_SNAP }, .tid = 300, .pid = 300,
			  .ns_tid = 300, .ns_pid = 300, .start_ns = 1, .comm = "worker" },
		.read_ns = T0 + 1, .off_cpu_state = 2, .off_cpu_call = WIRE_CALL_KERNEL,
	};

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_raw(made.g, &r, sizeof(r));
	gen_snap(made.g, T0, 0, 100, 100, 1, "dd");
	gen_switch(made.g, AT(60), 0, 0, 300, 0);
	gen_slice(made.g, AT(65));
	gen_exit(made.g, AT(70), 0, 300, 300, 0, true, 0);
	gen_switch(made.g, AT(70), 0, 300, 0, 0);
	made_finish(&made, AT(100));
	rows_want(made.a, 60 * MS, "SELECT wait_ns FROM wait_kinds(0, 1 << 60, 0, 'comm') WHERE "
		  "name = 'worker' AND call = 'kernel thread'");
}

UNIT_TESTS_END(made_close, made)
