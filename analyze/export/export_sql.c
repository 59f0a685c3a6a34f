/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Any database can be written this way; event tables are where pages cannot be (export_fill.c). */
#include "analyze/export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/engine/statement.h"

static int fail(const struct export_to *x, struct err *e)
{
	switch (sqlite3_errcode(x->db)) {
	case SQLITE_FULL:
		return err_set(e, -ENOSPC,
			       "%s: no space left: free some, or export a shorter window", x->path);
	case SQLITE_NOMEM:
		return err_set(e, -ENOMEM, "out of memory");
	default:
		return err_set(e, -EIO, "%s: %s", x->path, sqlite3_errmsg(x->db));
	}
}

int export_sql_open(struct export_to *x, struct err *e)
{
	if (sqlite3_open_v2(x->path, &x->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return err_set(e, -EIO, "%s: %s", x->path,
			       x->db ? sqlite3_errmsg(x->db) : "out of memory");
	sqlite3_exec(x->db, "PRAGMA cache_size = -65536", NULL, NULL, NULL);
	return 0;
}

int export_sql_close(struct export_to *x, struct err *e)
{
	int ret = 0;

	if (sqlite3_close(x->db) != SQLITE_OK)
		ret = fail(x, e);
	x->db = NULL;
	return ret;
}

int export_sql_run(const struct export_to *x, const char *sql, struct err *e)
{
	return sqlite3_exec(x->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(x, e);
}

/* ---- rows ---- */

#define PROGRESS_EVERY 65536

struct insert {
	struct export_to *x;
	sqlite3_stmt *stmt;
	int col_cnt;
	struct export_text room;
	int failed;
	struct err *e;
};

/* Names and devices may repeat in a trace; the first row stays. */
static int prepare_insert(struct insert *in, const struct table_def *def)
{
	sqlite3_str *s = sqlite3_str_new(in->x->db);
	char *sql;
	int rc;

	sqlite3_str_appendf(s, "INSERT%s INTO \"%w\" VALUES (?",
			    export_fill_has(def) ? "" : " OR IGNORE", def->name);
	for (in->col_cnt = 1; in->col_cnt < (int)def->col_cnt; in->col_cnt++)
		sqlite3_str_appendall(s, ",?");
	sqlite3_str_appendall(s, ")");
	sql = sqlite3_str_finish(s);
	if (!sql)
		return err_set(in->e, -ENOMEM, "out of memory");
	rc = sqlite3_prepare_v2(in->x->db, sql, -1, &in->stmt, NULL);
	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : fail(in->x, in->e);
}

/* A row_sink's row(). */
static int insert_row(void *ctx, const struct value *values)
{
	struct insert *in = ctx;
	const struct export_request *r = in->x->request;
	int i, rc = SQLITE_OK;

	for (i = 0; i < in->col_cnt && rc == SQLITE_OK; i++) {
		struct value v = values[i];

		if (v.type == VALUE_TEXT && export_text_safe(&in->room, &v) < 0)
			rc = SQLITE_NOMEM;
		else
			rc = statement_bind(in->stmt, i + 1, &v);
	}
	if (rc == SQLITE_OK)
		sqlite3_step(in->stmt);
	if (sqlite3_reset(in->stmt) != SQLITE_OK)
		in->failed = fail(in->x, in->e);
	else if (rc != SQLITE_OK)
		in->failed = err_set(in->e, -ENOMEM, "out of memory");
	if (++in->x->row_cnt % PROGRESS_EVERY == 0 && r->progress)
		r->progress(r->ctx, in->x->row_cnt, in->x->all_rows);
	return in->failed;
}

static int insert_table(struct export_to *x, const struct table_def *def, struct err *e)
{
	struct insert in = { .x = x, .e = e };
	const struct row_sink sink = { .ctx = &in, .row = insert_row };
	int ret = prepare_insert(&in, def);

	ret = ret ?: export_rows_all(x, def, &sink, e);
	sqlite3_finalize(in.stmt);
	free(in.room.data);
	return ret;
}

static int insert_tables(struct export_to *x, bool events, struct err *e)
{
	const struct table_def *def;
	int ret = 0;

	for (unsigned int i = 0; !ret && (def = table_at(i)); i++)
		if (def->is_exported && export_fill_has(def) == events)
			ret = insert_table(x, def, e);
	return ret;
}

int export_sql_insert(struct export_to *x, struct err *e)
{
	int ret = x->inserts ? insert_tables(x, true, e) : 0;

	/* lists come last: reading the events may find damage, which one of the lists shows */
	return ret ? ret : insert_tables(x, false, e);
}
