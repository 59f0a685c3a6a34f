/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_memory: the sums and levels of allocated memory in an index: the parts INDEX_SUMS and
 * INDEX_BASE of each group of sources.
 *
 * An owner is a thread, or a process if the memory belongs to the whole process (RSS, VM, heap
 * memory that an exec or exit frees). Sums are kept per owner. The highest level inside an interval
 * is kept per owner, and for the sets of owners that queries sum up most: those of a process, of a
 * name, of all. A set is identified by a hash of its owners in the interval. Threads: one.
 */
#pragma once

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/index.h"

enum { INDEX_SLOT_CNT = 2 };	/* most sources in a group */

/* Returns the source in a slot of a group; -1: unused slot. */
int index_memory_source(enum index_group group, unsigned int slot);
/* Returns the owner of a change: dense_thread() or, from thread_cnt on, dense_process(). */
uint32_t index_memory_owner(const struct analysis *a, const struct alloc_change *c);
/* Returns the process that an owner is, or whose thread it is. */
uint32_t index_memory_process(const struct analysis *a, uint32_t owner);
/* the hash of a set is the sum */
uint64_t index_memory_hash(const struct analysis *a, uint32_t owner);

enum memory_count {
	MEMORY_ALLOCS, MEMORY_FREES, MEMORY_LOST_FREES, MEMORY_ALLOC_BYTES, MEMORY_FREE_BYTES,
	MEMORY_EXIT_BYTES, MEMORY_COUNT_CNT,
};

/* Adds a change to counts[MEMORY_COUNT_CNT]. Numbers of a heap are in heap_weight_unit(). */
static inline void memory_count(uint64_t *counts, const struct alloc_change *c)
{
	switch (c->kind) {
	case ALLOC_CHANGE_ALLOC:
		counts[MEMORY_ALLOCS] += c->cnt;
		counts[MEMORY_ALLOC_BYTES] += (uint64_t)c->delta;
		break;
	/* the memory existed before it was seen: not an allocation */
	case ALLOC_CHANGE_BASELINE:
	case ALLOC_CHANGE_EXEC:
		break;
	case ALLOC_CHANGE_EXIT:		/* freed by no thread */
		counts[MEMORY_EXIT_BYTES] += (uint64_t)-c->delta;
		break;
	default:
		counts[c->kind == ALLOC_CHANGE_LOST ? MEMORY_LOST_FREES : MEMORY_FREES] += c->cnt;
		counts[MEMORY_FREE_BYTES] += (uint64_t)-c->delta;
	}
}

/* The change of a level since the interval's beginning. */
struct memory_growth {
	int64_t delta;
	uint64_t most;		/* the highest level above the beginning; 0: never above it */
	uint64_t most_ns;	/* when it was first that high */
};

/* The highest level since the last exec in an interval, relative to the interval's beginning. */
struct memory_image {
	int64_t most;
	uint64_t most_ns;
	bool is_new;		/* the interval has an exec */
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

/* Read the rows: packed_get_cnt() of them, then another count and that many sets. */
int index_memory_next(const struct analysis *a, struct packed_in *in, uint64_t interval_ns,
		      struct index_memory_row *ret);
int index_memory_next_set(struct packed_in *in, uint64_t interval_ns, struct index_memory_set *ret);

/*
 * Sets *ret to the first interval whose levels are known: an index that follows a live trace drops
 * old parts. 0 or -errno.
 */
int index_memory_first(const struct index *x, enum index_group group, size_t *ret);
/* Calls each for the nonzero levels at an interval's beginning. 0 or -errno. */
typedef int (*index_memory_level)(void *ctx, uint32_t owner, unsigned int source, int64_t level);
int index_memory_levels(const struct index *x, const struct analysis *a, enum index_group group,
			size_t interval, index_memory_level each, void *ctx);

/*
 * index_rates: the bytes that each process allocated in each granule, in an index: the parts
 * INDEX_RATES.
 *
 * The jobs of the groups of sources make them together with their sums. For objects (slab, page,
 * heap) there is also a separate job, index_rates_job(), which takes a fraction of the time,
 * because it pairs no objects. For spikes this is enough in most traces. Threads: one.
 */
struct index_job;

/* Reads allocations of slab objects, of pages and of the heap; found: struct alloc_change. */
extern const struct fold_def fold_rates;

struct index_rates {			/* of the current interval */
	const struct analysis *a;
	struct rate *rates;		/* in order of their beginning */
	size_t cnt, cap;
	uint32_t *last;		/* by slot * process_cnt + process: its last rate + 1; 0: none */
	uint64_t granule;		/* of the last change */
};

/* Makes the rates of groups INDEX_SLAB, INDEX_PAGE and INDEX_HEAP. */
int index_rates_job(struct index_job *j);

/*
 * Calls each for the bytes that each process allocated from each source in each granule of an
 * interval. Granules of one process and source come in order. 0 or -errno.
 */
typedef int (*index_rates_each)(void *ctx, uint32_t process, unsigned int source, uint64_t granule,
				uint64_t bytes);
int index_rates_read(const struct index *x, const struct analysis *a, enum index_group group,
		     size_t interval, index_rates_each each, void *ctx);
