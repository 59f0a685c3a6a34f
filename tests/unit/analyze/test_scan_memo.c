/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* scan_memo: which kept rows answer which query. */
#include "analyze/engine/table.h"
#include "tests/unit/unit_test.h"

static const struct table_def plain = { .name = "plain", .col_cnt = 2, .arg_cnt = 1 },
			      full = { .name = "full", .col_cnt = 2, .arg_cnt = 1,
				       .fills_all = true },
			      events = { .name = "events", .col_cnt = 2, .arg_cnt = 1, .kinds = 1 };

static struct table_query query_of(uint32_t cols, const char *arg)
{
	struct table_query q = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .cols_used = cols };

	cell_text(&q.args[0], arg);
	return q;
}

static void keep(struct scan_memo *m, const struct table_def *def, uint32_t cols, const char *arg,
		 const char *text)
{
	struct table_query q = query_of(cols, arg);
	struct cell cells[3] = { { .type = VALUE_NULL } };
	struct rowbuf rows = { .cells = cells, .col_cnt = 3, .row_cnt = 1, .row_cap = 1 };

	cell_int(&cells[0], 7);
	cell_text(&cells[1], text);
	scan_memo_keep(m, def, &q, &rows);
}

static const struct rowbuf *find(const struct scan_memo *m, const struct table_def *def,
				 uint32_t cols, const char *arg)
{
	struct table_query q = query_of(cols, arg);

	return scan_memo_takes(m, def, &q) ? scan_memo_find(m, def, &q) : NULL;
}

UNIT_TEST(test_rows_answer_an_equal_query)
{
	struct scan_memo *m = scan_memo_new();
	char text[] = "row", arg[] = "comm";
	const struct rowbuf *rows;

	keep(m, &plain, 3, arg, text);
	strcpy(text, "xxx");
	strcpy(arg, "yyyy");
	rows = find(m, &plain, 3, "comm");
	assert_non_null(rows);
	assert_int_equal(rows->row_cnt, 1);
	assert_int_equal(rows->cells[0].i, 7);
	assert_string_equal(rows->cells[1].s, "row");
	assert_null(find(m, &plain, 3, "process"));
	assert_null(find(m, &plain, 3, NULL));
	assert_null(find(m, &full, 3, "comm"));
	scan_memo_clear(m);
	assert_null(find(m, &plain, 3, "comm"));
	scan_memo_free(m);
}

/* cpu_usage groups by names if their columns are asked for. */
UNIT_TEST(test_other_columns_are_another_query)
{
	struct scan_memo *m = scan_memo_new();

	keep(m, &plain, 3, "comm", "row");
	keep(m, &full, 1, "comm", "row");
	assert_null(find(m, &plain, 1, "comm"));
	assert_non_null(find(m, &full, 3, "comm"));
	scan_memo_free(m);
}

UNIT_TEST(test_tables_of_events_are_not_kept)
{
	struct scan_memo *m = scan_memo_new();
	struct table_query q = query_of(3, "comm");

	assert_false(scan_memo_takes(NULL, &plain, &q));
	assert_true(scan_memo_takes(m, &plain, &q));
	assert_false(scan_memo_takes(m, &events, &q));
	q.has_key = true;
	assert_false(scan_memo_takes(m, &plain, &q));
	scan_memo_free(m);
}

UNIT_TESTS
