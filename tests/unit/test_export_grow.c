/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * An exported database that is added to, each time its trace has grown, holds the rows of a new export:
 * of random traces, at random moments. And whatever comes in between, it is one of the two and nothing else.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "analyze/analysis.h"
#include "analyze/table.h"
#include "gen_chaos.h"

static int export_as(const struct chaos *f, const char *path, bool force, struct export_result *ret,
		     struct err *e)
{
	struct export_request r = { .path = path, .to_ns = UINT64_MAX, .force = force };
	struct analysis *a = NULL;
	struct trace *t;
	int c;

	if (trace_open(&t, f->path, e) < 0 || analysis_open(&a, t, e) < 0)
		fail_msg("%s", e->text);
	c = analysis_export_sqlite(a, &r, ret, e);
	analysis_close(a);
	trace_close(t);
	return c;
}

static void export_well(const struct chaos *f, const char *path, bool force,
			struct export_result *ret)
{
	struct err e = { "" };

	if (export_as(f, path, force, ret, &e) < 0)
		fail_msg("%s", e.text);
}

static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t v;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	v = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return v;
}

/* A row, and how often it is there. */
static void expect_same_table(sqlite3 *db, const char *name)
{
	const struct table_def *d = table_find(name);
	sqlite3_str *s = sqlite3_str_new(db);
	char *cols, *sql;
	unsigned int i;
	int64_t more;

	for (i = 0; d && i < d->col_cnt; i++)
		sqlite3_str_appendf(s, "%s\"%w\"", i ? ", " : "", d->cols[i].name);
	cols = d ? sqlite3_str_finish(s) : sqlite3_mprintf("block, crc, mono_from_ns, is_damaged");
	if (!d)
		sqlite3_free(sqlite3_str_finish(s));
	sql = sqlite3_mprintf(
		"SELECT count(*) FROM (SELECT %s, count(*) FROM main.%s GROUP BY %s EXCEPT "
		"SELECT %s, count(*) FROM other.%s GROUP BY %s)",
		cols, name, cols, cols, name, cols);
	more = ask(db, sql);
	sqlite3_free(sql);
	sql = sqlite3_mprintf(
		"SELECT (SELECT count(*) FROM main.%s) - (SELECT count(*) FROM other.%s)", name,
		name);
	if (more || ask(db, sql))
		fail_msg("%s: %lld rows differ, %lld too many", name, (long long)more,
			 (long long)ask(db, sql));
	sqlite3_free(sql);
	sqlite3_free(cols);
}

static void expect_same(const char *path, const char *other)
{
	const struct table_def *d;
	unsigned int i;
	char sql[256];
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(
		ask(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
		1);
	assert_int_equal(ask(db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS other", other);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	for (i = 0; (d = table_at(i)); i++)
		if (d->is_exported)
			expect_same_table(db, d->name);
	expect_same_table(db, "export_blocks");
	sqlite3_close(db);
}

static void test_a_grown_export_is_a_new_one(void **state)
{
	char grown[128], whole[128];
	struct export_result r;
	unsigned int seed, step;
	uint64_t first;

	for (seed = 1; seed <= 4; seed++) {
		struct chaos f;

		chaos_begin(&f, seed);
		snprintf(grown, sizeof(grown), "%s/grown.db", f.dir);
		snprintf(whole, sizeof(whole), "%s/whole.db", f.dir);
		chaos_add_blocks(&f, 1 + (unsigned int)chaos_below(4));
		export_well(&f, grown, false, &r);
		assert_false(r.added);
		first = r.rows;
		for (step = 0; step < 4; step++) {
			if (step < 3)
				chaos_add_blocks(&f, (unsigned int)chaos_below(4));
			else
				chaos_end(&f, seed % 2);
			export_well(&f, grown, false, &r);
			assert_true(r.added);
			export_well(&f, whole, true, &r);
			assert_true(r.rows >= first);
			expect_same(grown, whole);
		}
		/* nothing new: nothing is added */
		export_well(&f, grown, false, &r);
		assert_true(r.added);
		assert_int_equal(r.rows, 0);
		expect_same(grown, whole);
		gen_remove_dir(f.dir);
	}
}

static void expect_refused(const struct chaos *f, const char *path, const char *why)
{
	struct export_result r;
	struct err e = { "" };
	struct stat before, after;

	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(export_as(f, path, false, &r, &e), -EEXIST);
	if (!strstr(e.text, why) || !strstr(e.text, path) || !strstr(e.text, "-f"))
		fail_msg("%s: it says \"%s\"", why, e.text);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

static void test_only_an_export_of_this_trace_is_added_to(void **state)
{
	struct chaos one, two;
	struct export_result r;
	char path[128], other[128];
	sqlite3 *db;
	int fd;

	chaos_begin(&one, 11);
	chaos_add_blocks(&one, 3);
	chaos_begin(&two, 12);
	chaos_add_blocks(&two, 3);
	snprintf(path, sizeof(path), "%s/x.db", one.dir);
	snprintf(other, sizeof(other), "%s/other", one.dir);
	export_well(&one, path, false, &r);
	expect_refused(&two, path, "another trace");
	chaos_end(&one, true);
	export_well(&one, path, false, &r);

	/* blocks that the trace does not have */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			db,
			"INSERT INTO export_blocks SELECT max(block) + 1, 0, 0, 0, 0, 0, 0, 0 FROM "
			"export_blocks",
			NULL, NULL, NULL),
		SQLITE_OK);
	expect_refused(&one, path, "does not have");
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	expect_refused(&one, path, "another version");
	sqlite3_close(db);

	/* another program's database, no database, a directory */
	assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	expect_refused(&one, other, "no export");
	fd = open(other, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd,
			       "these are my notes, and no database at all, however long they get;"
			       "SQLite reads a hundred bytes before it makes up its mind",
			       121),
			 121);
	close(fd);
	expect_refused(&one, other, "no SQLite database");
	expect_refused(&one, one.path, "is no file");

	chaos_end(&two, true);
	gen_remove_dir(one.dir);
	gen_remove_dir(two.dir);
}

/* Whoever reads while it is added to sees all of the old, and it waits for nobody. */
static void test_a_database_in_use_is_left_alone(void **state)
{
	struct export_result r;
	struct err e = { "" };
	struct chaos f;
	char path[128];
	sqlite3 *db;

	chaos_begin(&f, 21);
	chaos_add_blocks(&f, 2);
	snprintf(path, sizeof(path), "%s/x.db", f.dir);
	export_well(&f, path, false, &r);
	chaos_add_blocks(&f, 2);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(export_as(&f, path, false, &r, &e), -EBUSY);
	assert_non_null(strstr(e.text, "another program"));
	sqlite3_close(db);
	export_well(&f, path, false, &r);
	assert_true(r.added);
	chaos_end(&f, false);
	gen_remove_dir(f.dir);
}

static void copy_file(const char *from, const char *to)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), "cp '%s' '%s'", from, to);
	assert_int_equal(system(cmd), 0);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* A child exports, and is killed after a while, somewhere in what an export took. Nothing depends on where. */
static bool killed(const struct chaos *f, const char *path, uint64_t whole_us)
{
	uint64_t us = chaos_below(whole_us + whole_us / 8 + 1);
	const struct timespec wait = { (time_t)(us / 1000000), (long)(us % 1000000 * 1000) };
	struct export_result r;
	struct err e = { "" };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		export_as(f, path, false, &r, &e);
		_exit(0);
	}
	nanosleep(&wait, NULL);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status);
}

/* Wherever in its work it is: the file is there and whole, or is not; one that was there is as before, or has all. */
static void test_killed_exports_leave_nothing_half_done(void **state)
{
	char small[128], part[128], grown[128], whole[128], journal[140];
	unsigned int i, was_killed = 0;
	uint64_t new_us, add_us;
	struct export_result r;
	struct chaos f;

	chaos_begin(&f, 31);
	chaos_add_blocks(&f, 6);
	snprintf(small, sizeof(small), "%s/small.db", f.dir);
	snprintf(part, sizeof(part), "%s/new.db", f.dir);
	snprintf(grown, sizeof(grown), "%s/grown.db", f.dir);
	snprintf(journal, sizeof(journal), "%s-journal", grown);
	snprintf(whole, sizeof(whole), "%s/whole.db", f.dir);
	export_well(&f, small, false, &r);
	chaos_add_blocks(&f, 12);
	new_us = now_us();
	export_well(&f, whole, false, &r);
	new_us = now_us() - new_us;
	copy_file(small, grown);
	add_us = now_us();
	export_well(&f, grown, false, &r);
	add_us = now_us() - add_us;
	for (i = 0; i < 10; i++) {
		unlink(part);
		was_killed += killed(&f, part, new_us);
		if (!access(part, F_OK))
			expect_same(part, whole);
		export_well(&f, part, false, &r);
		expect_same(part, whole);

		unlink(journal);
		copy_file(small, grown);
		was_killed += killed(&f, grown, add_us);
		export_well(&f, grown, false, &r);
		assert_true(r.added);
		expect_same(grown, whole);
	}
	/* a journal of what was killed does not come over what replaces it */
	for (i = 0; i < 4; i++) {
		unlink(journal);
		copy_file(small, grown);
		killed(&f, grown, add_us);
		export_well(&f, grown, true, &r);
		expect_same(grown, whole);
	}
	print_message("%u of 20 were killed before their end\n", was_killed);
	chaos_end(&f, false);
	gen_remove_dir(f.dir);
}

/* No room for more: said, and what was there stays as it was. */
static void test_a_disk_that_is_full_loses_nothing(void **state)
{
	struct rlimit was, limit;
	struct export_result r;
	struct err e = { "" };
	char path[128], part[140], before[128];
	struct chaos f;
	struct stat st;
	int ret;

	chaos_begin(&f, 41);
	chaos_add_blocks(&f, 3);
	snprintf(path, sizeof(path), "%s/x.db", f.dir);
	snprintf(part, sizeof(part), "%s.part", path);
	snprintf(before, sizeof(before), "%s/before.db", f.dir);
	export_well(&f, path, false, &r);
	copy_file(path, before);
	chaos_add_blocks(&f, 30);
	assert_int_equal(stat(path, &st), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	limit = was;
	limit.rlim_cur = (rlim_t)st.st_size + 20000;
	setrlimit(RLIMIT_FSIZE, &limit);
	ret = export_as(&f, path, false, &r, &e);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_true(ret < 0);
	assert_int_equal(r.rows, 0);
	assert_non_null(strstr(e.text, path));
	expect_same(path, before);

	setrlimit(RLIMIT_FSIZE, &limit);
	unlink(path);
	ret = export_as(&f, path, false, &r, &e);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_true(ret < 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(part, F_OK), -1);
	chaos_end(&f, false);
	gen_remove_dir(f.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_grown_export_is_a_new_one),
		cmocka_unit_test(test_only_an_export_of_this_trace_is_added_to),
		cmocka_unit_test(test_a_database_in_use_is_left_alone),
		cmocka_unit_test(test_killed_exports_leave_nothing_half_done),
		cmocka_unit_test(test_a_disk_that_is_full_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
