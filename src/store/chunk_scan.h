/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * chunk_scan: finds the valid blocks of a chunk file, and skips damage.
 *
 *     chunk file --> [chunk_scan] --valid blocks, damaged stretches--> src/trace
 *
 * The file may grow during the scan, which ends at the file's initial size. Threads: any, one per
 * file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/block.h"

struct chunk_sink {
	void *ctx;
	/* Called for a valid block at offset; has to free meta. A result < 0 ends the scan. */
	int (*block)(void *ctx, uint64_t offset, struct block_meta *meta);
	/* Called for bytes at offset that were skipped; reason is a static string. */
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
 * also checks the event columns, which is necessary if the writer may have crashed (FORMAT.md, "The
 * validity rule"). Errors: of reading, -ENOMEM, or the sink's; -EPROTONOSUPPORT: the file is
 * big-endian.
 */
int chunk_scan_from(int fd, uint64_t offset, bool verify, const struct chunk_sink *sink,
		    struct chunk_scan_info *ret);

/* Reads the header of a chunk file. -EBADMSG: no valid header; or an error of reading. */
int chunk_header_read(struct disk_file *ret, int fd);

/* ctx of a block_io for the block at offset base of a file. */
struct chunk_io {
	int fd;
	uint64_t base;
};
/* ctx is a struct chunk_io. -ENODATA: the file ends too early. */
int chunk_io_read(void *ctx, uint64_t offset, void *dst, size_t bytes);

/* chunk_name: names of chunk files, and the list of a directory's chunk files. Threads: any. */
#define CHUNK_NAME_BYTES 32
#define CHUNK_FILES_MAX 1000000

/* Data derived from a trace, in its directory: schema/FORMAT.md, section 8. */
#define DERIVED_FILE_NAME "derived.idx"	/* trace/derived_file.h */

/* Formats a name: "chunk-000000.ebr". */
void chunk_name_format(char name[CHUNK_NAME_BYTES], uint64_t number);
/* Parses a name. 0; -EINVAL: the name differs from what chunk_name_format() makes. */
int chunk_name_parse(const char *name, uint64_t *ret_number);
/* Returns the numbers of the chunk files in dir_fd, ascending, malloc'ed. */
int chunk_name_list(int dir_fd, uint64_t **ret, size_t *ret_cnt);
