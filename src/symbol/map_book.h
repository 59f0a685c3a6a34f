/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * map_book: what a process had mapped as code, at any instant of the recording.
 *
 *     mmap, exec, fork, exit (src/probe/exec_maps.c) and /proc/PID/maps --> [map_book] --> mapping at (pid, address, ts)
 *
 * A process is followed from map_book_add() on, or from its fork by one that is. What it did not map itself since its
 * fork and its last exec it has from its parent. Records may come out of order. Threads: one. Errors: -ENOMEM.
 */
#ifndef MAP_BOOK_H
#define MAP_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_symbols.h"

enum map_what {
	MAP_CODE = 1,		/* memory was mapped, or made, executable */
	MAP_EXEC = 2,		/* what was mapped before is gone */
	MAP_FORK = 3,
	MAP_EXIT = 4,
};

struct map_record {
	uint64_t ts_ns;
	enum map_what what;
	uint32_t pid;		/* FORK: of the child */
	uint32_t parent_pid;	/* FORK */
	/* CODE */
	uint64_t start, end;
	uint64_t offset;	/* of start in the file */
	uint32_t dev_major, dev_minor;	/* 0, with ino: not told (a build id is), or no file */
	uint64_t ino;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_bytes;	/* 0: not told */
	const char *path;	/* as the process sees it; "//anon", "[vdso]": no file */
	void *module;		/* the caller's; comes back in struct map_hit */
};

struct map_hit {
	uint64_t start, end, offset;
	void *module;
	uint64_t from_ns, until_ns;	/* this is at that address in [from, until), as far as is known */
};

struct map_book;

int map_book_new(struct map_book **ret);
void map_book_free(struct map_book *b);

/* Follows pid, which has lived for some time. Its mappings of that instant come next, as MAP_CODE with ts_ns = now_ns. */
int map_book_add(struct map_book *b, uint32_t pid, uint64_t now_ns);
/* One that is followed: its mappings come anew, since records of it may have been lost. */
int map_book_renew(struct map_book *b, uint32_t pid, uint64_t now_ns);
/* Records of processes that are not followed are passed over. */
int map_book_note(struct map_book *b, const struct map_record *r);
bool map_book_follows(const struct map_book *b, uint32_t pid);

/* -ESRCH: no such process is followed; -ENOENT: nothing is mapped there. */
int map_book_find(const struct map_book *b, uint32_t pid, uint64_t addr, uint64_t ts_ns,
		  struct map_hit *ret);

/* Nobody will ask for an instant before before_ns any more. */
int map_book_forget(struct map_book *b, uint64_t before_ns);
/* Calls f for every process that is followed and has not exited. */
int map_book_each(struct map_book *b, int (*f)(void *ctx, uint32_t pid), void *ctx);
size_t map_book_cnt(const struct map_book *b);	/* processes, exited ones too; for tests */

#endif /* MAP_BOOK_H */
