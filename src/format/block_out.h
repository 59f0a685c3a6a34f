/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_out: assembles a block from sections. Add small sections first (type below
 * CHUNK_SMALL_END), then columns. An error is returned by block_out_seal(). Threads: one.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "format/chunk.h"
#include "format/block_meta.h"
#include "format/zpack.h"

struct block_out {
	struct buf bytes;	/* room for the head, then the sections */
	struct disk_section table[CHUNK_SECTIONS_MAX];
	unsigned int cnt;
	size_t front_end;	/* offset of the first column */
	size_t rows_bytes;	/* sum of the small sections, unpacked */
	struct zpack *zpack;
	int error;
};

int block_out_init(struct block_out *o, int zstd_level);
void block_out_done(struct block_out *o);
void block_out_begin(struct block_out *o);

/*
 * Adds a section with raw_bytes bytes at raw; s has type, kind, column, part, encoding, shift and
 * item_cnt. If the packed section would break a reader's limits (chunk.h), or be smaller than
 * least, it is stored unpacked.
 */
void block_out_add(struct block_out *o, const struct disk_section *s, const void *raw,
		   size_t raw_bytes);
void block_out_add_least(struct block_out *o, const struct disk_section *s, const void *raw,
			 size_t raw_bytes, size_t least);
/* Adds a section with w's rows, unless there are none. If w ran out of memory, o fails. */
void block_out_add_rows(struct block_out *o, enum chunk_section_type type, struct row_writer *w);

/*
 * Completes head, in which the caller has set all fields but magic, version, sizes, section count
 * and CRCs. *ret is valid until the next begin.
 */
int block_out_seal(struct block_out *o, const struct disk_block *head, const void **ret,
		   size_t *ret_bytes);

/*
 * The following copies stored parts of another block f, without decoding them, for programs that
 * change a trace's small sections:
 *
 *       block_out_begin; block_copy_small or own rows; block_copy_events; block_out_seal
 *
 * CRCs are checked, and copied: damaged bytes are not copied (-EBADMSG).
 */
/* Copies a small section of f, if f has it. */
void block_copy_small(struct block_out *o, const struct block_meta *f, unsigned int type);

/*
 * Copies the event columns of the kinds that this program supports. head is a copy of f's. Kinds of
 * later recorders are excluded: their counts become 0, and the block gets CHUNK_BLOCK_TRIMMED.
 * first_ns and last_ns remain, as bounds, because columns count from first_ns. 0, -EBADMSG,
 * -ENOMEM, or io's error.
 */
int block_copy_events(struct block_out *o, const struct block_meta *f, const struct block_io *io,
		      struct disk_block *head);
