/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * chunk_scan: walks the blocks of a chunk file, past damage.
 *
 *     chunk file --> [chunk_scan] --valid block fronts, damaged stretches--> src/trace
 *
 * The file may grow during the scan, which reads only its size at the start. Threads: any, one per
 * file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/block_meta.h"

struct chunk_sink {
	void *ctx;
	/* Receives a valid block at offset, and takes over meta. A result < 0 ends the scan. */
	int (*block)(void *ctx, uint64_t offset, struct block_meta *meta);
	/* [offset, offset + bytes) was skipped; reason is static. */
	int (*damage)(void *ctx, uint64_t offset, uint64_t bytes, const char *reason);
};

/* Result of a scan. */
struct chunk_scan_info {
	uint64_t bytes;		/* the file's size */
	/* end of the last complete block, where a later scan continues */
	uint64_t whole_bytes;
	uint64_t block_cnt;
};

/*
 * Scans from an offset that an earlier scan returned as whole_bytes; 0: from the start. verify:
 * also checks the event columns, as is needed if the writer may have crashed (FORMAT.md, "The
 * validity rule"). Errors: of reading, -ENOMEM, or the sink's; -EPROTONOSUPPORT: the file is
 * big-endian.
 */
int chunk_scan_from(int fd, uint64_t offset, bool verify, const struct chunk_sink *sink,
		    struct chunk_scan_info *ret);

/* Reads the header of a chunk file. 0; -EBADMSG: no valid header; or an error of reading. */
int chunk_header_read(struct disk_file *ret, int fd);

/* A block_io over a file, for the block at base. */
struct chunk_io {
	int fd;
	uint64_t base;
};
/* ctx is a struct chunk_io. -ENODATA: the file ends too early. */
int chunk_io_read(void *ctx, uint64_t offset, void *dst, size_t bytes);
