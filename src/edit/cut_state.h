/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_state: state shared by the parts of a cut. Private to trace_cut.c (choice of blocks,
 * manifest), cut_events.c (remaining events), cut_block.c (one block), cut_tasks.c (tasks and names
 * of a block) and cut_irq.c.
 */
#pragma once

#include "edit/checkpoint.h"
#include "edit/cut_filter.h"
#include "edit/trace_cut.h"
#include "format/block_out.h"
#include "store/store_writer.h"
#include "trace/trace_read.h"

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

/* ---- cut_events.c ---- */

int cut_events_new(struct cut *c, struct err *e);
void cut_events_free(struct cut_events *x);
/* Appends the events of a block to c->events, and sets c->cpu_first and c->cpu_last. */
int cut_events_until(struct cut *c, size_t block, struct err *e);

/* ---- cut_block.c ---- */

/*
 * Writes the block with the state before the window. Call it after cut_events_until() of the first
 * block.
 */
int cut_put_before(struct cut *c, struct err *e);
/* Writes block i with c->events, and clears them. */
int cut_put_block(struct cut *c, size_t i, struct err *e);

/* ---- cut_irq.c ---- */

/* Finds the interrupts served at the window's end that lack an exit. Call it after checkpoint(). */
int cut_find_broken(struct cut *c, struct err *e);
/* Marks ev if it is the entry of such an interrupt. */
void cut_mark_broken(const struct cut *c, struct event *ev);

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
