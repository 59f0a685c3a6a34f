/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The cut. Blocks that were not there before begin with some first event, and end what the trace's end cut off;
 * what lies before the earlier of the two is as it was. Rows of events are told by their time. Rows made of events -
 * slices, allocations, requests - are settled once they have ended, since all that makes them goes through the
 * trace in order of time: those that ended before the cut stay, all others are deleted and come again, ended by now
 * or not. They are found by going through the trace from its start once more; only writing is saved.
 *
 * Lists are small, and may change anywhere (a process gets another name): they are written again. Names that rows
 * of events carry along follow them.
 */
#include "analyze/export_append.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/export_fill.h"

#define PROGRESS_ROWS 16384

static int refuse(const struct export_to *x, struct err *e, const char *why)
{
	return err_set(e, -EEXIST, "%s exists%s%s; -f replaces it", x->path, *why ? ", and " : "",
		       why);
}

/* ---- is it ours? ---- */

static int check_kind(const struct export_to *x, struct err *e)
{
	int64_t version, tables;
	int ret;

	if (!x->part.whole)
		return refuse(x, e, "");
	ret = export_sql_int(x,
			     "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = "
			     "'export_blocks'",
			     &tables, NULL);
	if (ret < 0 && sqlite3_errcode(x->db) == SQLITE_NOTADB)
		return refuse(x, e, "is no SQLite database");
	if (ret < 0)
		return export_sql_fail(x, e);
	ret = export_sql_int(x, "PRAGMA user_version", &version, e);
	if (ret < 0)
		return ret;
	if (!tables)
		return refuse(x, e, "is no export of a whole trace, so nothing can be added");
	if (version != EXPORT_VERSION)
		return refuse(x, e, "was made by another version of ebpfrec");
	return 0;
}

static bool is_block(const struct export_to *x, sqlite3_stmt *row, size_t i)
{
	const struct trace *t = x->a->trace;
	const struct trace_block *b;
	uint64_t file;
	uint32_t crc;
	size_t cnt;

	b = trace_blocks(t, &cnt);
	if (i >= cnt)
		return false;
	trace_block_identity(t, i, &file, &crc);
	return sqlite3_column_int64(row, 0) == (int64_t)i &&
	       sqlite3_column_int64(row, 1) == (int64_t)file &&
	       sqlite3_column_int64(row, 2) == (int64_t)b[i].offset &&
	       sqlite3_column_int64(row, 3) == (int64_t)b[i].bytes &&
	       sqlite3_column_int64(row, 4) == (int64_t)b[i].from_ns &&
	       sqlite3_column_int64(row, 5) == (int64_t)b[i].to_ns &&
	       sqlite3_column_int64(row, 6) == crc;
}

/* *ret_cnt: that many blocks of the trace are in there. */
static int check_blocks(const struct export_to *x, size_t *ret_cnt, struct err *e)
{
	const char *why = NULL;
	sqlite3_stmt *stmt;
	size_t i;

	if (sqlite3_prepare_v2(x->db, "SELECT * FROM export_blocks ORDER BY block", -1, &stmt,
			       NULL) != SQLITE_OK)
		return export_sql_fail(x, e);
	for (i = 0; !why && sqlite3_step(stmt) == SQLITE_ROW; i++) {
		if (!is_block(x, stmt, i))
			why = i ? "holds parts that this trace does not have"
				: "holds another trace, or this one before its beginning was "
				  "removed";
		else if (sqlite3_column_int(stmt, 7) != trace_block_is_damaged(x->a->trace, i))
			why = "what is damaged in this trace has changed since";
	}
	if (sqlite3_finalize(stmt) != SQLITE_OK)
		return export_sql_fail(x, e);
	*ret_cnt = i;
	return why ? refuse(x, e, why) : 0;
}

/* ---- the cut ---- */

/* Times of a list in the database and of that in the trace, up to the first that differs. */
static int cut_at_difference(const struct export_to *x, const char *sql_db, const char *sql_trace,
			     int64_t *cut_ns, struct err *e)
{
	sqlite3_stmt *old = NULL, *now = NULL;
	int a = SQLITE_ROW, b = SQLITE_ROW, i, same = 1, ret = 0;

	if (sqlite3_prepare_v2(x->db, sql_db, -1, &old, NULL) != SQLITE_OK)
		return export_sql_fail(x, e);
	if (sqlite3_prepare_v2(x->a->db, sql_trace, -1, &now, NULL) != SQLITE_OK) {
		sqlite3_finalize(old);
		return err_set(e, -EIO, "%s", sqlite3_errmsg(x->a->db));
	}
	while (same) {
		a = sqlite3_step(old);
		b = sqlite3_step(now);
		if (a != SQLITE_ROW || b != SQLITE_ROW)
			break;
		for (i = 0; same && i < sqlite3_column_count(old); i++)
			same = sqlite3_column_int64(old, i) == sqlite3_column_int64(now, i);
	}
	if (a == SQLITE_ROW && sqlite3_column_int64(old, 0) < *cut_ns)
		*cut_ns = sqlite3_column_int64(old, 0);
	if (b == SQLITE_ROW && sqlite3_column_int64(now, 0) < *cut_ns)
		*cut_ns = sqlite3_column_int64(now, 0);
	if (sqlite3_finalize(old) != SQLITE_OK)
		ret = export_sql_fail(x, e);
	sqlite3_finalize(now);
	return ret;
}

/*
 * Events of the blocks from `first` on may lie before the blocks' slices. When a source was off, and when a
 * process called exec, may be told later than it was; allocations depend on both.
 */
static int find_cut(const struct export_to *x, size_t first, int64_t *ret_ns, struct err *e)
{
	static const char gaps[] =
		"SELECT from_ns, to_ns FROM source_gaps ORDER BY from_ns, to_ns, source";
	static const char execs[] =
		"SELECT ts_ns, utid FROM task_events WHERE type = 'exec' ORDER BY ts_ns, utid";
	const struct trace_block *b;
	uint64_t cut;
	size_t cnt, i;
	int ret;

	b = trace_blocks(x->a->trace, &cnt);
	cut = first ? b[first - 1].to_ns : x->a->start_ns;
	for (i = first; i < cnt; i++) {
		if (b[i].from_ns < cut)
			cut = b[i].from_ns;
		if (b[i].first_ns < cut)
			cut = b[i].first_ns;
	}
	*ret_ns = context_rel(x->a, cut);
	ret = cut_at_difference(x, gaps, gaps, ret_ns, e);
	return ret ? ret : cut_at_difference(x, execs, execs, ret_ns, e);
}

static int old_cpus(const struct export_to *x, uint8_t **ret, size_t *ret_cnt, struct err *e)
{
	size_t cnt = trace_cpu_cnt(x->a->trace);
	uint8_t *cpus = calloc(cnt + 1, 1);
	sqlite3_stmt *stmt;

	if (!cpus)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = cpus;
	*ret_cnt = cnt;
	if (sqlite3_prepare_v2(x->db, "SELECT cpu FROM cpus", -1, &stmt, NULL) != SQLITE_OK)
		return export_sql_fail(x, e);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		if ((uint64_t)sqlite3_column_int64(stmt, 0) < cnt)
			cpus[sqlite3_column_int64(stmt, 0)] = 1;
	return sqlite3_finalize(stmt) == SQLITE_OK ? 0 : export_sql_fail(x, e);
}

/* ---- rows ---- */

static int delete_unsettled(struct export_to *x, const struct table_def *def, int64_t cut_ns,
			    struct err *e)
{
	int end = export_end_column(def), ret;
	const char *col = def->cols[end < 0 ? def->time_col : end].name;
	char *sql = sqlite3_mprintf("DELETE FROM \"%w\" WHERE \"%w\" >= ?1 OR \"%w\" IS NULL",
				    def->name, col, col);

	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = export_sql_run_int(x, sql, cut_ns, e);
	sqlite3_free(sql);
	return ret;
}

static int bind_row(sqlite3_stmt *stmt, const struct table_def *def, const struct cell *row,
		    struct export_text *room)
{
	const char *text;
	size_t bytes;
	unsigned int i;
	int rc = SQLITE_OK;

	for (i = 0; i < def->col_cnt && rc == SQLITE_OK; i++) {
		switch (row[i].type) {
		case VALUE_INT:
			rc = sqlite3_bind_int64(stmt, (int)i + 1, row[i].i);
			break;
		case VALUE_REAL:
			rc = sqlite3_bind_double(stmt, (int)i + 1, row[i].r);
			break;
		case VALUE_TEXT:
			text = export_text_safe(room, row[i].s, &bytes);
			rc = text ? sqlite3_bind_text64(stmt, (int)i + 1, text, bytes,
							SQLITE_TRANSIENT, SQLITE_UTF8)
				  : SQLITE_NOMEM;
			break;
		default:
			rc = sqlite3_bind_null(stmt, (int)i + 1);
			break;
		}
	}
	return rc;
}

static int insert_rows(struct export_to *x, const struct table_def *def,
		       const struct export_part *part, struct err *e)
{
	const struct export_request *r = x->request;
	struct export_text room = { 0 };
	struct export_rows *rows = NULL;
	sqlite3_stmt *stmt = NULL;
	const struct cell *row;
	int ret = export_sql_insert(x, def, &stmt, e);

	if (!ret)
		ret = export_rows_open(&rows, x->a, def, part, e);
	while (!ret && (ret = export_rows_next(rows, &row, e)) > 0) {
		ret = bind_row(stmt, def, row, &room) == SQLITE_OK ? 0 : -ENOMEM;
		if (!ret)
			sqlite3_step(stmt);
		if (sqlite3_reset(stmt) != SQLITE_OK)
			ret = export_sql_fail(x, e);
		if (++x->row_cnt % PROGRESS_ROWS == 0 && r->progress)
			r->progress(r->ctx, x->row_cnt, x->all_rows);
	}
	export_rows_close(rows);
	sqlite3_finalize(stmt);
	free(room.data);
	return ret == -ENOMEM ? err_set(e, ret, "out of memory") : ret;
}

static int change_table(struct export_to *x, const struct table_def *def,
			const struct export_part *part, struct err *e)
{
	int64_t before = sqlite3_total_changes64(x->db), deleted;
	int ret = delete_unsettled(x, def, part->cut_ns, e);

	deleted = sqlite3_total_changes64(x->db) - before;
	if (!ret)
		ret = insert_rows(x, def, part, e);
	/* what comes again is not new */
	x->row_cnt -= x->row_cnt < (uint64_t)deleted ? x->row_cnt : (uint64_t)deleted;
	return ret;
}

/* ---- names that rows carry along ---- */

/*
 * old_names: what names there were. An allocation has the name of its cache, not the cache; when one of before is
 * known only now (as a rule a name comes with the first event that needs it), all are made again.
 */
static int follow_names(struct export_to *x, const struct export_part *part, struct err *e)
{
	static const char requests[] =
		"UPDATE block_requests SET owner = p.comm FROM processes AS p WHERE p.upid = "
		"owner_upid "
		"AND owner_upid >= 16 AND owner <> p.comm;"
		"UPDATE block_requests SET file = n.name FROM names AS n WHERE n.type = 'file' "
		"AND n.id = ino AND n.arg = ino_dev AND file IS NOT n.name";
	static const char fresh[] = "CREATE TEMP TABLE fresh_names AS SELECT type, id FROM "
				    "main.names WHERE type IN ('cache', "
				    "'symbol') EXCEPT SELECT type, id FROM temp.old_names;"
				    "INSERT INTO temp.fresh_names SELECT n.type, n.id FROM "
				    "main.names AS n JOIN temp.old_names AS o "
				    "ON o.type = n.type AND o.id = n.id WHERE n.name <> o.name";
	static const char late[] =
		"SELECT EXISTS (SELECT 1 FROM temp.fresh_names) AND EXISTS (SELECT 1 FROM "
		"slab_allocs WHERE "
		"ts_ns < ?1 AND (cache IN (SELECT id FROM temp.fresh_names WHERE type = 'cache') "
		"OR "
		"call_site IN (SELECT id FROM temp.fresh_names WHERE type = 'symbol')))";
	struct export_part all = { .whole = true };
	sqlite3_stmt *stmt;
	int again = 0, ret = export_sql_run(x, requests, e);

	if (!ret)
		ret = export_sql_run(x, fresh, e);
	if (ret < 0)
		return ret;
	if (sqlite3_prepare_v2(x->db, late, -1, &stmt, NULL) != SQLITE_OK)
		return export_sql_fail(x, e);
	sqlite3_bind_int64(stmt, 1, part->cut_ns);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		again = sqlite3_column_int(stmt, 0);
	if (sqlite3_finalize(stmt) != SQLITE_OK)
		return export_sql_fail(x, e);
	all.has_cut = true;
	all.cut_ns = INT64_MIN;
	return again ? change_table(x, table_find("allocations"), &all, e) : 0;
}

static int change_lists(struct export_to *x, struct err *e)
{
	const struct table_def *def;
	uint64_t rows = x->row_cnt;
	unsigned int i;
	char sql[96];
	int ret = export_sql_run(
		x,
		"CREATE TEMP TABLE old_names AS SELECT type, id, name FROM main.names "
		"WHERE type IN ('cache', 'symbol')",
		e);

	for (i = 0; !ret && (def = table_at(i)); i++) {
		if (!def->is_exported || export_fill_has(def))
			continue;
		sqlite3_snprintf(sizeof(sql), sql, "DELETE FROM \"%w\"", def->name);
		ret = export_sql_run(x, sql, e);
	}
	if (!ret)
		ret = export_sql_lists(x, e);
	x->row_cnt = rows;
	return ret;
}

/* ---- all of it ---- */

static uint64_t new_rows(const struct export_to *x, size_t first)
{
	uint64_t before = 0, all = 0, *sum;
	const struct trace_block *b;
	unsigned int k;
	size_t cnt, i;

	b = trace_blocks(x->a->trace, &cnt);
	for (i = 0; i < cnt; i++)
		for (sum = i < first ? &before : &all, k = 0; k < EVENT_KIND_CNT; k++)
			*sum += b[i].kind_cnt[k];
	return all ? (uint64_t)((double)x->all_rows * (double)all / (double)(all + before)) : 0;
}

static int change_all(struct export_to *x, size_t first, struct err *e)
{
	struct export_part part = { .whole = true, .has_cut = true };
	const struct table_def *def;
	uint8_t *cpus = NULL;
	unsigned int i;
	int ret;

	x->all_rows = new_rows(x, first);
	ret = find_cut(x, first, &part.cut_ns, e);
	if (!ret)
		ret = old_cpus(x, &cpus, &part.old_cpu_cnt, e);
	part.old_cpus = cpus;
	for (i = 0; !ret && (def = table_at(i)); i++)
		if (export_fill_has(def))
			ret = change_table(x, def, &part, e);
	if (!ret)
		ret = change_lists(x, e);
	if (!ret)
		ret = follow_names(x, &part, e);
	if (!ret)
		ret = export_sql_blocks(x, first, e);
	if (!ret)
		ret = export_sql_run(x, "PRAGMA analysis_limit = 1000; ANALYZE", e);
	free(cpus);
	return ret;
}

static int append(struct export_to *x, struct err *e)
{
	size_t first = 0;
	int ret = check_kind(x, e);

	if (!ret)
		ret = export_sql_run(x, "PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE", e);
	if (!ret)
		ret = check_blocks(x, &first, e);
	if (!ret)
		ret = change_all(x, first, e);
	if (!ret)
		ret = export_sql_run(x, "COMMIT", e);
	if (ret < 0)
		x->row_cnt = 0;
	return ret;
}

int export_append(struct export_to *x, struct err *e)
{
	struct stat st;
	int ret, closed;

	/* not opened, so not waited for: a pipe, a device */
	if (stat(x->path, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(x, e, "is no file");
	ret = export_sql_open(x, e);
	if (!ret)
		ret = append(x, e);
	closed = export_sql_close(x, e); /* undoes what was not committed */
	return ret ? ret : closed;
}

void export_append_settle(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
	    SQLITE_OK)
		sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	sqlite3_close(db);
}
