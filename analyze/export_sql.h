/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_sql: what a new export and one that is added to have in common: rows of lists, and which blocks of
 * the trace a database was made of, by SQL. Threads: one.
 */
#ifndef EXPORT_SQL_H
#define EXPORT_SQL_H

#include "analyze/export_rows.h"

/* PRAGMA user_version of the file */
#define EXPORT_VERSION 2

/* What all of an export knows. */
struct export_to {
	struct analysis *a;
	const struct export_request *request;
	struct export_part part;
	const char *path; /* of the file that is written, for messages */
	sqlite3 *db; /* it; NULL while nobody has it open */
	uint64_t row_cnt; /* written */
	uint64_t all_rows; /* expected */
};

/* Opens x->path for writing. */
int export_sql_open(struct export_to *x, struct err *e);
/* Closes it; what that says counts. */
int export_sql_close(struct export_to *x, struct err *e);
/* The error behind a failed call on x->db. */
int export_sql_fail(const struct export_to *x, struct err *e);
/* Statements without rows, one after the other. */
int export_sql_run(const struct export_to *x, const char *sql, struct err *e);
/* The first column of the first row; NULL counts as 0. */
int export_sql_int(const struct export_to *x, const char *sql, int64_t *ret, struct err *e);
/* One statement with one number, ?1. */
int export_sql_run_int(const struct export_to *x, const char *sql, int64_t value, struct err *e);

/* "INSERT OR IGNORE INTO x VALUES (?,...)": names and devices may repeat in a trace; the first one stays. */
int export_sql_insert(const struct export_to *x, const struct table_def *def, sqlite3_stmt **ret,
		      struct err *e);
/* All rows of the tables that are lists. Inside a transaction of the caller's. */
int export_sql_lists(struct export_to *x, struct err *e);
/* The blocks of the trace as they are now, from number `first` on. */
int export_sql_blocks(const struct export_to *x, size_t first, struct err *e);

#endif /* EXPORT_SQL_H */
