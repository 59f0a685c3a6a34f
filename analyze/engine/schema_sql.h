/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* schema_sql: the SQL files of schema/, embedded at build time. */
#ifndef SCHEMA_SQL_H
#define SCHEMA_SQL_H

struct schema_sql {
	const char *name;	/* "report_cpu" for schema/report_cpu.sql */
	const char *text;
};

/* Ends with a row whose name is NULL. */
extern const struct schema_sql schema_sql[];

#endif /* SCHEMA_SQL_H */
