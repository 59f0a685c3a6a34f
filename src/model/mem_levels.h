/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * mem_levels: resident and mapped bytes of each process as step functions of time.
 *
 *     start snapshot, RSS and VM events, exec, exit --[mem_levels]--> steps (old level, new level)
 *
 * RSS is anon + file + shmem, in bytes; swap is not resident. An event carries a counter's new
 * value. A process older than the trace begins at its baseline; for a process that the snapshot
 * missed, the first value of each counter is the baseline, which is a step but not growth. The
 * first values of a process that was forked during the trace are the pages that it shares with its
 * parent: these are inherited, not allocated. When the process releases memory, its own memory
 * counts as released before inherited memory. The kernel does not report the memory that a dying
 * process releases: after the exit of its last thread the level is 0. An exec drops the old shmem
 * and swap in the same way (new values of anon and file are reported at once); nothing is
 * inherited.
 *
 * The kernel batches its counters per CPU: a value may be off by some tens of pages per CPU, and
 * these errors never accumulate. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/rows.h"
#include "format/event.h"

enum { MEM_FILE = 0, MEM_ANON = 1, MEM_SWAP = 2, MEM_SHMEM = 3, MEM_MEMBER_CNT = 4 };
enum { MEM_RSS, MEM_VM, MEM_LEVEL_CNT };

struct mem_process {
	uint64_t bytes[MEM_MEMBER_CNT];
	uint64_t vm_bytes;
	/* part of each level: pages shared with the parent at birth */
	uint64_t inherited[MEM_LEVEL_CNT];
	uint8_t known;		/* bit per member, bit 4: vm_bytes */
	bool ended, born_inside;
};

struct mem_step {
	uint64_t before, after;	/* bytes */
	/*
	 * the inherited part of after - before: memory that the process neither allocated nor
	 * released
	 */
	int64_t inherited;
	/* the level was unknown, or the process is new: this step is not growth */
	bool is_baseline;
};

/* born_inside: the process was created during the trace. Call this once, before any event. */
void mem_process_init(struct mem_process *p, bool born_inside);
/* Returns whether all known values of a and b are equal. */
bool mem_process_same(const struct mem_process *a, const struct mem_process *b);
/* Sets the levels of a snapshot or keyframe. */
void mem_process_baseline(struct mem_process *p, const struct trace_rss *row);
/* Returns the current levels as a row. */
struct trace_rss mem_process_row(const struct mem_process *p);

/*
 * Applies an RSS or VM event of the process. True: the resident (RSS) or mapped (VM) bytes changed
 * by *ret_step.
 */
bool mem_process_event(struct mem_process *p, const struct event *ev, struct mem_step *ret_step);

/* Call after the last thread ended. Returns the steps of RSS and mapped bytes. */
void mem_process_exit(struct mem_process *p, struct mem_step *ret_rss, struct mem_step *ret_vm);
/*
 * Call after an exec. Returns the step of RSS. The remaining inherited bytes belong to the new
 * program: ret_own[MEM_LEVEL_CNT] are bytes that count as allocated from now on.
 */
void mem_process_exec(struct mem_process *p, struct mem_step *ret_rss, uint64_t *ret_own);

uint64_t mem_process_rss(const struct mem_process *p);

/*
 * Returns whether a process's level is a new peak: it exceeds the previous peak, or an exec set it.
 * As with VmHWM and VmPeak, the peak starts again at an exec, with the memory of the new program.
 */
static inline bool mem_level_is_peak(int64_t level, int64_t peak, bool is_exec)
{
	return is_exec || level > peak;
}
