/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * summary_count: the SUMMARY rows of a slice from its events, counted one by one.
 *
 *     who runs at from_ns, events in order --[summary_count]--> rows by utid
 *
 * Follows FORMAT.md, "CPU time": for each CPU the rows add up to the slice's length. Threads: one.
 */
#ifndef SUMMARY_COUNT_H
#define SUMMARY_COUNT_H

#include <stddef.h>

#include "chunk/rows.h"
#include "event/cpu_timeline.h"

struct summary_count;

/* The kinds that count; summary_count_event() passes over others. */
#define SUMMARY_COUNT_KINDS \
	(1u << EVENT_SWITCH | 1u << EVENT_WAKEUP | 1u << EVENT_SLAB_ALLOC | 1u << EVENT_PAGE_ALLOC)

int summary_count_new(struct summary_count **ret, unsigned int cpu_cnt, uint64_t page_bytes);
void summary_count_free(struct summary_count *c);

int summary_count_begin(struct summary_count *c, uint64_t from_ns, cpu_timeline_runner runner, void *ctx);
/* Of CPUs at or above cpu_cnt, no switch counts. */
int summary_count_event(struct summary_count *c, const struct event *ev);
/* ends: by CPU, who has it up to to_ns (FORMAT.md, CPU_END); NULL: not told. Rows live as long as c. */
int summary_count_end(struct summary_count *c, uint64_t to_ns, const uint32_t *ends,
		      const struct trace_summary **ret, size_t *ret_cnt);

#endif /* SUMMARY_COUNT_H */
