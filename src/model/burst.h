/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * burst: finds where allocation reaches a minimum within a sliding window.
 *
 *     (ts, bytes, level before)... --[burst]--> start, end, bytes, baseline of each
 *
 * A burst of bytes is active after an event if the bytes of the events in (ts - window, ts] reach
 * the minimum. It lasts from its first to its last event: overlapping windows are one burst, a
 * window's length without an event ends it. Small events at either end do not belong to it if a gap
 * of window/16 or more separates them and they have 5 % or less of the bytes in the window.
 *
 * Growth of a level (resident memory) is active after a step up if the level is the minimum or more
 * above its lowest in (ts - window, ts]. It begins with the first step up from that lowest level
 * and ends at the highest level; its bytes are the difference. No step belongs to two growths. A
 * level that only goes up and down does not grow. The input has steps up only; the next step's
 * level before shows a step down. A few bytes (5 % or less) that a gap separates from the beginning
 * do not count.
 *
 * Calls come in time order. Memory: the events of one window. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct burst_event {
	uint64_t ts_ns, bytes;
	uint64_t level;			/* level before the event */
	uint64_t before;		/* bytes of all events before it */
};

struct burst_found {
	uint64_t start_ns, end_ns;	/* first and last event */
	uint64_t bytes;
	uint64_t baseline;		/* level before the first event */
	uint64_t before;		/* of bytes: bytes of all events before the first */
	uint64_t base, peak;		/* of growth: lowest and highest level */
};

struct burst {
	uint64_t window_ns, min_bytes;
	bool is_growth;
	/*
	 * The events of the last window, oldest at head: a ring whose size is a power of two. For
	 * growth, only the events with a level below all later ones.
	 */
	struct burst_event *ring;
	size_t cap, head, cnt;
	uint64_t sum;			/* of the ring's bytes */
	uint64_t all;			/* bytes of all events */
	uint64_t last_ns;		/* of the last event */
	bool active;
	struct burst_found found;	/* while active; bytes so far */
	/* of growth, while active: found.baseline after burst_shift(), and the highest level */
	uint64_t base, peak;
};

void burst_init(struct burst *b, uint64_t window_ns, uint64_t min_bytes, bool is_growth);
void burst_done(struct burst *b);

/* Adds an event. 1: *ret_found is a burst that ended before the event; 0; -ENOMEM. */
int burst_add(struct burst *b, uint64_t ts_ns, uint64_t bytes, uint64_t level,
	      struct burst_found *ret_found);
/* All levels so far were wrong by delta: shifts them. Bytes that were unknown are not growth. */
void burst_shift(struct burst *b, int64_t delta);
/* Of growth: returns how far a level is above the lowest in the window that ends at ts. */
uint64_t burst_risen(const struct burst *b, uint64_t ts_ns, uint64_t level);
/* Ends the input. 1: *ret_found is the last burst; 0: there is none. */
int burst_finish(struct burst *b, struct burst_found *ret_found);
