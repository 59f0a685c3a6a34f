/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_table: one table and its indexes, written as pages. Private to analyze/bulk.
 *
 *     rows --> records -> b-tree of the table
 *          --> keys --[key_sort, unless they ascend]--> b-trees of the indexes
 *
 * Threads: a table belongs to one; any number of tables of one file may be written at a time.
 */
#ifndef PAGE_TABLE_H
#define PAGE_TABLE_H

#include "analyze/bulk/btree_fill.h"
#include "analyze/bulk/bulk_load.h"
#include "analyze/bulk/bulk_schema.h"

struct page_table;

/* s outlives the table. Temporary files go to sort_dir. 0 or -ENOMEM. */
int page_table_new(struct page_table **ret, struct db_file *f, const struct bulk_schema *s,
		   const char *sort_dir);
void page_table_free(struct page_table *t);
int page_table_row(struct page_table *t, const struct bulk_value *values, struct err *e);
int page_table_finish(struct page_table *t, struct err *e);

#endif /* PAGE_TABLE_H */
