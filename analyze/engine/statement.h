/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * statement: runs one SQL statement and passes its rows to a sink; finds the SQL files of schema/
 * by name. Private to analyze/. Threads: one. Errors: 0 or -errno; hints may be added to SQLite's
 * messages.
 */
#pragma once

#include "analyze/engine/table.h"

struct statement_param {
	const char *name;		/* e.g. ":from" */
	struct value value;
};

/*
 * Runs the single statement in text. params ends with an entry whose name is NULL, or is NULL.
 * Parameters that the statement does not use are ignored; parameters without a value are NULL.
 */
int statement_run(struct analysis *a, const char *text, const struct statement_param *params,
		  const struct row_sink *sink, struct err *e);

/* Frees the compiled statements, which are kept for reuse if the analysis follows a trace. */
void statement_forget_all(struct analysis *a);

/* Binds a value to the n-th parameter, counted from 1. Returns an SQLite code. */
int statement_bind(sqlite3_stmt *stmt, int n, const struct value *v);

/* Formats the column names of a query, separated by ", ". 0 or -errno. */
int statement_columns(struct analysis *a, const char *text, char *buf, size_t size);

/* The SQL files of schema/, embedded at build time. Ends with a row whose name is NULL. */
struct schema_sql {
	const char *name;	/* "report_cpu" for schema/report_cpu.sql */
	const char *text;
};
extern const struct schema_sql schema_sql[];

/* Returns the text of schema/NAME.sql; NULL: not found. */
const char *schema_text(const char *name);
