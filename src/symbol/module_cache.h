/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * module_cache: the files that memory was mapped from, and names of the code and variables in them.
 *
 *     mapping, and the process that has it
 *         --> [module_cache] --> symbol + offset, file, build id, or the reason for a missing name
 *
 * A build id identifies a file; without one its device, inode and path do. The cache opens a file
 * when it first sees a mapping of it, so that the file may be deleted and its process may exit soon
 * after. It reads the file when a name in it is first looked up. A file opened by its path is used
 * only if it proves to be the mapped one. Separate debug files are searched by build id and
 * .gnu_debuglink, in the process's file system and in the recorder's. Threads: one.
 */
#pragma once

#include "symbol/map_cache.h"
#include "symbol/unwind_table.h"

/* Why a name is missing. */
enum module_why {
	MODULE_NAMED = 0,
	MODULE_STRIPPED = 1,	/* no .symtab, and no separate file with one */
	MODULE_NO_FUNCTION = 2,	/* the file has symbols, but none at the address */
	MODULE_ANONYMOUS = 3,	/* no file: code made at run time, or the kernel's own pages */
	MODULE_EXITED = 4,	/* the process had exited, and the path does not lead to the file */
	MODULE_DELETED = 5,	/* the file was deleted before it could be opened */
	MODULE_CHANGED = 6,	/* the path leads to another file now */
	MODULE_UNREADABLE = 7,	/* the file cannot be opened, or is not a valid ELF file */
	MODULE_UNMAPPED = 8,	/* no known mapping at the address */
};

struct module;
struct module_cache;

/* Opens the file that pid has mapped at [start, end): a descriptor, or < 0. */
typedef int (*module_open_mapped)(void *ctx, uint32_t pid, uint64_t start, uint64_t end);

int module_cache_new(struct module_cache **ret, module_open_mapped open_mapped, void *ctx);
void module_cache_free(struct module_cache *cache);

/* Returns the file of a MAP_CODE record; NULL: out of memory. Valid as long as the cache. */
struct module *module_cache_of(struct module_cache *cache, const struct map_record *r);
/* Closes files that were opened before the previous call and not used for a lookup. */
void module_cache_close_unused(struct module_cache *cache);

struct module_answer {
	enum module_why why;
	const char *symbol;		/* "" if there is none */
	uint64_t symbol_offset;		/* offset of the byte from the symbol's start */
	uint64_t addr;	/* without a symbol: address of the byte as linked; 0: unknown */
	const char *path;		/* without " (deleted)" */
	const char *build_id;		/* hexadecimal digits; "" if unknown */
	uint64_t range_from, range_to;	/* MODULE_STRIPPED: elf_symbols_range(); 0, 0: unknown */
};

/*
 * Finds the function that holds the byte at file_offset. pid has the file mapped at [start, end). 0
 * or -ENOMEM; strings are valid as long as the cache.
 */
int module_cache_find(struct module_cache *cache, struct module *m, uint32_t pid, uint64_t start,
		     uint64_t end, uint64_t file_offset, struct module_answer *ret);

/*
 * Finds a variable. bytes: its distance from the start of the mapping [start, end), which shows the
 * file from map_offset on; the byte may be after the mapping, where the loader adds memory. Result
 * as above.
 */
int module_cache_find_variable(struct module_cache *cache, struct module *m, uint32_t pid,
			       uint64_t start, uint64_t end, uint64_t map_offset, uint64_t bytes,
			       struct module_answer *ret);

/*
 * Returns the unwind table of a file that pid has mapped at [start, end); NULL: there is none.
 * Valid until the next call.
 */
struct unwind_table *module_cache_unwind(struct module_cache *cache, struct module *m,
					 uint32_t pid, uint64_t start, uint64_t end);
