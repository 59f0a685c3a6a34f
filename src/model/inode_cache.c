/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* inode_cache: a hash map whose key combines inode and file system. */
#include "model/inode_cache.h"

#include <errno.h>
#include <stdlib.h>

struct limit {
	const struct inode_cache *cache;
	uint64_t until_ns;
};

static uint64_t inode_key(uint64_t ino, uint32_t dev)
{
	return ino ^ (dev + 1ull) * 0x9e3779b97f4a7c15ull;
}

static bool drop(void *ctx, void **value)
{
	const struct limit *l = ctx;
	struct inode_entry *x = *value;

	if (x->used_ns >= l->until_ns && l->until_ns != UINT64_MAX)
		return false;
	l->cache->release(x);
	free(x);
	return true;
}

/* Drops the entries last used before until_ns; UINT64_MAX: all. */
static void forget(struct inode_cache *c, uint64_t until_ns)
{
	struct limit l = { c, until_ns };

	hash_map_drop_if(&c->by_inode, drop, &l);
}

void inode_cache_clear(struct inode_cache *c)
{
	forget(c, UINT64_MAX);
	hash_map_done(&c->by_inode);
}

void *inode_cache_find(const struct inode_cache *c, uint64_t ino, uint32_t dev)
{
	struct inode_entry *x = hash_map_get(&c->by_inode, inode_key(ino, dev));

	return x && x->ino == ino && x->dev == dev ? x : NULL;
}

int inode_cache_get(struct inode_cache *c, uint64_t ino, uint32_t dev, uint64_t now_ns, void **ret)
{
	uint64_t idle = c->idle_ns;
	struct inode_entry *x = inode_cache_find(c, ino, dev);

	*ret = x;
	if (x || hash_map_get(&c->by_inode, inode_key(ino, dev)))
		return 0;
	for (; c->by_inode.cnt >= INODE_CACHE_MAX; idle /= 2)
		forget(c, !idle ? UINT64_MAX : now_ns > idle ? now_ns - idle : 0);
	x = hash_map_make(&c->by_inode, inode_key(ino, dev), c->entry_bytes);
	if (!x)
		return -ENOMEM;
	x->ino = ino;
	x->dev = dev;
	x->used_ns = now_ns;
	*ret = x;
	return 0;
}
