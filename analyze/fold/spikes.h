/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spikes: bursts of allocation of processes, or of groups of processes: those with one name, those
 * of one tree, or all. For slab and heap all allocated bytes count, freed or not; for rss, page and
 * vm the rise of the level, in a group the sum of its processes' levels.
 *
 *     allocations, or an index's granules --> bytes per bin --> candidates --> bursts
 *
 * Two passes. The first sums up allocated bytes per process and source in bins of the spike window,
 * over the whole trace. The threshold is min_bytes, or 16 MiB. Without min_bytes a process that is
 * at least 20 bins old also has to reach ten times the median of its earlier bins, without those of
 * an active burst. The median is computed again at each doubling of its age (20, 40, 80 ... bins).
 * A window is inside two neighbouring bins, so a process without a pair of bins that reaches the
 * threshold has no spike. The second pass runs only if there is such a pair: it finds the bursts,
 * event by event, and the level before each. Bursts of a process and source that follow each other
 * without a pause longer than the spike window are one spike. The age of a group is that of its
 * oldest process. The recorder is in no group.
 *
 * An index has the sums of the first pass, and the second decodes only the time in which a
 * candidate has such a pair. The result of the first pass with the usual window is stored, too:
 * with 100 M events, a query about one second takes 0.06 s of CPU time with it, 0.30 s without.
 * Threads: one.
 */
#pragma once

#include "analyze/context/context.h"
#include "model/burst.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/fold/index.h"
#include "base/hash_map.h"

#define SPIKE_WINDOW_NS 100000000ull
#define SPIKE_BY_MAX 3

struct spike {
	uint32_t process;		/* dense; of a group, its first one */
	unsigned int by;		/* the group's key; KEY(PROCESS): the process's own */
	unsigned int source;		/* enum alloc_source */
	uint64_t threshold;
	struct burst_found found;	/* all its bursts together */
};

struct spikes_query {
	uint64_t window_ns;
	uint64_t min_bytes;		/* 0: each process's own threshold */
	uint32_t source_mask;		/* 1u << ALLOC_x */
	/* Each KEY(PROCESS), one of KEYS_TEXT, or 0: all are one group; by_cnt of them. */
	unsigned int by[SPIKE_BY_MAX], by_cnt;
	bool any_baseline;		/* found.baseline of objects is not needed */
	uint64_t from_ns, to_ns;	/* inside the trace's span, not empty */
	/* Gets all spikes that begin in [from_ns, to_ns), and maybe others. 0 or -errno. */
	int (*found)(void *ctx, const struct spike *s);
	void *ctx;
};

int spikes_find(struct analysis *a, const struct spikes_query *q, struct err *e);

/*
 * Adds the tail INDEX_TAIL_SPIKES of a group: medians and pairs for SPIKE_WINDOW_NS of candidates
 * that could have a spike without min_bytes: processes, names, and all processes together.
 */
struct zpack;
int spikes_save(struct index *x, struct zpack *z, struct analysis *a, enum index_group group);

/* ---- spike_sums.c: private to it and spikes.c ---- */

#define SPIKE_MIN_BYTES (16ull << 20)
#define SPIKE_MEDIANS 10
#define SPIKE_AGE_BINS 20	/* a younger process has no median */
#define SPIKE_AGES 24		/* number of doublings of that age that count */

struct spike_bin {
	uint64_t number, bytes;
};

struct spike_candidate {		/* one process or group, and source */
	uint32_t process, by;	/* dense, of a group the first one; an index of q.by */
	uint8_t source;
	bool is_chosen;		/* it may have a spike */
	struct spike_bin *bins;	/* bins with any bytes, ascending */
	size_t cnt, cap;
	uint64_t pair_max;	/* most bytes in two neighbouring bins */
	uint64_t first_bin;		/* first bin of the process's life, or of the trace */
	/* medians of the first SPIKE_AGE_BINS << i bins of the life, for the ages reached */
	uint64_t medians[SPIKE_AGES];
	uint8_t age_cnt;
	bool is_hot;			/* some pair reaches the usual threshold */
	int64_t level;
	struct burst burst;
	bool is_held;
	struct burst_found held;	/* a spike that may continue */
	uint64_t held_threshold;	/* threshold at its start */
	uint64_t low;			/* of growth: the lowest base of its bursts */
};

struct spike_mark {		/* what must be decoded of an interval; to_ns 0: nothing */
	uint64_t from_ns, to_ns;
};

struct spikes {
	struct analysis *a;
	const struct index *index;	/* NULL: none, or one without usable sums */
	struct spikes_query q;
	struct hash_map map;		/* (process, by and source) -> candidates */
	struct spike_candidate *candidates;
	size_t cnt, cap;
	bool is_second;		/* the second pass: candidates that were not chosen are ignored */
	/* the changes that count: of these sources (1u << ALLOC_x), from this time on */
	uint32_t counted;
	uint64_t counted_ns;
	struct spike_mark *marks;	/* by interval */
	/* by source: [by * process_cnt + process] is 1 + its chosen candidate; 0: none */
	uint32_t *chosen[ALLOC_SOURCE_CNT];
	uint64_t bin;		/* of the last change */
	/* by dense process: its group's first process, and the group's first bin. NULL: itself */
	uint32_t *group_of[SPIKE_BY_MAX];
	uint64_t *group_bin[SPIKE_BY_MAX];
};

/* Assigns processes to groups. uses_scope: ignores those outside the scope. 0 or -ENOMEM. */
int spikes_group(struct spikes *s, bool uses_scope);

/* Returns the process whose candidate a process counts in; EVENT_ID_UNKNOWN: in none. */
static inline uint32_t spikes_member(const struct spikes *s, unsigned int by, uint32_t process)
{
	return s->group_of[by] ? s->group_of[by][process] : process;
}

/* Returns whether a burst of the source is growth of its level. */
static inline bool spikes_is_growth(unsigned int source)
{
	return source == ALLOC_RSS || source == ALLOC_PAGE || source == ALLOC_VM;
}

extern const unsigned int spike_saved[SPIKE_BY_MAX];	/* groupings that an index keeps */

void spikes_done(struct spikes *s);
/* NULL: out of memory. */
struct spike_candidate *spikes_candidate(struct spikes *s, unsigned int by, uint32_t process,
					 unsigned int source);
/* Fills s->chosen. 0 or -ENOMEM. */
int spikes_list_chosen(struct spikes *s);
/* Returns the chosen candidate that a process counts in; NULL: there is none. */
static inline struct spike_candidate *spikes_chosen(const struct spikes *s, unsigned int by,
						    uint32_t process, unsigned int source)
{
	const uint32_t *rows = s->chosen[source];
	uint32_t row = rows ? rows[(size_t)by * s->a->ids.process_cnt + process] : 0;

	return row ? &s->candidates[row - 1] : NULL;
}
/* Returns the bytes of bin i and of the one before it. */
uint64_t spikes_pair_at(const struct spike_candidate *c, size_t i);
/* Call in order of bins, for each process and source; adds the bytes to its groups, too. */
int spikes_add_bytes(struct spikes *s, uint32_t process, unsigned int source, uint64_t bin,
		     uint64_t bytes);
/* Adds the rates in the index of intervals [from, to) of a group. */
int spikes_read_rates(struct spikes *s, const struct index *x, unsigned int group, size_t from,
		      size_t to);
int spikes_find_medians(struct spikes *s);
/*
 * Returns how many bytes in a window that ends in a bin make a burst; min_bytes: 0, or the result.
 */
uint64_t spikes_threshold(const struct spike_candidate *c, uint64_t min_bytes, uint64_t bin);
