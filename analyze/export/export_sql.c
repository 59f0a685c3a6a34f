/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "analyze/export/export_sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export_fill.h"
#include "analyze/engine/schema_list.h"
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

/* ---- lists ---- */

/* Names and devices may repeat in a trace; the first row stays. */
static int prepare_insert(const struct export_to *x, const struct table_def *def,
			  sqlite3_stmt **ret, struct err *e)
{
	sqlite3_str *s = sqlite3_str_new(x->db);
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
	rc = sqlite3_prepare_v2(x->db, sql, -1, ret, NULL);
	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : fail(x, e);
}

static int insert_row(const struct export_to *x, sqlite3_stmt *from, sqlite3_stmt *into,
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
		return fail(x, e);
	return rc == SQLITE_OK ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static int copy_list(struct export_to *x, const struct table_def *def, struct err *e)
{
	sqlite3_stmt *from = NULL, *into = NULL;
	struct statement_param params[3];
	struct export_text room = { 0 };
	struct analysis *a = x->a;
	char select[512];
	int i, ret;

	ret = schema_select(def, x->part.whole, select, sizeof(select));
	if (ret < 0)
		return err_set(e, ret, "table %s: the statement is too long", def->name);
	if (sqlite3_prepare_v2(a->db, select, -1, &from, NULL) != SQLITE_OK)
		return err_set(e, -EIO, "table %s: %s", def->name, sqlite3_errmsg(a->db));
	schema_window_params(a, x->request->from_ns, x->request->to_ns, params);
	for (i = 0; params[i].name; i++)
		sqlite3_bind_int64(from, sqlite3_bind_parameter_index(from, params[i].name),
				   params[i].i);
	ret = prepare_insert(x, def, &into, e);
	a->failed = 0;
	while (!ret && sqlite3_step(from) == SQLITE_ROW) {
		ret = insert_row(x, from, into, &room, e);
		x->row_cnt++;
	}
	sqlite3_finalize(into);
	if (sqlite3_finalize(from) != SQLITE_OK && !ret)
		ret = err_set(e, a->failed ? a->failed : -EIO, "table %s: %s", def->name,
			      a->failed ? a->failed_text : sqlite3_errmsg(a->db));
	free(room.data);
	return ret;
}

int export_sql_lists(struct export_to *x, struct err *e)
{
	const struct table_def *def;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && (def = table_at(i)); i++)
		if (def->is_exported && !export_fill_has(def))
			ret = copy_list(x, def, e);
	return ret;
}
