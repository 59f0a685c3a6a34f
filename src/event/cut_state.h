/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_state: what the parts of a cut share: trace_cut.c (which blocks, the manifest), cut_block.c (one block),
 * cut_tasks.c (who there is). Nobody else.
 */
#ifndef CUT_STATE_H
#define CUT_STATE_H

#include "chunk/block_out.h"
#include "event/cut_filter.h"
#include "event/trace_carry.h"
#include "event/trace_cut.h"
#include "event/trace_state.h"
#include "store/store_writer.h"

struct cut {
	struct trace *t;
	const struct trace_cut_request *q;
	struct store_writer *w;
	struct block_out out;
	struct row_writer rows;	/* of the section that is being made */
	uint64_t from_ns, to_ns;	/* what is in the new trace, inside of the old one */
	size_t first, end;	/* blocks with a part of it */
	uint32_t left_out;	/* bit 1 << source: of what was recorded */
	uint32_t kinds_left;	/* bit 1 << kind, of events that stay */
	struct trace_carry carry;	/* at from_ns */
	struct cut_filter *filter;	/* of processes; NULL: all stay */
	struct event_cursor *cursor;	/* with a filter: over all the window, in order */
	struct event next;		/* read from it, not yet used; kind 0: none */
	struct event *events;	/* of the block that is being made */
	size_t event_cnt, event_cap;
	struct trace_list broken;	/* struct event: entries of interrupts that are marked */
	uint32_t *runners;	/* trace_cpu_cnt() of the old trace */
	struct trace_cut_result res;
};

/* ---- trace_cut.c ---- */

/* There is more in the old trace than the window. */
bool cut_is_part(const struct cut *c);
/* The source of that name is left out. */
bool cut_leaves_out(const struct cut *c, const char *source);

/* ---- cut_block.c ---- */

/* The block that tells what was before the window. */
int cut_put_carried(struct cut *c, struct err *e);
/* Block i, which has a part of the window: as it is stored if it can be, made anew if not. */
int cut_put_block(struct cut *c, size_t i, struct err *e);

/* ---- cut_irq.c ---- */

/* Finds the interrupts that are being served at the window's end, and never seen to end. After trace_carry(). */
int cut_find_broken(struct cut *c, struct err *e);
/* Marks ev if it is where one of them begins. */
void cut_mark_broken(const struct cut *c, struct event *ev);
/* b may have such an event. */
bool cut_has_broken(const struct cut *c, const struct trace_block *b);

/* ---- cut_tasks.c ---- */

/* Starts a section: its rows go to c->rows. */
void cut_begin_rows(struct cut *c, uint64_t base_ns);
/*
 * PROCESSES, THREADS and NAMES of a block: of the tasks and names that its events refer to, and with all set every
 * task of the window, as it came to be known. Times of rows count from base_ns.
 */
int cut_put_tasks(struct cut *c, const struct event *events, size_t cnt, bool all, uint64_t base_ns);

#endif /* CUT_STATE_H */
