/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_front: the validated front of a block: header, section table, small sections.
 *
 *     bytes from a file --> [block_front] --> rows (row_codec), event columns (column_reader)
 *
 * The validity rule (schema/FORMAT.md) is applied here: what block_front_open() and
 * block_front_verify() do not accept never existed. All sizes are checked before anything is
 * allocated for them. Threads: a front belongs to one thread.
 */
#ifndef BLOCK_FRONT_H
#define BLOCK_FRONT_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk.h"
#include "chunk/row_codec.h"
#include "chunk/zpack.h"

struct block_front {
	struct disk_block head;
	const struct disk_section *sections;	/* head.section_cnt */
	uint64_t *offsets; /* of each section's bytes, from the block's start */
	uint8_t *bytes;				/* head.front_bytes */
	uint8_t **unpacked;			/* by section, made when asked for */
};

/* Reads exactly bytes at offset from the block's start; 0 or negative errno. */
struct block_io {
	int (*read)(void *ctx, uint64_t offset, void *dst, size_t bytes);
	void *ctx;
};

/*
 * Whether the sizeof(struct disk_block) bytes at data are a block header; *ret is a copy.
 * -EBADMSG: they are not; -EPROTONOSUPPORT: of a format this program does not know. *ret_why says more.
 */
int block_head_check(const void *data, struct disk_block *ret, const char **ret_why);

/*
 * Reads and checks table and small sections. -EBADMSG as above, -ENOMEM, or what io returns.
 * zunpack is for unpacking, in this call and when rows are asked for.
 */
int block_front_open(struct block_front **ret, const struct disk_block *head,
		     const struct block_io *io, const char **ret_why);
void block_front_free(struct block_front *f);

/* Checks the CRCs of all event columns. buf is scratch of buf_bytes (at least 4096). */
int block_front_verify(const struct block_front *f, const struct block_io *io, void *buf,
		       size_t buf_bytes, const char **ret_why);

/* The section, or NULL. */
const struct disk_section *block_front_find(const struct block_front *f, unsigned int type,
					    unsigned int kind, unsigned int column,
					    unsigned int part);
static inline uint64_t block_front_offset(const struct block_front *f, const struct disk_section *s)
{
	return f->offsets[s - f->sections];
}

/* The unpacked bytes of a small section, valid as long as f. 0 bytes when there is none. */
int block_front_unpack(struct block_front *f, struct zunpack *z, enum chunk_section_type type,
		       const uint8_t **ret, size_t *ret_bytes, uint32_t *ret_items);
/* The same as a row reader. */
int block_front_rows(struct block_front *f, struct zunpack *z, enum chunk_section_type type,
		     struct row_reader *ret);

/* Utids by index, malloc'ed, for the columns. */
int block_front_utids(struct block_front *f, struct zunpack *z, uint32_t **ret, uint32_t *ret_cnt);

#endif /* BLOCK_FRONT_H */
