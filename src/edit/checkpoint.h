/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint: the state at the beginning of a trace, stored as the earlier events that still matter
 * and the memory of processes.
 *
 *     everything before the instant --[checkpoint]--> events with their times, levels of memory
 *
 * Replaying these events leaves readers in the same state as all events before the instant. These
 * events are: the events of every block request's last life, which is one use of the request's
 * address (request_track.h); for each thread, the switches and wake-ups that show whether the
 * thread waits and since when; the interrupts that are being served; and an allocation for each
 * object that is not freed yet. Reports do not show when or where these objects were allocated, so
 * the allocations have only address, bytes, order and owner, and a common timestamp.
 *
 * The parts of a checkpoint come from different kinds of events, and are independent of each other.
 * The state machines that compute a trace's index also make checkpoints
 * (analyze/engine/analysis.c). The index stores each part at some instants; a checkpoint for
 * another instant is made from the last stored part and the events after it. Without an index, all
 * events since the trace's start are read.
 *
 * Threads: one. Memory: proportional to the live objects, requests and threads.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "model/live_objects.h"
#include "model/mem_levels.h"
#include "trace/trace.h"

struct checkpoint {
	struct event *events;		/* in order of time */
	size_t event_cnt, event_cap;
	struct trace_rss *memory;	/* of processes alive at the instant, by upid */
	size_t memory_cnt, memory_cap;
};

/* Parts. Their numbers are stored in files, and equal the numbers of the index's jobs. */
enum checkpoint_part {
	CHECKPOINT_SCHED = 0,
	CHECKPOINT_REQUESTS = 1,
	CHECKPOINT_IRQ = 2,
	CHECKPOINT_SLAB = 3,
	CHECKPOINT_PAGE = 4,
	CHECKPOINT_LEVELS = 5,
	CHECKPOINT_HEAP = 6,
	CHECKPOINT_PART_CNT = 7,
};

/*
 * Makes the checkpoint at at_ns of the trace in ctx; free *ret with checkpoint_done(). kind_mask:
 * kinds of events that the caller needs, 1u << EVENT_x. 0 or -errno.
 */
typedef int (*checkpoint_source)(void *ctx, uint64_t at_ns, uint32_t kind_mask,
				 struct checkpoint *ret, struct err *e);
void checkpoint_done(struct checkpoint *c);

/* ---- building a checkpoint: 0 or -ENOMEM ---- */

int checkpoint_add_event(struct checkpoint *c, const struct event *ev);
/* Adds an object that is live at at_ns. utid: its owner, or EVENT_ID_IRQ. */
int checkpoint_add_object(struct checkpoint *c, uint64_t at_ns, enum checkpoint_part part,
			  const struct live_object *o, const struct live_kind *k, uint32_t utid);
/* Adds a process's memory if the process is alive at at_ns and the memory is known. */
int checkpoint_add_memory(struct checkpoint *c, uint64_t at_ns, const struct trace_process *p,
			  const struct mem_process *of);
/*
 * Sorts the events from index `first`: objects by address and owner, other events by time, CPU and
 * kind. The sort is stable.
 */
int checkpoint_sort(struct checkpoint *c, size_t first, bool are_objects);

/* ---- parts in the trace's derived file ---- */

struct zpack;

/* Returns the key of a part that holds the state at the beginning of a block. */
uint64_t checkpoint_key(enum checkpoint_part part, size_t block);
/* Stores a part. Its events must be sorted and earlier than at_ns, the beginning of the block. */
int checkpoint_store(struct derived_file *d, struct zpack *z, uint64_t key, uint64_t at_ns,
		     const struct checkpoint *c);
/*
 * Finds the last stored part at or before at_ns. 1: free *ret with checkpoint_done(); 0: not found;
 * -EBADMSG: the file is damaged; -ENOMEM.
 */
int checkpoint_find(struct derived_file *d, const struct trace *t, enum checkpoint_part part,
		    uint64_t at_ns, uint64_t *ret_at_ns, struct checkpoint *ret);

/* Appends an encoded checkpoint. Its events must be in order of time and earlier than at_ns. */
void checkpoint_encode(const struct checkpoint *c, uint64_t at_ns, struct buf *out);
/*
 * Decodes a checkpoint; free *ret with checkpoint_done(). -EBADMSG: the bytes are not a valid
 * checkpoint at at_ns, there are more than event_max events, an event is not earlier than at_ns, or
 * an event's CPU is not below cpu_cnt; -ENOMEM.
 */
int checkpoint_decode(const void *bytes, size_t cnt, uint64_t event_max, uint64_t at_ns,
		      unsigned int cpu_cnt, struct checkpoint *ret);
