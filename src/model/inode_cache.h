/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * inode_cache: what is known lately of the inodes that events name, with room for so many. When it
 * is full, those go that were not used for longest.
 *
 * All zeros but for the constants is an empty cache. Threads: a cache belongs to one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_map.h"

#define INODE_CACHE_MAX 65536

/* An entry begins with this; the rest is its user's, and zero in a new one. */
struct inode_entry {
	uint64_t ino;
	uint32_t dev;		/* its file system: major << 20 | minor */
	uint64_t used_ns;	/* the user says when it was used last */
};

struct inode_cache {
	size_t entry_bytes;
	uint64_t idle_ns;	/* a full cache first drops what was not used for so long */
	/* Gives back what an entry has, but not the entry. */
	void (*release)(void *entry);
	struct hash_map by_inode;
};

/* Drops every entry, and keeps the constants. */
void inode_cache_clear(struct inode_cache *c);
/* NULL: the inode is not in the cache. */
void *inode_cache_find(const struct inode_cache *c, uint64_t ino, uint32_t dev);
/*
 * The entry of an inode, a new one if there is none. 0, with NULL in *ret if another inode has the
 * same hash, which is then not followed; -ENOMEM.
 */
int inode_cache_get(struct inode_cache *c, uint64_t ino, uint32_t dev, uint64_t now_ns, void **ret);
