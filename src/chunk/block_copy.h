/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_copy: parts of a block into a new one as they are stored, without decoding them: for
 * programs that change a trace's small sections, or leave out kinds of events.
 *
 *     block_out_begin; block_copy_small or rows of one's own; block_copy_events; block_out_seal
 *
 * CRCs go with the bytes, and are checked here: what had gone bad is not copied (-EBADMSG). Threads: one.
 */
#ifndef BLOCK_COPY_H
#define BLOCK_COPY_H

#include "chunk/block_front.h"
#include "chunk/block_out.h"

/* One section as it is stored; stored has s->stored_bytes. Errors show at the seal. */
void block_copy_stored(struct block_out *o, const struct disk_section *s, const void *stored);

/* A small section of f; nothing when f has none. */
void block_copy_small(struct block_out *o, const struct block_front *f, unsigned int type);

/*
 * The event columns of the kinds of kind_mask (bit 1 << kind). A kind refers to another one by XREF, so
 * allocations and their frees are only copied together. head, a copy of f's, gets the events left out as 0 and
 * CHUNK_BLOCK_TRIMMED; its first_ns and last_ns stay, as bounds: columns count from first_ns. 0, -EBADMSG, -ENOMEM, or what io returns.
 */
int block_copy_events(struct block_out *o, const struct block_front *f, const struct block_io *io,
		      uint32_t kind_mask, struct disk_block *head);

#endif /* BLOCK_COPY_H */
