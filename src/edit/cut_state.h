/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_state: state shared by the parts of a cut. Private to trace_cut.c (choice of blocks,
 * remaining events, one block, manifest) and cut_tasks.c (processes that stay, tasks and names of a
 * block).
 */
#pragma once

#include <stddef.h>

#include "edit/checkpoint.h"
#include "edit/trace_cut.h"
#include "format/block_out.h"
#include "store/store_writer.h"
#include "trace/trace.h"
#include "trace/trace_read.h"

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

#define CUT_LIST_CNT 7	/* lists of the trace whose rows belong to blocks by time */

struct cut {
	struct trace *t;
	const struct trace_cut_request *q;
	struct store_writer *w;
	struct block_out out;
	struct row_writer rows;	/* of the section being made */
	uint64_t from_ns, to_ns;	/* the span of the new trace, inside the old one */
	size_t first, end;	/* the blocks that overlap this span */
	bool is_same;	/* a copy of the whole trace: it keeps the id */
	bool is_part;		/* the old trace has more than the window */
	/* recorded sources that the cut leaves out */
	const char *left_out[TRACE_CUT_SOURCE_MAX];
	unsigned int left_out_cnt;
	uint32_t kinds_left;	/* mask of 1 << kind: events that stay */
	struct checkpoint before;	/* at from_ns; empty unless is_part */
	struct cut_filter *filter;	/* of processes; NULL: no filter */
	struct cut_events *source;
	struct event *events;	/* of the next block */
	size_t event_cnt, event_cap;
	uint32_t *cpu_first;		/* by CPU: its thread when the block's slice begins */
	uint64_t *cpu_since;		/* ... since when, if before the slice; or 0 */
	struct row_cpu_end *cpu_last;	/* ... its thread when the slice ends */
	size_t list_at[CUT_LIST_CNT];	/* the first row not yet in a block */
	struct event *broken;	/* entries of interrupts to mark */
	size_t broken_cnt, broken_cap;
	struct trace_cut_result res;
};

/* ---- cut_tasks.c ---- */

/* Starts a section: its rows are written to c->rows. */
void cut_begin_rows(struct cut *c, uint64_t base_ns);
/*
 * Writes PROCESSES, THREADS, NAMES, SITES and FRAMES of a block: those that its events refer to,
 * and if whole, every task of the window. Times of rows count from base_ns. 0 or -ENOMEM.
 */
int cut_put_tasks(struct cut *c, const struct event *events, size_t cnt, bool whole,
		  uint64_t base_ns);

/* True: the quota is kept: it overlaps the window, and a remaining process is in its group. */
bool cut_has_quota(const struct cut *c, const struct trace_quota *q);
