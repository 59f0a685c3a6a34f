/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The summary's waiting: time in which threads waited, from hand-made events with known answers. */
#include "bpf/wire.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_state.h"

#define T0 (1000 * MS)
#define DEV 0x800000
#define UNINTERRUPTIBLE 2

static void leave_in_d(struct gen *g, uint64_t ts, uint32_t tid)
{
	struct wire_switch r = { .hdr = { .ts_ns = ts, .hook = WIRE_SWITCH, .tid = tid },
				 .prev_state = UNINTERRUPTIBLE };

	gen_raw(g, &r, sizeof(r));
}

/*
 * dd queues three reads of 40 ms each at once, and sleeps for all of them: 40 ms of waiting, 120 ms
 * of latencies. writer queues one, and works on. sync has none, and sleeps for 7 ms.
 */
static void make(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(m->g, T0, 0, 100, 100, 1, "dd");
	gen_snap(m->g, T0, 0, 200, 200, 1, "writer");
	gen_snap(m->g, T0, 0, 300, 300, 1, "sync");
	gen_switch(m->g, T0 + 5 * MS, 0, 0, 200, 0);
	gen_block(m->g, T0 + 6 * MS, 0, 200, WIRE_BLOCK_ISSUE, 0x90, DEV, 9000, 4096, 1);
	gen_switch(m->g, T0 + 10 * MS, 0, 200, 100, 0);
	for (unsigned int i = 0; i < 3; i++)
		gen_block(m->g, T0 + 20 * MS, 0, 100, WIRE_BLOCK_ISSUE, 0x10 + i, DEV, 8 * i, 4096,
			  0);
	leave_in_d(m->g, T0 + 20 * MS, 100);
	for (unsigned int i = 0; i < 3; i++)
		gen_block(m->g, T0 + 60 * MS, 0, 0, WIRE_BLOCK_COMPLETE, 0x10 + i, DEV, 8 * i, 4096,
			  0);
	gen_wakeup(m->g, T0 + 60 * MS, 0, 0, 100, WIRE_F_IRQ);
	gen_switch(m->g, T0 + 60 * MS, 0, 0, 100, 0);
	gen_switch(m->g, T0 + 70 * MS, 0, 100, 300, 0);
	leave_in_d(m->g, T0 + 80 * MS, 300);
	gen_wakeup(m->g, T0 + 87 * MS, 0, 0, 300, 0);
	gen_switch(m->g, T0 + 87 * MS, 0, 0, 300, 0);
	gen_switch(m->g, T0 + 95 * MS, 0, 300, 0, 0);
	gen_block(m->g, T0 + 96 * MS, 0, 0, WIRE_BLOCK_COMPLETE, 0x90, DEV, 9000, 4096, 1);
	made_finish(m, T0 + 100 * MS);
}

/* A column of the name's row in the summary's section Waiting; -1: there is no such row. */
static int64_t waited(const struct rows *r, const char *comm, const char *column)
{
	int64_t row = -1;

	for (unsigned int i = 0; i < r->row_cnt; i++) {
		if (strcmp(rows_text(r, i, 0), "Waiting by name") != 0)
			continue;
		if (!strcmp(rows_text(r, i, 2), "comm") && !strcmp(rows_text(r, i, 3), comm))
			row = rows_int(r, i, 1);
		if (rows_int(r, i, 1) == row && !strcmp(rows_text(r, i, 2), column))
			return rows_int(r, i, 3);
	}
	return -1;
}

UNIT_TEST(test_disk_wait_is_the_time_in_which_threads_waited)
{
	struct made_trace m;
	struct report_request q;
	struct rows r, states;
	unsigned int i;

	make(&m);
	q = made_request(&m, "summary");
	rows_report(&r, m.a, &q);
	assert_int_equal(waited(&r, "dd", "disk_wait_ns"), 40 * MS);
	assert_int_equal(waited(&r, "dd", "uninterruptible_ns"), 0);
	assert_int_equal(waited(&r, "sync", "disk_wait_ns"), 0);
	assert_int_equal(waited(&r, "sync", "uninterruptible_ns"), 7 * MS);
	assert_int_equal(waited(&r, "writer", "disk_wait_ns"), 0);
	/* it waits for the CPU when the recording begins, as the snapshot says */
	assert_int_equal(waited(&r, "writer", "cpu_wait_ns"), 5 * MS);
	/* the same as `states` */
	q = made_request(&m, "states");
	rows_report(&states, m.a, &q);
	i = rows_find(&states, "comm", "dd");
	assert_int_equal(rows_cell(&states, i, "disk_ns"), waited(&r, "dd", "disk_wait_ns"));
	i = rows_find(&states, "comm", "sync");
	assert_int_equal(rows_cell(&states, i, "uninterruptible_ns"),
			 waited(&r, "sync", "uninterruptible_ns"));
	rows_done(&states);
	rows_done(&r);
	made_close(&m);
}

static int64_t periods(struct made_trace *m, unsigned int from_ms, unsigned int to_ms)
{
	return rows_one(m->a, "SELECT coalesce(sum(periods), 0) FROM "
			      "throttled_periods(%u000000, %u000000)", from_ms, to_ms);
}

/* 100 waits for its quota from 20 to 50 ms. */
UNIT_TEST(test_a_throttled_period_is_of_the_window_in_which_its_wait_ends)
{
	const struct wire_switch throttled = {
		.hdr = { .ts_ns = T0 + 20 * MS, .hook = WIRE_SWITCH, .flags = WIRE_F_PREEMPT,
			 .tid = 100 },
		.prev_prio = 120, .next_prio = 120, .call = WIRE_CALL_THROTTLED,
	};
	struct made_trace m;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(m.g, T0, 0, 100, 100, 1, "waits");
	gen_switch(m.g, T0 + 10 * MS, 0, 0, 100, 0);
	gen_raw(m.g, &throttled, sizeof(throttled));
	gen_switch(m.g, T0 + 50 * MS, 0, 0, 100, 0);
	gen_switch(m.g, T0 + 60 * MS, 0, 100, 0, 0);
	made_finish(&m, T0 + 100 * MS);
	assert_int_equal(periods(&m, 0, 100), 1);
	assert_int_equal(periods(&m, 0, 50), 0);
	assert_int_equal(periods(&m, 50, 100), 1);
	assert_int_equal(periods(&m, 51, 100), 0);
	made_close(&m);
}

static uint64_t blocks_of_summary(struct made_trace *m, struct rows *r)
{
	const struct report_request q = made_request(m, "summary");
	uint64_t before = atomic_load(&m->t->decoded_blocks);

	rows_report(r, m->a, &q);
	return atomic_load(&m->t->decoded_blocks) - before;
}

UNIT_TEST(test_kept_rows_answer_a_second_summary)
{
	struct rows first, r;
	struct made_trace m;
	uint64_t cnt;

	make(&m);
	cnt = blocks_of_summary(&m, &first);
	assert_true(cnt > 10);
	analysis_keep_rows(m.a, true);
	assert_int_equal(blocks_of_summary(&m, &r), cnt);
	rows_compare(&r, &first);
	rows_done(&r);
	/* only tables of events are read again */
	assert_int_equal(blocks_of_summary(&m, &r), 3);
	rows_compare(&r, &first);
	rows_done(&r);
	analysis_keep_rows(m.a, false);
	assert_int_equal(blocks_of_summary(&m, &r), cnt);
	rows_compare(&r, &first);
	rows_done(&r);
	rows_done(&first);
	made_close(&m);
}

UNIT_TESTS
