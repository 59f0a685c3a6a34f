/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tuple_dict: assigns numbers to the combinations of values in the TUPLE columns (and flags) of a
 * kind in a block. Most kinds have few combinations: a call site determines cache and size of an
 * allocation. An empty dictionary is all zeros except width. Threads: one.
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
	uint32_t *slots;	/* by hash: index + 1; 0: empty */
	uint64_t *values;	/* cnt * width */
	uint32_t *hits;		/* by tuple: number of uses */
	uint32_t cap;
	uint32_t last;		/* the last result of tuple_dict_add_again() */
};

void tuple_dict_done(struct tuple_dict *d);
void tuple_dict_reset(struct tuple_dict *d);	/* removes all tuples; keeps the memory */

uint32_t tuple_dict_add_slow(struct tuple_dict *d, const uint64_t *tuple, uint64_t hash);

/*
 * Rotates each value by a different number of bits, so that the order of values matters. The
 * multiplication moves all bits to the top, from which the hash is taken.
 */
static inline uint64_t tuple_hash(const uint64_t *tuple, unsigned int width)
{
	uint64_t hash = 0;

#pragma GCC unroll 10
	for (unsigned int k = 0; k < width; k++)
		hash += tuple[k] << (k * 13 & 63) | tuple[k] >> (-k * 13 & 63);
	return hash * 0x9e3779b97f4a7c15ull;
}

/* Returns whether the i-th tuple equals this one; if so, counts the use. */
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
 * Returns the number of a tuple; adds it if it is new. width: a constant equal to d->width.
 * TUPLE_NONE: out of memory.
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

/* The same as tuple_dict_add(), for tuples that mostly equal the previous one. */
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
