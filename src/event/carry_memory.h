/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * carry_memory: the memory of every process at an instant, from the trace's baselines and what came after.
 *
 * Follows mem_levels.h as reports over the whole trace do, so that a trace that begins at that instant
 * with these rows as its keyframe tells the same. Threads: one.
 */
#ifndef CARRY_MEMORY_H
#define CARRY_MEMORY_H

#include <stddef.h>

#include "event/trace.h"

struct carry_memory;

/* A process calls exec, or ends. */
typedef void (*carry_memory_turn)(void *ctx, uint32_t upid);

/* on_turn hears of what mattered to the events handed over later: called from carry_memory_until(). */
int carry_memory_new(struct carry_memory **ret, struct trace *t, carry_memory_turn on_turn,
		     void *ctx);
void carry_memory_free(struct carry_memory *m);

/* Takes in what happened to processes before ts_ns. At one instant events come first. */
void carry_memory_until(struct carry_memory *m, uint64_t ts_ns);
/* An RSS or VM event; carry_memory_until() its time was called. */
void carry_memory_event(struct carry_memory *m, const struct event *ev);
/* Rows as of at_ns, by upid; malloc'ed. 0 or -ENOMEM. */
int carry_memory_rows(struct carry_memory *m, uint64_t at_ns, struct trace_rss **ret, size_t *ret_cnt);

/* The rows are what carry_memory_rows() gave at at_ns: goes on from there. */
void carry_memory_set(struct carry_memory *m, uint64_t at_ns, const struct trace_rss *rows, size_t cnt);

#endif /* CARRY_MEMORY_H */
