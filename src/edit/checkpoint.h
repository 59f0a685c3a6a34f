/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint: what a trace that begins at an instant must know of the time before: events that
 * still matter, and the memory of processes.
 *
 *     everything before the instant --[checkpoint]--> events with their times, levels of memory
 *
 * Replayed, the events leave readers in the state that all events before the instant would. They
 * are the allocations that are not freed yet; the last life of every block request; of every
 * thread the switches and wake-ups that say whether, and since when, it waits; and the interrupts
 * that are being served. Threads: one. Memory: in proportion to what is live.
 */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include <stddef.h>

#include "trace/trace.h"

struct checkpoint {
	struct event *events;		/* in order of time */
	size_t event_cnt;
	struct trace_rss *memory;	/* by upid, of the processes alive then */
	size_t memory_cnt;
};

struct checkpoint_request {
	uint32_t kind_mask;		/* events of these kinds; memory is not concerned */
	bool no_points;			/* neither uses nor stores checkpoints beside the trace */
	uint64_t point_events;		/* between stored checkpoints, at least; 0: the default */
};

/*
 * Makes the checkpoint at at_ns; *ret is for checkpoint_done(). Checkpoints on the way there are
 * stored beside the trace where that is possible (checkpoint_file.h). 0 or -errno.
 */
int checkpoint(struct trace *t, uint64_t at_ns, const struct checkpoint_request *q,
	       struct checkpoint *ret, struct err *e);
void checkpoint_done(struct checkpoint *c);

#endif /* CHECKPOINT_H */
