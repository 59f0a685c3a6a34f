/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spike_rates: how much each process allocated from each source in each bin of the spike window.
 *
 *     allocations, or an index's granules --[spike_rates]--> medians, and where a spike may be
 *
 * Bins are counted from the trace's start. A window of the bins' length lies in two neighbouring
 * ones, so their sum (a pair) is at least what any window in them has. Threads: one.
 */
#ifndef SPIKE_RATES_H
#define SPIKE_RATES_H

#include "analyze/engine/context.h"
#include "analyze/fold/index_memory.h"
#include "base/hash_map.h"

#define SPIKE_WINDOW_NS 100000000ull
#define SPIKE_MIN_BYTES (16ull << 20)

struct spike_bin {
	uint64_t bin, bytes;
};

struct spike_rate {		/* one process and source */
	uint32_t process;
	uint8_t source;
	struct spike_bin *bins;	/* those with any bytes, ascending; NULL: not kept */
	size_t cnt, cap;
	uint64_t pair_max;
	uint64_t median;	/* after spike_rates_finish() */
};

struct spike_rates {
	const struct analysis *a;
	uint64_t window_ns;
	const struct hash_map *only;	/* (process, source) that matter; NULL: all */
	struct hash_map map;	/* (process, source) -> rates */
	struct spike_rate *rates;
	size_t cnt, cap;
};

void spike_rates_init(struct spike_rates *s, const struct analysis *a, uint64_t window_ns);
void spike_rates_done(struct spike_rates *s);

/* In order of bins, for each process and source. 0 or -ENOMEM. */
int spike_rates_add(struct spike_rates *s, uint32_t process, unsigned int source, uint64_t bin,
		    uint64_t bytes);
/*
 * Adds what the index has of intervals [from, to) of a group; window_ns is a multiple of its
 * granule.
 */
int spike_rates_read(struct spike_rates *s, const struct index *x, enum index_group group,
		     size_t from, size_t to);
/* Medians of the bins of each process's life. */
int spike_rates_finish(struct spike_rates *s);

/*
 * The tail INDEX_TAIL_SPIKES of a group: medians and pairs for SPIKE_WINDOW_NS of those that
 * could have a spike of SPIKE_MIN_BYTES. rates_load(): 1: read, 0: it is not there, or -errno.
 * only: (upid, source) of those that are wanted; NULL: all.
 */
struct zpack;
int spike_rates_save(struct index *x, struct zpack *z, const struct analysis *a,
		     enum index_group group);
int spike_rates_load(struct spike_rates *s, const struct index *x, enum index_group group,
		     const struct hash_map *only);

#endif /* SPIKE_RATES_H */
