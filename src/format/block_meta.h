/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_meta: a validated block without its event columns: header, section table, small sections.
 *
 *     bytes from a file --> [block_meta] --> rows (row_codec), event columns (column_reader)
 *
 * The validity rule (schema/FORMAT.md) is applied here: readers ignore bytes that block_meta_open()
 * or block_meta_verify() rejects. All sizes are checked before memory is allocated for them.
 * Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "format/chunk.h"
#include "format/row_codec.h"
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
