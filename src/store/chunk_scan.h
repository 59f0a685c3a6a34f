/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * chunk_scan: walks the blocks of a chunk file, past damage.
 *
 *     chunk file --> [chunk_scan] --valid block fronts, damaged stretches--> src/event
 *
 * A file with an intact trailer was closed properly: the column data of its blocks is not read.
 * Any other is still being written, or its writer died: every byte of it is verified. Works on
 * a file that grows meanwhile; sees it as it was at the start. Threads: any, one per file.
 */
#ifndef CHUNK_SCAN_H
#define CHUNK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/block_front.h"

struct chunk_sink {
	void *ctx;
	/* A valid block at offset; takes over front. A negative return ends the scan with it. */
	int (*block)(void *ctx, uint64_t offset, struct block_front *front);
	/* [offset, offset + bytes) was skipped; reason is static. */
	int (*damage)(void *ctx, uint64_t offset, uint64_t bytes, const char *reason);
};

/* Result of a scan. */
struct chunk_scan_info {
	bool closed;		/* the trailer is there */
	uint64_t bytes;		/* of the file */
	uint64_t whole_bytes;	/* up to the end of the last whole block: where a later scan goes on */
	uint64_t block_cnt;
};

/*
 * verify: also check column data of a closed file. Errors: what read gives, -ENOMEM, or the sink's;
 * -EPROTONOSUPPORT: the file is big-endian.
 */
int chunk_scan(int fd, bool verify, const struct chunk_sink *sink, struct chunk_scan_info *ret);

/* The same from an offset on that an earlier scan of the file gave as whole_bytes; 0: from the start. */
int chunk_scan_from(int fd, uint64_t offset, bool verify, const struct chunk_sink *sink,
		    struct chunk_scan_info *ret);

/* A block_io on a file: the block at base. */
struct chunk_io {
	int fd;
	uint64_t base;
};
/* ctx is a struct chunk_io. -ENODATA: the file ends before. */
int chunk_io_read(void *ctx, uint64_t offset, void *dst, size_t bytes);

#endif /* CHUNK_SCAN_H */
