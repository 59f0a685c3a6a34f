/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rise: finds where a level (resident memory) rose by a minimum within a sliding window.
 *
 *     growth steps (ts, level before, level after) --[rise]--> start, end, bytes, baseline of each
 * rise
 *
 * A rise is active after a step when the level is the minimum or more above its lowest in (ts -
 * window, ts]. It begins with the first step up from that lowest level and ends where it was
 * highest; its bytes are that difference. Rises do not overlap: no step belongs to two. What goes
 * up and down without getting anywhere is no rise. A little growth (5 % or less) that a gap (window/16 or more) separates from its beginning
 * does not belong to it.
 *
 * Only steps up are given, in time order; steps down show in the next one's level before. Memory:
 * one window's steps at most. Threads: one.
 */
#ifndef RISE_H
#define RISE_H

#include "analyze/burst.h"

struct rise_low {
	uint64_t ts_ns;		/* until then it was */
	uint64_t level;
};

struct rise {
	uint64_t window_ns, min_bytes;
	struct rise_low *lows;	/* ring, power of two: ascending in time and level */
	size_t cap, head, cnt;
	bool active;
	uint64_t last_ns;	/* of the last step */
	uint64_t base, peak;	/* base: found.baseline, as far as is known now */
	struct burst_found found;
};

void rise_init(struct rise *r, uint64_t window_ns, uint64_t min_bytes);
void rise_done(struct rise *r);

/* 1: *ret_found is a rise that was over before this step; 0; -ENOMEM. */
int rise_add(struct rise *r, uint64_t ts_ns, uint64_t before, uint64_t after,
	     struct burst_found *ret_found);
/* The level turned out to be off by delta all the time: what was not known before is no growth. */
void rise_shift(struct rise *r, int64_t delta);
/* No more steps. 1: *ret_found is the last rise; 0: there is none. */
int rise_finish(struct rise *r, struct burst_found *ret_found);

#endif /* RISE_H */
