/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_fill: fills the event tables of a new SQLite file, and their indexes, as pages.
 *
 *     tables --export_rows--> [export_fill: a thread per table, as many at a time as CPUs] --btree_fill--> file
 *
 * Memory does not grow with the trace. Threads: called in the analysis' one, which waits.
 */
#ifndef EXPORT_FILL_H
#define EXPORT_FILL_H

#include "analyze/export_rows.h"

/* Whether a table is filled this way; others are small, and are INSERTed. */
bool export_fill_has(const struct table_def *def);

/*
 * path: a file that SQLite has made, with empty tables and indexes, which nobody has open. dir: for sorting.
 * progress, some times a second, in the caller's thread; may be NULL. *ret_rows: rows written.
 */
struct export_fill_job {
	struct analysis *a;
	const char *path, *dir;
	struct export_part part;
	void (*progress)(void *ctx, uint64_t rows);
	void *ctx;
};
int export_fill(const struct export_fill_job *job, uint64_t *ret_rows, struct err *e);

#endif /* EXPORT_FILL_H */
