/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_rates: the bytes that each process allocated in each granule, in an index: the parts
 * INDEX_RATES.
 *
 * The jobs of the groups of sources make them together with their sums. For objects (slab, page,
 * heap) there is also a separate job, index_rates_job(), which takes a fraction of the time,
 * because it pairs no objects. For spikes this is enough in most traces. Threads: one.
 */
#pragma once

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/index.h"

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

int index_rates_init(struct index_rates *r, const struct analysis *a);	/* 0 or -ENOMEM */
void index_rates_done(struct index_rates *r);
/* Adds a change; only allocations count. Changes come in order of time. 0 or -ENOMEM. */
int index_rates_add(struct index_rates *r, unsigned int slot, const struct alloc_change *c);
/* Writes the rates, and clears them. */
void index_rates_put(struct index_rates *r, struct buf *out);

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
