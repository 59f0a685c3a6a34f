/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * statement: runs one SQL statement into a row sink; and the SQL files of schema/ by name. Private
 * to analyze/. Threads: one. Errors: 0 or -errno; hints may be added to a message of SQLite.
 */
#pragma once

#include "analyze/engine/table.h"

struct statement_param {
	const char *name;		/* ":from" */
	struct value value;
};

/*
 * text holds one statement only. params end with an entry whose name is NULL; NULL: none. A
 * parameter that the statement lacks is ignored, a missing one stays NULL.
 */
int statement_run(struct analysis *a, const char *text, const struct statement_param *params,
		  const struct row_sink *sink, struct err *e);

/* Frees the compiled statements that an analysis that follows a trace keeps for the next time. */
void statement_forget_all(struct analysis *a);

/* Binds a value to the n-th parameter, from 1. Returns a code of SQLite. */
int statement_bind(sqlite3_stmt *stmt, int n, const struct value *v);

/* While set, refuses everything that could write, open files or change the connection. */
void statement_guard(struct analysis *a, bool on);

/* Writes the column names of a query, joined by ", ". 0 or -errno. */
int statement_columns(struct analysis *a, const char *text, char *buf, size_t size);

/* The SQL files of schema/, embedded at build time. Ends with a row whose name is NULL. */
struct schema_sql {
	const char *name;	/* "report_cpu" for schema/report_cpu.sql */
	const char *text;
};
extern const struct schema_sql schema_sql[];

/* Returns the text of schema/NAME.sql; NULL: not found. */
const char *schema_text(const char *name);
