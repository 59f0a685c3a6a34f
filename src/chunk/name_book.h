/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * name_book: names of ids (caches, devices, cgroups, symbols). Each is asked for once, through
 * struct block_names, and written into every block that refers to it. What nobody refers to for long
 * is forgotten: ids come and go, and a recording may last for weeks. Threads: one.
 */
#ifndef NAME_BOOK_H
#define NAME_BOOK_H

#include "base/idmap.h"
#include "chunk/block_writer.h"
#include "chunk/row_codec.h"

#define NAME_BOOK_TYPES TRACE_NAME_TYPE_CNT	/* but files come with their names: block_owner.c */

struct name_book {
	struct block_names names;
	struct idmap by_id[NAME_BOOK_TYPES];
};

void name_book_init(struct name_book *b, const struct block_names *names);
void name_book_done(struct name_book *b);

/*
 * The block being made refers to id: appends its row, once per epoch. An id without a name, and 0, are
 * passed over. 0 or -ENOMEM.
 */
int name_book_use(struct name_book *b, struct row_writer *w, uint64_t epoch,
		  enum trace_name_type type, uint64_t id);

/* Forgets what no block since epoch referred to. */
int name_book_forget(struct name_book *b, uint64_t epoch);

#endif /* NAME_BOOK_H */
