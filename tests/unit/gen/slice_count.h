/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * slice_count: each thread's share of one block's slice, counted event by event as FORMAT.md, "CPU
 * time", says. For each CPU the times add up to the slice's length. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct trace;

struct slice_share {
	uint32_t utid;
	uint64_t oncpu_ns;
	uint64_t switches, preempted;	/* times the thread left a CPU; of these, preempted */
	uint64_t wakeups;		/* times it was made runnable */
	/* not in interrupts: those count for EVENT_ID_IRQ */
	uint64_t slab_allocs, slab_bytes, page_allocs, page_bytes;
};

/* Shares by utid, valid until the next call. Returns 0 or the error of reading the block. */
int slice_count(struct trace *t, size_t block, const struct slice_share **ret, size_t *ret_cnt,
		struct err *e);
