/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_filter: which events a cut of some processes keeps.
 *
 *     all events in order of time --[cut_filter]--> those of the processes, others' threads as [filtered]
 *
 * Kept are switches to and from their threads and wake-ups of these; what they allocate, and its frees by anybody;
 * changes of their memory; what they dirty; and all of every request that they queued, issued, or own. Of what is
 * kept but for its other side, a thread of another process is EVENT_ID_FILTERED; in requests it stays who it is. An
 * allocation by others is kept, as filtered, where it shows that a free was lost; an interrupt of others, where it
 * shows that the end of one of theirs was.
 *
 * Threads: one. Errors: -errno.
 */
#ifndef CUT_FILTER_H
#define CUT_FILTER_H

#include <stddef.h>

#include "event/trace.h"
#include "event/trace_carry.h"

struct cut_filter;

/* Begins with what is carried over at from_ns (trace_carry.h); reads the block requests from there to to_ns. */
int cut_filter_new(struct cut_filter **ret, struct trace *t, const uint32_t *upids, size_t cnt,
		   const struct trace_carry *carry, uint64_t from_ns, uint64_t to_ns, struct err *e);
void cut_filter_free(struct cut_filter *f);

bool cut_filter_has_process(const struct cut_filter *f, uint64_t upid);
bool cut_filter_has_thread(const struct cut_filter *f, uint64_t utid);

/* The next events are of a block of their own, whose keyframe says who runs. */
void cut_filter_begin_block(struct cut_filter *f);

/*
 * Every event that is carried over, and then every one from from_ns on, in order, but for kinds that are left out altogether. 1: ev, which
 * may be changed, is kept; 0: it is not.
 */
int cut_filter_event(struct cut_filter *f, struct event *ev);

#endif /* CUT_FILTER_H */
