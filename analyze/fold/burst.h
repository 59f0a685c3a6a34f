/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * burst: finds bursts in a stream of sizes: where the sum over a sliding window reaches a minimum.
 *
 *     (ts, bytes)... --[burst]--> start, end, bytes of each burst
 *
 * A burst is active after an event when the bytes of the events in (ts - window, ts] reach the
 * minimum. It lasts from its first to its last event: overlapping windows are one burst, a window's
 * length without any event ends it. Small
 * events that lie apart from it (a gap of window/16 or more, 5 % or less of the bytes in the
 * window) at either end do not belong to it.
 *
 * Calls come in time order. Memory: the events of one window. Threads: one.
 */
#ifndef BURST_H
#define BURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct burst_event {
	uint64_t ts_ns, bytes;
	uint64_t level;			/* the caller's level before it */
};

struct burst_found {
	uint64_t start_ns, end_ns;	/* first and last event */
	uint64_t bytes;
	uint64_t baseline;		/* level before the first event */
};

struct burst {
	uint64_t window_ns, min_bytes;
	struct burst_event *ring;	/* power of two */
	size_t cap, head, cnt;		/* events of the last window, oldest at head */
	uint64_t sum;			/* of the ring */
	bool active;
	struct burst_found found;	/* while active */
	uint64_t seen_bytes;		/* while active: bytes of the burst so far */
};

void burst_init(struct burst *b, uint64_t window_ns, uint64_t min_bytes);
void burst_done(struct burst *b);

/* Adds an event. 1: *ret_found is a burst that was over before it; 0; -ENOMEM. */
int burst_add(struct burst *b, uint64_t ts_ns, uint64_t bytes, uint64_t level,
	      struct burst_found *ret_found);
/* No more events. 1: *ret_found is the last burst; 0: there is none. */
int burst_finish(struct burst *b, struct burst_found *ret_found);

#endif /* BURST_H */
