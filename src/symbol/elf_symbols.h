/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * elf_symbols: finds the functions and variables of an ELF file by offset in the file; finds
 * separate debug files; reads Go's table of functions; demangles names.
 *
 *     file (and a separate file with its symbols) --> [elf_symbols] --> name, offset
 *
 * The file is untrusted: sizes are checked against the file and against limits before memory is
 * allocated. The file is read, never mapped, because its owner may truncate it at any time. Names
 * are as in the symbol table; demangle() converts them. Debugging information is not read:
 * source_lines.h reads it.
 *
 * Threads: one at a time per object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 20	/* a longer id is truncated, as by the kernel */
#define ELF_LINK_MAX 256

struct Elf;	/* libelf.h */
struct elf_symbols;

/*
 * Reads the headers and symbol tables (.symtab and .dynsym) of the file open at fd, which the
 * caller keeps. -ENOEXEC: not an ELF file, damaged, or of another byte order; -E2BIG: more than 8
 * Mi symbols or 512 MiB of names; -ENOMEM. A file without symbols is not an error.
 */
int elf_symbols_read(struct elf_symbols **ret, int fd);
/*
 * Adds the symbols of a separate debug file, which has the same addresses. Errors: see
 * elf_symbols_read().
 */
int elf_symbols_add(struct elf_symbols *s, int fd);
void elf_symbols_free(struct elf_symbols *s);

/* Copies the build id to ret and returns its length; 0: no build id. */
size_t elf_symbols_build_id(const struct elf_symbols *s, uint8_t ret[ELF_BUILD_ID_MAX]);
/*
 * Like elf_symbols_build_id(), for the file at fd, without reading its symbols; 0: no build id, or
 * not an ELF file.
 */
size_t elf_symbols_id_of(int fd, uint8_t ret[ELF_BUILD_ID_MAX]);
/* Returns the name in .gnu_debuglink, and its CRC-32; NULL: no such section. */
const char *elf_symbols_link(const struct elf_symbols *s, uint32_t *ret_crc);
/*
 * Returns whether the file has a .symtab, which also contains functions that other files cannot
 * call.
 */
int elf_symbols_is_full(const struct elf_symbols *s);
size_t elf_symbols_bytes(const struct elf_symbols *s);	/* bytes of memory in use */
/* Returns whether the file exports a function of this name. */
bool elf_symbols_defines(const struct elf_symbols *s, const char *name);
/* Returns the file offset of an exported function; false: no such function. */
bool elf_symbols_function(const struct elf_symbols *s, const char *name, uint64_t *ret_offset);
/*
 * Calls each() for every name of a function, with file offset and length (0: unknown), until each()
 * returns non-zero; returns this value.
 */
int elf_symbols_each(const struct elf_symbols *s,
		     int (*each)(void *ctx, const char *name, uint64_t file_offset, uint64_t bytes),
		     void *ctx);
/*
 * Returns the address in the ELF file of the byte at file_offset; false: the byte is in no segment.
 */
bool elf_symbols_addr(const struct elf_symbols *s, uint64_t file_offset, uint64_t *ret);

/*
 * Returns the function that contains the byte at file_offset, and the byte's offset in it; NULL:
 * unknown. A function without a size extends to the next function.
 */
const char *elf_symbols_find(struct elf_symbols *s, uint64_t file_offset, uint64_t *ret_offset);

/* Like elf_symbols_find(), for an address in the ELF file. */
const char *elf_symbols_find_addr(struct elf_symbols *s, uint64_t addr, uint64_t *ret_offset);

/*
 * Finds bounds of the code around the byte at file_offset, for code without a symbol: [*ret_from,
 * *ret_to) in the file, between the nearest starts and ends of known functions, including starts in
 * the unwind table (.eh_frame_hdr). False: the byte is in no segment.
 */
bool elf_symbols_range(struct elf_symbols *s, uint64_t file_offset, uint64_t *ret_from,
		       uint64_t *ret_to);

/*
 * Returns the variable that contains a byte of memory. bytes: distance of the byte from the start
 * of the mapping; map_offset: offset of the mapping's start in the file. The byte may be in the
 * zeroed memory after the file's bytes.
 */
const char *elf_symbols_find_variable(struct elf_symbols *s, uint64_t map_offset, uint64_t bytes,
				      uint64_t *ret_offset);

/*
 * Returns the version of libelf with which this program was built: 188 for 0.188. libelf does not
 * report its version at run time.
 */
unsigned int elf_symbols_library(void);

/*
 * debug_file: opens files with code, and the separate files with their symbols and debugging
 * information.
 *
 * A separate file is searched by build id and by .gnu_debuglink. It is used only if it has the
 * build id of the main file or, if the main file has none, the CRC in .gnu_debuglink. Threads: any.
 */
#define DEBUG_FILE_HEX_MAX (2 * ELF_BUILD_ID_MAX + 1)

/*
 * Opens a regular file for reading. Returns a descriptor, or -errno. -EINVAL: not a regular file.
 */
int debug_file_open(const char *path);
/* Returns whether the ELF file at fd has this build id. */
bool debug_file_has_id(int fd, const uint8_t *id, size_t bytes);
/* Formats a build id as hexadecimal digits, with a NUL. */
void debug_file_put_hex(char to[DEBUG_FILE_HEX_MAX], const uint8_t *id, size_t bytes);

/*
 * Searches for separate files of the file that s was read from. root: directory with the file
 * system, "" for this machine's; path: path of the file below root. Calls use() for each separate
 * file until use() returns true; returns the last result of use(). Closes the descriptor after
 * use().
 */
bool debug_file_search(const struct elf_symbols *s, const char *root, const char *path,
		       bool (*use)(void *ctx, int fd), void *ctx);

/* Computes the CRC of .gnu_debuglink for the whole file at fd; false: a read failed. */
bool debug_file_crc(int fd, uint32_t *ret_crc);

/*
 * go_table: reads names and frame sizes of a Go program's functions from the table for Go's own
 * tracebacks (pclntab), which strip does not remove.
 *
 *     ELF file --> [go_table] --> functions, by number or address
 *
 * Go 1.18 and later, 64-bit little-endian files. The file is untrusted: every position is checked
 * before use. Threads: one at a time per ELF object.
 */

struct go_table {
	const uint8_t *data;	/* the table; owned by the ELF object */
	size_t bytes;
	uint64_t text;		/* address of the first function in the ELF file */
	uint32_t cnt;		/* number of functions */
	/* offsets in the table; the names are in [names, names_end) */
	size_t names, names_end, functions, frames;
	unsigned int flags_at;	/* offset of the flags in a function's description */
	uint8_t pc_step;
};

struct go_function {
	uint64_t addr, end;	/* addresses in the ELF file */
	uint32_t name;		/* offset from go_table.names; NUL-terminated */
	bool is_outermost;	/* has no caller: runtime.goexit */
	bool moves_stack;	/* changes the stack pointer in ways that the table lacks */
	uint32_t frames;	/* offset from go_table.frames */
};

/* Finds the table of a file. False: no table, or an invalid one. */
bool go_table_read(struct go_table *ret, struct Elf *elf);
/* Returns a function by its number, in order of addresses; false: the entry is invalid. */
bool go_table_function(const struct go_table *g, uint32_t nr, struct go_function *ret);
/* Finds the function that contains the code at addr in the ELF file. */
bool go_table_find(const struct go_table *g, uint64_t addr, struct go_function *ret);
/*
 * Computes the distance, at addr in function f, from the stack pointer to the return address.
 * False: unknown.
 */
bool go_table_frame_bytes(const struct go_table *g, const struct go_function *f, uint64_t addr,
			  uint64_t *ret);

/*
 * demangle: converts names of C++ and Rust functions to their form in source code.
 *
 *     _ZN4tree5Maker4makeEi --> tree::Maker::make        _RNvC4tree4make --> tree::make
 *
 * Names are untrusted, and a mangled name of a few hundred bytes can expand to gigabytes:
 * demangling ends when the buffer for the result is full. Threads: any.
 */

/* Returns whether this program was built with libiberty. False: names are not demangled. */
bool demangle_is_offered(void);

/*
 * Writes the name without parameters to `to`, truncated to size bytes. Returns `to`, or symbol if
 * it is not a mangled name.
 */
const char *demangle(char *to, size_t size, const char *symbol);

#define FUNCTION_SHOWN 300	/* most bytes of a function's name in reports */

/*
 * Writes the name of a function to `to` as reports show it: demangled and truncated. Returns `to`.
 */
const char *function_shown(char to[FUNCTION_SHOWN + 1], const char *symbol);
