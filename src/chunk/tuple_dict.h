/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tuple_dict: numbers the combinations of values that a kind's TUPLE columns (and flags) take
 * in one block. Most kinds have few: an allocation's call site says its cache and its size.
 * All zeros with width set is an empty one. Threads: one.
 */
#ifndef TUPLE_DICT_H
#define TUPLE_DICT_H

#include <stdint.h>
#include <string.h>

#define TUPLE_WIDTH_MAX 10
#define TUPLE_NONE UINT32_MAX	/* out of memory */

struct tuple_dict {
	unsigned int width;	/* values in a tuple */
	uint32_t cnt;
	unsigned int bits;	/* 1 << bits slots */
	uint32_t *slots;	/* index + 1; 0: free */
	uint64_t *values;	/* cnt * width */
	uint32_t *hits;		/* how often each was asked for */
	uint32_t cap;
};

void tuple_dict_done(struct tuple_dict *d);
void tuple_dict_reset(struct tuple_dict *d);	/* empty, keeps the memory */

uint32_t tuple_dict_add_slow(struct tuple_dict *d, const uint64_t *tuple, uint64_t hash);

static const uint64_t tuple_odd[TUPLE_WIDTH_MAX] = {
	0x9e3779b97f4a7c15ull, 0xbf58476d1ce4e5b9ull, 0x94d049bb133111ebull, 0xd6e8feb86659fd93ull,
	0xa0761d6478bd642full, 0xe7037ed1a0b428dbull, 0x8ebc6af09c88c6e3ull, 0x589965cc75374cc3ull,
	0x1d8e4e27c47d124full, 0xeb44accab455d165ull,
};

/* Products that do not wait for each other, then one step that brings the high bits down. */
static inline uint64_t tuple_hash(const uint64_t *tuple, unsigned int width)
{
	uint64_t hash = 0;
	unsigned int k;

#pragma GCC unroll 10
	for (k = 0; k < width; k++)
		hash += tuple[k] * tuple_odd[k];
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* The number of tuple (width values; pass a constant equal to d->width); TUPLE_NONE: no memory. */
static inline uint32_t tuple_dict_add(struct tuple_dict *d, const uint64_t *tuple,
				      unsigned int width)
{
	uint64_t hash = tuple_hash(tuple, width);
	uint32_t slot, i;
	unsigned int k;

	if (d->slots) {
		uint32_t mask = (1u << d->bits) - 1;

		for (slot = (uint32_t)hash & mask; d->slots[slot]; slot = (slot + 1) & mask) {
			const uint64_t *v;
			uint64_t diff = 0;

			i = d->slots[slot] - 1;
			v = d->values + (size_t)i * width;
#pragma GCC unroll 10
			for (k = 0; k < width; k++)
				diff |= v[k] ^ tuple[k];
			if (!diff) {
				d->hits[i]++;
				return i;
			}
		}
	}
	return tuple_dict_add_slow(d, tuple, hash);
}

#endif /* TUPLE_DICT_H */
