/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint_memory: the memory of every process at an instant, from the trace's baselines and what
 * came after them.
 *
 * It follows mem_levels.h as reports over the whole trace do. A trace that begins at that instant
 * with these rows as its keyframe therefore gives the same answers. Threads: one.
 */
#ifndef CHECKPOINT_MEMORY_H
#define CHECKPOINT_MEMORY_H

#include <stddef.h>

#include "model/mem_levels.h"
#include "trace/trace.h"

struct checkpoint_memory {
	struct trace *t;
	struct mem_process *levels;	/* by trace_process_index() */
	size_t reset_at;		/* the next exec or exit */
	/* Called when a process calls exec or ends; set after the init, may be NULL. */
	void (*on_reset)(void *ctx, uint32_t upid);
	void *ctx;
};

int checkpoint_memory_init(struct checkpoint_memory *m, struct trace *t);	/* 0 or -ENOMEM */
void checkpoint_memory_done(struct checkpoint_memory *m);

/* Takes in the execs and exits before ts_ns. At one instant, events come first. */
void checkpoint_memory_until(struct checkpoint_memory *m, uint64_t ts_ns);
/* Takes in an RSS or VM event, after checkpoint_memory_until() its time. */
void checkpoint_memory_event(struct checkpoint_memory *m, const struct event *ev);
/* Rows as of at_ns, by upid; malloc'ed. 0 or -ENOMEM. */
int checkpoint_memory_rows(struct checkpoint_memory *m, uint64_t at_ns, struct trace_rss **ret,
			   size_t *ret_cnt);
/* Goes on from at_ns with the rows that checkpoint_memory_rows() gave for that instant. */
void checkpoint_memory_set(struct checkpoint_memory *m, uint64_t at_ns,
			   const struct trace_rss *rows, size_t cnt);

#endif /* CHECKPOINT_MEMORY_H */
