/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spikes: bursts of allocation of single processes or of groups: processes with the same name,
 * processes of one tree, or all processes. Slab and heap: the sum of all allocated bytes, freed or
 * not. RSS, page and VM: the rise of the level; for a group, of the sum of its processes' levels.
 *
 *     allocations, or an index's granules --> bytes per bin --> candidates --> bursts
 *
 * The first of two passes sums up allocated bytes per process and source in bins of the spike
 * window, over the whole trace. The threshold is min_bytes, or 16 MiB. Without min_bytes, a process
 * that is at least 20 bins old must also reach ten times the median of its earlier bins, without
 * the bins of an active burst. The median is computed again at each doubling of the process's age
 * (20, 40, 80 ... bins).
 *
 * A window is inside two adjacent bins, so a process has a spike only if a pair of its bins reaches
 * the threshold. In that case the second pass finds the bursts, event by event, and the level
 * before each. Bursts of a process and source are one spike if the pauses between them are at most
 * a spike window. The age of a group is that of its oldest process. The recorder is in no group.
 *
 * With an index, the sums of the first pass are stored, and the second pass decodes only the time
 * of such pairs. Medians and pairs for the default window are stored, too: with 100 M events, a
 * query about one second takes 0.06 s of CPU time instead of 0.30 s. Threads: one.
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
	uint32_t process;		/* dense; for a group, its first process */
	unsigned int by;		/* key of the group; KEY(PROCESS): a single process */
	unsigned int source;		/* enum alloc_source */
	uint64_t threshold;
	struct burst_found found;	/* all bursts of the spike, combined */
};

struct spikes_query {
	uint64_t window_ns;
	uint64_t min_bytes;		/* 0: each process's own threshold */
	uint32_t source_mask;		/* 1u << ALLOC_x */
	/*
	 * by_cnt groupings: KEY(PROCESS), one of KEYS_TEXT, or 0 for a single group of all
	 * processes
	 */
	unsigned int by[SPIKE_BY_MAX], by_cnt;
	bool any_baseline;		/* found.baseline of objects is unused */
	uint64_t from_ns, to_ns;	/* inside the trace's span, not empty */
	/*
	 * Called for all spikes that begin in [from_ns, to_ns), and possibly for others. 0 or
	 * -errno.
	 */
	int (*found)(void *ctx, const struct spike *s);
	void *ctx;
};

int spikes_find(struct analysis *a, const struct spikes_query *q, struct err *e);

/*
 * Adds the tail INDEX_TAIL_SPIKES of a group: medians and pairs, for SPIKE_WINDOW_NS, of the
 * candidates that could have a spike without min_bytes. Candidates are processes, names, and all
 * processes together.
 */
struct zpack;
int spikes_save(struct index *x, struct zpack *z, struct analysis *a, enum index_group group);

/* ---- spike_sums.c: private to spike_sums.c and spikes.c ---- */

#define SPIKE_MIN_BYTES (16ull << 20)
#define SPIKE_MEDIANS 10
#define SPIKE_AGE_BINS 20	/* a younger process has no median */
#define SPIKE_AGES 24		/* number of ages with a median: SPIKE_AGE_BINS and its doublings */

struct spike_bin {
	uint64_t number, bytes;
};

struct spike_candidate {		/* a process or group, and one of its sources */
	/* process: dense; for a group, its first process. by: index in q.by */
	uint32_t process, by;
	uint8_t source;
	bool is_chosen;		/* the candidate may have a spike */
	struct spike_bin *bins;	/* bins that are not empty, ascending */
	size_t cnt, cap;
	uint64_t pair_max;	/* largest sum of bytes in two adjacent bins */
	uint64_t first_bin;		/* first bin of the process's life, or of the trace */
	/*
	 * medians of the first SPIKE_AGE_BINS << i bins of the process's life, for each age i that
	 * it has reached
	 */
	uint64_t medians[SPIKE_AGES];
	uint8_t age_cnt;
	bool is_hot;			/* some pair reaches the threshold for min_bytes 0 */
	int64_t level;
	struct burst burst;
	bool is_held;
	struct burst_found held;	/* current spike, which may continue */
	uint64_t held_threshold;	/* threshold at its start */
	uint64_t low;			/* for growth: the lowest base of the spike's bursts */
};

struct spike_mark {		/* range of an interval that must be decoded; to_ns 0: none */
	uint64_t from_ns, to_ns;
};

struct spikes {
	struct analysis *a;
	const struct index *index;	/* NULL: no index, or no usable sums in it */
	struct spikes_query q;
	/* maps (process, by * ALLOC_SOURCE_CNT + source) to an index in candidates */
	struct hash_map map;
	struct spike_candidate *candidates;
	size_t cnt, cap;
	bool is_second;		/* second pass: only chosen candidates are used */
	/* changes to use: only of these sources (1u << ALLOC_x), and from this time on */
	uint32_t counted;
	uint64_t counted_ns;
	struct spike_mark *marks;	/* by interval */
	/*
	 * by source: [by * process_cnt + process] is 1 + the index of the candidate chosen for the
	 * process; 0: none
	 */
	uint32_t *chosen[ALLOC_SOURCE_CNT];
	uint64_t bin;		/* bin of the last change */
	/*
	 * by dense process: the first process and the first bin of its group. NULL: each process is
	 * a group
	 */
	uint32_t *group_of[SPIKE_BY_MAX];
	uint64_t *group_bin[SPIKE_BY_MAX];
};

/* Assigns processes to groups. uses_scope: ignores processes outside the scope. 0 or -ENOMEM. */
int spikes_group(struct spikes *s, bool uses_scope);

/* Returns the process that represents the group of a process; EVENT_ID_UNKNOWN: no group. */
static inline uint32_t spikes_member(const struct spikes *s, unsigned int by, uint32_t process)
{
	return s->group_of[by] ? s->group_of[by][process] : process;
}

/* Returns whether bursts of the source are measured as growth of its level. */
static inline bool spikes_is_growth(unsigned int source)
{
	return source == ALLOC_RSS || source == ALLOC_PAGE || source == ALLOC_VM;
}

extern const unsigned int spike_saved[SPIKE_BY_MAX];	/* groupings that an index keeps */

void spikes_done(struct spikes *s);
/* Finds or adds a candidate. NULL: out of memory. */
struct spike_candidate *spikes_candidate(struct spikes *s, unsigned int by, uint32_t process,
					 unsigned int source);
/* Fills s->chosen. 0 or -ENOMEM. */
int spikes_list_chosen(struct spikes *s);
/* Returns the chosen candidate to which the process belongs; NULL: none. */
static inline struct spike_candidate *spikes_chosen(const struct spikes *s, unsigned int by,
						    uint32_t process, unsigned int source)
{
	const uint32_t *rows = s->chosen[source];
	uint32_t row = rows ? rows[(size_t)by * s->a->ids.process_cnt + process] : 0;

	return row ? &s->candidates[row - 1] : NULL;
}
/* Returns the bytes of bin i plus the bytes of the bin before it. */
uint64_t spikes_pair_at(const struct spike_candidate *c, size_t i);
/*
 * Adds bytes of a process to its candidates. Call in ascending order of bins per process and
 * source.
 */
int spikes_add_bytes(struct spikes *s, uint32_t process, unsigned int source, uint64_t bin,
		     uint64_t bytes);
/* Adds the rates of a group in the index's intervals [from, to). */
int spikes_read_rates(struct spikes *s, const struct index *x, unsigned int group, size_t from,
		      size_t to);
int spikes_find_medians(struct spikes *s);
/*
 * Returns the threshold for a window that ends in `bin`: min_bytes or, if 0, the candidate's own.
 */
uint64_t spikes_threshold(const struct spike_candidate *c, uint64_t min_bytes, uint64_t bin);
