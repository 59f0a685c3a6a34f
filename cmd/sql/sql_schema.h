/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sql_schema: the tables, views and functions of SQL and their columns, as schema/tables.decl and
 * schema/events/ declare them, and the queries of schema/QUERIES.md. schema/tables.awk, events.awk
 * and sql_schema.awk convert them to C when the program is built.
 *
 * Threads: one.
 */
#pragma once

#include "cmd/render/render.h"

struct sql_schema_column {
	const char *name, *type, *meaning;
};

struct sql_schema_item {
	const char *kind;	/* table, view, table-valued function, function */
	const char *name;
	const char *call;	/* the name; of a function, with its arguments */
	const char *text;	/* description of its content or result, in lines */
	const struct sql_schema_column *columns;	/* none for a function with one result */
	unsigned int column_cnt;
};

extern const struct sql_schema_item sql_schema_items[];
extern const unsigned int sql_schema_item_cnt;
/* The queries, with their questions as comments. */
extern const char sql_schema_examples[];

/*
 * Print all items, or the columns of one item. r renders the rows; NULL: prints a table. Return an
 * exit status. An unknown name is an error that lists the known names.
 */
int sql_schema_list(struct render *r);
int sql_schema_show(const char *name, struct render *r);

/*
 * Prints SQLite's message on a statement. For an unknown table, function or column, it adds the
 * nearest name and a list of the known names. Returns EXIT_FAILED.
 */
int sql_schema_error(const char *statement, const char *message);
