/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * clickhouse: the tables that a fleet's traces have in ClickHouse. Private to analyze/export.
 *
 *     [clickhouse_schema] --statements--> server: landing --views--> tables
 *     [clickhouse] --rows of the table landing, RowBinary--> server
 *
 * A row holds its numbers in one array and its texts in another, for all tables.
 * One INSERT can carry all tables for this reason. The server's materialized views take each row
 * apart by its table's name and layout.
 */
#pragma once

#include "analyze/engine/table.h"

#define CLICKHOUSE_TABLES_MAX 80

/* A table that can be sent. */
struct clickhouse_table {
	const char *name;
	const struct table_def *def; /* NULL: bins, or loads */
	const struct table_column *cols;
	unsigned int col_cnt;
	unsigned int by; /* of bins: 1u << REPORT_BY_x */
};

/* The n-th that a load can have: those of events and lists, then bins. NULL after the last. */
const struct clickhouse_table *clickhouse_table_at(struct clickhouse_table *room, unsigned int n);
/* Lists the content of each load. */
extern const struct clickhouse_table clickhouse_loads;
/* A number that changes when the columns do: the server takes rows of the layout it knows. */
uint32_t clickhouse_layout(const struct clickhouse_table *t);

/* A real number travels as text. */
static inline bool clickhouse_is_text(const struct table_column *c)
{
	return c->type != COLUMN_INT;
}
