/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Marks of a trace: in order of time, and numbered by name. */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)

/*
 * Three marks of one name in two blocks; the second block also has one from the time of the first
 * block.
 */
UNIT_TEST(test_marks_of_one_name_are_numbered_in_order_of_time)
{
	static const struct {
		unsigned int at_ms, nr;
		const char *name;
	} wanted[] = { { 5, 1, "build" }, { 8, 1, "test" }, { 9, 2, "build" }, { 15, 3, "build" } };
	struct made_trace m;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(m.g, T0, 0, 100, 100, 1, "make");
	gen_switch(m.g, AT(1), 0, 0, 100, 0);
	gen_mark(m.g, AT(5), "build");
	gen_mark(m.g, AT(9), "build");
	gen_slice(m.g, AT(10));
	gen_mark(m.g, AT(8), "test");
	gen_mark(m.g, AT(15), "build");
	made_finish(&m, AT(20));
	rows_want(m.a, 4, "SELECT count(*) FROM marks");
	for (unsigned int i = 0; i < 4; i++) {
		const struct trace_mark *mark =
			trace_mark_find(m.t, wanted[i].name, wanted[i].nr);

		rows_want(m.a, wanted[i].nr, "SELECT nr FROM marks WHERE ts_ns = %llu AND name = "
			  "'%s'", wanted[i].at_ms * MS, wanted[i].name);
		assert_non_null(mark);
		assert_int_equal(mark->ts_ns, AT(wanted[i].at_ms));
	}
	assert_null(trace_mark_find(m.t, "test", 2));
	made_close(&m);
}

UNIT_TESTS
