/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The SQL surface: what is refused, the documented schema, and tables as they are streamed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "analyze/context/analysis.h"
#include "analyze/engine/statement.h"
#include "analyze/engine/table.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"

static struct made_trace made;

static int setup(void **state)
{
	made_hostile(&made);
	return 0;
}

static int teardown(void **state)
{
	made_close(&made);
	return 0;
}

static void expect_refused(const char *sql, int code, const char *hint)
{
	struct err e = { "" };
	struct rows r;

	assert_int_equal(rows_try_sql(&r, made.a, sql, &e), code);
	if (!strstr(e.text, hint))
		fail_msg("%s: \"%s\" does not say \"%s\"", sql, e.text, hint);
}

static void test_sql_refuses_all_that_is_not_reading(void **state)
{
	struct rows r;

	expect_refused("ATTACH '/tmp/x.db' AS x", -EPERM, "refused");
	expect_refused("CREATE TABLE t (a)", -EPERM, "refused");
	expect_refused("DELETE FROM sqlite_schema", -EINVAL, "may not be modified");
	expect_refused("PRAGMA journal_mode = WAL", -EPERM, "refused");
	expect_refused("PRAGMA writable_schema = 1", -EPERM, "refused");
	expect_refused("SELECT load_extension('/tmp/x.so')", -EPERM, "refused");
	expect_refused("VACUUM INTO '/tmp/ebpfrec-vacuum.db'", -EPERM, "refused");
	expect_refused("INSERT INTO switches VALUES (1)", -EPERM, "refused");
	expect_refused("SELECT 1; SELECT 2", -EINVAL, "one statement");
	expect_refused("  -- nothing", -EINVAL, "no statement");
	expect_refused("SELECT * FROM swiches", -EINVAL, "no such table: swiches");
	expect_refused("SELECT \"colour\" FROM threads", -EINVAL, "colour");
	expect_refused("SELECT * FROM cpu_usage('x')", -EINVAL, "from_ns");
	expect_refused("SELECT * FROM alloc_usage(0, 1, 0, 'x')", -EINVAL, "process");
	rows_sql(&r, made.a,
		 "WITH x AS (SELECT count(*) AS n FROM threads) SELECT n FROM x; -- that is all");
	assert_true(rows_int(&r, 0, 0) > 4);
	rows_done(&r);
	rows_sql(&r, made.a, "PRAGMA table_info(switches)");
	assert_int_equal(r.row_cnt, 10);
	rows_done(&r);
	assert_int_not_equal(access("/tmp/ebpfrec-vacuum.db", F_OK), 0);
}

static const char *text_of(const char *name)
{
	const struct schema_sql *s;

	for (s = schema_sql; s->name; s++)
		if (!strcmp(s->name, name))
			return s->text;
	fail_msg("schema/%s.sql is not embedded", name);
	return NULL;
}

/* The columns of the virtual tables are those of schema/tables.sql, in order and type, and
 * TABLES.md names them all. */
static void test_tables_are_as_documented(void **state)
{
	static const char *const types[] = { "INTEGER", "REAL", "TEXT" };
	static const char *const words[] = { "integer", "real", "text" };
	static char md[200000];
	FILE *f = fopen("schema/TABLES.md", "r");
	const struct table_def *d;
	unsigned int i, c, exported = 0;
	sqlite3_stmt *stmt;
	sqlite3 *db;
	char sql[128], heading[128], column[128];

	assert_non_null(f);	/* run from the top of the tree */
	md[fread(md, 1, sizeof(md) - 1, f)] = 0;
	fclose(f);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text_of("tables"), NULL, NULL, NULL), SQLITE_OK);
	for (i = 0; (d = table_at(i)); i++) {
		const char *part, *next;

		snprintf(heading, sizeof(heading), d->is_exported ? "### %s\n" : "### %s(",
			 d->name);
		part = strstr(md, heading);
		if (!part)
			fail_msg("TABLES.md has no %s", d->name);
		next = strstr(part + 1, "\n### ");
		for (c = 0; c < d->col_cnt; c++) {
			snprintf(column, sizeof(column), "\n| `%s` | %s |", d->cols[c].name,
				 words[d->cols[c].type]);
			if (!strstr(part, column) || (next && strstr(part, column) > next))
				fail_msg("TABLES.md: %s has no %s", d->name, d->cols[c].name);
		}
		if (!d->is_exported)
			continue;
		exported++;
		snprintf(sql, sizeof(sql), "PRAGMA table_info(%s)", d->name);
		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
		for (c = 0; sqlite3_step(stmt) == SQLITE_ROW; c++) {
			assert_true(c < d->col_cnt);
			assert_string_equal((const char *)sqlite3_column_text(stmt, 1),
					    d->cols[c].name);
			assert_string_equal((const char *)sqlite3_column_text(stmt, 2),
					    types[d->cols[c].type]);
		}
		assert_int_equal(c, d->col_cnt);
		sqlite3_finalize(stmt);
	}
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'",
				   -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), exported);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void test_reports_begin_with_their_question(void **state)
{
	const struct report_view *views;
	unsigned int cnt = report_views(&views), i;
	char name[64], line[160];

	for (i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "report_%s", views[i].name);
		snprintf(line, sizeof(line), "-- %s\n", views[i].question);
		assert_int_equal(strncmp(text_of(name), line, strlen(line)), 0);
		assert_true(!views[i].by_mask || (views[i].by_mask & views[i].by_default));
	}
}

static void test_summary_comes_flat_or_in_sections(void **state)
{
	struct report_request q = { .view = "summary",
				    .from_ns = trace_start_ns(made.t),
				    .to_ns = trace_end_ns(made.t) };
	struct rows r;

	rows_report(&r, made.a, &q);
	assert_int_equal(r.col_cnt, 4);
	assert_string_equal(r.names[0], "section");
	assert_string_equal(rows_text(&r, 0, 0), "Machine");
	assert_string_equal(rows_text(&r, r.row_cnt - 1, 0), "Recording cost");
	rows_done(&r);
}

static void test_tables_stream_in_order_of_time(void **state)
{
	const struct schema_table *tables;
	unsigned int cnt = schema_tables(&tables), i, k;
	uint64_t from = trace_start_ns(made.t) + 1000000, to = trace_end_ns(made.t) - 1000000;

	for (i = 0; i < cnt; i++) {
		struct err e = { "" };
		struct rows r;
		struct row_sink sink = rows_sink(&r);
		const struct table_def *d = table_find(tables[i].name);

		if (analysis_table(made.a, tables[i].name, from, to, &sink, &e) < 0)
			fail_msg("%s: %s", tables[i].name, e.text);
		for (k = 1; k < r.row_cnt && d->time_col >= 0; k++)
			if (rows_int(&r, k, (unsigned int)d->time_col))
				assert_true(rows_int(&r, k, (unsigned int)d->time_col) >=
					    rows_int(&r, k - 1, (unsigned int)d->time_col));
		if (!strcmp(tables[i].name, "switches")) {
			assert_true(r.row_cnt > 1000);
			assert_true(rows_int(&r, 0, 0) >= 1000000);
		}
		rows_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sql_refuses_all_that_is_not_reading),
		cmocka_unit_test(test_tables_are_as_documented),
		cmocka_unit_test(test_reports_begin_with_their_question),
		cmocka_unit_test(test_summary_comes_flat_or_in_sections),
		cmocka_unit_test(test_tables_stream_in_order_of_time),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
