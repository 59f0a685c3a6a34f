/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The bulk loader on databases of many kinds: SQLite finds the file good, and in it the rows that
 * were put in, or the loader says that it does not know the kind and leaves it as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "analyze/bulk/btree_fill.h"
#include "analyze/bulk/bulk_load.h"
#include "analyze/bulk/key_sort.h"
#include "analyze/engine/statement.h"
#include "analyze/export/export.h"
#include "tests/unit/gen/gen_trace.h"

static char dir[64], path[96];

/* The first kind is known to the loader. Every other kind has one property that is not. */
static const struct kind {
	const char *name;
	int reserved_bytes;
	const char *before; /* the tables are created */
	const char *after;
} kinds[] = {
	{ "pages", 0, "PRAGMA page_size = 4096", "" },
	{ "large pages", 0, "PRAGMA page_size = 65536", "" },
	{ "reserved bytes", 8, "PRAGMA page_size = 4096", "" },
	{ "UTF-16", 0, "PRAGMA encoding = 'UTF-16le'", "" },
	{ "auto-vacuum", 0, "PRAGMA auto_vacuum = FULL", "" },
	{ "incremental vacuum", 0, "PRAGMA auto_vacuum = INCREMENTAL", "" },
	{ "small pages", 0, "PRAGMA page_size = 1024", "" },
	{ "write-ahead log", 0, "PRAGMA journal_mode = WAL", "" },
	{ "free pages", 0, "",
	  "CREATE TABLE gone(x); INSERT INTO gone VALUES (randomblob(99999)); DROP TABLE gone" },
};

#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))
#define KNOWN_CNT 2 /* come first */

static int setup(void **state)
{
	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/x.db", dir);
	return 0;
}

static int teardown(void **state)
{
	gen_remove_dir(dir);
	return 0;
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void make_db(const struct kind *kind, const char *sql)
{
	int reserved = kind->reserved_bytes;
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_file_control(db, NULL, SQLITE_FCNTL_RESERVE_BYTES, &reserved);
	run(db, kind->before);
	run(db, sql);
	run(db, kind->after);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static sqlite3 *open_db(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

static void ask(sqlite3 *db, const char *sql, char text[256])
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	snprintf(text, 256, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

static void expect(sqlite3 *db, const char *sql, const char *want)
{
	char got[256];

	ask(db, sql, got);
	if (strcmp(got, want))
		fail_msg("%s: \"%s\", not \"%s\"", sql, got, want);
}

static struct bulk_load *begin(const struct bulk_table_spec *specs, unsigned int cnt)
{
	struct err e = { "" };
	struct bulk_load *l;

	if (bulk_load_open(&l, path, dir, specs, cnt, &e) <= 0)
		fail_msg("not open: %s", e.text);
	return l;
}

static struct bulk_table *begin_table(struct bulk_load *l, unsigned int number)
{
	struct err e = { "" };
	struct bulk_table *t;

	if (bulk_table_open(&t, l, number, &e) < 0)
		fail_msg("%s", e.text);
	return t;
}

static void put_row(struct bulk_table *t, const struct value *values)
{
	struct err e = { "" };

	if (bulk_table_row(t, values, &e) < 0)
		fail_msg("%s", e.text);
}

static void end_table(struct bulk_table *t)
{
	struct err e = { "" };

	if (bulk_table_finish(t, &e) < 0)
		fail_msg("%s", e.text);
	bulk_table_free(t);
}

static void end(struct bulk_load *l)
{
	struct err e = { "" };

	if (bulk_load_finish(l, &e) < 0)
		fail_msg("%s", e.text);
	bulk_load_free(l);
}

static struct value value(int64_t v)
{
	return (struct value){ .type = VALUE_INT, .i = v };
}

static void fill_ints(struct bulk_load *l, unsigned int number, unsigned int cnt, int64_t step)
{
	struct bulk_table *t = begin_table(l, number);
	unsigned int i;

	for (i = 1; i <= cnt; i++) {
		const struct value v = value((int64_t)i * step);

		put_row(t, &v);
	}
	end_table(t);
}

/* Only the first kinds of databases are written as pages. */
static void test_only_known_databases_are_written_as_pages(void **state)
{
	const struct bulk_table_spec spec = { "t", -1 };
	struct err e = { "" };
	struct bulk_load *l;
	struct db_file f;
	unsigned int i;
	int known, ret;

	for (i = 0; i < KIND_CNT; i++) {
		make_db(&kinds[i], "CREATE TABLE t(v INTEGER) STRICT");
		known = db_file_open(&f, path, &e);
		if (known != (i < KNOWN_CNT))
			fail_msg("%s: %d %s", kinds[i].name, known, e.text);
		close(f.fd);
		ret = bulk_load_open(&l, path, dir, &spec, 1, &e);
		if (ret != known)
			fail_msg("%s: %d %s", kinds[i].name, ret, e.text);
		if (ret > 0)
			bulk_load_free(l);
	}
}

/* Whether a table has the form that the loader can write as pages. */
static const char writable_sql[] =
	"SELECT l.strict AND NOT l.wr"
	" AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1)"
	" AND (SELECT count(*) <= 64 AND min(NOT hidden AND NOT pk AND type IN ('INTEGER', 'TEXT'))"
	" FROM pragma_table_xinfo(?1))"
	" AND (SELECT count(DISTINCT l.name) <= 4 AND coalesce(min(coalesce(NOT l.\"unique\""
	" AND NOT l.partial"
	" AND NOT x.\"desc\" AND x.coll = 'BINARY' AND c.type = 'INTEGER' AND x.seqno < 2"
	" AND (x.seqno = 0 OR c.\"notnull\"), 0)), 1) FROM pragma_index_list(?1) AS l"
	" JOIN pragma_index_xinfo(l.name) AS x"
	" LEFT JOIN pragma_table_info(?1) AS c ON c.cid = x.cid WHERE x.key)"
	" FROM pragma_table_list(?1) AS l WHERE l.type = 'table' AND l.schema = 'main'";

static bool is_writable(sqlite3 *db, const char *table)
{
	sqlite3_stmt *stmt;
	bool ok;

	if (sqlite3_prepare_v2(db, writable_sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	ok = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return ok;
}

static const struct {
	const char *sql;
	bool is_writable;
} table_kinds[] = {
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(a)", true },
	{ "CREATE TABLE t(a INTEGER, b INTEGER NOT NULL) STRICT; CREATE INDEX x ON t(a, b)",
	  true },
	{ "CREATE TABLE t(a INTEGER, b INTEGER) STRICT; CREATE INDEX x ON t(a, b)", false },
	{ "CREATE TABLE t(a INTEGER, b TEXT); CREATE INDEX x ON t(a)", false },
	{ "CREATE TABLE t(a INTEGER, b REAL) STRICT; CREATE INDEX x ON t(a)", false },
	{ "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT) STRICT; CREATE INDEX x ON t(a)", false },
	{ "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID", false },
	{ "CREATE TABLE t(a INTEGER UNIQUE, b TEXT) STRICT", false },
	{ "CREATE TABLE t(a INTEGER, c INTEGER AS (a + 1)) STRICT; CREATE INDEX x ON t(a)",
	  false },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(b)", false },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(a DESC)", false },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(a + 1)", false },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(a) WHERE a > 1",
	  false },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE UNIQUE INDEX x ON t(a)",
	  false },
	{ "CREATE TABLE t(a INTEGER NOT NULL, b TEXT) STRICT; CREATE INDEX x ON t(a, a, a)",
	  false },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(a); CREATE TABLE u(x);"
	  "CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1); END",
	  false },
};

/* The loader expects every table to have this form and checks only its indexes and its size. */
static void test_the_schema_has_only_tables_that_can_be_written_as_pages(void **state)
{
	const struct schema_sql *text;
	const struct table_def *def;
	unsigned int i, cnt = 0;
	sqlite3 *db;

	for (i = 0; i < sizeof(table_kinds) / sizeof(table_kinds[0]); i++) {
		make_db(&kinds[0], table_kinds[i].sql);
		db = open_db();
		if (is_writable(db, "t") != table_kinds[i].is_writable)
			fail_msg("%s", table_kinds[i].sql);
		sqlite3_close(db);
	}
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (text = schema_sql; text->name; text++)
		if (!strcmp(text->name, "tables"))
			run(db, text->text);
	for (text = schema_sql; text->name; text++)
		if (!strcmp(text->name, "indexes"))
			run(db, text->text);
	for (i = 0; (def = table_at(i)); i++) {
		if (!export_fill_has(def))
			continue;
		cnt++;
		if (!is_writable(db, def->name))
			fail_msg("schema/tables.sql: the loader cannot write %s", def->name);
	}
	assert_true(cnt > 10);
	sqlite3_close(db);
}

static const struct {
	const char *sql;
	int opens;
	int row; /* result of adding the row */
} small_tables[] = {
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT", 1, 0 },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(a)", 1, 0 },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(b)", 1, -EINVAL },
	{ "CREATE TABLE t(a INTEGER, b TEXT, c REAL) STRICT", 1, -EINVAL },
	{ "CREATE TABLE t(a INTEGER, b TEXT) STRICT; CREATE INDEX x ON t(a, a, a)", 0, 0 },
	{ "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID", 0, 0 },
	{ "CREATE TABLE t(v INTEGER) STRICT; INSERT INTO t VALUES (1)", 0, 0 },
	{ "CREATE TABLE u(v INTEGER) STRICT", -ENOENT, 0 },
};

/* Checks of the loader itself. */
static void test_tables_and_values_of_another_kind_are_refused(void **state)
{
	const struct value row[3] = { value(7),
					   { .type = VALUE_TEXT, .text = "8", .text_bytes = 1 },
					   { .type = VALUE_REAL, .r = 9 } };
	const struct bulk_table_spec spec = { "t", -1 };
	struct bulk_table *t;
	struct bulk_load *l;
	unsigned int i;
	sqlite3 *db;

	for (i = 0; i < sizeof(small_tables) / sizeof(small_tables[0]); i++) {
		struct err e = { "" };
		int ret;

		make_db(&kinds[0], small_tables[i].sql);
		ret = bulk_load_open(&l, path, dir, &spec, 1, &e);
		if (ret != small_tables[i].opens)
			fail_msg("%s: %d %s", small_tables[i].sql, ret, e.text);
		if (ret <= 0)
			continue;
		t = begin_table(l, 0);
		ret = bulk_table_row(t, row, &e);
		if (ret != small_tables[i].row)
			fail_msg("%s: %d %s", small_tables[i].sql, ret, e.text);
		if (ret < 0) {
			bulk_table_free(t);
			bulk_load_free(l);
			continue;
		}
		end_table(t);
		end(l);
		db = open_db();
		expect(db, "PRAGMA integrity_check", "ok");
		expect(db, "SELECT count(*) FROM t WHERE a = 7 AND b = '8'", "1");
		sqlite3_close(db);
	}
}

/* Any number of rows, at every height of the tree, and SQLite can go on with them. */
static void check_table(const struct kind *kind, unsigned int cnt)
{
	const struct bulk_table_spec specs[] = { { "t", 0 }, { "u", -1 } };
	struct bulk_load *l;
	char want[64];
	sqlite3 *db;

	make_db(kind,
		"CREATE TABLE t(v INTEGER NOT NULL) STRICT; CREATE TABLE u(v INTEGER) STRICT");
	l = begin(specs, 2);
	fill_ints(l, 0, cnt, 1234567);
	fill_ints(l, 1, 3, 1);
	end(l);
	db = open_db();
	expect(db, "PRAGMA integrity_check", "ok");
	snprintf(want, sizeof(want), "%u", cnt);
	expect(db, "SELECT count(*) FROM t WHERE v = rowid * 1234567", want);
	run(db, "INSERT INTO t SELECT v FROM u; DELETE FROM t WHERE rowid % 3 = 0");
	expect(db, "PRAGMA integrity_check", "ok");
	sqlite3_close(db);
}

static void test_tables_of_any_size_are_whole(void **state)
{
	static const unsigned int cnts[] = { 0, 1, 2, 340, 341, 342, 343, 700, 5000, 300000 };
	unsigned int k, i;

	for (k = 0; k < KNOWN_CNT; k++)
		for (i = 0; i < sizeof(cnts) / sizeof(cnts[0]); i++)
			check_table(&kinds[k], cnts[i]);
}

/* Rows around every length at which a part of them moves to pages of its own. */
static void test_long_rows_go_on_in_other_pages(void **state)
{
	static const unsigned int lens[] = { 0, 1, 57, 58, 59, 8000, 16000, 100000 };
	const struct bulk_table_spec spec = { "t", -1 };
	char *text = malloc(200000), want[64];
	unsigned int k, i, rows;
	struct bulk_table *t;
	struct bulk_load *l;
	sqlite3 *db;

	for (k = 0; k < KNOWN_CNT; k++) {
		unsigned int page = k == 1 ? 65536 : 4096;

		make_db(&kinds[k], "CREATE TABLE t(n INTEGER, s TEXT) STRICT");
		l = begin(&spec, 1);
		t = begin_table(l, 0);
		for (rows = i = 0; i < 160 + sizeof(lens) / sizeof(lens[0]); i++, rows++) {
			unsigned int n = i < 160 ? page - 100 + i : lens[i - 160];
			const struct value row[] = {
				value(n), { .type = VALUE_TEXT, .text = text, .text_bytes = n }
			};

			memset(text, 'a' + (int)(i % 26), n);
			put_row(t, row);
		}
		end_table(t);
		end(l);
		db = open_db();
		expect(db, "PRAGMA integrity_check", "ok");
		snprintf(want, sizeof(want), "%u", rows);
		expect(db,
		       "SELECT count(*) FROM t WHERE length(s) = n AND "
		       "replace(s, substr(s, 1, 1), '') = ''",
		       want);
		sqlite3_close(db);
	}
	free(text);
}

/* Keys of all widths, both signs, repeats, and now and then NULL, in no order. */
static void fill_indexed(const struct kind *kind, unsigned int cnt)
{
	const struct bulk_table_spec spec = { "t", 3 };
	struct bulk_table *t;
	struct bulk_load *l;
	uint64_t dice = 7;
	unsigned int i;

	make_db(kind,
		"CREATE TABLE t(a INTEGER, b INTEGER NOT NULL, c INTEGER NOT NULL,"
		" ts INTEGER NOT NULL) STRICT;"
		"CREATE INDEX one ON t(a); CREATE INDEX two ON t(b, c);"
		"CREATE INDEX ts ON t(ts)");
	l = begin(&spec, 1);
	t = begin_table(l, 0);
	for (i = 1; i <= cnt; i++) {
		uint64_t r = gen_random(&dice);
		struct value row[4] = {
			value((int64_t)(gen_random(&dice) >> r % 64) * (r & 64 ? 1 : -1)),
			value((int64_t)(r >> 60) - 8),
			value((int64_t)(gen_random(&dice) >> r % 60)),
			value((int64_t)(i / 2)),
		};

		if (i == 5)
			row[0].i = INT64_MIN;
		if (i == 6)
			row[0].i = INT64_MAX;
		if (r % 37 == 0)
			row[0].type = VALUE_NULL;
		put_row(t, row);
	}
	end_table(t);
	end(l);
}

static void test_sorted_keys_are_indexes_of_sqlite(void **state)
{
	static const unsigned int cnts[] = { 0, 1, 300, 10000, 2 * KEY_SORT_ROWS + 12345 };
	unsigned int k, i;
	char want[64];
	sqlite3 *db;

	for (k = 0; k < KNOWN_CNT; k++) {
		for (i = 0; i < sizeof(cnts) / sizeof(cnts[0]); i++) {
			if (cnts[i] > 10000 && k)
				continue;
			fill_indexed(&kinds[k], cnts[i]);
			db = open_db();
			expect(db, "PRAGMA integrity_check", "ok");
			snprintf(want, sizeof(want), "%u", cnts[i]);
			expect(db,
			       "SELECT count(*) FROM t INDEXED BY one WHERE a IS NULL OR a < 0 OR "
			       "a >= 0",
			       want);
			expect(db, "SELECT count(*) FROM t INDEXED BY ts WHERE ts >= 0", want);
			/* in the order of the index, every entry after the one before it */
			expect(db,
			       "SELECT count(*) FROM (SELECT b, c, rowid AS r,"
			       " lag(b) OVER w AS pb, "
			       "lag(c) OVER w AS pc, lag(rowid) OVER w AS pr FROM t INDEXED BY two "
			       "WHERE b > -9 WINDOW w AS (ORDER BY b, c, rowid)) "
			       "WHERE (pb, pc, pr) > (b, c, r)",
			       "0");
			sqlite3_close(db);
		}
	}
}

/* SQLite locks bytes at 1 GiB and wants no page there. It complains that the page is not used. */
static void test_the_page_of_locks_is_left_out(void **state)
{
	struct btree_fill *b;
	struct err e = { "" };
	uint8_t record[32];
	unsigned int i;
	char text[256];
	struct db_file f;
	sqlite3 *db;

	make_db(&kinds[0], "CREATE TABLE t(v INTEGER) STRICT");
	assert_int_equal(db_file_open(&f, path, &e), 1);
	assert_int_equal(f.lock_page, 0x40000000 / 4096 + 1);
	f.lock_page = 20;
	assert_int_equal(btree_fill_new(&b, &f, 2, false), 0);
	for (i = 1; i <= 30000; i++) {
		unsigned int type = db_int_type(i * 1234567ll);

		record[0] = 2;
		record[1] = (uint8_t)type;
		assert_int_equal(btree_fill_row(b, i, record,
						2 + db_put_int(record + 2, i * 1234567ll, type),
						NULL),
				 0);
	}
	assert_int_equal(btree_fill_finish(b, NULL), 0);
	btree_fill_free(b);
	assert_int_equal(db_file_finish(&f, NULL), 0);
	close(f.fd);
	db = open_db();
	expect(db, "SELECT count(*) FROM t WHERE v = rowid * 1234567", "30000");
	expect(db, "SELECT count(*) FROM pragma_integrity_check", "1");
	ask(db, "PRAGMA integrity_check", text);
	if (!strstr(text, "age 20") || !strstr(text, "never used"))
		fail_msg("%s", text);
	sqlite3_close(db);
}

static void test_a_full_disk_is_said(void **state)
{
	struct err e = { "" };
	struct btree_fill *b;
	uint8_t record[4000] = { 2, 0 };
	struct db_file f;
	int fd, ret = 0, i;

	make_db(&kinds[0], "CREATE TABLE t(v INTEGER) STRICT");
	assert_int_equal(db_file_open(&f, path, &e), 1);
	fd = f.fd;
	assert_int_equal(btree_fill_new(&b, &f, 2, false), 0);
	f.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	for (i = 1; !ret && i < 10; i++)
		ret = btree_fill_row(b, (uint64_t)i, record, sizeof(record), &e);
	assert_int_equal(ret, -ENOSPC);
	assert_non_null(strstr(e.text, "no space left"));
	assert_non_null(strstr(e.text, path));
	btree_fill_free(b);
	close(f.fd);
	close(fd);
}

/* The file may not grow: the error names it. */
static void test_a_write_that_fails_is_an_error(void **state)
{
	const struct bulk_table_spec spec = { "t", -1 };
	static char text[70000];
	const struct value row = { .type = VALUE_TEXT,
					.text = text,
					.text_bytes = sizeof(text) };
	struct rlimit was, limit;
	unsigned int k, i;

	memset(text, 'x', sizeof(text));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	for (k = 0; k < KNOWN_CNT; k++) {
		struct err e = { "" };
		struct bulk_table *t;
		struct bulk_load *l;
		int ret = 0;

		make_db(&kinds[k], "CREATE TABLE t(v TEXT) STRICT");
		l = begin(&spec, 1);
		limit = was;
		limit.rlim_cur = 1 << 20;
		setrlimit(RLIMIT_FSIZE, &limit);
		t = begin_table(l, 0);
		for (i = 0; !ret && i < 2000; i++) /* more than SQLite's cache holds */
			ret = bulk_table_row(t, &row, &e);
		if (!ret)
			ret = bulk_table_finish(t, &e);
		bulk_table_free(t);
		if (!ret)
			ret = bulk_load_finish(l, &e);
		bulk_load_free(l);
		setrlimit(RLIMIT_FSIZE, &was);
		if (ret >= 0 || !strstr(e.text, path))
			fail_msg("%s: %d %s", kinds[k].name, ret, e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_known_databases_are_written_as_pages),
		cmocka_unit_test(test_the_schema_has_only_tables_that_can_be_written_as_pages),
		cmocka_unit_test(test_tables_and_values_of_another_kind_are_refused),
		cmocka_unit_test(test_tables_of_any_size_are_whole),
		cmocka_unit_test(test_long_rows_go_on_in_other_pages),
		cmocka_unit_test(test_sorted_keys_are_indexes_of_sqlite),
		cmocka_unit_test(test_the_page_of_locks_is_left_out),
		cmocka_unit_test(test_a_full_disk_is_said),
		cmocka_unit_test(test_a_write_that_fails_is_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
