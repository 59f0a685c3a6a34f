/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block: reads and writes the sections of a block.
 *
 * block_meta: a validated block without its event columns: header, section table, small sections.
 *
 *     bytes from a file --> [block_meta] --> rows (rows.h), event columns (columns.h)
 *
 * The validity rule (schema/FORMAT.md) is applied here: readers ignore bytes that block_meta_open()
 * or block_meta_verify() rejects. All sizes are checked before memory is allocated for them.
 * Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/chunk.h"
#include "format/rows.h"
#include "format/zpack.h"

struct block_meta {
	struct disk_block head;
	const struct disk_section *sections;	/* head.section_cnt */
	uint64_t *offsets; /* by section: offset from the block's start */
	uint8_t *bytes;				/* head.front_bytes */
	uint8_t **unpacked;			/* by section; unpacked when first requested */
};

/* Reads exactly `bytes` bytes at offset, relative to the block's start. 0 or -errno. */
struct block_io {
	int (*read)(void *ctx, uint64_t offset, void *dst, size_t bytes);
	void *ctx;
};

/*
 * A block_io for bytes in memory: ctx is a struct block_memory. -ENODATA: there are too few bytes.
 */
struct block_memory {
	const uint8_t *bytes;
	size_t cnt;
};
int block_memory_read(void *ctx, uint64_t offset, void *dst, size_t bytes);

/*
 * Checks whether the sizeof(struct disk_block) bytes at data are a block header; copies it to *ret.
 * -EBADMSG: not a header; -EPROTONOSUPPORT: unknown version. *ret_why has the details.
 */
int block_head_check(const void *data, struct disk_block *ret, const char **ret_why);

/*
 * Reads and checks the section table and the small sections. -EBADMSG: invalid; -ENOMEM; or io's
 * error.
 */
int block_meta_open(struct block_meta **ret, const struct disk_block *head,
		     const struct block_io *io, const char **ret_why);
void block_meta_free(struct block_meta *f);

/* Checks the CRCs of all event columns. buf is scratch memory of buf_bytes (at least 4096). */
int block_meta_verify(const struct block_meta *f, const struct block_io *io, void *buf,
		       size_t buf_bytes, const char **ret_why);

/* Returns the section; NULL if the block has none of this type. */
const struct disk_section *block_meta_find(const struct block_meta *f, unsigned int type,
					    unsigned int kind, unsigned int column,
					    unsigned int part);
static inline uint64_t block_meta_offset(const struct block_meta *f, const struct disk_section *s)
{
	return f->offsets[s - f->sections];
}

/* Opens the rows of a small section for reading. */
int block_meta_rows(struct block_meta *f, struct zunpack *z, enum chunk_section_type type,
		     struct row_reader *ret);

/* Returns the utids to which UTID columns have indices, malloc'ed. */
int block_meta_utids(struct block_meta *f, struct zunpack *z, uint32_t **ret, uint32_t *ret_cnt);

/*
 * block_out: assembles a block from sections. Add small sections first (type below
 * CHUNK_SMALL_END), then columns. An error is returned by block_out_seal(). Threads: one.
 */

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
 * The following functions copy stored parts of another block f without decoding them. Programs that
 * change a trace's small sections use them:
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
 * first_ns and last_ns do not change, because the columns have times relative to first_ns; they are
 * then only bounds of the events' times. 0, -EBADMSG, -ENOMEM, or io's error.
 */
int block_copy_events(struct block_out *o, const struct block_meta *f, const struct block_io *io,
		      struct disk_block *head);
