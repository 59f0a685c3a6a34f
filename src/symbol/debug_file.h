/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * debug_file: opens the files that code came from, and the separate files with their symbols and
 * debugging information.
 *
 * A separate file is searched by build id and by .gnu_debuglink. It is used only if its build id is
 * that of the main file or, if the main file has no build id, if its CRC is the one in
 * .gnu_debuglink. Threads: any.
 */
#pragma once

#include <stdbool.h>

#include "symbol/elf_symbols.h"

#define DEBUG_FILE_HEX_MAX (2 * ELF_BUILD_ID_MAX + 1)

/* Opens a regular file: a descriptor to read, or -errno. -EINVAL: another kind of file. */
int debug_file_open(const char *path);
/* True if the ELF file at fd has this build id. */
bool debug_file_has_id(int fd, const uint8_t *id, size_t bytes);
/* Writes a build id as hexadecimal digits, with a NUL. */
void debug_file_put_hex(char to[DEBUG_FILE_HEX_MAX], const uint8_t *id, size_t bytes);

/*
 * Searches separate files for the file that s was read from, whose path is path in the file system
 * at root ("": this one), and calls use() with each until use() returns true. Returns the last
 * result of use(). The descriptor is closed afterwards.
 */
bool debug_file_search(const struct elf_symbols *s, const char *root, const char *path,
		       bool (*use)(void *ctx, int fd), void *ctx);

/* Computes the CRC of the whole file at fd, as .gnu_debuglink defines it; false: reading failed. */
bool debug_file_crc(int fd, uint32_t *ret_crc);
