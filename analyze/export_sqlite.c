/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Writes the tables of a window as a real SQLite file: made beside its place, filled without a journal, synced,
 * and renamed. What fails leaves nothing behind, and what is killed a file that the next export begins anew.
 *
 * SQLite makes the tables and indexes, empty (schema/tables.sql, indexes.sql). Event tables are filled as pages
 * (export_fill.h), lists by INSERT.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/context.h"
#include "analyze/export_fill.h"
#include "analyze/schema_list.h"
#include "analyze/statement.h"
#include "analyze/table.h"

#define SCHEMA_VERSION 1 /* PRAGMA user_version of the file */
#define PART_TRIES 3

struct export
{
	struct analysis *a;
	const struct export_request *request;
	struct export_part part;
	char *tmp, *dir;
	uint64_t all_rows, row_cnt;
};

static int db_fail(sqlite3 *db, const char *path, struct err *e)
{
	int rc = sqlite3_errcode(db);

	if (rc == SQLITE_FULL)
		return err_set(e, -ENOSPC,
			       "%s: no space left: free some, or export a shorter window", path);
	if (rc == SQLITE_NOMEM)
		return err_set(e, -ENOMEM, "out of memory");
	return err_set(e, -EIO, "%s: %s", path, sqlite3_errmsg(db));
}

static int open_file(const struct export *x, sqlite3 **ret, struct err *e)
{
	if (sqlite3_open_v2(x->tmp, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return err_set(e, -EIO, "%s: %s", x->tmp,
			       *ret ? sqlite3_errmsg(*ret) : "out of memory");
	return 0;
}

static int run_texts(const struct export *x, sqlite3 *db, const char *const *texts, struct err *e)
{
	for (; *texts; texts++)
		if (sqlite3_exec(db, *texts, NULL, NULL, NULL) != SQLITE_OK)
			return db_fail(db, x->tmp, e);
	return 0;
}

/* ---- lists ---- */

/* "INSERT OR IGNORE INTO "x" VALUES (?,?)": names and devices may repeat in a trace; the first one stays. */
static int prepare_insert(const struct export *x, sqlite3 *db, const struct table_def *def,
			  sqlite3_stmt **ret, struct err *e)
{
	sqlite3_str *s = sqlite3_str_new(db);
	unsigned int i;
	char *sql;
	int rc;

	sqlite3_str_appendf(s, "INSERT OR IGNORE INTO \"%w\" VALUES (", def->name);
	for (i = 0; i < def->col_cnt; i++)
		sqlite3_str_appendf(s, "%s?", i ? "," : "");
	sqlite3_str_appendf(s, ")");
	sql = sqlite3_str_finish(s);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	rc = sqlite3_prepare_v2(db, sql, -1, ret, NULL);
	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : db_fail(db, x->tmp, e);
}

static int insert_row(const struct export *x, sqlite3 *db, sqlite3_stmt *from, sqlite3_stmt *into,
		      struct export_text *room, struct err *e)
{
	int i, cnt = sqlite3_column_count(from), rc = SQLITE_OK;
	const char *text;
	size_t bytes;

	for (i = 0; i < cnt && rc == SQLITE_OK; i++) {
		if (sqlite3_column_type(from, i) != SQLITE_TEXT) {
			rc = sqlite3_bind_value(into, i + 1, sqlite3_column_value(from, i));
			continue;
		}
		text = export_text_safe(room, (const char *)sqlite3_column_text(from, i), &bytes);
		rc = text ? sqlite3_bind_text64(into, i + 1, text, bytes, SQLITE_TRANSIENT,
						SQLITE_UTF8)
			  : SQLITE_NOMEM;
	}
	if (rc == SQLITE_OK)
		sqlite3_step(into);
	if (sqlite3_reset(into) != SQLITE_OK)
		return db_fail(db, x->tmp, e);
	return rc == SQLITE_OK ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static int copy_list(struct export *x, sqlite3 *db, const struct table_def *def, struct err *e)
{
	sqlite3_stmt *from = NULL, *into = NULL;
	struct statement_param params[3];
	struct export_text room = { 0 };
	char select[512];
	int i, ret;

	ret = schema_select(def, x->part.whole, select, sizeof(select));
	if (ret < 0)
		return err_set(e, ret, "table %s: the statement is too long", def->name);
	if (sqlite3_prepare_v2(x->a->db, select, -1, &from, NULL) != SQLITE_OK)
		return db_fail(x->a->db, def->name, e);
	schema_window_params(x->a, x->request->from_ns, x->request->to_ns, params);
	for (i = 0; params[i].name; i++)
		sqlite3_bind_int64(from, sqlite3_bind_parameter_index(from, params[i].name),
				   params[i].i);
	ret = prepare_insert(x, db, def, &into, e);
	x->a->failed = 0;
	while (!ret && sqlite3_step(from) == SQLITE_ROW) {
		ret = insert_row(x, db, from, into, &room, e);
		x->row_cnt++;
	}
	sqlite3_finalize(into);
	if (sqlite3_finalize(from) != SQLITE_OK && !ret)
		ret = x->a->failed ? err_set(e, x->a->failed, "table %s: %s", def->name,
					     x->a->failed_text)
				   : db_fail(x->a->db, def->name, e);
	free(room.data);
	return ret;
}

static int copy_lists(struct export *x, sqlite3 *db, struct err *e)
{
	const struct table_def *def;
	unsigned int i;
	int ret = 0;

	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(db, x->tmp, e);
	for (i = 0; !ret && (def = table_at(i)); i++)
		if (def->is_exported && !export_fill_has(def))
			ret = copy_list(x, db, def, e);
	if (!ret && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		ret = db_fail(db, x->tmp, e);
	return ret;
}

/* ---- a new file ---- */

static void on_fill(void *ctx, uint64_t rows)
{
	const struct export *x = ctx;

	x->request->progress(x->request->ctx, rows, x->all_rows);
}

static int make_tables(const struct export *x, struct err *e)
{
	const char *const texts[] = {
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;"
		"PRAGMA auto_vacuum = NONE; BEGIN;",
		schema_text("tables"),
		schema_text("indexes"),
		schema_text("views"),
		"COMMIT;",
		NULL
	};
	sqlite3 *db = NULL;
	int ret = open_file(x, &db, e);

	if (!ret)
		ret = run_texts(x, db, texts, e);
	sqlite3_close(db);
	return ret;
}

/* Lists come last: what damage the events turned out to have is one of them. */
static int fill_lists(struct export *x, struct err *e)
{
	char version[96];
	const char *const before[] = {
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;",
		NULL
	};
	const char *const after[] = { version, NULL };
	sqlite3 *db = NULL;
	int ret = open_file(x, &db, e);

	snprintf(version, sizeof(version),
		 "PRAGMA user_version = %d; PRAGMA analysis_limit = 1000; ANALYZE;",
		 SCHEMA_VERSION);
	if (!ret)
		ret = run_texts(x, db, before, e);
	if (!ret)
		ret = copy_lists(x, db, e);
	if (!ret)
		ret = run_texts(x, db, after, e);
	if (sqlite3_close(db) != SQLITE_OK && !ret)
		ret = db_fail(db, x->tmp, e);
	return ret;
}

static int put_in_place(const struct export *x, int fd, struct err *e)
{
	const char *path = x->request->path;
	bool force = x->request->force;

	if (fsync(fd) < 0)
		return err_set(e, -errno, "%s: cannot be synced: %s", x->tmp, strerror(errno));
	if (renameat2(AT_FDCWD, x->tmp, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE) < 0 &&
	    (force || errno != EINVAL || link(x->tmp, path) < 0))
		return err_set(e, -errno, "%s: cannot be put in place: %s", path, strerror(errno));
	return 0;
}

static int write_file(struct export *x, int fd, struct err *e)
{
	const struct export_request *r = x->request;
	struct export_fill_job job = {
		.a = x->a,
		.path = x->tmp,
		.dir = x->dir,
		.part = x->part,
		.progress = r->progress ? on_fill : NULL,
		.ctx = x,
	};
	int ret = make_tables(x, e);

	if (!ret)
		ret = export_fill(&job, &x->row_cnt, e);
	if (!ret)
		ret = fill_lists(x, e);
	if (!ret)
		ret = put_in_place(x, fd, e);
	if (!ret && r->progress)
		r->progress(r->ctx, x->row_cnt, x->row_cnt);
	return ret;
}

/*
 * The file beside its place, empty, locked by who writes it: one that nobody has locked was left by an export that
 * was killed. Returns its descriptor or -errno.
 */
static int open_part(const struct export *x, struct err *e)
{
	struct stat mine, there;
	int fd, code, i;

	for (i = 0; i < PART_TRIES; i++) {
		fd = open(x->tmp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		if (fd < 0)
			return err_set(e, -errno, "%s: cannot be made: %s", x->tmp,
				       strerror(errno));
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			code = errno;
			close(fd);
			if (code != EWOULDBLOCK)
				return err_set(e, -code, "%s: cannot be locked: %s", x->tmp,
					       strerror(code));
			return err_set(e, -EBUSY,
				       "%s is being written by another export: wait for it, or "
				       "name another file",
				       x->request->path);
		}
		if (fstat(fd, &mine) == 0 && lstat(x->tmp, &there) == 0 &&
		    mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) {
			if (S_ISREG(mine.st_mode) && mine.st_uid == geteuid() &&
			    mine.st_nlink == 1 && fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0)
				return fd;
			close(fd);
			return err_set(e, -EEXIST,
				       "%s: is in the way, and not an export's: move it, or name "
				       "another file",
				       x->tmp);
		}
		close(fd); /* the other one put it in place just now */
	}
	return err_set(e, -EBUSY, "%s: others write it, too", x->tmp);
}

static int write_new(struct export *x, struct err *e)
{
	int fd = open_part(x, e), ret;

	if (fd < 0)
		return fd;
	ret = write_file(x, fd, e);
	if (ret < 0)
		unlink(x->tmp);
	close(fd);
	return ret;
}

static uint64_t expected_rows(const struct analysis *a)
{
	const struct table_def *def;
	double sum = 0;
	unsigned int i;

	for (i = 0; (def = table_at(i)); i++)
		if (def->is_exported && def->row_cnt)
			sum += def->row_cnt(a, def);
	return (uint64_t)sum;
}

int analysis_export_sqlite(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			   struct err *e)
{
	struct export x = {
		.a = a,
		.request = r,
		.part = { .whole = r->from_ns <= a->start_ns && r->to_ns >= a->end_ns,
			  .from_ns = context_rel_clamped(a, r->from_ns),
			  .to_ns = context_rel_clamped(a, r->to_ns) },
		.all_rows = expected_rows(a),
	};
	char *path = strdup(r->path);
	struct stat st;
	int ret;

	if (!path || asprintf(&x.tmp, "%s.part", r->path) < 0) {
		free(path);
		return err_set(e, -ENOMEM, "out of memory");
	}
	x.dir = dirname(path);
	if (!lstat(r->path, &st) && !r->force)
		ret = err_set(e, -EEXIST, "%s: exists already; -f replaces it", r->path);
	else
		ret = write_new(&x, e);
	*ret_rows = x.row_cnt;
	free(x.tmp);
	free(path);
	return ret;
}
