/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sql_floor ROWS STATEMENT: runs a statement of SQL over virtual tables whose ROWS rows are all the
 * same, and prints the first row of the answer. Such a table is as quick as one can be: what the
 * statement costs here is SQLite's own cost, and no table of a trace can cost less in it.
 *
 * The tables are sched_slices, block_requests and slab_allocs, with the columns that the case
 * `scale` asks for. threads and processes are plain tables in memory, with one row each, and a
 * primary key.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

struct cursor {
	sqlite3_vtab_cursor base;
	sqlite3_int64 row, row_cnt;
};

static const char *const tables[] = { "sched_slices", "block_requests", "slab_allocs" };
static const char columns[] =
	"CREATE TABLE x(utid INT, owner_upid INT, cpu INT, start_ns INT, dur_ns INT, wait_ns INT, "
	"latency_ns INT, bytes INT, wait_reason TEXT)";

static int connect_table(sqlite3 *db, void *row_cnt, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **error)
{
	(void)row_cnt, (void)argc, (void)argv, (void)error;
	*ret = sqlite3_malloc(sizeof(**ret));
	if (!*ret)
		return SQLITE_NOMEM;
	**ret = (sqlite3_vtab){ 0 };
	return sqlite3_declare_vtab(db, columns);
}

static int disconnect_table(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 1e7;
	info->estimatedRows = 10000000;
	return SQLITE_OK;
}

static sqlite3_int64 wanted_rows;

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct cursor *c = sqlite3_malloc(sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct cursor){ .row_cnt = wanted_rows };
	*ret = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static int filter_rows(sqlite3_vtab_cursor *c, int number, const char *text, int argc,
		       sqlite3_value **argv)
{
	(void)number, (void)text, (void)argc, (void)argv;
	((struct cursor *)c)->row = 0;
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *c)
{
	((struct cursor *)c)->row++;
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *c)
{
	return ((struct cursor *)c)->row >= ((struct cursor *)c)->row_cnt;
}

static int give_column(sqlite3_vtab_cursor *c, sqlite3_context *ctx, int column)
{
	(void)c;
	if (column == 8)
		sqlite3_result_text(ctx, "wakeup", 6, SQLITE_STATIC);
	else
		sqlite3_result_int64(ctx, 1);
	return SQLITE_OK;
}

static int give_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *ret)
{
	*ret = ((struct cursor *)c)->row;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = connect_table,
	.xDisconnect = disconnect_table,
	.xBestIndex = best_index,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter_rows,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = give_column,
	.xRowid = give_rowid,
};

static int fail(sqlite3 *db)
{
	fprintf(stderr, "sql_floor: %s\n", sqlite3_errmsg(db));
	return 1;
}

int main(int argc, char **argv)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int status;

	if (argc != 3 || (wanted_rows = atoll(argv[1])) <= 0) {
		fprintf(stderr, "usage: sql_floor ROWS STATEMENT\n");
		return 2;
	}
	if (sqlite3_open(":memory:", &db))
		return fail(db);
	for (unsigned int i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (sqlite3_create_module(db, tables[i], &module, NULL))
			return fail(db);
	if (sqlite3_exec(
		    db,
		    "CREATE TABLE threads(utid INTEGER PRIMARY KEY, upid INT);"
		    "CREATE TABLE processes(upid INTEGER PRIMARY KEY, comm TEXT, pid INT);"
		    "INSERT INTO threads VALUES(1, 1); INSERT INTO processes VALUES(1, 'load', 1)",
		    NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, argv[2], -1, &stmt, NULL))
		return fail(db);
	status = sqlite3_step(stmt);
	if (status == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			printf("%s%s", i ? "," : "", (const char *)sqlite3_column_text(stmt, i));
	printf("\n");
	while (status == SQLITE_ROW)
		status = sqlite3_step(stmt);
	if (status != SQLITE_DONE)
		return fail(db);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return 0;
}
