/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spike_search: finds the bursts of candidates, event by event.
 *
 *     candidates, changes --[spike_search]--> bursts
 *
 * With an index only the intervals are decoded in which a candidate has bins that can hold one;
 * before each such stretch of bins one more is, to fill the window. Threads: one.
 */
#ifndef SPIKE_SEARCH_H
#define SPIKE_SEARCH_H

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/burst.h"
#include "analyze/fold/growth.h"
#include "analyze/fold/spike_rates.h"

struct spike_range {
	uint64_t from_ns, to_ns;
};

struct spike_candidate {	/* one process and source */
	uint32_t process;
	uint8_t source;
	uint64_t threshold;
	int64_t level;
	struct burst burst;	/* slab, page, heap: bytes allocated */
	struct growth growth;	/* rss, vm: growth of the level */
	/* with an index: when it is looked at */
	struct spike_range *ranges;
	size_t range_cnt, range_cap, range_at;
};

typedef int (*spike_sink)(void *ctx, const struct spike_candidate *c, const struct burst_found *f);

struct spike_search {
	struct analysis *a;
	uint64_t window_ns;
	spike_sink sink;
	void *ctx;
	struct hash_map map;	/* (process, source) -> candidates */
	struct spike_candidate *candidates;
	size_t cnt, cap;
	bool ranged;
};

void spike_search_init(struct spike_search *s, struct analysis *a, uint64_t window_ns,
		       spike_sink sink, void *ctx);
void spike_search_done(struct spike_search *s);
int spike_search_add(struct spike_search *s, uint32_t process, unsigned int source,
		     uint64_t threshold);

/* The sink of a memory fold (fold_memory.h), with the search as ctx. */
int spike_search_change(void *ctx, const void *change);
/* No more changes: what is under way ends. */
int spike_search_finish(struct spike_search *s);

/* All bursts that begin in [from_ns, to_ns), and maybe others. */
int spike_search_index(struct spike_search *s, const struct index *x, uint64_t from_ns,
		       uint64_t to_ns, struct err *e);

#endif /* SPIKE_SEARCH_H */
