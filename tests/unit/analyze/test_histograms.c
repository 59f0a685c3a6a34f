/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Histograms have all steps between the first and the last, from hand-made events. */
#include "bpf/wire.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define DEV 0x800000

static void put_request(struct gen *g, uint64_t rq, uint64_t at_ns, uint64_t dur_ns)
{
	gen_block(g, at_ns, 0, 100, WIRE_BLOCK_ISSUE, rq, DEV, rq, 4096, 0);
	gen_block(g, at_ns + dur_ns, 0, 0, WIRE_BLOCK_COMPLETE, rq, DEV, rq, 4096, 0);
}

/* Two CPUs that begin and end at once; a request of 1 us, and one of 20 ms. */
static void make(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(m->g, T0, 0, 100, 100, 1, "one");
	gen_snap(m->g, T0, 0, 200, 200, 1, "two");
	gen_switch(m->g, T0 + 10 * MS, 0, 0, 100, 0);
	gen_switch(m->g, T0 + 10 * MS, 1, 0, 200, 0);
	put_request(m->g, 8, T0 + 11 * MS, 1000);
	put_request(m->g, 16, T0 + 12 * MS, 20 * MS);
	gen_switch(m->g, T0 + 40 * MS, 0, 100, 0, 1);
	gen_switch(m->g, T0 + 40 * MS, 1, 200, 0, 1);
	made_finish(m, T0 + 100 * MS);
}

UNIT_TEST(test_parallel_has_the_steps_that_no_time_was_spent_in)
{
	static const uint64_t want_ns[] = { 60 * MS, 0, 30 * MS };
	struct report_request q;
	struct made_trace m;
	struct rows r;

	make(&m);
	q = made_request(&m, "parallel");
	q.histogram = true;
	rows_report(&r, m.a, &q);
	assert_int_equal(r.row_cnt, 3);
	for (unsigned int i = 0; i < 3; i++) {
		rows_cells(&r, i, "busy oncpu_ns", i, i * want_ns[i]);
		if (i)
			assert_int_equal(rows_cell(&r, i, "wall_ns"), want_ns[i]);
	}
	rows_done(&r);
	made_close(&m);
}

UNIT_TEST(test_latency_has_the_steps_without_requests)
{
	struct report_request q;
	struct made_trace m;
	unsigned int i, step = 0;
	struct rows r;

	make(&m);
	q = made_request(&m, "latency");
	q.histogram = true;
	rows_report(&r, m.a, &q);
	/* 512 .. 1024 ns to 16.8 .. 33.6 ms */
	for (i = 0; i < r.row_cnt; i++) {
		if (strcmp(rows_text(&r, i, rows_col(&r, "phase")), "total") != 0)
			continue;
		rows_cells(&r, i, "low_ns ios", 1ll << (9 + step), step == 0 || step == 15);
		step++;
	}
	assert_int_equal(step, 16);
	rows_done(&r);
	/* the view bins, whose rows are added up over bins and hosts, has no rows of 0 */
	q = made_request(&m, "bins");
	rows_report(&r, m.a, &q);
	for (i = 0, step = 0; i < r.row_cnt; i++)
		step += rows_cell(&r, i, "lat_low_ns") > 0;
	assert_int_equal(step, 2);
	rows_done(&r);
	made_close(&m);
}

UNIT_TESTS
