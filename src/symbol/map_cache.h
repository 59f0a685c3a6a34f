/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * map_cache: the code that a process had mapped, at any time of the recording.
 *
 *     mmap, exec, fork, exit (src/probe/exec_maps.c), /proc/PID/maps
 *         --> [map_cache] --> mapping at (pid, address, ts)
 *
 * map_cache_add() starts to follow a process; its children are followed from their fork on. Unless
 * a process has mapped an address itself since its fork, or called exec, it has the mapping of its
 * parent. Records may arrive out of order. Threads: one. Errors: -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/elf_symbols.h"

enum map_what {
	MAP_CODE = 1,		/* memory was mapped as executable, or became executable */
	MAP_EXEC = 2,		/* all earlier mappings ended */
	MAP_FORK = 3,
	MAP_EXIT = 4,
};

struct map_record {
	uint64_t ts_ns;
	enum map_what what;
	uint32_t pid;		/* FORK: the child's */
	uint32_t parent_pid;	/* FORK */
	/* CODE */
	uint64_t start, end;
	uint64_t offset;	/* offset of start in the file */
	uint32_t dev_major, dev_minor;	/* these and ino are 0: no file, or only a known build id */
	uint64_t ino;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_bytes;	/* 0: unknown */
	const char *path;	/* as the process sees it; "//anon" and "[vdso]" are not files */
	void *module;		/* the caller's; returned in struct map_hit */
};

struct map_hit {
	uint64_t start, end, offset;
	void *module;
	/* the mapping is known to exist in [from_ns, until_ns) */
	uint64_t from_ns, until_ns;
};

struct map_cache;

int map_cache_new(struct map_cache **ret);
void map_cache_free(struct map_cache *c);

/*
 * Follows a running process. Then the caller adds its present mappings as MAP_CODE with ts_ns =
 * now_ns.
 */
int map_cache_add(struct map_cache *c, uint32_t pid, uint64_t now_ns);
/* Replaces the mappings of a followed process after records may have been lost. */
int map_cache_renew(struct map_cache *c, uint32_t pid, uint64_t now_ns);
/* Adds a record. Ignores processes that are not followed. */
int map_cache_note(struct map_cache *c, const struct map_record *r);
bool map_cache_follows(const struct map_cache *c, uint32_t pid);

/* -ESRCH: the process is not followed; -ENOENT: no mapping there. */
int map_cache_find(const struct map_cache *c, uint32_t pid, uint64_t addr, uint64_t ts_ns,
		  struct map_hit *ret);

/* Drops data that only times before before_ns need. */
void map_cache_forget(struct map_cache *c, uint64_t before_ns);
/* Calls f for every followed process that has not exited. */
int map_cache_each(struct map_cache *c, int (*f)(void *ctx, uint32_t pid), void *ctx);
