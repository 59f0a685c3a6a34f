/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_memory: what was allocated, freed and held, in an index: the parts INDEX_SUMS, INDEX_BASE
 * and INDEX_RATES of each group of sources.
 *
 * An owner is a thread, or a process where memory belongs to it as a whole (RSS, VM, what an exec
 * or exit takes of a heap). Sums are kept per owner. The highest level inside an interval is kept
 * per owner, and for the sets of owners that questions sum up: those of a process, of a name, of
 * a cgroup (with and without the recorder), of all. A set is known by a hash of the owners it has
 * in the interval. Threads: one.
 */
#ifndef INDEX_MEMORY_H
#define INDEX_MEMORY_H

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/index.h"

enum { INDEX_SLOT_CNT = 2 };	/* sources of a group at most */

/* The source in a slot of a group; -1: there is none. */
int index_memory_source(enum index_group group, unsigned int slot);
/* Owners as numbers: dense_thread() or, from thread_cnt on, dense_process(). */
uint32_t index_memory_owner_cnt(const struct analysis *a);
/* Who holds what a change is about. */
uint32_t index_memory_owner(const struct analysis *a, const struct alloc_change *c);
uint64_t index_memory_hash(const struct analysis *a, uint32_t owner);	/* of a set: their sum */

struct index_memory_row {
	uint32_t owner;
	uint8_t slot;
	uint64_t allocs, frees, lost_frees, alloc_bytes, free_bytes;
	int64_t delta;		/* of its level, over the interval */
	/* highest level in the interval above that at its beginning; 0: never above */
	uint64_t growth;
	uint64_t growth_ns;	/* when it was first reached */
};

struct index_memory_set {
	uint64_t hash;
	uint64_t growth, growth_ns;
	uint8_t slot;
};

/* Rows: packed_get_cnt() of them, then as many sets as it says next. */
int index_memory_next(const struct analysis *a, struct packed_in *in, uint64_t interval_ns,
		      struct index_memory_row *ret);
int index_memory_next_set(struct packed_in *in, uint64_t interval_ns, struct index_memory_set *ret);

/* Adds the levels at an interval's beginning to levels[slot * owner_cnt + owner]. */
int index_memory_levels(const struct index *x, const struct analysis *a, enum index_group group,
			size_t interval, int64_t *levels);

/* Bytes allocated by one process from one source in each granule of an interval that has any. */
struct index_rate {
	uint32_t process;	/* dense_process() */
	uint8_t slot;
	size_t cnt;		/* index_rate_next() as often */
	uint64_t granule;	/* the last one given */
};
int index_rate_begin(const struct analysis *a, struct packed_in *in, struct index_rate *ret);
int index_rate_next(struct packed_in *in, struct index_rate *r, uint64_t *ret_bytes);

#endif /* INDEX_MEMORY_H */
