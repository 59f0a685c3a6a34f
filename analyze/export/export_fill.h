/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_fill: fills the event tables of a new SQLite file, and their indexes.
 *
 *     tables --export_rows--> [export_fill: a thread for each table] --bulk_load--> file
 *
 * There are as many threads at a time as CPUs, but at most four. Memory does not grow with the
 * trace. Threads: called in the thread of the analysis, which waits.
 */
#ifndef EXPORT_FILL_H
#define EXPORT_FILL_H

#include "analyze/export/export_rows.h"

/* Whether this fills the table. Other tables are small, and export_sql_lists() writes them. */
bool export_fill_has(const struct table_def *def);

struct export_fill_job {
	struct analysis *a;
	const char *path; /* SQLite has made it, with empty tables; no one has it open */
	const char *dir; /* for temporary files */
	struct export_part part;
	/* May be NULL. Called some times a second in the caller's thread. */
	void (*progress)(void *ctx, uint64_t rows);
	void *ctx;
};

/* *ret_rows: rows written. 0 or -errno. */
int export_fill(const struct export_fill_job *job, uint64_t *ret_rows, struct err *e);

#endif /* EXPORT_FILL_H */
