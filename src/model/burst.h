/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * burst: finds where allocation reaches a minimum within a sliding window.
 *
 *     (ts, bytes, level before)... --[burst]--> start, end, bytes, baseline of each
 *
 * A burst of bytes is active after an event when the bytes of the events in (ts - window, ts] reach
 * the minimum. It lasts from its first to its last event: overlapping windows are one burst, a
 * window's length without any event ends it. Small events that lie apart from it (a gap of
 * window/16 or more, 5 % or less of the bytes in the window) at either end do not belong to it.
 *
 * Growth of a level (resident memory) is active after a step up when the level is the minimum or
 * more above its lowest in (ts - window, ts]. It begins with the first step up from that lowest
 * level and ends where the level was highest; its bytes are that difference. No step belongs to two
 * of them. A level that goes up and down without getting anywhere does not grow. Only steps up are
 * given; steps down show in the next one's level before. A few bytes (5 % or less) that a gap
 * separates from the beginning do not count.
 *
 * Calls come in time order. Memory: the events of one window. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct burst_event {
	uint64_t ts_ns, bytes;
	uint64_t level;			/* before it */
	uint64_t before;		/* bytes of all events before it */
};

struct burst_found {
	uint64_t start_ns, end_ns;	/* first and last event */
	uint64_t bytes;
	uint64_t baseline;		/* level before the first event */
	uint64_t before;		/* of bytes: those of all events before the first */
	uint64_t base, peak;		/* of growth: the levels it rose from and to */
};

struct burst {
	uint64_t window_ns, min_bytes;
	bool is_growth;
	/*
	 * The events of the last window, oldest at head: a ring, its size a power of two. Of
	 * growth only those that are lower than all later ones.
	 */
	struct burst_event *ring;
	size_t cap, head, cnt;
	uint64_t sum;			/* of the ring's bytes */
	uint64_t all;			/* bytes of all events */
	uint64_t last_ns;		/* of the last event */
	bool active;
	struct burst_found found;	/* while active; bytes so far */
	/* of growth, while active: found.baseline and the highest level, as far as known now */
	uint64_t base, peak;
};

void burst_init(struct burst *b, uint64_t window_ns, uint64_t min_bytes, bool is_growth);
void burst_done(struct burst *b);

/* Adds an event. 1: *ret_found is a burst that was over before it; 0; -ENOMEM. */
int burst_add(struct burst *b, uint64_t ts_ns, uint64_t bytes, uint64_t level,
	      struct burst_found *ret_found);
/* The level turned out to be off by delta all the time: what was not known before is no growth. */
void burst_shift(struct burst *b, int64_t delta);
/* No more events. 1: *ret_found is the last burst; 0: there is none. */
int burst_finish(struct burst *b, struct burst_found *ret_found);
