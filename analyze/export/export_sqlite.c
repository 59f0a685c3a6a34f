/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Writes the tables of a window as a real SQLite file: as an atomic output, filled without a
 * journal and synced.
 *
 * SQLite makes the tables and indexes, empty (schema/tables.sql, indexes.sql). export_fill writes
 * the event tables, export_sql the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/bulk/bulk_load.h"
#include "analyze/engine/statement.h"
#include "analyze/export/export.h"
#include "base/atomic_output.h"

/* Good enough for a file that is thrown away if anything goes wrong. */
#define UNSAFE "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"

static int make_tables(struct export_to *x, struct err *e)
{
	const char *const texts[] = { UNSAFE,
				      "PRAGMA page_size = 8192; PRAGMA auto_vacuum = NONE; BEGIN;",
				      schema_text("tables"),
				      schema_text("indexes"),
				      schema_text("views"),
				      "COMMIT;" };
	int ret = export_sql_open(x, e), closed;

	for (size_t i = 0; !ret && i < sizeof(texts) / sizeof(texts[0]); i++)
		ret = export_sql_run(x, texts[i], e);
	closed = export_sql_close(x, e);
	return ret ? ret : closed;
}

/* ---- the event tables, as pages ---- */

struct load {
	struct export_to *x;
	struct bulk_load *bulk;
};

static int begin_load(void *ctx, const struct table_def *const *defs, unsigned int cnt,
		      struct err *e)
{
	struct load *l = ctx;
	struct bulk_table_spec *specs = calloc(cnt + 1, sizeof(*specs));
	int ret;

	if (!specs)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < cnt; i++) {
		specs[i].name = defs[i]->name;
		specs[i].ascending_col = defs[i]->is_ordered ? defs[i]->time_col : -1;
	}
	ret = bulk_load_open(&l->bulk, l->x->path, l->x->dir, specs, cnt, e);
	free(specs);
	return ret;
}

static int open_table(void *ctx, const struct table_def *def, unsigned int number, void **ret,
		      struct err *e)
{
	struct load *l = ctx;
	struct bulk_table *t = NULL;
	int c = bulk_table_open(&t, l->bulk, number, e);

	(void)def;
	*ret = t;
	return c;
}

static int load_row(void *table, const struct value *row, struct err *e)
{
	return bulk_table_row(table, row, e);
}

static int finish_table(void *table, struct err *e)
{
	return bulk_table_finish(table, e);
}

static void close_table(void *table)
{
	bulk_table_free(table);
}

/* SQLite has made the file, with empty tables; no one has it open. */
static int load_events(struct export_to *x, struct err *e)
{
	struct load l = { .x = x };
	const struct export_target target = { &l, begin_load, open_table, load_row, finish_table,
					      close_table };
	int ret = export_fill(x, &target, e);

	x->inserts = !ret;
	if (ret > 0)
		ret = bulk_load_finish(l.bulk, e);
	bulk_load_free(l.bulk);
	return ret;
}

/* ---- the file ---- */

static int insert_info_row(void *ctx, const struct value *values)
{
	struct sqlite3_stmt **stmt = ctx;
	struct export_text room = { 0 };
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		struct value v = values[i];

		if (v.type == VALUE_TEXT && export_text_safe(&room, &v) < 0)
			ret = -ENOMEM;
		else if (statement_bind(*stmt, i + 1, &v) != SQLITE_OK)
			ret = -ENOMEM;
	}
	if (!ret)
		sqlite3_step(*stmt);
	if (sqlite3_reset(*stmt) != SQLITE_OK)
		ret = -EIO;
	free(room.data);
	return ret;
}

static int insert_info(struct export_to *x, struct err *e)
{
	struct sqlite3_stmt *stmt = NULL;
	const struct row_sink sink = { .ctx = &stmt, .row = insert_info_row };
	int ret = export_sql_run(x, "CREATE TABLE " EXPORT_INFO
				    " (key TEXT PRIMARY KEY, value ANY) STRICT", e);

	if (!ret && sqlite3_prepare_v2(x->db, "INSERT INTO " EXPORT_INFO " VALUES (?, ?)", -1,
				       &stmt, NULL) != SQLITE_OK)
		ret = -EIO;
	ret = ret ?: analysis_export_info(x->a, x->request, &sink);
	sqlite3_finalize(stmt);
	return ret ? err_set(e, ret, "%s: table " EXPORT_INFO ": %s", x->path,
			     sqlite3_errmsg(x->db)) : 0;
}

static int insert_rest(struct export_to *x, struct err *e)
{
	char end[128];
	int ret = export_sql_open(x, e), closed;

	snprintf(end, sizeof(end),
		 "PRAGMA application_id = %d; COMMIT; PRAGMA analysis_limit = 1000; ANALYZE;",
		 x->whole ? EXPORT_APPLICATION_ID : 0);
	ret = ret ?: export_sql_run(x, UNSAFE "BEGIN", e) ?: export_sql_insert(x, e);
	ret = ret ?: insert_info(x, e);
	ret = ret ?: export_sql_run(x, end, e);
	closed = export_sql_close(x, e);
	return ret ? ret : closed;
}

/*
 * A journal or write-ahead log beside the file that is replaced would be applied to the new one:
 * SQLite applies it to the old one, and removes it.
 */
static void clear_journal(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
	    SQLITE_OK)
		sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	sqlite3_close(db);
}

static int sync_file(int fd, const char *path, struct err *e)
{
	if (fsync(fd) < 0)
		return err_set(e, -errno, "%s: cannot be synced: %s", path, strerror(errno));
	return 0;
}

/* Writes x->path, an empty file. */
static int write_file(struct export_to *x, int fd, struct err *e)
{
	const struct export_request *r = x->request;
	int ret = make_tables(x, e);

	ret = ret ?: load_events(x, e) ?: insert_rest(x, e);
	ret = ret ?: sync_file(fd, x->path, e);
	if (!ret && r->progress)
		r->progress(r->ctx, x->row_cnt, x->row_cnt);
	return ret;
}

static int write_new(struct export_to *x, struct err *e)
{
	const char *path = x->request->path;
	struct atomic_output out;
	int fd = -1, ret = atomic_output_begin(&out, path, false, e);

	if (!ret) {
		x->path = out.path;
		x->dir = out.dir;
		fd = open(out.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		ret = fd < 0 ? err_set(e, -errno, "%s: cannot be made: %s", path, strerror(errno))
			     : write_file(x, fd, e);
	}
	if (!ret && x->replaces)
		clear_journal(path);
	ret = ret ?: atomic_output_commit(&out, path, x->replaces, e);
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

/* Checks whether a file that is there already may be replaced. 0 or -errno. */
static int check_old_file(const struct export_to *x, struct err *e)
{
	const char *path = x->request->path;
	uint8_t head[100];
	struct stat st;
	ssize_t n = -1;
	int fd;

	if (!x->whole)
		return refuse(path, "", e);
	/* Not waited for: it may be a pipe or a device. */
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
	struct export_to x = {
		.a = a,
		.request = r,
		.whole = r->from_ns <= a->start_ns && r->to_ns >= a->end_ns,
		.from_ns = context_rel_clamped(a, r->from_ns),
		.to_ns = context_rel_clamped(a, r->to_ns),
		.replaces = r->force,
	};
	struct stat st;
	int ret = 0;

	x.all_rows = export_expected_rows(&x);
	if (!r->force && !lstat(r->path, &st)) {
		ret = check_old_file(&x, e);
		x.replaces = !ret;
	}
	ret = ret ?: write_new(&x, e);
	*ret_rows = x.row_cnt;
	return ret;
}
