/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column_writer: holds the events of one block as arrays per kind and column, and converts them to
 * sections. Rows are ordered by CPU, ts_ns and arrival. Codecs: schema/FORMAT.md, "Columns".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/block_out.h"
#include "format/event.h"

/*
 * tuple_dict: assigns numbers to the combinations of values in the TUPLE columns (and flags) of a
 * kind in a block. Most kinds have few combinations: a call site determines cache and size of an
 * allocation. An empty dictionary is all zeros except width. Threads: one.
 */
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

struct kind_rows {
	uint32_t cnt, cap;
	uint64_t need;		/* rows needed recently: see need_note() */
	uint32_t *cpu_start;	/* first row of each CPU; cpu_cnt + 1 elements */
	uint64_t *ts_ns;
	uint32_t *utid;		/* slots: indices of the caller's list of utids */
	uint32_t *ref;		/* the same for the kind's UTID column, if any */
	uint32_t *tuple;	/* index in tuples */
	uint64_t *val[EVENT_VALUES]; /* columns with other codecs than UTID and TUPLE; else NULL */
	struct tuple_dict tuples;	/* flags, then the TUPLE columns in index order */
};

/* Before the first call, *k is all zeros. 0 or -ENOMEM. */
int kind_rows_init(struct kind_rows *k, unsigned int kind, unsigned int cpu_cnt);
void kind_rows_done(struct kind_rows *k);
/*
 * Assigns rows to each CPU, and makes room for all rows. counts[cpu * EVENT_KIND_CNT]: number of
 * rows of a CPU; replaced by the index of its first row. 0 or -ENOMEM.
 */
int kind_rows_place(struct kind_rows *k, unsigned int kind, uint32_t *counts, unsigned int cpu_cnt);

struct column_writer {
	uint8_t *main, *bits, *fresh, *fresh_bits;	/* scratch buffers for the four parts */
	/* capacity of the scratch buffers, in rows */
	uint32_t room;
	uint64_t need;
	uint32_t *rank;					/* scratch: by tuple: its rank */
	uint32_t rank_room;
	uint32_t *recent;	/* by hash of a value: a row + 1; collisions lose entries */
};

void column_writer_done(struct column_writer *c);

/*
 * Adds all sections of all kinds. rows: by kind; base_ns: the block's first_ns; slot_rank: by slot:
 * index in the block's UTIDS.
 */
int column_write_all(struct column_writer *c, struct block_out *o, struct kind_rows *rows,
		     unsigned int cpu_cnt, uint64_t base_ns, const uint32_t *slot_rank);

/*
 * Ranks the numbers with hits by falling hits, then by number: ret_rank[number] = rank,
 * ret_order[rank] = number (cnt elements). Returns the number of ranks, or -ENOMEM.
 */
int column_rank(const uint32_t *hits, uint32_t cnt, uint32_t *ret_rank, uint32_t *ret_order);

/*
 * Adds UTIDS: the utids of slots with hits, by rank. ret_rank and order: see column_rank(). 0 or
 * -ENOMEM.
 */
int column_add_utids(struct block_out *o, const uint32_t *utids, const uint32_t *hits, uint32_t cnt,
		     uint32_t *ret_rank, uint32_t *order);

/*
 * block_events: converts all events of a block into columns, for programs that write selected
 * events. Threads: one. Errors: -ENOMEM, -EINVAL, -E2BIG.
 */
/*
 * Adds UTIDS and the columns of events, which are in order of time, with CPUs below head->cpu_cnt.
 * Call this after adding the block's other small sections. Sets kind_cnt, first_ns and last_ns of
 * head.
 */
int block_events_add(struct block_out *o, const struct event *events, size_t cnt,
		     struct disk_block *head);
