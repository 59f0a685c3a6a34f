/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint: the state that a trace needs at its beginning: earlier events that still matter, and
 * the memory of processes.
 *
 *     everything before the instant --[checkpoint]--> events with their times, levels of memory
 *
 * Replaying these events leaves readers in the same state as all events before the instant. They
 * are the last life of every block request; for every thread the switches and wake-ups that show
 * whether, and since when, it waits; the interrupts that are being served; and an allocation for
 * each object that is not freed yet. Reports do not show when or where these objects were
 * allocated: the events have address, bytes, order and owner only, and all the same timestamp.
 *
 * The parts of a checkpoint come from different kinds of events, and are independent of each other.
 * The machines that make a trace's index make them, too (analyze/engine/analysis.c). The
 * index stores each part at some instants: from the last of these on, the events until the wanted
 * instant are read. Without an index, all events from the trace's start are read.
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
	struct trace_rss *memory;	/* by upid, of the processes alive at the instant */
	size_t memory_cnt, memory_cap;
};

/* The values are in files, and equal those of the index's jobs. */
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
 * Makes the checkpoint at at_ns of the trace behind ctx; free *ret with checkpoint_done(). Only
 * events of the kinds in kind_mask (1u << EVENT_x) are needed. 0 or -errno.
 */
typedef int (*checkpoint_source)(void *ctx, uint64_t at_ns, uint32_t kind_mask,
				 struct checkpoint *ret, struct err *e);
void checkpoint_done(struct checkpoint *c);

/* ---- building a checkpoint: 0 or -ENOMEM ---- */

int checkpoint_add_event(struct checkpoint *c, const struct event *ev);
/* Adds an object that is live at at_ns; its owner is utid, or EVENT_ID_IRQ. */
int checkpoint_add_object(struct checkpoint *c, uint64_t at_ns, enum checkpoint_part part,
			  const struct live_object *o, const struct live_kind *k, uint32_t utid);
/* Adds a process's memory, if the process is alive at at_ns and its memory is known. */
int checkpoint_add_memory(struct checkpoint *c, uint64_t at_ns, const struct trace_process *p,
			  const struct mem_process *of);
/*
 * Sorts the events from index first on: objects by address and owner; others by time, CPU and kind.
 * The sort is stable.
 */
int checkpoint_sort(struct checkpoint *c, size_t first, bool are_objects);

/* ---- parts in the trace's derived file ---- */

struct derived_file;
struct zpack;

/* Returns the key of a part whose state is that at the beginning of a block. */
uint64_t checkpoint_key(enum checkpoint_part part, size_t block);
/* Adds a part. Its events are sorted, and before at_ns, the block's beginning. */
int checkpoint_store(struct derived_file *d, struct zpack *z, uint64_t key, uint64_t at_ns,
		     const struct checkpoint *c);
/*
 * Finds the last stored state of a part at or before at_ns. 1: free *ret with checkpoint_done(); 0:
 * not found; -EBADMSG: the file is damaged; -ENOMEM.
 */
int checkpoint_find(struct derived_file *d, const struct trace *t, enum checkpoint_part part,
		    uint64_t at_ns, uint64_t *ret_at_ns, struct checkpoint *ret);

/* Appends an encoded checkpoint. Its events are before at_ns, in order. */
void checkpoint_encode(const struct checkpoint *c, uint64_t at_ns, struct buf *out);
/*
 * Decodes a checkpoint; free *ret with checkpoint_done(). -EBADMSG: the bytes are not a valid
 * checkpoint at at_ns, have more than event_max events, or an event is not before at_ns or its CPU
 * is not below cpu_cnt; -ENOMEM.
 */
int checkpoint_decode(const void *bytes, size_t cnt, uint64_t event_max, uint64_t at_ns,
		      unsigned int cpu_cnt, struct checkpoint *ret);
