/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_filter: the events that a cut of some processes keeps.
 *
 *     events in order of time --[cut_filter]--> those of the processes, other threads as [filtered]
 *
 * Kept events: switches to and from the threads of the processes, and wake-ups of these threads;
 * their allocations, and the frees of these by any thread; changes of their memory; their
 * dirtyings; and all events of every request that they queued, issued or own. If the other side of
 * such an event is a thread of another process, it becomes EVENT_ID_FILTERED; in requests it keeps
 * its id. Another thread's allocation is kept, as filtered, if it shows that a free was lost;
 * another thread's interrupt, if it shows that the end of an interrupt was lost.
 *
 * Threads: one. Errors: -errno.
 */
#pragma once

#include <stddef.h>

#include "trace/trace.h"
#include "edit/checkpoint.h"

struct cut_filter;

/*
 * Starts with the checkpoint at from_ns (checkpoint.h) and reads the block requests of [from_ns,
 * to_ns). upids is copied.
 */
int cut_filter_new(struct cut_filter **ret, struct trace *t, const uint32_t *upids, size_t cnt,
		   const struct checkpoint *before, uint64_t from_ns, uint64_t to_ns,
		   struct err *e);
void cut_filter_free(struct cut_filter *f);

bool cut_filter_has_process(const struct cut_filter *f, uint64_t upid);
bool cut_filter_has_thread(const struct cut_filter *f, uint64_t utid);

/* A new block begins; its keyframe sets the thread on each CPU. */
void cut_filter_begin_block(struct cut_filter *f);

/*
 * Decides about an event. Call this for every event of the checkpoint, and then for every event
 * from from_ns on, in order; kinds that are left out completely may be skipped. 1: keep ev, which
 * may have been changed; 0: drop it.
 */
int cut_filter_event(struct cut_filter *f, struct event *ev);
