/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * growth: finds where a level (resident memory) grew by a minimum within a sliding window.
 *
 *     steps up (ts, level before, level after) --[growth]--> start, end, bytes, baseline of each
 *
 * Growth is active after a step when the level is the minimum or more above its lowest in (ts -
 * window, ts]. It begins with the first step up from that lowest level and ends where the level was
 * highest; its bytes are that difference. No step belongs to two of them. A level that goes up and
 * down without getting anywhere does not grow. A few bytes (5 % or less) that a gap (window/16 or
 * more) separates from the beginning do not count.
 *
 * Only steps up are given, in time order; steps down show in the next one's level before. Memory:
 * one window's steps at most. Threads: one.
 */
#ifndef GROWTH_H
#define GROWTH_H

#include "analyze/fold/burst.h"

struct growth_low {
	uint64_t ts_ns;		/* until then it was */
	uint64_t level;
};

struct growth {
	uint64_t window_ns, min_bytes;
	struct growth_low *lows;	/* ring, power of two: ascending in time and level */
	size_t cap, head, cnt;
	bool active;
	uint64_t last_ns;	/* of the last step */
	uint64_t base, peak;	/* base: found.baseline, as far as is known now */
	struct burst_found found;
};

void growth_init(struct growth *r, uint64_t window_ns, uint64_t min_bytes);
void growth_done(struct growth *r);

/* 1: *ret_found is growth that was over before this step; 0; -ENOMEM. */
int growth_add(struct growth *r, uint64_t ts_ns, uint64_t before, uint64_t after,
	       struct burst_found *ret_found);
/* The level turned out to be off by delta all the time: what was not known before is no growth. */
void growth_shift(struct growth *r, int64_t delta);
/* No more steps. 1: *ret_found is the last one; 0: there is none. */
int growth_finish(struct growth *r, struct burst_found *ret_found);

#endif /* GROWTH_H */
