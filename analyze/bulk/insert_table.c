/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* One INSERT for each row, prepared once for a table. */
#include "analyze/bulk/insert_table.h"

#include <errno.h>

/* Called with the lock. */
static int fail(const struct insert_db *d, struct err *e)
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

static int run(const struct insert_db *d, const char *sql, struct err *e)
{
	return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(d, e);
}

int insert_db_open(struct insert_db *d, const char *path, struct err *e)
{
	d->path = path;
	if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return fail(d, e);
	/* The caller throws the file away after an error, so no journal has to undo anything. */
	return run(d,
		   "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		   "PRAGMA cache_size = -65536; BEGIN",
		   e);
}

int insert_db_finish(struct insert_db *d, struct err *e)
{
	return run(d, "COMMIT", e);
}

void insert_db_close(struct insert_db *d)
{
	sqlite3_close(d->db);
	d->db = NULL;
}

static int prepare(struct insert_table *t, const struct bulk_schema *s, struct err *e)
{
	sqlite3_str *text = sqlite3_str_new(t->d->db);
	unsigned int i;
	char *sql;
	int rc;

	sqlite3_str_appendf(text, "INSERT INTO \"%w\" VALUES (", s->name);
	for (i = 0; i < s->col_cnt; i++)
		sqlite3_str_appendall(text, i ? ",?" : "?");
	sqlite3_str_appendall(text, ")");
	sql = sqlite3_str_finish(text);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	rc = sqlite3_prepare_v2(t->d->db, sql, -1, &t->stmt, NULL);
	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : fail(t->d, e);
}

int insert_table_open(struct insert_table *t, struct insert_db *d, const struct bulk_schema *s,
		      struct err *e)
{
	int ret;

	*t = (struct insert_table){ .d = d, .col_cnt = s->col_cnt };
	pthread_mutex_lock(&d->lock);
	ret = prepare(t, s, e);
	pthread_mutex_unlock(&d->lock);
	return ret;
}

/* The values live until the statement is reset, so SQLite need not copy texts. */
static int bind(sqlite3_stmt *stmt, int at, const struct bulk_value *v)
{
	switch (v->type) {
	case BULK_INT:
		return sqlite3_bind_int64(stmt, at, v->i);
	case BULK_REAL:
		return sqlite3_bind_double(stmt, at, v->r);
	case BULK_TEXT:
		return sqlite3_bind_text64(stmt, at, v->text, v->text_bytes, SQLITE_STATIC,
					   SQLITE_UTF8);
	default:
		return sqlite3_bind_null(stmt, at);
	}
}

int insert_table_row(struct insert_table *t, const struct bulk_value *values, struct err *e)
{
	int rc = SQLITE_OK, ret = 0;
	unsigned int i;

	pthread_mutex_lock(&t->d->lock);
	for (i = 0; i < t->col_cnt && rc == SQLITE_OK; i++)
		rc = bind(t->stmt, (int)i + 1, &values[i]);
	if (rc == SQLITE_OK)
		sqlite3_step(t->stmt);
	if (rc != SQLITE_OK || sqlite3_reset(t->stmt) != SQLITE_OK)
		ret = fail(t->d, e);
	pthread_mutex_unlock(&t->d->lock);
	return ret;
}

void insert_table_close(struct insert_table *t)
{
	if (!t->d)
		return;
	pthread_mutex_lock(&t->d->lock);
	sqlite3_finalize(t->stmt);
	pthread_mutex_unlock(&t->d->lock);
	t->d = NULL;
}
