/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sql_schema: the tables, views and functions of SQL and their columns, as schema/tables.decl and
 * schema/events/ declare them, and the queries of schema/QUERIES.md. schema/tables.awk, events.awk
 * and sql_schema.awk convert them to C when the program is built.
 *
 * Threads: one.
 */
#pragma once

struct sql_schema_column {
	const char *name, *type, *meaning;
};

struct sql_schema_item {
	const char *kind;	/* table, view, table-valued function, function */
	const char *name;
	const char *call;	/* the name; for a function, with the arguments */
	const char *text;	/* description of its content or result, in lines */
	const struct sql_schema_column *columns;	/* none for a function with one result */
	unsigned int column_cnt;
};

extern const struct sql_schema_item sql_schema_items[];
extern const unsigned int sql_schema_item_cnt;
/* The queries, with their questions as comments. */
extern const char sql_schema_examples[];
