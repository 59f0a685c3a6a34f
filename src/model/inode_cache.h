/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * inode_cache: recent facts about the inodes that events name, with room for a fixed number. A full
 * cache drops the entries that were not used for longest.
 *
 * An empty cache is all zeros except the constants. Threads: a cache belongs to one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_map.h"

#define INODE_CACHE_MAX 65536

/* Header of an entry; the rest belongs to the user, and is zero in a new entry. */
struct inode_entry {
	uint64_t ino;
	uint32_t dev;		/* its file system: major << 20 | minor */
	uint64_t used_ns;	/* time of last use, set by the user */
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
 * Returns the entry of an inode, or adds one. 0, with *ret NULL if another inode has the same hash:
 * the cache does not hold this inode; -ENOMEM.
 */
int inode_cache_get(struct inode_cache *c, uint64_t ino, uint32_t dev, uint64_t now_ns, void **ret);
