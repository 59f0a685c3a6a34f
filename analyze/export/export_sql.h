/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_sql: what an export does by SQL: statements on the new database, and the rows of the
 * tables that are lists. Threads: one.
 */
#ifndef EXPORT_SQL_H
#define EXPORT_SQL_H

#include "analyze/export/export_rows.h"

/*
 * PRAGMA application_id of the export of a whole trace, "ebpf" in ASCII. The next export of a whole
 * trace may replace such a file.
 */
#define EXPORT_APPLICATION_ID 0x65627066

/* An export in progress. */
struct export_to {
	struct analysis *a;
	const struct export_request *request;
	struct export_part part;
	const char *path; /* of the file that is written, for messages */
	sqlite3 *db; /* the file; NULL while it is not open */
	bool replaces; /* a file that exists */
	uint64_t row_cnt; /* written */
	uint64_t all_rows; /* expected */
};

/* Opens x->path for writing. */
int export_sql_open(struct export_to *x, struct err *e);
/* Closes x->db, with an error if SQLite reports one. */
int export_sql_close(struct export_to *x, struct err *e);
/* Statements without rows, one after the other. */
int export_sql_run(const struct export_to *x, const char *sql, struct err *e);
/* Copies all rows of the tables that are lists, inside the caller's transaction. */
int export_sql_lists(struct export_to *x, struct err *e);

#endif /* EXPORT_SQL_H */
