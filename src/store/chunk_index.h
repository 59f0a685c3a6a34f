/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* chunk_index: the trailer of a closed chunk file and the index it points to. Threads: any. */
#ifndef CHUNK_INDEX_H
#define CHUNK_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk.h"
#include "chunk/row_codec.h"

struct chunk_index {
	uint64_t offset;	/* of the index block */
	uint64_t block_cnt;	/* as the trailer says */
	struct row_index *rows;	/* malloc'ed; one per block */
	size_t cnt;
};

/* -ENOENT: the file has no trailer; -EBADMSG: it has, and the index is none; -ENOMEM, or what read gives. */
int chunk_index_read(struct chunk_index *ret, int fd);
void chunk_index_done(struct chunk_index *x);

/* The file's header. -EBADMSG: it has none. */
int chunk_header_read(struct disk_file *ret, int fd);

#endif /* CHUNK_INDEX_H */
