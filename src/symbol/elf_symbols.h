/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * elf_symbols: the functions and variables of one ELF file, by their offset in the file.
 *
 *     file (and a separate file with its symbols) --> [elf_symbols] --> name, offset
 *
 * The file is untrusted: every size in it is checked against the file and against limits before
 * memory is allocated, and the file is read, never mapped, since its owner may truncate it at any
 * time. Names are the linker's (demangle.h). Debugging information is not read (source_lines.h).
 *
 * Threads: one at a time per object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 20	/* bytes; a longer id is cut, as the kernel does */
#define ELF_LINK_MAX 256

struct elf_symbols;

/*
 * Reads the headers and symbol tables (.symtab and .dynsym) of the file open at fd, which the
 * caller keeps. -ENOEXEC: not an ELF file of this machine's byte order, or damaged; -E2BIG: more
 * than 8 Mi symbols or 512 MiB of names; -ENOMEM. A file without symbols is valid.
 */
int elf_symbols_read(struct elf_symbols **ret, int fd);
/* Adds the symbols of a separate debug file, which has the same addresses. Errors as above. */
int elf_symbols_add(struct elf_symbols *s, int fd);
void elf_symbols_free(struct elf_symbols *s);

/* Copies the build id to ret and returns its length; 0: the file has none. */
size_t elf_symbols_build_id(const struct elf_symbols *s, uint8_t ret[ELF_BUILD_ID_MAX]);
/* The same for the file at fd, whose symbols are not read; 0: it has none, or is no ELF file. */
size_t elf_symbols_id_of(int fd, uint8_t ret[ELF_BUILD_ID_MAX]);
/* Returns the name and CRC-32 in .gnu_debuglink; NULL: the file has no such section. */
const char *elf_symbols_link(const struct elf_symbols *s, uint32_t *ret_crc);
/* True if the file has a .symtab, which also names functions that other files cannot call. */
int elf_symbols_is_full(const struct elf_symbols *s);
size_t elf_symbols_bytes(const struct elf_symbols *s);	/* bytes of memory in use */
/* Returns whether the file has a function of this name that other files may call. */
bool elf_symbols_defines(const struct elf_symbols *s, const char *name);
/* Returns the file offset of a function that other files may call; false: the file has none. */
bool elf_symbols_function(const struct elf_symbols *s, const char *name, uint64_t *ret_offset);
/*
 * Calls each() for every name of a function, with the offset in the file and the length (0:
 * unknown), until it returns another value than 0, which is the result.
 */
int elf_symbols_each(const struct elf_symbols *s,
		     int (*each)(void *ctx, const char *name, uint64_t file_offset, uint64_t bytes),
		     void *ctx);
/* Returns the address of the byte at file_offset, as linked; false: it is in no segment. */
bool elf_symbols_addr(const struct elf_symbols *s, uint64_t file_offset, uint64_t *ret);

/*
 * Finds the function that holds the byte at file_offset, and the byte's offset in it; NULL:
 * unknown. A function without a size extends to the next one.
 */
const char *elf_symbols_find(struct elf_symbols *s, uint64_t file_offset, uint64_t *ret_offset);

/* The same for an address as linked. */
const char *elf_symbols_find_addr(struct elf_symbols *s, uint64_t addr, uint64_t *ret_offset);

/*
 * Finds the code around the byte at file_offset, if no symbol is known for it: [*ret_from, *ret_to)
 * in the file, between the nearest known starts and ends of functions, including those of the
 * unwind table (.eh_frame_hdr). False: the byte is in no segment.
 */
bool elf_symbols_range(struct elf_symbols *s, uint64_t file_offset, uint64_t *ret_from,
		       uint64_t *ret_to);

/*
 * Finds the variable that holds a byte of memory. bytes: its distance from the start of a mapping
 * that shows the file from map_offset on. Zeros after the file's own bytes count.
 */
const char *elf_symbols_find_variable(struct elf_symbols *s, uint64_t map_offset, uint64_t bytes,
				      uint64_t *ret_offset);

/*
 * Returns the libelf version this program was built with: 188 for 0.188. libelf cannot report its
 * version at run time.
 */
unsigned int elf_symbols_library(void);

/*
 * debug_file: opens the files that code came from, and the separate files with their symbols and
 * debugging information.
 *
 * A separate file is searched by build id and by .gnu_debuglink. It is used only if its build id is
 * that of the main file or, if the main file has no build id, if its CRC is the one in
 * .gnu_debuglink. Threads: any.
 */
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
