/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_memory: what was allocated, freed and held, in an index: the parts INDEX_SUMS, INDEX_BASE and
 * INDEX_RATES of each group of sources.
 *
 * A holder is a thread, or a process where memory belongs to it as a whole (RSS, VM, what an exec or
 * exit takes of a heap). Sums are kept per holder. The highest level inside a cell is kept per holder,
 * and for the sets of holders that questions sum up: those of a process, of a name, of a cgroup (with
 * and without the recorder), of all. A set is known by a hash of the holders it has in the cell.
 * Threads: one.
 */
#ifndef INDEX_MEMORY_H
#define INDEX_MEMORY_H

#include "analyze/alloc_account.h"
#include "analyze/index.h"

enum { INDEX_SLOT_CNT = 2 };	/* sources of a group at most */

/* The source in a slot of a group; -1: there is none. */
int index_memory_source(enum index_group group, unsigned int slot);
/* alloc_account_open()'s mask for a group. */
uint32_t index_memory_mask(enum index_group group);

/* Holders as numbers: ident_thread() or, from thread_cnt on, ident_process(). */
uint32_t index_memory_holder_cnt(const struct analysis *a);
/* Who holds what a change is about. */
uint32_t index_memory_holder(const struct analysis *a, const struct alloc_change *c);
uint64_t index_memory_hash(const struct analysis *a, uint32_t holder);	/* of a set: their sum */

struct index_memory_row {
	uint32_t holder;
	uint8_t slot;
	uint64_t allocs, frees, lost_frees, alloc_bytes, free_bytes;
	int64_t delta;		/* of its level, over the cell */
	uint64_t rise;		/* highest level in the cell above that at its beginning; 0: never above */
	uint64_t rise_ns;	/* when it was first reached */
};

struct index_memory_set {
	uint64_t hash;
	uint64_t rise, rise_ns;
	uint8_t slot;
};

/* Rows: index_get_cnt() of them, then as many sets as it says next. */
int index_memory_next(const struct analysis *a, struct index_in *in, uint64_t cell_ns,
		      struct index_memory_row *ret);
int index_memory_next_set(struct index_in *in, uint64_t cell_ns, struct index_memory_set *ret);

/* Adds the levels at a cell's beginning to levels[slot * holder_cnt + holder]. */
int index_memory_levels(const struct index *x, const struct analysis *a, enum index_group group,
			size_t cell, int64_t *levels);

/* Bytes allocated by one process from one source in each granule of a cell that has any. */
struct index_rate {
	uint32_t process;	/* ident_process() */
	uint8_t slot;
	size_t cnt;		/* index_rate_next() as often */
	uint64_t granule;	/* the last one given */
};
int index_rate_begin(const struct analysis *a, struct index_in *in, struct index_rate *ret);
int index_rate_next(struct index_in *in, struct index_rate *r, uint64_t *ret_bytes);

#endif /* INDEX_MEMORY_H */
