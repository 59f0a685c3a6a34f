/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Two statements say all: one row for each column of the table, and one row for each column of an
 * index. A kind of table, column or index that pages are not written for makes the table unknown.
 */
#include "analyze/bulk/bulk_schema.h"

#include <errno.h>
#include <string.h>

static int prepare(sqlite3 *db, const char *sql, const char *table, sqlite3_stmt **ret,
		   struct err *e)
{
	if (sqlite3_prepare_v2(db, sql, -1, ret, NULL) != SQLITE_OK)
		return err_set(e, -EIO, "table %s: %s", table, sqlite3_errmsg(db));
	sqlite3_bind_text(*ret, 1, table, -1, SQLITE_STATIC);
	return 0;
}

static int finish(sqlite3 *db, sqlite3_stmt *stmt, const char *table, struct err *e)
{
	if (sqlite3_finalize(stmt) == SQLITE_OK)
		return 0;
	return err_set(e, -EIO, "table %s: %s", table, sqlite3_errmsg(db));
}

static int read_table(struct bulk_schema *s, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT rootpage, l.strict AND NOT l.wr AND NOT EXISTS (SELECT 1 FROM "
		"sqlite_schema AS g WHERE g.type = 'trigger' AND g.tbl_name = l.name) FROM "
		"sqlite_schema AS s JOIN pragma_table_list(?1) AS l ON l.schema = 'main' AND "
		"l.type = 'table' AND l.name = s.name WHERE s.type = 'table' AND s.name = ?1";
	sqlite3_stmt *stmt;
	int ret = prepare(db, sql, s->name, &stmt, e);

	if (ret < 0)
		return ret;
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		s->root = (uint32_t)sqlite3_column_int64(stmt, 0);
		s->is_known = sqlite3_column_int(stmt, 1);
	} else {
		ret = -ENOENT;
	}
	if (finish(db, stmt, s->name, e) < 0)
		return -EIO;
	return ret < 0 ? err_set(e, ret, "there is no table %s", s->name) : 0;
}

static int read_columns(struct bulk_schema *s, sqlite3 *db, struct err *e)
{
	sqlite3_stmt *stmt;
	int ret = prepare(db, "SELECT NOT hidden AND NOT pk AND type IN ('INTEGER', 'TEXT') FROM "
			      "pragma_table_xinfo(?1)", s->name, &stmt, e);

	if (ret < 0)
		return ret;
	for (; sqlite3_step(stmt) == SQLITE_ROW; s->col_cnt++)
		s->is_known &= sqlite3_column_int(stmt, 0);
	s->is_known &= s->col_cnt <= BULK_COLUMNS_MAX;
	return finish(db, stmt, s->name, e);
}

static void add_index_column(struct bulk_schema *s, unsigned int position, uint32_t root, int col)
{
	struct bulk_index *x;

	if (!position && s->index_cnt < BULK_INDEXES_MAX)
		s->indexes[s->index_cnt++] = (struct bulk_index){ .root = root };
	x = s->index_cnt ? &s->indexes[s->index_cnt - 1] : NULL;
	if (!x || x->root != root || x->col_cnt == 2)
		s->is_known = false;
	else
		x->cols[x->col_cnt++] = (unsigned int)col;
}

static int read_indexes(struct bulk_schema *s, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT x.seqno, m.rootpage, x.cid, NOT l.\"unique\" AND NOT l.partial AND NOT "
		"x.\"desc\" AND x.coll = 'BINARY' AND c.type = 'INTEGER' AND (x.seqno = 0 OR "
		"c.\"notnull\") FROM pragma_index_list(?1) AS l JOIN pragma_index_xinfo(l.name) "
		"AS x JOIN sqlite_schema AS m ON m.type = 'index' AND m.name = l.name LEFT JOIN "
		"pragma_table_info(?1) AS c ON c.cid = x.cid WHERE x.key ORDER BY m.rootpage, "
		"x.seqno";
	sqlite3_stmt *stmt;
	int ret = prepare(db, sql, s->name, &stmt, e);

	if (ret < 0)
		return ret;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		add_index_column(s, (unsigned int)sqlite3_column_int(stmt, 0),
				 (uint32_t)sqlite3_column_int64(stmt, 1),
				 sqlite3_column_int(stmt, 2));
		s->is_known &= sqlite3_column_int(stmt, 3);
	}
	return finish(db, stmt, s->name, e);
}

int bulk_schema_read(struct bulk_schema *s, sqlite3 *db, struct err *e)
{
	int ret = read_table(s, db, e);

	if (!ret)
		ret = read_columns(s, db, e);
	return ret ? ret : read_indexes(s, db, e);
}
