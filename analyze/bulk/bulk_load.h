/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bulk_load: fills the empty tables of a new SQLite database, and their indexes. It is the only
 * way into this folder.
 *
 *     rows --> records -----------------------> b-tree of the table ---> file
 *          --> keys --[key_sort, unless they ascend]--> b-trees of the indexes
 *
 * Why it writes pages itself: a row costs a copy into a page, where INSERT costs a statement and
 * an index costs a search or a sort inside SQLite. That is 4.0 against 0.6 million rows a second.
 *
 * SQLite makes the file, its tables and its indexes, all of them empty, and reads them afterwards.
 * In between, this writes the following parts of https://www.sqlite.org/fileformat2.html, and no
 * others:
 *
 *     1.3  the database header: file change counter, size in pages, version-valid-for
 *     1.4  the lock-byte page: left out
 *     1.6  b-tree pages: leaf and interior pages of tables and indexes
 *     1.7  cell payload overflow pages, of tables only
 *     2.1  the record format: NULL, integers, text in UTF-8
 *     2.2  the record sort order: NULL, then integers
 *     2.3, 2.5  tables with a rowid; indexes on one or two integer columns
 *
 * It knows a database with pages of 4 KiB or more, no reserved bytes, no free pages, no
 * auto-vacuum (so no pointer map, 1.8), no write-ahead log, schema format 4 and text in UTF-8. In
 * another one, and where a table or index is not empty, it writes nothing: SQLite has to insert.
 *
 * Tables and indexes are those of schema/tables.sql and schema/indexes.sql, of which a test says
 * that they are of the one kind that is written: a STRICT table with a rowid, no primary key, no
 * trigger, and columns of INTEGER and TEXT only; a plain ascending index on at most two INTEGER
 * columns, of which the second is NOT NULL. A value of another type is an error.
 *
 * Constraints are the caller's to keep: pages are written without a check of NOT NULL, CHECK or
 * FOREIGN KEY. The file has no journal meanwhile: after an error the caller throws it away.
 *
 * Threads: any number may fill tables of one database, one thread for each table. Opening and
 * finishing belong to one thread. Memory: 12 MiB for each index of an open table that has to be
 * sorted. Errors: 0 or -errno; never prints.
 */
#pragma once

#include "analyze/context/analysis.h"

/* A table to fill. */
struct bulk_table_spec {
	const char *name;
	int ascending_col; /* rows come in ascending order of this column; -1: of none */
};

struct bulk_load;
struct bulk_table;

/*
 * path: a database that no one has open. sort_dir: a directory for temporary files. The texts stay
 * the caller's and must outlive the load. 1: *ret is open; 0: pages cannot be written into this
 * database, which is as it was; -errno.
 */
int bulk_load_open(struct bulk_load **ret, const char *path, const char *sort_dir,
		   const struct bulk_table_spec *tables, unsigned int table_cnt, struct err *e);
/* Writes what belongs to the whole database. Without it the file is damaged. */
int bulk_load_finish(struct bulk_load *l, struct err *e);
void bulk_load_free(struct bulk_load *l);

/* Begins the table of this number; each once. */
int bulk_table_open(struct bulk_table **ret, struct bulk_load *l, unsigned int number,
		    struct err *e);
/* The next row: a value for each column, texts in UTF-8. The first row has rowid 1. */
int bulk_table_row(struct bulk_table *t, const struct value *values, struct err *e);
/* Writes the rest of the table and its indexes. */
int bulk_table_finish(struct bulk_table *t, struct err *e);
/* Before bulk_load_finish(). */
void bulk_table_free(struct bulk_table *t);
