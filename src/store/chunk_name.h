/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* chunk_name: names of chunk files, and the list of a directory's chunk files. Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
