/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * site_book: what is at the user-space code addresses that a block's events refer to. Each (process, address) is asked
 * for once per block, through struct block_names, or once for each thing that was there in turn. Threads: one.
 */
#ifndef SITE_BOOK_H
#define SITE_BOOK_H

#include "base/buf.h"
#include "base/idmap.h"
#include "chunk/block_writer.h"
#include "chunk/row_codec.h"

#define SITE_BOOK_MAX (1u << 17)	/* rows of a block; further ones are left out, and so not known */

struct site_book {
	struct block_names names;
	struct idmap by_key;	/* to index + 1 */
	struct buf asked;	/* struct site_asked */
};

void site_book_init(struct site_book *b, const struct block_names *names);
void site_book_done(struct site_book *b);
void site_book_begin(struct site_book *b);	/* a block */

/* An event of process upid, pid at ts_ns, has the address: appends its row. 0 or -ENOMEM. */
int site_book_use(struct site_book *b, struct row_writer *w, uint32_t upid, uint32_t pid,
		  uint64_t addr, uint64_t ts_ns);

#endif /* SITE_BOOK_H */
