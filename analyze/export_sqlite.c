/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Writes the tables of a window as a real SQLite file: made beside its place, filled in one
 * transaction without a journal, indexed, synced, and renamed. What fails leaves nothing behind.
 *
 * The tables are made by schema/tables.sql in the file itself, then the file is attached to the
 * analysis' connection, where INSERT ... SELECT moves the rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/context.h"
#include "analyze/schema_list.h"
#include "analyze/statement.h"
#include "analyze/table.h"

#define PROGRESS_OPS 500000
#define SCHEMA_VERSION 1	/* PRAGMA user_version of the file */

struct export {
	struct analysis *a;
	uint64_t from_ns, to_ns;
	bool whole;
	char *tmp;
	void (*progress)(void *ctx, uint64_t rows);
	void *ctx;
	uint64_t rows_before;
};

static int on_progress(void *ctx)
{
	struct export *x = ctx;

	x->progress(x->ctx, x->a->rows_read - x->rows_before);
	return 0;
}

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

/* Opens the file by itself and runs SQL texts on it. */
static int run_on_file(const struct export *x, const char *const *texts, struct err *e)
{
	sqlite3 *db = NULL;
	int ret = 0;

	if (sqlite3_open_v2(x->tmp, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		ret = err_set(e, -EIO, "%s: %s", x->tmp, db ? sqlite3_errmsg(db) : "out of memory");
	for (; !ret && *texts; texts++)
		if (sqlite3_exec(db, *texts, NULL, NULL, NULL) != SQLITE_OK)
			ret = db_fail(db, x->tmp, e);
	sqlite3_close(db);
	return ret;
}

static int attach(const struct export *x, struct err *e)
{
	sqlite3 *db = x->a->db;
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(db, "ATTACH ?1 AS out", -1, &stmt, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, x->tmp, -1, SQLITE_STATIC);
		sqlite3_step(stmt);
		rc = sqlite3_finalize(stmt);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA out.journal_mode = OFF; PRAGMA out.synchronous = OFF;"
				      "PRAGMA out.cache_size = -65536;", NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : db_fail(db, x->tmp, e);
}

static int copy_table(const struct export *x, const struct table_def *def, struct err *e)
{
	struct statement_param params[3];
	sqlite3 *db = x->a->db;
	char select[512], sql[640];
	sqlite3_stmt *stmt;
	int i, ret;

	ret = schema_select(def, x->whole, select, sizeof(select));
	if (ret < 0)
		return err_set(e, ret, "table %s: the statement is too long", def->name);
	/* names and devices may repeat in a trace; the first one stays */
	snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO out.\"%s\" %s", def->name, select);
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return db_fail(db, def->name, e);
	schema_window_params(x->a, x->from_ns, x->to_ns, params);
	for (i = 0; params[i].name; i++)
		sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, params[i].name),
				   params[i].i);
	x->a->failed = 0;
	if (sqlite3_step(stmt) != SQLITE_DONE)
		ret = x->a->failed ? err_set(e, x->a->failed, "table %s: %s", def->name,
					     x->a->failed_text)
				   : db_fail(db, x->tmp, e);
	sqlite3_finalize(stmt);
	return ret;
}

static int copy_all(const struct export *x, struct err *e)
{
	sqlite3 *db = x->a->db;
	const struct table_def *def;
	unsigned int i;
	int ret;

	ret = attach(x, e);
	if (ret < 0)
		return ret;
	if (x->progress)
		sqlite3_progress_handler(db, PROGRESS_OPS, on_progress, (void *)x);
	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		ret = db_fail(db, x->tmp, e);
	for (i = 0; !ret && (def = table_at(i)); i++)
		if (def->is_exported)
			ret = copy_table(x, def, e);
	if (!ret && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		ret = db_fail(db, x->tmp, e);
	if (ret && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	sqlite3_exec(db, "DETACH out", NULL, NULL, NULL);
	return ret;
}

static int finish_file(const struct export *x, const char *path, bool force, struct err *e)
{
	int fd = open(x->tmp, O_RDONLY | O_CLOEXEC), ret = 0;

	if (fd < 0 || fsync(fd) < 0)
		ret = err_set(e, -errno, "%s: cannot be synced: %s", x->tmp, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (ret)
		return ret;
	if (renameat2(AT_FDCWD, x->tmp, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE) < 0 &&
	    (force || errno != EINVAL || link(x->tmp, path) < 0))
		return err_set(e, -errno, "%s: cannot be put in place: %s", path, strerror(errno));
	return 0;
}

static int write_file(const struct export *x, const char *path, bool force, struct err *e)
{
	char version[96];
	const char *const before[] = {
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;",
		schema_text("tables"), NULL
	};
	const char *const after[] = {
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;",
		/* sorting goes on beside reading where there is a CPU for it */
		"PRAGMA threads = 2;",
		schema_text("indexes"), schema_text("views"), version, NULL
	};
	int ret;

	snprintf(version, sizeof(version),
		 "PRAGMA user_version = %d; PRAGMA analysis_limit = 1000; ANALYZE;",
		 SCHEMA_VERSION);
	ret = run_on_file(x, before, e);
	if (!ret)
		ret = copy_all(x, e);
	if (!ret)
		ret = run_on_file(x, after, e);
	if (!ret)
		ret = finish_file(x, path, force, e);
	if (!ret && x->progress)
		x->progress(x->ctx, x->a->rows_read - x->rows_before);
	return ret;
}

int analysis_export_sqlite(struct analysis *a, const char *path, uint64_t from_ns, uint64_t to_ns,
			   bool force, void (*progress)(void *ctx, uint64_t rows), void *ctx,
			   struct err *e)
{
	struct export x = {
		.a = a, .from_ns = from_ns, .to_ns = to_ns, .progress = progress, .ctx = ctx,
		.whole = from_ns <= a->start_ns && to_ns >= a->end_ns, .rows_before = a->rows_read,
	};
	struct stat st;
	int fd, ret;

	if (!lstat(path, &st) && !force)
		return err_set(e, -EEXIST, "%s: exists already; -f replaces it", path);
	if (asprintf(&x.tmp, "%s.XXXXXX", path) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	fd = mkstemp(x.tmp);	/* mode 0600 */
	if (fd < 0) {
		ret = err_set(e, -errno, "%s: cannot be made: %s", path, strerror(errno));
		free(x.tmp);
		return ret;
	}
	close(fd);
	ret = write_file(&x, path, force, e);
	unlink(x.tmp);		/* gone by renaming, unless something failed */
	free(x.tmp);
	return ret;
}
