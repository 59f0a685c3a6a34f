/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * btree_fill: fills an empty b-tree of a SQLite file from its leaves up, with what comes in order.
 *
 *     records in order --[btree_fill]--> pages --pwrite--> db_file
 *
 * SQLite itself makes the file, its tables and its indexes, empty, and reads it afterwards. In between
 * nobody but these has it open: they append pages, and put each root in the page it has. A row costs a
 * copy into a page, where INSERT and CREATE INDEX cost a search, a sort and a statement of SQL: that is
 * the whole point. Formats: https://sqlite.org/fileformat2.html, sections 1.5 and 1.6, by whose names
 * things are called here.
 *
 * Threads: a b-tree belongs to one; any number of them may fill trees of one db_file.
 */
#ifndef BTREE_FILL_H
#define BTREE_FILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db_file {
	int fd;
	const char *path; /* for messages; the caller's */
	uint32_t page_bytes;
	uint32_t lock_page; /* never used: SQLite locks its bytes */
	_Atomic uint32_t page_cnt;
};

/*
 * Takes a file that SQLite has made and closed; fd stays the caller's. -EINVAL: it is not as these need
 * it (no free pages, no bytes reserved, no auto-vacuum).
 */
int db_file_open(struct db_file *f, int fd, const char *path, struct err *e);
/* Writes the number of pages into the file's header. */
int db_file_finish(struct db_file *f, struct err *e);

struct btree_fill;

/* root: the page SQLite gave the tree, an empty leaf. */
int btree_fill_new(struct btree_fill **ret, struct db_file *f, uint32_t root, bool is_index);
void btree_fill_free(struct btree_fill *b);

/* A table's row; rowids ascend. */
int btree_fill_row(struct btree_fill *b, uint64_t rowid, const uint8_t *record, size_t bytes,
		   struct err *e);
/* An index's entry; entries ascend in SQLite's order. At most BTREE_ENTRY_MAX bytes. */
#define BTREE_ENTRY_MAX 64
int btree_fill_entry(struct btree_fill *b, const uint8_t *record, size_t bytes, struct err *e);
/* Writes what is left. Without it the file is damaged. */
int btree_fill_finish(struct btree_fill *b, struct err *e);

/* ---- records ---- */

/* SQLite's varint: 1 to 9 bytes, big-endian. Returns the bytes written. */
size_t db_put_varint(uint8_t *dst, uint64_t v);
/* Serial type of an integer, and its bytes (0 to 8). */
unsigned int db_int_type(int64_t v);
size_t db_put_int(uint8_t *dst, int64_t v, unsigned int type);

#endif /* BTREE_FILL_H */
