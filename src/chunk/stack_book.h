/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stack_book: the stacks that a block's events refer to, each once. A stack's number is a hash of its frames (and of the
 * process, if it has user frames), so that the same stack has the same number in every block without anything being
 * remembered between blocks; two stacks of a block never share one. Threads: one.
 */
#ifndef STACK_BOOK_H
#define STACK_BOOK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "chunk/row_codec.h"

struct stack_book {
	struct idmap by_id;	/* to offset + 1 */
	struct buf stacks;
};

struct stack_frames {
	uint32_t upid;		/* of the user frames; 0: there are none */
	uint32_t kernel_cnt, user_cnt;
	const uint64_t *kernel, *user;	/* innermost first */
};

void stack_book_done(struct stack_book *b);
void stack_book_begin(struct stack_book *b);	/* a block */
/* Appends the rows of a stack that is new in the block. *ret_id is not 0, and below 2^62. 0 or -ENOMEM. */
int stack_book_use(struct stack_book *b, struct row_writer *w, const struct stack_frames *f,
		   uint64_t *ret_id, bool *ret_new);

#endif /* STACK_BOOK_H */
