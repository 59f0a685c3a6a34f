/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_memory: what was allocated, freed and held, in an index: the parts INDEX_SUMS and
 * INDEX_BASE of each group of sources.
 *
 * An owner is a thread, or a process where memory belongs to it as a whole (RSS, VM, what an exec
 * or exit takes of a heap). Sums are kept per owner. The highest level inside an interval is kept
 * per owner, and for the sets of owners that questions sum up most: those of a process, of a name,
 * of all. A set is known by a hash of the owners it has in the interval. Threads: one.
 */
#pragma once

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/index.h"

enum { INDEX_SLOT_CNT = 2 };	/* sources of a group at most */

/* The source in a slot of a group; -1: there is none. */
int index_memory_source(enum index_group group, unsigned int slot);
/*
 * Returns who holds what a change is about: dense_thread() or, from thread_cnt on, dense_process().
 */
uint32_t index_memory_owner(const struct analysis *a, const struct alloc_change *c);
/* The process that an owner is, or is a thread of. */
uint32_t index_memory_process(const struct analysis *a, uint32_t owner);
uint64_t index_memory_hash(const struct analysis *a, uint32_t owner);	/* of a set: their sum */

enum memory_count {
	MEMORY_ALLOCS, MEMORY_FREES, MEMORY_LOST_FREES, MEMORY_ALLOC_BYTES, MEMORY_FREE_BYTES,
	MEMORY_EXIT_BYTES, MEMORY_COUNT_CNT,
};

/* Adds a change to counts[MEMORY_COUNT_CNT]. */
static inline void memory_count(uint64_t *counts, const struct alloc_change *c)
{
	switch (c->kind) {
	case ALLOC_CHANGE_ALLOC:
		counts[MEMORY_ALLOCS]++;
		counts[MEMORY_ALLOC_BYTES] += (uint64_t)c->delta;
		break;
	case ALLOC_CHANGE_BASELINE:	/* it was there before it was seen: nothing was allocated */
	case ALLOC_CHANGE_EXEC:
		break;
	case ALLOC_CHANGE_EXIT:		/* nobody freed it */
		counts[MEMORY_EXIT_BYTES] += (uint64_t)-c->delta;
		break;
	default:
		counts[MEMORY_FREES] +=
			c->kind == ALLOC_CHANGE_FREE || c->kind == ALLOC_CHANGE_UNPAIRED;
		counts[MEMORY_LOST_FREES] += c->kind == ALLOC_CHANGE_LOST;
		counts[MEMORY_FREE_BYTES] += (uint64_t)-c->delta;
	}
}

/* Holds how a level moved since the interval's beginning. */
struct memory_growth {
	int64_t delta;
	uint64_t most;		/* the highest it was above its beginning; 0: never above */
	uint64_t most_ns;	/* when it was first that high */
};

/* Holds the highest level since the last exec in an interval, from the interval's beginning. */
struct memory_image {
	int64_t most;
	uint64_t most_ns;
	bool is_new;		/* there was an exec */
};

struct index_memory_row {
	uint64_t counts[MEMORY_COUNT_CNT];
	struct memory_growth growth;
	struct memory_image image;
	uint32_t owner;
	uint8_t slot;
};

struct index_memory_set {
	uint64_t hash;
	struct memory_growth growth;	/* without delta */
	uint8_t slot;
};

/* Rows: packed_get_cnt() of them, then as many sets as it says next. */
int index_memory_next(const struct analysis *a, struct packed_in *in, uint64_t interval_ns,
		      struct index_memory_row *ret);
int index_memory_next_set(struct packed_in *in, uint64_t interval_ns, struct index_memory_set *ret);

/* Hands out the levels at an interval's beginning that are not 0. 0 or -errno. */
typedef int (*index_memory_level)(void *ctx, uint32_t owner, unsigned int source, int64_t level);
int index_memory_levels(const struct index *x, const struct analysis *a, enum index_group group,
			size_t interval, index_memory_level each, void *ctx);
