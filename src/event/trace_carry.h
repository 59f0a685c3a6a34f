/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_carry: the events before an instant that still matter after it, and the memory of processes then.
 *
 *     everything before the instant --[trace_carry]--> events, with their true times; levels of memory
 *
 * Replayed, the events leave readers in the state that all events before the instant would have: allocations that are
 * not freed yet, the last life of every block request, of every thread the switches and wake-ups that say
 * whether, and since when, it waits, and the interrupts that are being served. Threads: one. Memory: in proportion to what is live.
 */
#ifndef TRACE_CARRY_H
#define TRACE_CARRY_H

#include <stddef.h>

#include "event/trace.h"

struct trace_carry {
	struct event *events;		/* in order of time */
	size_t event_cnt;
	struct trace_rss *memory;	/* by upid, of processes alive of which something is known */
	size_t memory_cnt;
};

struct trace_carry_request {
	uint32_t kind_mask;		/* events of these kinds; memory whatever it says */
	bool no_points;			/* neither uses nor makes carry.idx */
	uint64_t point_events;		/* between points at least; 0: as many as is best */
};

/* Of what came before at_ns. Points that it passes are kept beside the trace, as far as that can be (carry_points.h). */
int trace_carry(struct trace *t, uint64_t at_ns, const struct trace_carry_request *q, struct trace_carry *ret,
		struct err *e);
void trace_carry_done(struct trace_carry *c);

#endif /* TRACE_CARRY_H */
