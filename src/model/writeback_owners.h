/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * writeback_owners: the process that dirtied the pages of a request.
 *
 *     dirtyings, issues --[the last process to dirty each inode]--> owner of each issue, and how
 *
 * The owner is the process that last dirtied the inode of the request's first page. The owner is
 * unknown if the inode was dirtied before the recording, or if dirtyings were lost since (the
 * caller clears the inodes after losses). Process pointers are opaque here. Calls come in order of
 * time. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_map.h"

/*
 * inode_cache: entries for recently used inodes, at most INODE_CACHE_MAX. A full cache drops the
 * least recently used entries.
 *
 * An empty cache is all zeros, except entry_bytes, idle_ns and release. Threads: one per cache.
 */
#define INODE_CACHE_MAX 65536

/* Header of an entry. The rest of the entry belongs to the user, and is initially zero. */
struct inode_entry {
	uint64_t ino;
	uint32_t dev;		/* file system: major << 20 | minor */
	uint64_t used_ns;	/* time of the last use, set by the user */
};

struct inode_cache {
	size_t entry_bytes;
	/* a full cache first drops entries that have not been used for this time */
	uint64_t idle_ns;
	/* Releases the contents of an entry, but not the entry. */
	void (*release)(void *entry);
	struct hash_map by_inode;
};

/* Drops every entry; keeps entry_bytes, idle_ns and release. */
void inode_cache_clear(struct inode_cache *c);
/* NULL: the inode is not in the cache. */
void *inode_cache_find(const struct inode_cache *c, uint64_t ino, uint32_t dev);
/*
 * Returns the entry of an inode, or adds one. 0 or -ENOMEM. *ret is NULL if another inode has the
 * same hash: this inode then gets no entry.
 */
int inode_cache_get(struct inode_cache *c, uint64_t ino, uint32_t dev, uint64_t now_ns, void **ret);

struct writeback_owners {
	struct inode_cache inodes;
	/* adds `by` (1 or -1) to the number of references to a process */
	void (*pin)(void *process, int by);
};

struct writeback {			/* the issue of a request */
	uint64_t ts_ns, ino, last_ino;	/* inodes of the first and of the last page */
	uint32_t ino_dev, cmd_flags;
	uint8_t pages;			/* EVENT_PAGES_* */
};

/* pin may be NULL. */
void writeback_owners_init(struct writeback_owners *o, void (*pin)(void *process, int by));
void writeback_owners_clear(struct writeback_owners *o);
/* Stores that a process dirtied pages of the inode. 0 or -ENOMEM. */
int writeback_owners_dirty(struct writeback_owners *o, uint64_t ts_ns, uint64_t ino, uint32_t dev,
			   void *process);
/* Returns EVENT_OWNER_*; sets *ret_process to the owner unless this is EVENT_OWNER_NONE. */
unsigned int writeback_owners_of(const struct writeback_owners *o, const struct writeback *r,
				 void **ret_process);
