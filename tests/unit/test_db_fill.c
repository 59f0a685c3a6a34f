/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Pages of a SQLite file that were not written by SQLite: SQLite finds them good, and what was put in. */
#include <errno.h>
#include <fcntl.h>
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

#include "analyze/btree_fill.h"
#include "analyze/key_sort.h"
#include "gen_trace.h"

static char dir[64], path[96];

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

static void make_db(unsigned int page_bytes, const char *sql)
{
	char pragma[64];
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(pragma, sizeof(pragma), "PRAGMA page_size = %u", page_bytes);
	assert_int_equal(sqlite3_exec(db, pragma, NULL, NULL, NULL), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static sqlite3 *open_db(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
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

static uint32_t root_of(const char *name)
{
	sqlite3 *db = open_db();
	char sql[128], text[256];

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
	ask(db, sql, text);
	sqlite3_close(db);
	return (uint32_t)strtoul(text, NULL, 10);
}

static size_t int_record(uint8_t *dst, const int64_t *values, const bool *nulls, unsigned int cnt)
{
	size_t at = 1 + cnt;
	unsigned int i;

	dst[0] = (uint8_t)(1 + cnt);
	for (i = 0; i < cnt; i++) {
		dst[1 + i] = nulls && nulls[i] ? 0 : (uint8_t)db_int_type(values[i]);
		at += db_put_int(dst + at, values[i], dst[1 + i]);
	}
	return at;
}

static struct db_file open_file(int *ret_fd)
{
	struct err e = { "" };
	struct db_file f;

	*ret_fd = open(path, O_RDWR | O_CLOEXEC);
	if (db_file_open(&f, *ret_fd, path, &e) < 0)
		fail_msg("%s", e.text);
	return f;
}

static void finish(struct db_file *f, int fd)
{
	assert_int_equal(db_file_finish(f, NULL), 0);
	close(fd);
}

static void fill_ints(struct db_file *f, uint32_t root, unsigned int cnt, int64_t step)
{
	struct btree_fill *b;
	uint8_t record[32];
	unsigned int i;

	assert_int_equal(btree_fill_new(&b, f, root, false), 0);
	for (i = 1; i <= cnt; i++) {
		int64_t v = (int64_t)i * step;

		assert_int_equal(
			btree_fill_row(b, i, record, int_record(record, &v, NULL, 1), NULL), 0);
	}
	assert_int_equal(btree_fill_finish(b, NULL), 0);
	btree_fill_free(b);
}

/* Any number of rows, at every height of the tree, and SQLite can go on with them. */
static void test_tables_of_any_size_are_whole(void **state)
{
	static const unsigned int cnts[] = { 0, 1, 2, 340, 341, 342, 343, 700, 5000, 300000 };
	char sql[160], want[64];
	unsigned int i;
	sqlite3 *db;
	int fd;

	for (i = 0; i < sizeof(cnts) / sizeof(cnts[0]); i++) {
		struct db_file f;

		make_db(4096, "CREATE TABLE t(v INTEGER NOT NULL) STRICT; CREATE TABLE u(v "
			      "INTEGER) STRICT");
		f = open_file(&fd);
		fill_ints(&f, root_of("t"), cnts[i], 1234567);
		fill_ints(&f, root_of("u"), 3, 1);
		finish(&f, fd);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		expect(db, "PRAGMA integrity_check", "ok");
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM t WHERE v = rowid * 1234567");
		snprintf(want, sizeof(want), "%u", cnts[i]);
		expect(db, sql, want);
		if (sqlite3_exec(db,
				 "INSERT INTO t SELECT v FROM u; DELETE FROM t WHERE rowid % 3 = 0",
				 NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s", sqlite3_errmsg(db));
		expect(db, "PRAGMA integrity_check", "ok");
		sqlite3_close(db);
	}
}

/* Rows around every length at which a part of them moves to pages of its own. */
static void test_long_rows_go_on_in_other_pages(void **state)
{
	static const unsigned int lens[] = { 0, 1, 57, 58, 59, 8000, 16000, 100000 };
	unsigned int page, i, rows;
	uint8_t *record = malloc(200000);
	struct btree_fill *b;
	struct db_file f;
	sqlite3 *db;
	char want[64];
	int fd;

	for (page = 4096; page <= 65536; page *= 16) {
		make_db(page, "CREATE TABLE t(n INTEGER, s TEXT) STRICT");
		f = open_file(&fd);
		assert_int_equal(f.page_bytes, page);
		assert_int_equal(btree_fill_new(&b, &f, root_of("t"), false), 0);
		for (rows = i = 0; i < 160 + sizeof(lens) / sizeof(lens[0]); i++) {
			unsigned int n = i < 160 ? page - 100 + i : lens[i - 160];
			unsigned int type = db_int_type(n);
			uint8_t types[16];
			size_t head = 1, at;

			types[0] = (uint8_t)type;
			head += db_put_varint(types + 1, 13 + 2 * (uint64_t)n);
			record[0] = (uint8_t)(1 + head);
			memcpy(record + 1, types, head);
			at = 1 + head;
			at += db_put_int(record + at, n, type);
			memset(record + at, 'a' + (int)(i % 26), n);
			assert_int_equal(btree_fill_row(b, ++rows, record, at + n, NULL), 0);
		}
		assert_int_equal(btree_fill_finish(b, NULL), 0);
		btree_fill_free(b);
		finish(&f, fd);
		db = open_db();
		expect(db, "PRAGMA integrity_check", "ok");
		snprintf(want, sizeof(want), "%u", rows);
		expect(db,
		       "SELECT count(*) FROM t WHERE length(s) = n AND "
		       "replace(s, substr(s, 1, 1), '') = ''",
		       want);
		sqlite3_close(db);
	}
	free(record);
}

struct sorted {
	struct btree_fill *tree;
	struct key_sort *sort;
	unsigned int col_cnt;
};

static void put_sorted(struct sorted *x)
{
	struct sort_key key;
	uint8_t record[64];
	int more;

	while ((more = key_sort_next(x->sort, &key, NULL)) > 0) {
		int64_t values[3] = { key.value[0], key.value[1], (int64_t)key.rowid };
		bool nulls[3] = { key.is_null, false, false };

		if (x->col_cnt == 1)
			values[1] = values[2];
		assert_int_equal(btree_fill_entry(x->tree, record,
						  int_record(record, values, nulls, x->col_cnt + 1),
						  NULL),
				 0);
	}
	assert_int_equal(more, 0);
	assert_int_equal(btree_fill_finish(x->tree, NULL), 0);
	btree_fill_free(x->tree);
	key_sort_free(x->sort);
}

static void fill_indexed(unsigned int cnt, uint32_t lock_page)
{
	struct sorted one = { .col_cnt = 1 }, two = { .col_cnt = 2 };
	struct btree_fill *b;
	struct db_file f;
	uint64_t dice = 7;
	unsigned int i;
	int fd;

	make_db(4096, "CREATE TABLE t(a INTEGER, b INTEGER NOT NULL) STRICT;"
		      "CREATE INDEX one ON t(a); CREATE INDEX two ON t(b, a)");
	f = open_file(&fd);
	if (lock_page)
		f.lock_page = lock_page;
	assert_int_equal(btree_fill_new(&b, &f, root_of("t"), false), 0);
	assert_int_equal(btree_fill_new(&one.tree, &f, root_of("one"), true), 0);
	assert_int_equal(btree_fill_new(&two.tree, &f, root_of("two"), true), 0);
	assert_int_equal(key_sort_new(&one.sort, dir, 1), 0);
	assert_int_equal(key_sort_new(&two.sort, dir, 2), 0);
	for (i = 1; i <= cnt; i++) {
		uint64_t r = gen_random(&dice);
		/* all widths, both signs, repeats, and now and then NULL */
		int64_t v[2] = { (int64_t)(gen_random(&dice) >> r % 64) * (r & 64 ? 1 : -1),
				 (int64_t)(r >> 60) - 8 };
		bool nulls[2] = { r % 37 == 0, false };
		struct sort_key key = { .rowid = i };
		uint8_t record[64];

		if (i == 5)
			v[0] = INT64_MIN;
		if (i == 6)
			v[0] = INT64_MAX;
		/* an index on (b, a) cannot have NULL in its second column here */
		nulls[0] &= i % 2;
		assert_int_equal(
			btree_fill_row(b, i, record, int_record(record, v, nulls, 2), NULL), 0);
		key.value[0] = v[0];
		key.is_null = nulls[0];
		assert_int_equal(key_sort_add(one.sort, &key, NULL), 0);
		key.value[0] = v[1];
		key.value[1] = v[0];
		key.is_null = false;
		if (nulls[0])
			continue;
		assert_int_equal(key_sort_add(two.sort, &key, NULL), 0);
	}
	assert_int_equal(btree_fill_finish(b, NULL), 0);
	btree_fill_free(b);
	put_sorted(&one);
	put_sorted(&two);
	finish(&f, fd);
}

/* The index on two columns lacks the rows with NULL, which integrity_check would tell: it is dropped first. */
static void test_sorted_keys_are_indexes_of_sqlite(void **state)
{
	static const unsigned int cnts[] = { 0, 1, 300, 10000, 2 * KEY_SORT_ROWS + 12345 };
	char want[256];
	unsigned int i;
	sqlite3 *db;

	for (i = 0; i < sizeof(cnts) / sizeof(cnts[0]); i++) {
		fill_indexed(cnts[i], 0);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		snprintf(want, sizeof(want), "%u", cnts[i]);
		expect(db,
		       "SELECT count(*) FROM t INDEXED BY one WHERE a IS NULL OR a < 0 OR a >= 0",
		       want);
		ask(db,
		    "SELECT count(*) FROM t NOT INDEXED WHERE a IS NOT NULL AND b BETWEEN -8 AND 7",
		    want);
		expect(db, "SELECT count(*) FROM t INDEXED BY two WHERE b BETWEEN -8 AND 7", want);
		/* in the order of the index, every entry after the one before it */
		expect(db,
		       "SELECT count(*) FROM (SELECT b, a, rowid AS r, lag(b) OVER w AS pb, lag(a) "
		       "OVER w AS pa, "
		       "lag(rowid) OVER w AS pr FROM t INDEXED BY two WHERE b > -9 WINDOW w AS "
		       "(ORDER BY b, a, rowid)) "
		       "WHERE (pb, pa, pr) > (b, a, r)",
		       "0");
		assert_int_equal(sqlite3_exec(db, "DROP INDEX two", NULL, NULL, NULL), SQLITE_OK);
		expect(db, "PRAGMA integrity_check", "ok");
		sqlite3_close(db);
	}
}

/* SQLite locks bytes at 1 GiB and wants no page there. (Such a page is not in use, which is said elsewhere.) */
static void test_the_page_of_locks_is_left_out(void **state)
{
	char text[256];
	struct db_file f;
	sqlite3 *db;
	int fd;

	make_db(4096, "CREATE TABLE t(v INTEGER) STRICT");
	f = open_file(&fd);
	assert_int_equal(f.lock_page, 0x40000000 / 4096 + 1);
	f.lock_page = 20;
	fill_ints(&f, root_of("t"), 30000, 1234567);
	finish(&f, fd);
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

	make_db(4096, "CREATE TABLE t(v INTEGER) STRICT");
	f = open_file(&fd);
	assert_int_equal(btree_fill_new(&b, &f, root_of("t"), false), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_of_any_size_are_whole),
		cmocka_unit_test(test_long_rows_go_on_in_other_pages),
		cmocka_unit_test(test_sorted_keys_are_indexes_of_sqlite),
		cmocka_unit_test(test_the_page_of_locks_is_left_out),
		cmocka_unit_test(test_a_full_disk_is_said),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
