/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tuple_dict: linear probing in a table that is at most half full, so that failed lookups are
 * short, too.
 */
#include <stdlib.h>

#include "format/tuple_dict.h"

void tuple_dict_done(struct tuple_dict *d)
{
	unsigned int width = d->width;

	free(d->slots);
	free(d->values);
	free(d->hits);
	memset(d, 0, sizeof(*d));
	d->width = width;
}

void tuple_dict_reset(struct tuple_dict *d)
{
	if (d->slots)
		memset(d->slots, 0, sizeof(*d->slots) << d->bits);
	d->cnt = 0;
	d->last = 0;
}

static void tuple_place(uint32_t *slots, unsigned int bits, uint64_t hash, uint32_t index)
{
	uint32_t mask = (1u << bits) - 1, slot = (uint32_t)(hash >> (64 - bits));

	while (slots[slot])
		slot = (slot + 1) & mask;
	slots[slot] = index + 1;
}

static int tuple_grow(struct tuple_dict *d)
{
	unsigned int bits = d->slots ? d->bits + 1 : 8;
	uint32_t cap = 1u << (bits - 1), i;
	uint32_t *slots, *hits;
	uint64_t *values;

	slots = calloc((size_t)1 << bits, sizeof(*slots));
	if (!slots)
		return -1;
	values = realloc(d->values, (size_t)cap * d->width * sizeof(*values));
	if (values)
		d->values = values;
	hits = realloc(d->hits, cap * sizeof(*hits));
	if (hits)
		d->hits = hits;
	if (!values || !hits) {
		free(slots);
		return -1;
	}
	for (i = 0; i < d->cnt; i++)
		tuple_place(slots, bits, tuple_hash(values + (size_t)i * d->width, d->width), i);
	free(d->slots);
	d->slots = slots;
	d->bits = bits;
	d->cap = cap;
	return 0;
}

uint32_t tuple_dict_add_slow(struct tuple_dict *d, const uint64_t *tuple, uint64_t hash)
{
	if (d->cnt == d->cap && tuple_grow(d) < 0)
		return TUPLE_NONE;
	tuple_place(d->slots, d->bits, hash, d->cnt);
	memcpy(d->values + (size_t)d->cnt * d->width, tuple, d->width * sizeof(*tuple));
	d->hits[d->cnt] = 1;
	return d->cnt++;
}
