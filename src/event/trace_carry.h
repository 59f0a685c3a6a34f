/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_carry: the events before an instant that still matter after it.
 *
 *     blocks before the cut --[trace_carry]--> events, with their true times
 *
 * Replayed, they leave readers in the state that all events before the cut would have: allocations that are not freed
 * yet, the last life of every block request, and of every thread the switches and wake-ups that say
 * whether, and since when, it waits. Memory and switch counters need none: keyframes have them.
 * Threads: one. Memory: in proportion to what is live.
 */
#ifndef TRACE_CARRY_H
#define TRACE_CARRY_H

#include "event/trace.h"

/* Of the blocks before `block`, kinds of kind_mask. *ret is malloc'ed, in order of time. */
int trace_carry(struct trace *t, size_t block, uint32_t kind_mask, struct event **ret,
		size_t *ret_cnt, struct err *e);

#endif /* TRACE_CARRY_H */
