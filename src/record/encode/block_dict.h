/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_dict: what a block's events refer to by a number: names of ids, user-space code addresses
 * and stacks. Each function appends the rows that the block does not have yet. They return 0 or
 * -ENOMEM. Threads: one.
 */
#ifndef BLOCK_DICT_H
#define BLOCK_DICT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/hash_map.h"
#include "record/encode/block_writer.h"
#include "format/row_codec.h"

/* ---- names of ids (caches, devices, cgroups, symbols) ---- */

#define NAME_DICT_TYPES TRACE_NAME_TYPE_CNT	/* writeback_owner.c names files */

/*
 * Each name is asked for once, and written into every block that refers to the id. All zeros is an
 * empty dictionary.
 */
struct name_dict {
	struct hash_map by_id[NAME_DICT_TYPES];
};

void name_dict_done(struct name_dict *b);
/* The block refers to id: appends its row, once per epoch. Ignores ids without a name, and 0. */
int name_dict_use(struct name_dict *b, const struct block_names *names, struct row_writer *w,
		  uint64_t epoch, enum trace_name_type type, uint64_t id);
/*
 * Forgets the ids that no block since epoch referred to: ids come and go, and a recording may last
 * for weeks.
 */
int name_dict_forget(struct name_dict *b, uint64_t epoch);

/* ---- sites and stacks of one block ---- */

/* All zeros is an empty dictionary. */
struct block_dict {
	struct hash_map by_key;	/* to a place in items, + 1 */
	struct buf items;
};

void block_dict_done(struct block_dict *b);
void block_dict_begin(struct block_dict *b);	/* Begins a block. */

#define SITE_DICT_MAX (1u << 17)	/* rows of a block; further ones are left out */

/*
 * An event of process upid, pid at ts_ns has the user-space code address. Each (process, address)
 * is asked for once per block, or once for each mapping that was there in turn.
 */
int site_dict_use(struct block_dict *b, const struct block_names *names, struct row_writer *w,
		  uint32_t upid, uint32_t pid, uint64_t addr, uint64_t ts_ns);

struct stack_frames {
	uint32_t upid;		/* of the user frames; 0: there are none */
	uint32_t kernel_cnt, user_cnt;
	const uint64_t *kernel, *user;	/* innermost first */
};

/*
 * A stack's number is a hash of its frames (and of the process, if it has user frames), so that a
 * stack has the same number in every block although nothing is kept between blocks. Two stacks of a
 * block never share a number. *ret_id is above 0 and below 2^62.
 */
int stack_dict_use(struct block_dict *b, struct row_writer *w, const struct stack_frames *f,
		   uint64_t *ret_id, bool *ret_new);

#endif /* BLOCK_DICT_H */
