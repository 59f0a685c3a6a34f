/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bulk_schema: what SQLite says about the tables to fill, and whether pages can be written for
 * them. Private to analyze/bulk. Threads: one.
 */
#ifndef BULK_SCHEMA_H
#define BULK_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define BULK_INDEXES_MAX 4
#define BULK_COLUMNS_MAX 64

struct bulk_index {
	uint32_t root; /* page number of its b-tree */
	unsigned int col_cnt; /* 1 or 2 */
	unsigned int cols[2];
};

struct bulk_schema {
	const char *name; /* the caller's */
	int ascending_col;
	uint32_t root;
	unsigned int col_cnt;
	struct bulk_index indexes[BULK_INDEXES_MAX];
	unsigned int index_cnt;
	bool is_known; /* bulk_load.h says what that takes; else only name and col_cnt are set */
};

/* s->name is set. -ENOENT: the database has no such table. */
int bulk_schema_read(struct bulk_schema *s, sqlite3 *db, struct err *e);

#endif /* BULK_SCHEMA_H */
