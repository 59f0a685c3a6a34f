/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Exported databases hold the rows of the trace and answer as reports do. An export that fails or
 * is killed keeps the old file.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <sqlite3.h>

#include "analyze/analyze.h"
#include "analyze/engine/table.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

static struct made_trace made;
static char db_path[96];

static int setup(void **state)
{
	made_hostile(&made);
	snprintf(db_path, sizeof(db_path), "%s/out.db", made.dir);
	return 0;
}

static int teardown(void **state)
{
	made_close(&made);
	return 0;
}

static int export_to(const char *to_path, uint64_t from, uint64_t to, bool force, struct err *e)
{
	const struct export_request r = {
		.path = to_path, .from_ns = from, .to_ns = to, .force = force
	};
	uint64_t rows;

	return analysis_export_sqlite(made.a, &r, &rows, e);
}

static int64_t db_int(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t v;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	v = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return v;
}

static void expect_text(sqlite3 *db, const char *sql, const char *text)
{
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0), text);
	sqlite3_finalize(stmt);
}

/* Each row of the report finds its numbers by plain SQL on the database. */
static void compare_with_reports(sqlite3 *db, uint64_t from, uint64_t to)
{
	struct report_request q = { .view = "cpu", .from_ns = from, .to_ns = to };
	long long f = (long long)(from - MADE_HOSTILE_FROM_NS);
	long long t = (long long)(to - MADE_HOSTILE_FROM_NS);
	struct rows r;
	char sql[512];

	rows_report(&r, made.a, &q);
	assert_true(r.row_cnt > 10);
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		/* time of an unknown owner has no stays */
		if (!strcmp(rows_text(&r, i, rows_col(&r, "comm")), "[unknown]"))
			continue;
		snprintf(sql, sizeof(sql),
			 "SELECT sum(min(s.end_ns, %lld) - max(s.start_ns, %lld)) FROM "
			 "sched_slices s JOIN "
			 "threads USING (utid) JOIN processes p USING (upid) WHERE p.pid = %lld "
			 "AND s.start_ns < %lld AND "
			 "s.end_ns > %lld",
			 t, f, (long long)rows_int(&r, i, 0), t, f);
		if (rows_int(&r, i, rows_col(&r, "oncpu_ns")) != db_int(db, sql))
			fail_msg("%s: %lld, not %lld", sql, (long long)db_int(db, sql),
				 (long long)rows_int(&r, i, rows_col(&r, "oncpu_ns")));
	}
	rows_done(&r);
	q.view = "io";
	rows_report(&r, made.a, &q);
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM block_requests r "
			 "JOIN processes p ON p.upid = r.owner_upid "
			 "JOIN processes s ON s.upid = r.submitter_upid "
			 "WHERE coalesce(p.pid, 0) = %lld AND op = '%s' AND r.end_ns >= %lld AND "
			 "r.end_ns < %lld AND (p.pid > 0 OR (s.comm = '%s' AND owner_how = '%s'))",
			 (long long)rows_int(&r, i, 0), rows_text(&r, i, 3), f, t,
			 rows_text(&r, i, rows_col(&r, "submitter")),
			 rows_text(&r, i, rows_col(&r, "owner_how")));
		assert_int_equal(rows_int(&r, i, rows_col(&r, "ios")), db_int(db, sql));
	}
	rows_done(&r);
	q.view = "alloc";
	rows_report(&r, made.a, &q);
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		if (strcmp(rows_text(&r, i, rows_col(&r, "source")), "slab"))
			continue;
		snprintf(sql, sizeof(sql),
			 "SELECT coalesce(sum(bytes), 0) FROM allocations a JOIN processes p USING "
			 "(upid) "
			 "WHERE p.pid = %lld AND source = 'slab' AND alloc_ns >= %lld AND alloc_ns "
			 "< %lld",
			 (long long)rows_int(&r, i, 0), f, t);
		if (rows_int(&r, i, 0))
			assert_int_equal(rows_int(&r, i, rows_col(&r, "alloc_bytes")),
					 db_int(db, sql));
	}
	rows_done(&r);
}

/* A row as text, so that rows can be sorted and compared. */
static char *row_text(const struct rows *r, unsigned int row)
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	for (unsigned int c = 0; c < r->col_cnt; c++) {
		const struct value *v = &r->values[row * r->col_cnt + c];

		if (v->type == VALUE_INT)
			sqlite3_str_appendf(s, "%lld|", (long long)v->i);
		else if (v->type == VALUE_REAL)
			sqlite3_str_appendf(s, "%!.17g|", v->r);
		else
			sqlite3_str_appendf(s, "%Q|", v->type == VALUE_TEXT ? v->text : NULL);
	}
	return sqlite3_str_finish(s);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static char **sorted_rows(const struct rows *r)
{
	char **texts = calloc(r->row_cnt + 1, sizeof(*texts));

	assert_non_null(texts);
	for (unsigned int i = 0; i < r->row_cnt; i++)
		texts[i] = row_text(r, i);
	qsort(texts, r->row_cnt, sizeof(*texts), by_text);
	return texts;
}

static void free_texts(char **texts, unsigned int cnt)
{
	while (cnt)
		sqlite3_free(texts[--cnt]);
	free(texts);
}

/* All rows of a table of the database. */
static void db_rows(sqlite3 *db, const char *table, struct rows *r)
{
	struct row_sink sink = rows_sink(r);
	const char *names[64];
	struct value values[64];
	char sql[128];
	sqlite3_stmt *stmt;
	int i, cnt;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	cnt = sqlite3_column_count(stmt);
	for (i = 0; i < cnt; i++)
		names[i] = sqlite3_column_name(stmt, i);
	sink.begin(sink.ctx, (unsigned int)cnt, names);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		memset(values, 0, sizeof(values));
		for (i = 0; i < cnt; i++) {
			int type = sqlite3_column_type(stmt, i);

			values[i].type = type == SQLITE_INTEGER ? VALUE_INT :
					 type == SQLITE_FLOAT	? VALUE_REAL :
					 type == SQLITE_TEXT	? VALUE_TEXT :
								  VALUE_NULL;
			values[i].i = sqlite3_column_int64(stmt, i);
			values[i].r = sqlite3_column_double(stmt, i);
			values[i].text = (const char *)sqlite3_column_text(stmt, i);
			values[i].text_bytes = (size_t)sqlite3_column_bytes(stmt, i);
		}
		sink.row(sink.ctx, values);
	}
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
}

/* Converts the texts of the trace to the database's form. */
static void make_texts_safe(struct rows *r)
{
	for (unsigned int i = 0; i < r->row_cnt * r->col_cnt; i++) {
		struct value *v = &r->values[i];

		if (v->type != VALUE_TEXT || strcmp(v->text, MADE_HOSTILE) != 0)
			continue;
		free((char *)v->text);
		v->text = strdup(MADE_HOSTILE_SAFE);
		v->text_bytes = strlen(MADE_HOSTILE_SAFE);
	}
}

/* Every row of the window, as SQL on the trace has it, is in the database, and no other row. */
static void compare_with_tables(sqlite3 *db, uint64_t from, uint64_t to)
{
	const struct table_def *d;
	char **in_trace, **in_db;
	unsigned int i, k;

	for (i = 0; (d = table_at(i)); i++) {
		struct err e = { "" };
		struct rows r, s;
		struct row_sink sink = rows_sink(&r);

		if (!d->is_exported)
			continue;
		if (analysis_table(made.a, d->name, from, to, &sink, &e) < 0)
			fail_msg("%s: %s", d->name, e.text);
		make_texts_safe(&r);
		db_rows(db, d->name, &s);
		if (s.row_cnt != r.row_cnt)
			fail_msg("%s: %u rows, not %u", d->name, s.row_cnt, r.row_cnt);
		in_trace = sorted_rows(&r);
		in_db = sorted_rows(&s);
		for (k = 0; k < r.row_cnt; k++)
			if (strcmp(in_trace[k], in_db[k]))
				fail_msg("%s: %s, not %s", d->name, in_db[k], in_trace[k]);
		free_texts(in_trace, r.row_cnt);
		free_texts(in_db, s.row_cnt);
		rows_done(&r);
		rows_done(&s);
	}
}

static void check_database(uint64_t from, uint64_t to)
{
	const struct table_def *d;
	char sql[160];
	struct rows r;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	expect_text(db, "PRAGMA integrity_check", "ok");
	assert_int_equal(db_int(db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	assert_int_equal(db_int(db, "SELECT count(*) FROM pragma_table_list WHERE type = 'table' "
				    "AND strict = 0 AND "
				    "name NOT LIKE 'sqlite_%'"),
			 0);
	for (unsigned int i = 0;
	     (d = table_at(i)) && from == trace_start_ns(made.t) && to == trace_end_ns(made.t);
	     i++) {
		if (!d->is_exported)
			continue;
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", d->name);
		rows_sql(&r, made.a, sql);
		assert_int_equal(db_int(db, sql), rows_int(&r, 0, 0));
		rows_done(&r);
	}
	assert_true(db_int(db, "SELECT count(*) FROM slices_named") > 1000);
	assert_true(db_int(db, "SELECT min(unix_s) > 1e9 FROM rss_named"));
	compare_with_tables(db, from, to);
	compare_with_reports(db, from, to);
	sqlite3_close(db);
}

UNIT_TEST(test_export_answers_the_same_numbers)
{
	uint64_t from = trace_start_ns(made.t), to = trace_end_ns(made.t);
	struct err e = { "" };
	struct stat st;

	unlink(db_path);
	if (export_to(db_path, from, to, false, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(stat(db_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	check_database(from, to);
	assert_int_equal(export_to(db_path, from + 1, to, false, &e), -EEXIST);
	/* a window replaces the whole trace */
	from += (to - from) / 3 + 7;
	to -= 12345;
	e.text[0] = 0;
	if (export_to(db_path, from, to, true, &e) < 0)
		fail_msg("%s", e.text);
	check_database(from, to);
}

static void expect_kept(const char *at, const char *why)
{
	struct err e = { "" };
	struct stat before, after;

	assert_int_equal(stat(at, &before), 0);
	assert_int_equal(export_to(at, 0, UINT64_MAX, false, &e), -EEXIST);
	if (!strstr(e.text, why) || !strstr(e.text, at) || !strstr(e.text, "-f"))
		fail_msg("%s: it says \"%s\"", why, e.text);
	assert_int_equal(stat(at, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

UNIT_TEST(test_only_an_export_of_a_whole_trace_is_replaced)
{
	uint64_t from = trace_start_ns(made.t), to = trace_end_ns(made.t);
	struct stat before, after;
	struct err e = { "" };
	char journal[112];
	sqlite3 *db;
	int fd;

	assert_int_equal(export_to(db_path, from, to, true, &e), 0);
	assert_int_equal(stat(db_path, &before), 0);
	assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL; DELETE FROM switches", NULL,
				      NULL, NULL), SQLITE_OK);
	if (export_to(db_path, from, to, false, &e) < 0)
		fail_msg("%s", e.text);
	sqlite3_close(db);
	assert_int_equal(stat(db_path, &after), 0);
	assert_int_not_equal(after.st_ino, before.st_ino);
	snprintf(journal, sizeof(journal), "%s-wal", db_path);
	unlink(journal); /* of the process that had the old file open */
	snprintf(journal, sizeof(journal), "%s-shm", db_path);
	unlink(journal);
	check_database(from, to);

	assert_int_equal(export_to(db_path, from, to - 1, true, &e), 0);
	expect_kept(db_path, "is not the export of a whole trace");
	assert_int_equal(unlink(db_path), 0);
	assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	expect_kept(db_path, "is not the export of a whole trace");
	fd = open(db_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, "notes", 5), 5);
	close(fd);
	expect_kept(db_path, "is not a SQLite database");
	expect_kept(made.dir, "is not a regular file");
	unlink(db_path);
	assert_int_equal(mkfifo(db_path, 0600), 0);
	expect_kept(db_path, "is not a regular file");
	unlink(db_path);
}

/* A child exports, and is killed after a part of the time that an export takes. */
static bool killed(uint64_t us)
{
	const struct timespec wait = { (time_t)(us / 1000000), (long)(us % 1000000 * 1000) };
	struct err e = { "" };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		export_to(db_path, 0, UINT64_MAX, false, &e);
		_exit(0);
	}
	nanosleep(&wait, NULL);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Whenever it is killed: the file is the old one or the new one, and the next export works. */
UNIT_TEST(test_killed_exports_leave_nothing_half_done)
{
	unsigned int i, was_killed = 0;
	struct err e = { "" };
	uint64_t dice = 3, us;
	bool had_one;

	unlink(db_path);
	us = now_us();
	assert_int_equal(export_to(db_path, 0, UINT64_MAX, false, &e), 0);
	us = now_us() - us;
	for (i = 0; i < 10; i++) {
		had_one = i % 2;
		if (!had_one)
			unlink(db_path);
		was_killed += killed(gen_random(&dice) % (us + us / 8 + 1));
		if (had_one || !access(db_path, F_OK))
			check_database(trace_start_ns(made.t), trace_end_ns(made.t));
		if (export_to(db_path, 0, UINT64_MAX, false, &e) < 0)
			fail_msg("%s", e.text);
	}
	check_database(trace_start_ns(made.t), trace_end_ns(made.t));
	print_message("%u of 10 were killed before their end\n", was_killed);
}

/* Temporary directories that are there. */
static unsigned int temporary_cnt(void)
{
	unsigned int cnt = 0;
	struct dirent *d;
	DIR *list = opendir(made.dir);

	assert_non_null(list);
	while ((d = readdir(list)))
		cnt += !strncmp(d->d_name, ".ebpfrec-new.", 13);
	closedir(list);
	return cnt;
}

/* No room: the old file stays, and nothing is left of the new one. */
UNIT_TEST(test_a_disk_that_is_full_loses_nothing)
{
	struct rlimit was, limit;
	struct err e = { "" };

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(export_to(db_path, 0, UINT64_MAX, true, &e), 0);
	limit = was;
	limit.rlim_cur = 600000;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_true(export_to(db_path, 0, UINT64_MAX, false, &e) < 0);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_non_null(strstr(e.text, "out.db"));
	assert_int_equal(temporary_cnt(), 0);
	check_database(trace_start_ns(made.t), trace_end_ns(made.t));
}

UNIT_TEST(test_names_are_safe_to_print)
{
	uint64_t from = trace_start_ns(made.t);
	struct rows r;
	sqlite3 *db;

	assert_int_equal(export_to(db_path, from, from + 1000, true, NULL), 0);
	assert_int_equal(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	expect_text(db, "SELECT comm FROM processes WHERE pid = 9001", MADE_HOSTILE_SAFE);
	expect_text(db, "SELECT comm FROM threads WHERE tid = 9001", MADE_HOSTILE_SAFE);
	sqlite3_close(db);
	/* SQL returns the name as recorded, so that statements can compare with it */
	rows_sql(&r, made.a, "SELECT comm FROM processes WHERE pid = 9001");
	assert_string_equal(rows_text(&r, 0, 0), MADE_HOSTILE);
	rows_done(&r);
}

/* The next export removes the files of a killed export, and keeps the files of a running one. */
UNIT_TEST(test_what_a_killed_export_left_is_removed)
{
	char left[112], in_use[112], file[128];
	int fd;

	snprintf(left, sizeof(left), "%s/.ebpfrec-new.killed", made.dir);
	snprintf(in_use, sizeof(in_use), "%s/.ebpfrec-new.in_use", made.dir);
	snprintf(file, sizeof(file), "%s/out.db", left);
	assert_int_equal(mkdir(left, 0700), 0);
	assert_int_equal(mkdir(in_use, 0700), 0);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "SQLite format 3", 16), 16);
	close(fd);
	fd = open(in_use, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(export_to(db_path, 0, UINT64_MAX, true, NULL), 0);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(rmdir(in_use), 0);
	close(fd);
	check_database(trace_start_ns(made.t), trace_end_ns(made.t));
}

UNIT_TEST(test_export_to_nowhere_leaves_nothing)
{
	struct err e = { "" };

	assert_int_equal(export_to("/nonexistent/x.db", 0, UINT64_MAX, false, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/x.db"));
}

static void copy_to(const char *to, const char *from)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct stat st;

	assert_true(in >= 0 && out >= 0 && !fstat(in, &st));
	assert_int_equal(sendfile(out, in, NULL, (size_t)st.st_size), st.st_size);
	close(in);
	close(out);
}

/* The journal of a program that died in a transaction would undo pages of the new database. */
UNIT_TEST(test_the_journal_of_the_old_database_spoils_no_new_one)
{
	char died[100], journal[128], copy[128];
	sqlite3 *db;

	snprintf(died, sizeof(died), "%s/died.db", made.dir);
	snprintf(journal, sizeof(journal), "%s-journal", died);
	assert_int_equal(sqlite3_open(died, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x); WITH n (i) AS (VALUES (1) UNION ALL "
					  "SELECT i + 1 FROM n WHERE i < 2000) "
					  "INSERT INTO t SELECT randomblob(500) FROM n; "
					  "PRAGMA cache_size = 5; BEGIN; UPDATE t SET x = 1",
				      NULL, NULL, NULL), SQLITE_OK);
	snprintf(copy, sizeof(copy), "%s-journal", db_path);
	copy_to(db_path, died);
	copy_to(copy, journal);
	sqlite3_close(db);
	unlink(died);
	unlink(journal);
	assert_int_equal(export_to(db_path, 0, UINT64_MAX, true, NULL), 0);
	assert_int_equal(access(copy, F_OK), -1);
	assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
	expect_text(db, "PRAGMA integrity_check", "ok");
	assert_true(db_int(db, "SELECT count(*) FROM switches") > 0);
	sqlite3_close(db);
	unlink(db_path);
}

UNIT_TESTS_IN(setup, teardown)
