/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spikes: bursts of allocation of single processes. For slab, page and heap what was allocated
 * counts, freed or not; for rss and vm how far the level rose.
 *
 *     allocations, or an index's granules --> bytes per bin --> who may have a spike --> bursts
 *
 * Two passes. The first sums up allocated bytes per process and source in bins of the spike window,
 * over the whole trace: ten times their median is the process's own threshold, 16 MiB at least,
 * unless min_bytes is given. A window of that length lies in two neighbouring bins, so whoever has
 * no such pair over its threshold has no spike. The second pass runs only if somebody has: it finds
 * the bursts, event by event, and the level before each. Bursts of a process and source that follow
 * each other without a pause longer than the spike window are one spike.
 *
 * An index has the sums of the first pass, and the second decodes only intervals in which a
 * candidate has such a pair. Threads: one.
 */
#ifndef SPIKES_H
#define SPIKES_H

#include "analyze/context/context.h"
#include "model/burst.h"
#include "analyze/fold/index.h"

#define SPIKE_WINDOW_NS 100000000ull

struct spike {
	uint32_t process;		/* dense */
	unsigned int source;		/* enum alloc_source */
	uint64_t threshold;
	struct burst_found found;	/* of its bursts together */
};

struct spikes_query {
	uint64_t window_ns;
	uint64_t min_bytes;		/* 0: each process's own threshold */
	uint32_t source_mask;		/* 1u << ALLOC_x */
	bool any_baseline;		/* of objects, found.baseline may be anything */
	uint64_t from_ns, to_ns;	/* inside the trace's span, not empty */
	/* Gets all spikes that begin in [from_ns, to_ns), and maybe others. 0 or -errno. */
	int (*found)(void *ctx, const struct spike *s);
	void *ctx;
};

int spikes_find(struct analysis *a, const struct spikes_query *q, struct err *e);

/*
 * Adds the tail INDEX_TAIL_SPIKES of a group: medians and pairs for SPIKE_WINDOW_NS of those that
 * could have a spike without min_bytes.
 */
struct zpack;
int spikes_save(struct index *x, struct zpack *z, struct analysis *a, enum index_group group);

#endif /* SPIKES_H */
