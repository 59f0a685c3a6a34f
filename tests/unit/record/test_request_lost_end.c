/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Unseen ends of block requests: they are declared lost if they must have happened, and only
 * then.
 */
#include "analyze/analyze.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull
#define DISK (8u << 20)
#define RQ 0xffff888000001000ull
#define ALL_STEPS (STARTS | ISSUES | COMPLETES | ENDS)

enum { STARTS = 1, ISSUES = 2, COMPLETES = 4, ENDS = 8, MERGES = 16 };

static struct made_trace made;

static void begin(bool watch)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0,
						.watch_requests = watch });
	gen_snap(made.g, T0, 0, 100, 100, 1, "writer");
}

/*
 * One life of a request. Its steps are 1 us apart, from at_us after T0 on; interrupts end it on
 * the other CPU.
 */
static void put_life(uint64_t at_us, uint64_t rq, unsigned int steps)
{
	uint64_t ts = T0 + at_us * US;

	if (steps & STARTS)
		gen_block(made.g, ts, 0, 100, WIRE_BLOCK_START, rq, DISK, at_us, 4096, 1);
	if (steps & ISSUES)
		gen_block(made.g, ts + US, 0, 100, WIRE_BLOCK_ISSUE, rq, DISK, at_us, 4096, 1);
	if (steps & MERGES)
		gen_block(made.g, ts + 2 * US, 0, 100, WIRE_BLOCK_MERGE, rq, DISK, at_us, 4096, 1);
	if (steps & COMPLETES)
		gen_block(made.g, ts + 2 * US, 1, 0, WIRE_BLOCK_COMPLETE, rq, DISK, at_us, 4096, 1);
	if (steps & ENDS)
		gen_block(made.g, ts + 3 * US, 1, 0, WIRE_BLOCK_DONE, rq, DISK, at_us, 0, 1);
}

/* Ends the trace and compares its losses, as a list of "hook from_us to_us count". */
static void lost(uint64_t end_us, const char *want)
{
	char got[400] = "";
	struct rows r;

	gen_last(made.g);
	made_finish(&made, T0 + end_us * US);
	rows_sql(&r, made.a,
		 "SELECT printf('%s %d %d %d', hook, from_ns / 1000, to_ns / 1000, inferred_cnt)"
		 " FROM losses ORDER BY from_ns, hook");
	for (size_t i = 0; i < r.row_cnt; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? ", " : "",
			 rows_text(&r, i, 0));
	rows_done(&r);
	assert_string_equal(got, want);
	rows_report(&r, made.a, &(struct report_request){ .view = "loss", .to_ns = UINT64_MAX });
	for (size_t i = 0; i < r.row_cnt; i++) {
		int64_t counted = rows_int(&r, i, rows_col(&r, "lost_counted"));
		int64_t inferred = rows_int(&r, i, rows_col(&r, "lost_inferred"));

		assert_int_equal(rows_int(&r, i, rows_col(&r, "lost_events")), counted + inferred);
		assert_true(counted == 0 || strstr(got, " 90 110 0"));
		assert_int_equal(rows_int(&r, i, rows_col(&r, "missed")), 0);
	}
	rows_done(&r);
}

UNIT_TEST(test_requests_that_end_are_not_lost)
{
	begin(true);
	put_life(10, RQ, ALL_STEPS);
	put_life(20, RQ, ALL_STEPS);
	put_life(21, RQ + 512, STARTS | MERGES);	/* into another */
	put_life(30, RQ + 512, ALL_STEPS);
	put_life(40, RQ + 512, STARTS | ISSUES);	/* still on its way at the end */
	lost(100, "");
}

UNIT_TEST(test_a_reused_address_tells_what_was_missed)
{
	begin(true);
	put_life(10, RQ, STARTS | ISSUES);		/* neither completion nor done */
	put_life(11, RQ + 512, STARTS | ISSUES | COMPLETES);
	put_life(50, RQ, ALL_STEPS);
	put_life(60, RQ + 512, ALL_STEPS);
	lost(100, "BLOCK_COMPLETE 10 50 1, BLOCK_DONE 10 50 1, BLOCK_DONE 11 60 1");
}

/* The next use of the address lost its start, and is recognized by its sector. */
UNIT_TEST(test_other_io_at_the_address_tells_it_too)
{
	begin(true);
	put_life(10, RQ, STARTS | ISSUES);
	put_life(50, RQ, ISSUES | COMPLETES | ENDS);
	lost(100, "BLOCK_COMPLETE 10 51 1, BLOCK_DONE 10 51 1");
}

UNIT_TEST(test_order_is_that_of_time_over_all_cpus)
{
	begin(true);
	/* the other CPU's records come first */
	gen_block(made.g, T0 + 12 * US, 1, 0, WIRE_BLOCK_COMPLETE, RQ, DISK, 10, 4096, 1);
	gen_block(made.g, T0 + 13 * US, 1, 0, WIRE_BLOCK_DONE, RQ, DISK, 10, 0, 1);
	put_life(20, RQ, ALL_STEPS);
	put_life(10, RQ, STARTS | ISSUES);
	lost(100, "");
}

UNIT_TEST(test_a_declared_loss_explains_it)
{
	struct trace_loss full = { .from_ns = T0 + 90 * US, .to_ns = T0 + 110 * US, .cpu = 1,
				   .hook = WIRE_BLOCK_COMPLETE, .cls = EVENT_CLASS_BLOCK,
				   .full_cnt = 3 };
	/* the loss is declared in the next slice: the suspicion of the slice before is dropped */
	begin(true);
	put_life(10, RQ, STARTS | ISSUES);
	put_life(50, RQ, ALL_STEPS);
	gen_slice(made.g, T0 + 100 * US);
	gen_loss(made.g, &full);
	gen_slice(made.g, T0 + 110 * US);
	put_life(120, RQ, ALL_STEPS);
	lost(200, "BLOCK_COMPLETE 90 110 0");
}

UNIT_TEST(test_what_is_suspected_is_said_a_slice_later)
{
	begin(true);
	put_life(10, RQ, STARTS | ISSUES);
	gen_slice(made.g, T0 + 40 * US);
	put_life(50, RQ, ALL_STEPS);
	gen_slice(made.g, T0 + 100 * US);
	gen_slice(made.g, T0 + 200 * US);
	lost(300, "BLOCK_COMPLETE 10 50 1, BLOCK_DONE 10 50 1");
}

UNIT_TEST(test_without_starts_nothing_is_said)
{
	begin(true);	/* before 6.5: an address may be issued twice for one I/O */
	put_life(10, RQ, ISSUES);
	put_life(50, RQ, ISSUES | COMPLETES);
	lost(100, "");
}

UNIT_TEST(test_only_where_it_is_asked_for)
{
	begin(false);
	put_life(10, RQ, STARTS | ISSUES);
	put_life(50, RQ, ALL_STEPS);
	lost(100, "");
}

UNIT_TESTS_END(made_close, made)
