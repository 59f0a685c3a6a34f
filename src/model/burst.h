/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * burst: finds times in which allocation reaches a minimum within a sliding window.
 *
 *     (ts, bytes, level before)... --[burst]--> start, end, bytes, baseline of each burst
 *
 * A burst of bytes is active after an event if the bytes of the events in (ts - window, ts] reach
 * the minimum. It lasts from its first to its last event: overlapping windows are one burst, and a
 * window without an event ends the burst. Events at either end are excluded if a gap of at least
 * window/16 separates them from the rest and they have at most 5 % of the bytes in the window.
 *
 * Growth of a level (resident memory) is active after a step up if the level exceeds its lowest
 * value in (ts - window, ts] by at least the minimum. Growth begins with the first step up from
 * that lowest value and ends at the highest level; its bytes are the difference. No step belongs to
 * two growths. A level that only oscillates does not grow. The input has steps up only; a step down
 * appears as a lower "level before" in the next step. Steps at the beginning are excluded as above.
 *
 * Calls come in time order. Memory: the events of one window. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct burst_event {
	uint64_t ts_ns, bytes;
	uint64_t level;			/* level before this event */
	uint64_t before;		/* sum of the bytes of all earlier events */
};

struct burst_found {
	uint64_t start_ns, end_ns;	/* first and last event */
	uint64_t bytes;
	uint64_t baseline;		/* level before the first event */
	uint64_t before; /* not for growth: sum of the bytes of all events before the first event */
	uint64_t base, peak;		/* growth: lowest and highest level */
};

struct burst {
	uint64_t window_ns, min_bytes;
	bool is_growth;
	/*
	 * The events of the last window, oldest at head; a ring whose size is a power of two. For
	 * growth, it has only the events whose level is below all later levels.
	 */
	struct burst_event *ring;
	size_t cap, head, cnt;
	uint64_t sum;			/* bytes of the events in the ring */
	uint64_t all;			/* bytes of all events */
	uint64_t last_ns;		/* time of the last event */
	bool active;
	struct burst_found found;	/* valid while active; has the bytes so far */
	/*
	 * growth, while active: lowest level (found.baseline, changed by burst_shift()) and highest
	 * level
	 */
	uint64_t base, peak;
};

void burst_init(struct burst *b, uint64_t window_ns, uint64_t min_bytes, bool is_growth);
void burst_done(struct burst *b);

/* Adds an event. 1: set *ret_found to a burst that ended before it; 0: none ended; -ENOMEM. */
int burst_add(struct burst *b, uint64_t ts_ns, uint64_t bytes, uint64_t level,
	      struct burst_found *ret_found);
/*
 * Adds delta to all levels, because all earlier levels were wrong by delta. Bytes that were unknown
 * until now therefore do not count as growth.
 */
void burst_shift(struct burst *b, int64_t delta);
/* For growth: returns how far a level is above the lowest one in the window that ends at ts. */
uint64_t burst_risen(const struct burst *b, uint64_t ts_ns, uint64_t level);
/* Ends the input. 1: *ret_found is the last burst; 0: there is none. */
int burst_finish(struct burst *b, struct burst_found *ret_found);
