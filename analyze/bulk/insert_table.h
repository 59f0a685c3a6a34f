/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * insert_table: the same as page_table through SQLite's own API, for any database. Private to
 * analyze/bulk. All tables of a database share one connection and one transaction.
 *
 * Threads: a table belongs to one; a lock lets one of them call SQLite at a time.
 */
#ifndef INSERT_TABLE_H
#define INSERT_TABLE_H

#include <pthread.h>
#include <sqlite3.h>

#include "analyze/bulk/bulk_load.h"
#include "analyze/bulk/bulk_schema.h"

struct insert_db {
	sqlite3 *db; /* NULL: not open */
	const char *path; /* the caller's */
	pthread_mutex_t lock; /* of all calls of SQLite with db */
};

int insert_db_open(struct insert_db *d, const char *path, struct err *e);
/* Commits. */
int insert_db_finish(struct insert_db *d, struct err *e);
void insert_db_close(struct insert_db *d);

struct insert_table {
	struct insert_db *d;
	sqlite3_stmt *stmt;
	unsigned int col_cnt;
};

int insert_table_open(struct insert_table *t, struct insert_db *d, const struct bulk_schema *s,
		      struct err *e);
int insert_table_row(struct insert_table *t, const struct bulk_value *values, struct err *e);
void insert_table_close(struct insert_table *t);

#endif /* INSERT_TABLE_H */
