/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "analyze/export_sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export_fill.h"
#include "analyze/schema_list.h"
#include "analyze/statement.h"

int export_sql_fail(const struct export_to *x, struct err *e)
{
	switch (sqlite3_errcode(x->db)) {
	case SQLITE_FULL:
		return err_set(e, -ENOSPC,
			       "%s: no space left: free some, or export a shorter window", x->path);
	case SQLITE_NOMEM:
		return err_set(e, -ENOMEM, "out of memory");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(e, -EBUSY, "%s: another program is using it: close that first",
			       x->path);
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
		ret = export_sql_fail(x, e);
	x->db = NULL;
	return ret;
}

int export_sql_run(const struct export_to *x, const char *sql, struct err *e)
{
	return sqlite3_exec(x->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : export_sql_fail(x, e);
}

int export_sql_int(const struct export_to *x, const char *sql, int64_t *ret, struct err *e)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(x->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return export_sql_fail(x, e);
	*ret = 0;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	return sqlite3_finalize(stmt) == SQLITE_OK ? 0 : export_sql_fail(x, e);
}

int export_sql_run_int(const struct export_to *x, const char *sql, int64_t value, struct err *e)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(x->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return export_sql_fail(x, e);
	sqlite3_bind_int64(stmt, 1, value);
	sqlite3_step(stmt);
	return sqlite3_finalize(stmt) == SQLITE_OK ? 0 : export_sql_fail(x, e);
}

int export_sql_insert(const struct export_to *x, const struct table_def *def, sqlite3_stmt **ret,
		      struct err *e)
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
	return rc == SQLITE_OK ? 0 : export_sql_fail(x, e);
}

/* ---- lists ---- */

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
		return export_sql_fail(x, e);
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
	ret = export_sql_insert(x, def, &into, e);
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

int export_sql_blocks(const struct export_to *x, size_t first, struct err *e)
{
	const struct trace *t = x->a->trace;
	const struct trace_block *b;
	sqlite3_stmt *stmt;
	uint64_t file;
	uint32_t crc;
	size_t cnt, i;
	int rc = SQLITE_OK;

	b = trace_blocks(t, &cnt);
	if (sqlite3_prepare_v2(x->db, "INSERT INTO export_blocks VALUES (?,?,?,?,?,?,?,?)", -1,
			       &stmt, NULL) != SQLITE_OK)
		return export_sql_fail(x, e);
	for (i = first; i < cnt && rc == SQLITE_OK; i++) {
		trace_block_identity(t, i, &file, &crc);
		sqlite3_bind_int64(stmt, 1, (sqlite3_int64)i);
		sqlite3_bind_int64(stmt, 2, (sqlite3_int64)file);
		sqlite3_bind_int64(stmt, 3, (sqlite3_int64)b[i].offset);
		sqlite3_bind_int64(stmt, 4, (sqlite3_int64)b[i].bytes);
		sqlite3_bind_int64(stmt, 5, (sqlite3_int64)b[i].from_ns);
		sqlite3_bind_int64(stmt, 6, (sqlite3_int64)b[i].to_ns);
		sqlite3_bind_int64(stmt, 7, crc);
		sqlite3_bind_int64(stmt, 8, trace_block_is_damaged(t, i));
		sqlite3_step(stmt);
		rc = sqlite3_reset(stmt);
	}
	if (sqlite3_finalize(stmt) != SQLITE_OK || rc != SQLITE_OK)
		return export_sql_fail(x, e);
	return 0;
}
