/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_sqlite: writes the tables of a window as a SQLite database, to an atomic output that is
 * synced at the end.
 *
 *     event tables --[export_rows]------> INSERT, in order --> CREATE INDEX --> ANALYZE
 *     lists        --[analysis_table()]-> INSERT OR IGNORE
 *
 * SQLite writes the file in one thread, with one transaction for all rows and another for the
 * indexes (schema/indexes.sql), so that keys are sorted only once. There is no journal: an
 * unfinished file is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/engine/statement.h"
#include "analyze/export/export.h"
#include "base/atomic_output.h"

/*
 * PRAGMA application_id of an export of a whole trace, "ebpf" in ASCII. A later export of a whole
 * trace may replace such a file.
 */
#define EXPORT_APPLICATION_ID 0x65627066
#define PROGRESS_EVERY 65536

/* A database being written. */
struct database {
	struct export_to x;
	const char *path; /* path of the new file */
	sqlite3 *db;
	bool replaces; /* replaces an existing file */
};

static int fail(const struct database *d, struct err *e)
{
	switch (sqlite3_errcode(d->db)) {
	case SQLITE_FULL:
		return err_set(e, -ENOSPC,
			       "%s: no space left: free some, or export a shorter window", d->path);
	case SQLITE_NOMEM:
		return err_set(e, -ENOMEM, "out of memory");
	default:
		return err_set(e, -EIO, "%s: %s", d->path, sqlite3_errmsg(d->db));
	}
}

/* Runs statements that return no rows. */
static int run(const struct database *d, const char *sql, struct err *e)
{
	return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(d, e);
}

/* ---- rows ---- */

struct insert {
	struct database *d;
	sqlite3_stmt *stmt;
	int col_cnt;
	struct export_text room;
	struct err *e;
};

/* Implements row_sink.row(). */
static int insert_row(void *ctx, const struct value *values)
{
	struct insert *in = ctx;
	struct export_to *x = &in->d->x;
	const struct export_request *r = x->request;
	int rc = SQLITE_OK;

	for (int i = 0; i < in->col_cnt && rc == SQLITE_OK; i++) {
		struct value v = values[i];

		if (v.type == VALUE_TEXT && export_text_safe(&in->room, &v) < 0)
			rc = SQLITE_NOMEM;
		else
			rc = statement_bind(in->stmt, i + 1, &v);
	}
	if (rc != SQLITE_OK)
		return err_set(in->e, -ENOMEM, "out of memory");
	sqlite3_step(in->stmt);
	if (sqlite3_reset(in->stmt) != SQLITE_OK)
		return fail(in->d, in->e);
	if (++x->row_cnt % PROGRESS_EVERY == 0 && r->progress)
		r->progress(r->ctx, x->row_cnt, x->all_rows);
	return 0;
}

/* Names and devices may repeat in a trace: or_ignore keeps the first row of equal keys. */
static int begin_insert(struct insert *in, const char *table, unsigned int col_cnt, bool or_ignore)
{
	sqlite3_str *s = sqlite3_str_new(in->d->db);
	char *sql;
	int rc;

	in->col_cnt = (int)col_cnt;
	sqlite3_str_appendf(s, "INSERT%s INTO \"%w\" VALUES (?", or_ignore ? " OR IGNORE" : "",
			    table);
	for (unsigned int i = 1; i < col_cnt; i++)
		sqlite3_str_appendall(s, ",?");
	sqlite3_str_appendall(s, ")");
	sql = sqlite3_str_finish(s);
	if (!sql)
		return err_set(in->e, -ENOMEM, "out of memory");
	rc = sqlite3_prepare_v2(in->d->db, sql, -1, &in->stmt, NULL);
	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : fail(in->d, in->e);
}

static void end_insert(struct insert *in)
{
	sqlite3_finalize(in->stmt);
	free(in->room.data);
}

static int insert_tables(struct database *d, bool events, struct err *e)
{
	const struct table_def *def;
	int r = 0;

	for (unsigned int i = 0; !r && (def = table_at(i)); i++) {
		struct insert in = { .d = d, .e = e };
		const struct row_sink sink = { .ctx = &in, .row = insert_row };

		if (!def->is_exported || export_is_events(def) != events)
			continue;
		r = begin_insert(&in, def->name, def->col_cnt, !events);
		r = r ?: export_rows_all(&d->x, def, &sink, e);
		end_insert(&in);
	}
	return r;
}

static int insert_info(struct database *d, struct err *e)
{
	struct insert in = { .d = d, .e = e };
	const struct row_sink sink = { .ctx = &in, .row = insert_row };
	uint64_t rows = d->x.row_cnt;
	int r = run(d, "CREATE TABLE " EXPORT_INFO " (key TEXT PRIMARY KEY, value ANY) STRICT", e);

	r = r ?: begin_insert(&in, EXPORT_INFO, 2, false);
	r = r ?: analysis_export_info(d->x.a, d->x.request, &sink);
	d->x.row_cnt = rows; /* rows of this table do not count */
	end_insert(&in);
	return r;
}

/* ---- the file ---- */

static int write_tables(struct database *d, struct err *e)
{
	static const char begin[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
				    "PRAGMA cache_size = -65536; PRAGMA page_size = 8192;"
				    "PRAGMA auto_vacuum = NONE; BEGIN";
	char end[96];
	int r;

	snprintf(end, sizeof(end), "PRAGMA application_id = %d; COMMIT",
		 d->x.whole ? EXPORT_APPLICATION_ID : 0);
	r = run(d, begin, e) ?: run(d, schema_text("tables"), e) ?: run(d, schema_text("views"), e);
	/* Lists last: reading events may find damage, which one of the lists contains. */
	r = r ?: insert_tables(d, true, e) ?: insert_tables(d, false, e) ?: insert_info(d, e);
	r = r ?: run(d, end, e);
	r = r ?: run(d, "BEGIN", e) ?: run(d, schema_text("indexes"), e) ?: run(d, "COMMIT", e);
	return r ?: run(d, "PRAGMA analysis_limit = 1000; ANALYZE", e);
}

/* Writes the database to d->path, an empty file. */
static int write_file(struct database *d, int fd, struct err *e)
{
	const struct export_request *request = d->x.request;
	int r = 0;

	if (sqlite3_open_v2(d->path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		r = err_set(e, -EIO, "%s: %s", d->path,
			    d->db ? sqlite3_errmsg(d->db) : "out of memory");
	r = r ?: write_tables(d, e);
	if (sqlite3_close(d->db) != SQLITE_OK && !r)
		r = fail(d, e);
	if (!r && fsync(fd) < 0)
		r = err_set(e, -errno, "%s: cannot be synced: %s", d->path, strerror(errno));
	if (!r && request->progress)
		request->progress(request->ctx, d->x.row_cnt, d->x.row_cnt);
	return r;
}

/*
 * SQLite would apply a journal or write-ahead log of the old file to the new file. Lets SQLite
 * apply the log to the old file first, and remove the log.
 */
static void clear_journal(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
	    SQLITE_OK)
		sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	sqlite3_close(db);
}

static int write_new(struct database *d, struct err *e)
{
	const char *path = d->x.request->path;
	struct atomic_output out;
	int fd = -1, ret = atomic_output_begin(&out, path, false, e);

	if (!ret) {
		d->path = out.path;
		fd = open(out.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		ret = fd < 0 ? err_set(e, -errno, "%s: cannot be made: %s", path, strerror(errno))
			     : write_file(d, fd, e);
	}
	if (!ret && d->replaces)
		clear_journal(path);
	ret = ret ?: atomic_output_commit(&out, path, d->replaces, e);
	if (fd >= 0)
		close(fd);
	atomic_output_drop(&out);
	return ret;
}

static int refuse(const char *path, const char *why, struct err *e)
{
	return err_set(e, -EEXIST, "%s exists%s%s; -f replaces it", path, *why ? ", and " : "",
		       why);
}

/* Checks whether an existing file may be replaced. Returns 0 or -errno. */
static int check_old_file(const struct export_to *x, struct err *e)
{
	const char *path = x->request->path;
	uint8_t head[100];
	struct stat st;
	ssize_t n = -1;
	int fd;

	if (!x->whole)
		return refuse(path, "", e);
	/* O_NONBLOCK: open() must not wait if the path is a pipe or a device. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return refuse(path, "is not a regular file", e);
	}
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	if (n != (ssize_t)sizeof(head) || memcmp(head, "SQLite format 3", 16) != 0)
		return refuse(path, "is not a SQLite database", e);
	if (memcmp(head + 68, "ebpf", 4) != 0) /* EXPORT_APPLICATION_ID, big-endian */
		return refuse(path, "is not the export of a whole trace", e);
	return 0;
}

int analysis_export_sqlite(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			   struct err *e)
{
	struct database d = {
		.x = { .a = a,
		       .request = r,
		       .whole = r->from_ns <= a->start_ns && r->to_ns >= a->end_ns,
		       .from_ns = context_rel_clamped(a, r->from_ns),
		       .to_ns = context_rel_clamped(a, r->to_ns) },
		.replaces = r->force,
	};
	struct stat st;
	int ret = 0;

	d.x.all_rows = export_expected_rows(&d.x);
	if (!r->force && !lstat(r->path, &st)) {
		ret = check_old_file(&d.x, e);
		d.replaces = !ret;
	}
	ret = ret ?: write_new(&d, e);
	*ret_rows = d.x.row_cnt;
	return ret;
}
