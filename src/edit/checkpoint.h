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

#include "base/buf.h"
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
 * stored beside the trace where that is possible. 0 or -errno.
 */
int checkpoint(struct trace *t, uint64_t at_ns, const struct checkpoint_request *q,
	       struct checkpoint *ret, struct err *e);
void checkpoint_done(struct checkpoint *c);

/*
 * ---- checkpoint_file.c: checkpoints of a finished trace, as parts of its derived file ----
 *
 * So only the first cut reads everything that lies before its window; the next cut begins at the
 * last checkpoint before its own.
 */

struct checkpoint_file;

/* Without a derived file, or with one that does not fit, there are no checkpoints yet. -ENOMEM. */
int checkpoint_file_open(struct checkpoint_file **ret, struct trace *t);
void checkpoint_file_free(struct checkpoint_file *p);

/*
 * The last one that is not after at_ns. 1: *ret is for checkpoint_done(); 0: there is none;
 * -ENOMEM.
 */
int checkpoint_file_find(struct checkpoint_file *p, uint64_t at_ns, uint64_t *ret_at_ns,
			 struct checkpoint *ret);
/*
 * Adds a checkpoint behind the last one. Best effort: where no file can be made beside the trace
 * nothing happens, now and later. -ENOMEM.
 */
int checkpoint_file_add(struct checkpoint_file *p, uint64_t at_ns, const struct checkpoint *c);
/* Puts what was added in its place. Best effort. */
void checkpoint_file_save(struct checkpoint_file *p);

/* Appends a checkpoint as bytes. Its events are before at_ns, in order. */
void checkpoint_encode(const struct checkpoint *c, uint64_t at_ns, struct buf *out);
/*
 * *ret is for checkpoint_done(). -EBADMSG: the bytes are no checkpoint at at_ns, have more than
 * event_max events, or an event is not before at_ns or of no CPU below cpu_cnt; -ENOMEM.
 */
int checkpoint_decode(const void *bytes, size_t cnt, uint64_t event_max, uint64_t at_ns,
		      unsigned int cpu_cnt, struct checkpoint *ret);

#endif /* CHECKPOINT_H */
