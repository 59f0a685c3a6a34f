/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_memory: sums and levels of allocated memory in an index: the parts INDEX_SUMS and
 * INDEX_BASE of each group of sources.
 *
 * An owner is a thread, or a process if the memory belongs to the whole process (RSS, VM, heap
 * memory that an exec or exit frees). Sums are kept per owner. The highest level inside an interval
 * is kept per owner, and for the sets of owners that queries most often sum up: all owners, the
 * owners of one process, and the owners of one name. A set is identified by a hash of its owners in
 * the interval. Threads: one.
 */
#pragma once

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/index.h"

enum { INDEX_SLOT_CNT = 2 };	/* largest number of sources in a group */

/* Returns the source in a slot of a group; -1: unused slot. */
int index_memory_source(enum index_group group, unsigned int slot);
/*
 * Returns the owner of a change: for a thread its dense_thread(), for a process thread_cnt +
 * dense_process().
 */
uint32_t index_memory_owner(const struct analysis *a, const struct alloc_change *c);
/* Returns the owner itself if it is a process, else the process of the thread. */
uint32_t index_memory_process(const struct analysis *a, uint32_t owner);
/* Returns the hash of an owner; the hash of a set is the sum of its owners' hashes. */
uint64_t index_memory_hash(const struct analysis *a, uint32_t owner);

enum memory_count {
	MEMORY_ALLOCS, MEMORY_FREES, MEMORY_LOST_FREES, MEMORY_ALLOC_BYTES, MEMORY_FREE_BYTES,
	MEMORY_EXIT_BYTES, MEMORY_COUNT_CNT,
};

/* Adds a change to counts[MEMORY_COUNT_CNT]. Counts of a heap are in heap_weight_unit(). */
static inline void memory_count(uint64_t *counts, const struct alloc_change *c)
{
	switch (c->kind) {
	case ALLOC_CHANGE_ALLOC:
		counts[MEMORY_ALLOCS] += c->cnt;
		counts[MEMORY_ALLOC_BYTES] += (uint64_t)c->delta;
		break;
	/* not an allocation: the memory is older */
	case ALLOC_CHANGE_BASELINE:
	case ALLOC_CHANGE_EXEC:
		break;
	case ALLOC_CHANGE_EXIT:		/* freed by the process's end, not by a thread */
		counts[MEMORY_EXIT_BYTES] += (uint64_t)-c->delta;
		break;
	default:
		counts[c->kind == ALLOC_CHANGE_LOST ? MEMORY_LOST_FREES : MEMORY_FREES] += c->cnt;
		counts[MEMORY_FREE_BYTES] += (uint64_t)-c->delta;
	}
}

/* Change of a level since the interval's beginning. */
struct memory_growth {
	int64_t delta;
	/* highest rise above the level at the beginning; 0: the level never rose above it */
	uint64_t most;
	uint64_t most_ns;	/* first time of the highest level */
};

/*
 * Highest level since the interval's last exec, relative to the level at the interval's beginning.
 */
struct memory_image {
	int64_t most;
	uint64_t most_ns;
	bool is_new;		/* the interval contains an exec */
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
	struct memory_growth growth;	/* delta is unused */
	uint8_t slot;
};

/*
 * Read one row or set. A part consists of the number of rows (packed_get_cnt()), the rows, the
 * number of sets, and the sets.
 */
int index_memory_next(const struct analysis *a, struct packed_in *in, uint64_t interval_ns,
		      struct index_memory_row *ret);
int index_memory_next_set(struct packed_in *in, uint64_t interval_ns, struct index_memory_set *ret);

/*
 * Sets *ret to the first interval with known levels: an index that follows a live trace drops old
 * parts. 0 or -errno.
 */
int index_memory_first(const struct index *x, enum index_group group, size_t *ret);
/* Calls each() for every nonzero level at an interval's beginning. 0 or -errno. */
typedef int (*index_memory_level)(void *ctx, uint32_t owner, unsigned int source, int64_t level);
int index_memory_levels(const struct index *x, const struct analysis *a, enum index_group group,
			size_t interval, index_memory_level each, void *ctx);

/*
 * index_rates: bytes that each process allocated in each granule, in an index: the parts
 * INDEX_RATES.
 *
 * The jobs of the groups make these parts together with their sums. For objects (slab, page, heap)
 * the separate job index_rates_job() makes only the rates, in a fraction of the time, because it
 * does not pair objects. For spikes this is enough in most traces. Threads: one.
 */
struct index_job;

/* Reads allocations of slab objects, pages and heap objects; found: struct alloc_change. */
extern const struct fold_def fold_rates;

struct index_rates {			/* rates of the current interval */
	const struct analysis *a;
	struct rate *rates;		/* ordered by granule */
	size_t cnt, cap;
	/* by slot * process_cnt + process: index of its last rate + 1; 0: none */
	uint32_t *last;
	uint64_t granule;		/* granule of the last change */
};

/* Makes the rates of the groups INDEX_SLAB, INDEX_PAGE and INDEX_HEAP. */
int index_rates_job(struct index_job *j);

/*
 * Calls each() with the bytes that a process allocated from a source in a granule, for all
 * processes, sources and granules of an interval. Granules of a process and source are in ascending
 * order. 0 or -errno.
 */
typedef int (*index_rates_each)(void *ctx, uint32_t process, unsigned int source, uint64_t granule,
				uint64_t bytes);
int index_rates_read(const struct index *x, const struct analysis *a, enum index_group group,
		     size_t interval, index_rates_each each, void *ctx);
