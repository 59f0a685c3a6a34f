/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * btree_fill: fills an empty b-tree of a SQLite file from its leaves up, with rows or index
 * entries that come in order. Private to analyze/bulk; bulk_load.h names the parts of SQLite's
 * file format that are written, and the words here are that document's.
 *
 *     records in order --[btree_fill]--> pages --pwrite--> db_file
 *
 * No one else has the file open meanwhile: b-trees append pages, and each writes its root into the
 * page that SQLite gave it.
 *
 * Threads: a b-tree belongs to one; any number of threads may fill b-trees of one db_file.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db_file {
	int fd; /* -1: not open */
	const char *path; /* for messages; the caller's */
	uint32_t page_bytes;
	uint32_t lock_page; /* never used: SQLite locks its bytes */
	_Atomic uint32_t page_cnt;
};

/*
 * Opens a file that SQLite has made and closed. f->fd is open afterwards, whatever the result, or
 * -1; the caller closes it. 1: pages can be written into it; 0: it has a property that is not
 * known here; -errno.
 */
int db_file_open(struct db_file *f, const char *path, struct err *e);
/* Returns whether that page is a b-tree of this kind without a cell. */
bool db_file_is_empty_leaf(const struct db_file *f, uint32_t number, bool is_index);
/* Writes the number of pages into the file's header. */
int db_file_finish(struct db_file *f, struct err *e);

struct btree_fill;

/* root: the page SQLite gave the b-tree, an empty leaf. 0 or -ENOMEM. */
int btree_fill_new(struct btree_fill **ret, struct db_file *f, uint32_t root, bool is_index);
void btree_fill_free(struct btree_fill *b);

/* A table's row; rowids ascend. */
int btree_fill_row(struct btree_fill *b, uint64_t rowid, const uint8_t *record, size_t bytes,
		   struct err *e);
/* An index's entry; entries ascend in SQLite's order. At most BTREE_ENTRY_MAX bytes. */
#define BTREE_ENTRY_MAX 64
int btree_fill_entry(struct btree_fill *b, const uint8_t *record, size_t bytes, struct err *e);
/* Writes the pages that are not full. Without it the file is damaged. */
int btree_fill_finish(struct btree_fill *b, struct err *e);

/* ---- records ---- */

/* SQLite's varint: 1 to 9 bytes, big-endian. Returns the bytes written. */
size_t db_put_varint(uint8_t *dst, uint64_t v);
/* Serial type of an integer, and its bytes (0 to 8). */
unsigned int db_int_type(int64_t v);
size_t db_put_int(uint8_t *dst, int64_t v, unsigned int type);
