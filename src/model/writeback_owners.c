/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* writeback_owners: an entry for each inode that was dirtied recently. */
#include "model/writeback_owners.h"

#include <errno.h>
#include <stdlib.h>

#include "format/event.h"

/* inode_cache: a hash map whose key combines inode and file system. */

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

#define OWNER_SHARED_NS                                                                            \
	30000000000ull /* by default, the kernel writes dirty pages back after this time */
#define REQ_OP_MASK 0xffu
#define REQ_OP_WRITE 1u

struct owner_inode {
	struct inode_entry inode;	/* used_ns: its last known dirtying */
	void (*pin)(void *process, int by);
	void *process;			/* the last process to dirty the inode; pinned */
	uint64_t other_ns;		/* the last dirtying by another process; 0: none */
};

static void pin(const struct owner_inode *x, int by)
{
	if (x->process && x->pin)
		x->pin(x->process, by);
}

static void release(void *entry)
{
	pin(entry, -1);
}

void writeback_owners_init(struct writeback_owners *o, void (*pin_process)(void *process, int by))
{
	*o = (struct writeback_owners){
		/* pages that were dirtied more than idle_ns ago are on the disk by now */
		.inodes = { .entry_bytes = sizeof(struct owner_inode), .release = release,
			    .idle_ns = 4 * OWNER_SHARED_NS },
		.pin = pin_process,
	};
}

void writeback_owners_clear(struct writeback_owners *o)
{
	inode_cache_clear(&o->inodes);
}

int writeback_owners_dirty(struct writeback_owners *o, uint64_t ts_ns, uint64_t ino, uint32_t dev,
			   void *process)
{
	struct owner_inode *x;
	void *entry;
	int ret = inode_cache_get(&o->inodes, ino, dev, ts_ns, &entry);

	if (ret < 0 || !entry)
		return ret;
	x = entry;
	if (ts_ns < x->inode.used_ns)
		return 0;	/* this record is late; a newer one has been applied */
	if (x->process != process) {
		if (x->process)
			x->other_ns = x->inode.used_ns;
		pin(x, -1);
		x->process = process;
		x->pin = o->pin;
		pin(x, 1);
	}
	x->inode.used_ns = ts_ns;
	return 0;
}

unsigned int writeback_owners_of(const struct writeback_owners *o, const struct writeback *r,
				 void **ret_process)
{
	const struct owner_inode *x = inode_cache_find(&o->inodes, r->ino, r->ino_dev), *last = x;

	if (!x || (r->cmd_flags & REQ_OP_MASK) != REQ_OP_WRITE ||
	    (r->pages != EVENT_PAGES_FILE && r->pages != EVENT_PAGES_DISK))
		return EVENT_OWNER_NONE;
	*ret_process = x->process;
	if (r->last_ino != r->ino)
		last = inode_cache_find(&o->inodes, r->last_ino, r->ino_dev);
	if (!last || last->process != x->process)
		return EVENT_OWNER_MIXED;
	return x->other_ns && r->ts_ns - x->other_ns < OWNER_SHARED_NS ? EVENT_OWNER_SHARED :
									  EVENT_OWNER_DIRTIED;
}
