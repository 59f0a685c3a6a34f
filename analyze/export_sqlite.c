/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Writes the tables of a window as a real SQLite file: made beside its place, filled without a journal, synced,
 * and renamed. What fails leaves nothing behind, and what is killed a file that the next export begins anew.
 * One that is there and was made of a shorter part of the same trace is added to (export_append.h).
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
#include "analyze/export_append.h"
#include "analyze/export_fill.h"
#include "analyze/export_sql.h"
#include "analyze/schema_list.h"
#include "analyze/table.h"

#define PART_TRIES 3
/* of a file that is thrown away if anything goes wrong */
#define UNSAFE "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"

static void on_fill(void *ctx, uint64_t rows)
{
	const struct export_to *x = ctx;

	x->request->progress(x->request->ctx, rows, x->all_rows);
}

static int make_tables(struct export_to *x, struct err *e)
{
	const char *const texts[] = { UNSAFE,
				      "PRAGMA page_size = 8192; PRAGMA auto_vacuum = NONE; BEGIN;",
				      schema_text("tables"),
				      schema_text("indexes"),
				      schema_text("views"),
				      x->part.whole ? schema_text("export") : "",
				      "COMMIT;" };
	int ret = export_sql_open(x, e), closed;
	size_t i;

	for (i = 0; !ret && i < sizeof(texts) / sizeof(texts[0]); i++)
		ret = export_sql_run(x, texts[i], e);
	closed = export_sql_close(x, e);
	return ret ? ret : closed;
}

/* Lists come last: what damage the events turned out to have is one of them. */
static int fill_lists(struct export_to *x, struct err *e)
{
	char version[128];
	int ret = export_sql_open(x, e), closed;

	snprintf(version, sizeof(version),
		 "PRAGMA user_version = %d; COMMIT; PRAGMA analysis_limit = 1000; ANALYZE;",
		 EXPORT_VERSION);
	if (!ret)
		ret = export_sql_run(x, UNSAFE "BEGIN", e);
	if (!ret)
		ret = export_sql_lists(x, e);
	if (!ret && x->part.whole)
		ret = export_sql_blocks(x, 0, e);
	if (!ret)
		ret = export_sql_run(x, version, e);
	closed = export_sql_close(x, e);
	return ret ? ret : closed;
}

static int put_in_place(const struct export_to *x, int fd, struct err *e)
{
	const char *path = x->request->path;
	bool force = x->request->force;

	if (force)
		export_append_settle(path);
	if (fsync(fd) < 0)
		return err_set(e, -errno, "%s: cannot be synced: %s", x->path, strerror(errno));
	if (renameat2(AT_FDCWD, x->path, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE) < 0 &&
	    (force || errno != EINVAL || link(x->path, path) < 0))
		return err_set(e, -errno, "%s: cannot be put in place: %s", path, strerror(errno));
	return 0;
}

static int write_file(struct export_to *x, int fd, struct err *e)
{
	const struct export_request *r = x->request;
	char *copy = strdup(x->path);
	struct export_fill_job job = {
		.a = x->a,
		.path = x->path,
		.dir = copy ? dirname(copy) : NULL,
		.part = x->part,
		.progress = r->progress ? on_fill : NULL,
		.ctx = x,
	};
	int ret = copy ? make_tables(x, e) : err_set(e, -ENOMEM, "out of memory");

	if (!ret)
		ret = export_fill(&job, &x->row_cnt, e);
	if (!ret)
		ret = fill_lists(x, e);
	if (!ret)
		ret = put_in_place(x, fd, e);
	if (!ret && r->progress)
		r->progress(r->ctx, x->row_cnt, x->row_cnt);
	free(copy);
	return ret;
}

/*
 * The file beside its place, empty, locked by who writes it: one that nobody has locked was left by an export that
 * was killed. Returns its descriptor or -errno.
 */
static int open_part(const struct export_to *x, struct err *e)
{
	struct stat mine, there;
	int fd, code, i;

	for (i = 0; i < PART_TRIES; i++) {
		fd = open(x->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		if (fd < 0)
			return err_set(e, -errno, "%s: cannot be made: %s", x->path,
				       strerror(errno));
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			code = errno;
			close(fd);
			if (code != EWOULDBLOCK)
				return err_set(e, -code, "%s: cannot be locked: %s", x->path,
					       strerror(code));
			return err_set(e, -EBUSY,
				       "%s is being written by another export: wait for it, or "
				       "name another file",
				       x->request->path);
		}
		if (fstat(fd, &mine) == 0 && lstat(x->path, &there) == 0 &&
		    mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) {
			if (S_ISREG(mine.st_mode) && mine.st_uid == geteuid() &&
			    mine.st_nlink == 1 && fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0)
				return fd;
			close(fd);
			return err_set(e, -EEXIST,
				       "%s: is in the way, and not an export's: move it, or name "
				       "another file",
				       x->path);
		}
		close(fd); /* the other one put it in place just now */
	}
	return err_set(e, -EBUSY, "%s: others write it, too", x->path);
}

static int write_locked(struct export_to *x, struct err *e)
{
	const struct export_request *r = x->request;
	int fd = open_part(x, e), ret;

	if (fd < 0)
		return fd;
	if (r->making)
		r->making(r->ctx, x->path);
	ret = write_file(x, fd, e);
	if (ret < 0)
		unlink(x->path);
	close(fd);
	return ret;
}

static int write_new(struct export_to *x, struct err *e)
{
	const struct export_request *r = x->request;
	int ret;

	if (r->making)
		r->making(r->ctx, NULL);
	ret = write_locked(x, e);
	if (r->made)
		r->made(r->ctx);
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

int analysis_export_sqlite(struct analysis *a, const struct export_request *r,
			   struct export_result *ret_result, struct err *e)
{
	struct export_to x = {
		.a = a,
		.request = r,
		.part = { .whole = r->from_ns <= a->start_ns && r->to_ns >= a->end_ns,
			  .from_ns = context_rel_clamped(a, r->from_ns),
			  .to_ns = context_rel_clamped(a, r->to_ns) },
		.all_rows = expected_rows(a),
	};
	char *part = NULL;
	struct stat st;
	int ret;

	ret_result->added = !r->force && !lstat(r->path, &st);
	if (ret_result->added) {
		x.path = r->path;
		ret = export_append(&x, e);
	} else if (asprintf(&part, "%s.part", r->path) < 0) {
		part = NULL;
		ret = err_set(e, -ENOMEM, "out of memory");
	} else {
		x.path = part;
		ret = write_new(&x, e);
	}
	ret_result->rows = x.row_cnt;
	free(part);
	return ret;
}
