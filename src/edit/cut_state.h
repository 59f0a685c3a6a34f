/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_state: state shared by the parts of a cut. Private to trace_cut.c (choice of blocks, kept
 * events, one block, manifest) and cut_tasks.c (kept processes, tasks and names of a block).
 */
#pragma once

#include <stddef.h>

#include "edit/checkpoint.h"
#include "edit/trace_cut.h"
#include "format/block.h"
#include "store/store_writer.h"
#include "trace/trace.h"
#include "trace/trace_read.h"

/*
 * cut_filter: selects the events that a cut of some processes keeps.
 *
 *     events in order of time --[cut_filter]--> kept events, other threads as [filtered]
 *
 * Kept events: switches to and from the threads of the processes, and wake-ups of these threads;
 * allocations by these threads, and frees of the allocated objects by any thread; changes of the
 * processes' memory; pages that the processes dirtied; and all events of every request that the
 * processes queued, issued or own. A thread of another process in such an event becomes
 * EVENT_ID_FILTERED, except in requests. An allocation by another thread is kept, as filtered, if
 * it shows that a free was lost. An interrupt of another thread is kept if it shows that the end of
 * an interrupt was lost.
 *
 * Threads: one. Errors: -errno.
 */
struct cut_filter;

/* Reads the block requests of the checkpoint at from_ns and of [from_ns, to_ns). Copies upids. */
int cut_filter_new(struct cut_filter **ret, struct trace *t, const uint32_t *upids, size_t cnt,
		   const struct checkpoint *before, uint64_t from_ns, uint64_t to_ns,
		   struct err *e);
void cut_filter_free(struct cut_filter *f);

bool cut_filter_has_process(const struct cut_filter *f, uint64_t upid);
bool cut_filter_has_thread(const struct cut_filter *f, uint64_t utid);

/* Begins a block. Until the first switch of each CPU, a kept thread may be running on the CPU. */
void cut_filter_begin_block(struct cut_filter *f);

/*
 * Filters an event. Call this for every event of the checkpoint and then for every event since
 * from_ns, in order; kinds that the cut leaves out may be skipped. 1: keep ev, which may have been
 * changed; 0: drop ev.
 */
int cut_filter_event(struct cut_filter *f, struct event *ev);

#define CUT_LIST_CNT 7	/* lists of the trace whose rows are assigned to blocks by time */

struct cut {
	struct trace *t;
	const struct trace_cut_request *q;
	struct store_writer *w;
	struct block_out out;
	struct row_writer rows;	/* of the section being written */
	uint64_t from_ns, to_ns;	/* span of the new trace, within the old trace */
	size_t first, end;	/* [first, end): blocks that overlap this span */
	bool is_same;	/* a copy of the whole trace, which keeps the trace's id */
	bool is_part;		/* the new trace lacks a part of the old trace */
	/* recorded sources that the cut leaves out */
	const char *left_out[TRACE_CUT_SOURCE_MAX];
	unsigned int left_out_cnt;
	uint32_t kinds_left;	/* mask of 1 << kind: kinds that are kept */
	struct checkpoint before;	/* at from_ns; empty unless is_part */
	struct cut_filter *filter;	/* keeps events of some processes; NULL: keep all */
	struct cut_events *source;
	struct event *events;	/* of the next block */
	size_t event_cnt, event_cap;
	uint32_t *cpu_first;		/* by CPU: the thread at the start of the block's slice */
	/* by CPU: when that thread got the CPU, if before the slice; else 0 */
	uint64_t *cpu_since;
	struct row_cpu_end *cpu_last;	/* by CPU: the thread at the end of the slice */
	size_t list_at[CUT_LIST_CNT];	/* by list: first row that no block has yet */
	struct event *broken;	/* interrupt entries to mark: the exit was lost */
	size_t broken_cnt, broken_cap;
	struct trace_cut_result res;
};

/* ---- cut_tasks.c ---- */

/* Starts a section: row_put_*() then append to c->rows. */
void cut_begin_rows(struct cut *c, uint64_t base_ns);
/*
 * Writes PROCESSES, THREADS, NAMES, SITES and FRAMES of a block: the rows to which its events refer
 * and, if whole, every task of the window. Times of rows are relative to base_ns. 0 or -ENOMEM.
 */
int cut_put_tasks(struct cut *c, const struct event *events, size_t cnt, bool whole,
		  uint64_t base_ns);

/* Returns true if a quota overlaps the window and its group has a process that is kept. */
bool cut_has_quota(const struct cut *c, const struct trace_quota *q);
