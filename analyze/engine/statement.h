/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * statement: runs one SQL statement into a row sink; and the SQL files of schema/ by name. Private
 * to analyze/. Threads: one. Errors: 0 or -errno; a message of SQLite's is completed with what may
 * help.
 */
#pragma once

#include "analyze/engine/table.h"

struct statement_param {
	const char *name;		/* ":from" */
	struct value value;
};

/*
 * text holds one statement only. params end with a row whose name is NULL; NULL: none. A parameter
 * the statement does not have is left out, one that is not given stays NULL.
 */
int statement_run(struct analysis *a, const char *text, const struct statement_param *params,
		  const struct row_sink *sink, struct err *e);

/*
 * An analysis that follows a trace keeps the statements it has run, compiled, for the next time.
 * This ends them.
 */
void statement_forget_all(struct analysis *a);

/* Binds a value to the n-th parameter, from 1. A code of SQLite. */
int statement_bind(sqlite3_stmt *stmt, int n, const struct value *v);

/* Refuses everything that could write, open files or change the connection, as long as it is set.
 */
void statement_guard(struct analysis *a, bool on);

/* Column names of a query, joined by ", ". 0 or -errno. */
int statement_columns(struct analysis *a, const char *text, char *buf, size_t size);

/* The SQL files of schema/, embedded at build time. Ends with a row whose name is NULL. */
struct schema_sql {
	const char *name;	/* "report_cpu" for schema/report_cpu.sql */
	const char *text;
};
extern const struct schema_sql schema_sql[];

/* Text of schema/NAME.sql; NULL if there is none. */
const char *schema_text(const char *name);
