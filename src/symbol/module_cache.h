/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * module_cache: the mapped files, and the names of their code and variables.
 *
 *     mapping, and the process that has it
 *         --> [module_cache] --> symbol + offset, file, build id, or the reason for a missing name
 *
 * A file is identified by its build id or, without one, by device, inode and path. The cache opens
 * a file at its first mapping, so that the file may be deleted and the process may exit soon
 * afterwards. Symbols are read at the first lookup in the file. A file that was opened by its path
 * must match the mapping. Separate debug files are searched by build id and .gnu_debuglink, in the
 * process's file system and in the recorder's. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/elf_symbols.h"
#include "symbol/unwind_table.h"

/*
 * map_cache: the code mappings of processes at any time of the recording.
 *
 *     mmap, exec, fork, exit (src/probe/exec_maps.c), /proc/PID/maps
 *         --> [map_cache] --> mapping at (pid, address, ts)
 *
 * map_cache_add() starts to follow a process and its later children. A child has its parent's
 * mapping of an address until it maps that address itself, or calls exec. Records may arrive out of
 * order. Threads: one. Errors: -ENOMEM.
 */
enum map_what {
	MAP_CODE = 1,		/* memory was mapped executable, or became executable */
	MAP_EXEC = 2,		/* all earlier mappings ended */
	MAP_FORK = 3,
	MAP_EXIT = 4,
};

struct map_record {
	uint64_t ts_ns;
	enum map_what what;
	uint32_t pid;		/* FORK: the child */
	uint32_t parent_pid;	/* FORK */
	/* MAP_CODE: */
	uint64_t start, end;
	uint64_t offset;	/* offset of start in the file */
	/* these and ino are 0 for memory without a file, or if only the file's build id is known */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_bytes;	/* 0: unknown */
	const char *path;	/* as the process sees it; "//anon" and "[vdso]" are not files */
	void *module;		/* set by the caller; returned in struct map_hit */
};

struct map_hit {
	uint64_t start, end, offset;
	void *module;
	/* the mapping exists at least during [from_ns, until_ns) */
	uint64_t from_ns, until_ns;
};

struct map_cache;

int map_cache_new(struct map_cache **ret);
void map_cache_free(struct map_cache *c);

/*
 * Starts to follow a running process. The caller then adds its current mappings as MAP_CODE with
 * ts_ns = now_ns.
 */
int map_cache_add(struct map_cache *c, uint32_t pid, uint64_t now_ns);
/*
 * Clears the mappings of a followed process, because records may have been lost. The caller then
 * adds the current mappings, as after map_cache_add().
 */
int map_cache_renew(struct map_cache *c, uint32_t pid, uint64_t now_ns);
/* Adds a record. Ignores processes that are not followed. */
int map_cache_note(struct map_cache *c, const struct map_record *r);
bool map_cache_follows(const struct map_cache *c, uint32_t pid);

/* -ESRCH: the process is not followed; -ENOENT: no mapping at addr. */
int map_cache_find(const struct map_cache *c, uint32_t pid, uint64_t addr, uint64_t ts_ns,
		  struct map_hit *ret);

/* Drops data that is only needed for times before before_ns. */
void map_cache_forget(struct map_cache *c, uint64_t before_ns);
/* Calls f for every followed process that has not exited. */
int map_cache_each(struct map_cache *c, int (*f)(void *ctx, uint32_t pid), void *ctx);

/* Reason why a name is missing. */
enum module_why {
	MODULE_NAMED = 0,
	MODULE_STRIPPED = 1,	/* no .symtab, and no separate file with one */
	MODULE_NO_FUNCTION = 2,	/* the file has symbols, but no function at the address */
	MODULE_ANONYMOUS = 3,	/* no file: code generated at run time, or the kernel's own pages */
	/* the process had exited, and the path does not lead to the mapped file */
	MODULE_EXITED = 4,
	MODULE_DELETED = 5,	/* the file was deleted before it could be opened */
	MODULE_CHANGED = 6,	/* another file is at the path now */
	MODULE_UNREADABLE = 7,	/* the file cannot be opened, or is not a valid ELF file */
	MODULE_UNMAPPED = 8,	/* no known mapping at the address */
};

struct module;
struct module_cache;

/* Opens the file that pid has mapped at [start, end). Returns a descriptor, or < 0. */
typedef int (*module_open_mapped)(void *ctx, uint32_t pid, uint64_t start, uint64_t end);

int module_cache_new(struct module_cache **ret, module_open_mapped open_mapped, void *ctx);
void module_cache_free(struct module_cache *cache);

/* Returns the file of a MAP_CODE record; NULL: out of memory. Valid as long as the cache. */
struct module *module_cache_of(struct module_cache *cache, const struct map_record *r);
/* Closes files that were opened before the previous call and have not been used for a lookup. */
void module_cache_close_unused(struct module_cache *cache);

struct module_answer {
	enum module_why why;
	const char *symbol;		/* "": none */
	uint64_t symbol_offset;		/* offset of the byte from the symbol's start */
	uint64_t addr;	/* without symbol: address in the ELF file; 0: unknown */
	const char *path;		/* without " (deleted)" */
	const char *build_id;		/* hexadecimal digits; "" if unknown */
	uint64_t range_from, range_to; /* MODULE_STRIPPED: see elf_symbols_range(); 0, 0: unknown */
};

/*
 * Finds the function that contains the byte at file_offset of a file that pid has mapped at [start,
 * end). 0 or -ENOMEM; strings are valid as long as the cache.
 */
int module_cache_find(struct module_cache *cache, struct module *m, uint32_t pid, uint64_t start,
		     uint64_t end, uint64_t file_offset, struct module_answer *ret);

/*
 * Finds a variable. bytes: distance of a byte of the variable from the start of the mapping [start,
 * end); the byte may be past the mapping, in memory that the loader added. map_offset: offset of
 * the mapping's start in the file. Result: see module_cache_find().
 */
int module_cache_find_variable(struct module_cache *cache, struct module *m, uint32_t pid,
			       uint64_t start, uint64_t end, uint64_t map_offset, uint64_t bytes,
			       struct module_answer *ret);

/*
 * Returns the unwind table of a file that pid has mapped at [start, end); NULL: no table. Valid
 * until the next call.
 */
struct unwind_table *module_cache_unwind(struct module_cache *cache, struct module *m,
					 uint32_t pid, uint64_t start, uint64_t end);
