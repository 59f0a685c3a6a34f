/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * idmap: a hash map from 64-bit ids to pointers; open addressing, one lookup is one or two
 * cache lines. All zeros is an empty map. A NULL value means absent. Threads: one.
 *
 * Ids may come from an untrusted file: each map hashes with a seed of its own, so that nobody
 * can prepare ids that all collide.
 */
#ifndef IDMAP_H
#define IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
	uint64_t key;
	void *value;
};

struct idmap {
	struct idmap_slot *slots;
	size_t cnt;
	uint64_t seed;
	unsigned int bits;	/* 1 << bits slots; valid when slots is not NULL */
};

void idmap_done(struct idmap *m);	/* frees the map, not the values */
int idmap_put(struct idmap *m, uint64_t key, void *value);	/* value != NULL; 0 or -ENOMEM */
void *idmap_remove(struct idmap *m, uint64_t key);	/* what was there, or NULL */

static inline size_t idmap_home(const struct idmap *m, uint64_t key)
{
	uint64_t h = (key ^ m->seed) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return (size_t)(h >> (64 - m->bits));
}

static inline void *idmap_get(const struct idmap *m, uint64_t key)
{
	size_t i, mask;

	if (!m->slots)
		return NULL;
	mask = ((size_t)1 << m->bits) - 1;
	for (i = idmap_home(m, key); m->slots[i].value; i = (i + 1) & mask)
		if (m->slots[i].key == key)
			return m->slots[i].value;
	return NULL;
}

#endif /* IDMAP_H */
