/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tuple_dict: numbers the combinations of values in a kind's TUPLE columns (and flags) in one
 * block. Most kinds have few: an allocation's call site determines its cache and its size. All
 * zeros with width set is an empty dictionary. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TUPLE_WIDTH_MAX 10
#define TUPLE_NONE UINT32_MAX	/* out of memory */

struct tuple_dict {
	unsigned int width;	/* values in a tuple */
	uint32_t cnt;
	unsigned int bits;	/* 1 << bits slots */
	uint32_t *slots;	/* index + 1; 0: empty */
	uint64_t *values;	/* cnt * width */
	uint32_t *hits;		/* number of uses of each */
	uint32_t cap;
	uint32_t last;		/* last result of tuple_dict_add_again() */
};

void tuple_dict_done(struct tuple_dict *d);
void tuple_dict_reset(struct tuple_dict *d);	/* empty, keeps the memory */

uint32_t tuple_dict_add_slow(struct tuple_dict *d, const uint64_t *tuple, uint64_t hash);

/*
 * Rotates each value by another number of bits, so that equal values in other places differ. The
 * product then moves all bits to the top, where the hash is taken.
 */
static inline uint64_t tuple_hash(const uint64_t *tuple, unsigned int width)
{
	uint64_t hash = 0;

#pragma GCC unroll 10
	for (unsigned int k = 0; k < width; k++)
		hash += tuple[k] << (k * 13 & 63) | tuple[k] >> (-k * 13 & 63);
	return hash * 0x9e3779b97f4a7c15ull;
}

/* Returns whether the i-th tuple equals this one, and counts the use. */
static inline bool tuple_dict_hit(const struct tuple_dict *d, uint32_t i, const uint64_t *tuple,
				  unsigned int width)
{
	const uint64_t *v = d->values + (size_t)i * width;
	uint64_t diff = 0;

#pragma GCC unroll 10
	for (unsigned int k = 0; k < width; k++)
		diff |= v[k] ^ tuple[k];
	if (!diff)
		d->hits[i]++;
	return !diff;
}

/*
 * Returns the number of tuple (width values; pass a constant equal to d->width); TUPLE_NONE: no
 * memory.
 */
static inline uint32_t tuple_dict_add(struct tuple_dict *d, const uint64_t *tuple,
				      unsigned int width)
{
	uint64_t hash = tuple_hash(tuple, width);

	if (d->slots) {
		const uint32_t *slots = d->slots;
		uint32_t mask = (1u << d->bits) - 1;

		for (uint32_t slot = (uint32_t)(hash >> (64 - d->bits)); slots[slot];
		     slot = (slot + 1) & mask)
			if (tuple_dict_hit(d, slots[slot] - 1, tuple, width))
				return slots[slot] - 1;
	}
	return tuple_dict_add_slow(d, tuple, hash);
}

/* As tuple_dict_add(), for tuples that mostly equal that of the row before. */
static inline uint32_t tuple_dict_add_again(struct tuple_dict *d, const uint64_t *tuple,
					    unsigned int width)
{
	uint32_t i;

	if (d->cnt && tuple_dict_hit(d, d->last, tuple, width))
		return d->last;
	i = tuple_dict_add(d, tuple, width);
	if (i != TUPLE_NONE)
		d->last = i;
	return i;
}
