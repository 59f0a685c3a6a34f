/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_copy: copies parts of a block into a new block as they are stored, without decoding, for
 * programs that change a trace's small sections.
 *
 *     block_out_begin; block_copy_small or own rows; block_copy_events; block_out_seal
 *
 * CRCs are copied with the bytes, and checked: damaged bytes are not copied (-EBADMSG). Threads:
 * one.
 */
#ifndef BLOCK_COPY_H
#define BLOCK_COPY_H

#include "format/block_meta.h"
#include "format/block_out.h"

/* Copies one section; stored has s->stored_bytes. Errors show at the seal. */
void block_copy_stored(struct block_out *o, const struct disk_section *s, const void *stored);

/* Copies a small section of f, if f has it. */
void block_copy_small(struct block_out *o, const struct block_meta *f, unsigned int type);

/*
 * Copies the event columns of the kinds that this program knows. head is a copy of f's. Kinds of a
 * later recorder are left out: their counts become 0 and the block gets CHUNK_BLOCK_TRIMMED.
 * first_ns and last_ns stay as bounds, since columns count from first_ns. 0, -EBADMSG, -ENOMEM, or
 * what io returns.
 */
int block_copy_events(struct block_out *o, const struct block_meta *f, const struct block_io *io,
		      struct disk_block *head);

#endif /* BLOCK_COPY_H */
