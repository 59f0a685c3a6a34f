/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The SQL surface: refused statements, the documented schema, and streamed tables. */
#include <sqlite3.h>

#include "analyze/engine/column.h"
#include "analyze/engine/report_view.h"
#include "analyze/engine/statement.h"
#include "analyze/engine/table.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

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

UNIT_TEST(test_sql_refuses_all_that_is_not_reading)
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
	assert_int_equal(r.row_cnt, 12);
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
UNIT_TEST(test_tables_are_as_documented)
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

		snprintf(heading, sizeof(heading),
			 d->is_exported || !d->arg_cnt ? "### %s\n" : "### %s(", d->name);
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

/* Every SQL function beyond SQLite's own is declared, and therefore documented. */
UNIT_TEST(test_every_function_is_declared)
{
	static char decl[200000];
	FILE *f = fopen("schema/tables.decl", "r");
	unsigned int i, cnt = 0;
	sqlite3_stmt *stmt;
	char word[128];
	struct rows r;
	sqlite3 *db;

	assert_non_null(f);	/* run from the top of the tree */
	decl[fread(decl, 1, sizeof(decl) - 1, f)] = 0;
	fclose(f);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 FROM pragma_function_list WHERE name = ?",
					    -1, &stmt, NULL), SQLITE_OK);
	rows_sql(&r, made.a, "PRAGMA function_list");
	for (i = 0; i < r.row_cnt; i++) {
		sqlite3_reset(stmt);
		sqlite3_bind_text(stmt, 1, rows_text(&r, i, 0), -1, SQLITE_TRANSIENT);
		if (rows_int(&r, i, 1) || sqlite3_step(stmt) == SQLITE_ROW)
			continue;	/* built in, or of an extension of SQLite's */
		cnt++;
		snprintf(word, sizeof(word), "\nfunction %s(", rows_text(&r, i, 0));
		if (!strstr(decl, word))
			fail_msg("schema/tables.decl has no function %s", rows_text(&r, i, 0));
	}
	assert_true(cnt > 20);
	rows_done(&r);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* Every text of a view is there, a key is its default, and every SQL file of a view is used. */
UNIT_TEST(test_views_have_what_they_declare)
{
	unsigned int texts = 0, files = 0, i;

	for (i = 0; i < report_view_cnt + report_view_hidden_cnt; i++) {
		const struct report_view *v = &report_view_list[i];
		const struct report_variant *x;

		assert_ptr_equal(report_view_find(v->name), v);
		assert_true(strlen(text_of(v->sql)) > 100);
		assert_int_equal(v->question[strlen(v->question) - 1], '?');
		assert_true(!v->by_mask || (v->by_mask & v->by_default));
		assert_true(i >= report_view_cnt || *v->needs.sources);
		for (x = v->variants; x && x->sql; x++, texts++)
			assert_true(strlen(text_of(x->sql)) > 100);
	}
	for (const struct schema_sql *s = schema_sql; s->name; s++)
		files += !strncmp(s->name, "report_", 7);
	assert_int_equal(files, i + texts);
}

static void check_column(const char *where, const char *name)
{
	if (!column_find(name)->name)
		fail_msg("%s: schema/columns.decl has no column %s", where, name);
}

static void check_columns(const struct report_view *v, unsigned int by, uint64_t every_ns,
			  bool histogram)
{
	struct report_request q = { .view = v->name, .by = by, .every_ns = every_ns,
				    .histogram = histogram, .from_ns = trace_start_ns(made.t),
				    .to_ns = trace_end_ns(made.t) };
	struct err e = { "" };
	struct rows r;

	if (rows_try_report(&r, made.a, &q, &e) < 0)
		fail_msg("%s: %s", v->name, e.text);
	for (unsigned int i = 0; i < r.col_cnt; i++)
		check_column(v->name, r.names[i]);
	for (unsigned int i = 0; r.col_cnt && !strcmp(r.names[0], "section") && i < r.row_cnt; i++)
		check_column(v->name, rows_text(&r, i, 2));
	rows_done(&r);
}

UNIT_TEST(test_every_column_is_declared)
{
	const struct table_def *d;
	unsigned int i, c, by;

	for (i = 0; (d = table_at(i)); i++)
		for (c = 0; c < d->col_cnt; c++)
			check_column(d->name, d->cols[c].name);
	for (i = 0; i < report_view_cnt; i++) {
		const struct report_view *v = &report_view_list[i];
		uint64_t every_ns = trace_end_ns(made.t) - trace_start_ns(made.t);

		check_columns(v, 0, 0, false);
		if (v->takes & REPORT_TAKES_EVERY)
			check_columns(v, 0, every_ns, false);
		if (v->takes & REPORT_TAKES_HISTOGRAM)
			check_columns(v, 0, 0, true);
		for (by = 0; by < REPORT_BY_CNT; by++)
			if (v->by_mask & 1u << by)
				check_columns(v, 1u << by, 0, false);
	}
}

UNIT_TEST(test_summary_comes_flat_or_in_sections)
{
	struct report_request q = { .view = "summary", .from_ns = trace_start_ns(made.t),
				    .to_ns = trace_end_ns(made.t) };
	struct rows r;

	rows_report(&r, made.a, &q);
	assert_int_equal(r.col_cnt, 4);
	assert_string_equal(r.names[0], "section");
	assert_string_equal(rows_text(&r, 0, 0), "Causes");
	assert_string_equal(rows_text(&r, r.row_cnt - 1, 0), "Recording cost");
	rows_done(&r);
}

UNIT_TEST(test_tables_stream_in_order_of_time)
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

UNIT_TESTS_IN(setup, teardown)
