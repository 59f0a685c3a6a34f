/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * alloc_state: what alloc_account.c (the machine) and alloc_state.c (its state as bytes, for an
 * index) share. Nobody else.
 */
#ifndef ALLOC_STATE_H
#define ALLOC_STATE_H

#include "analyze/alloc_account.h"
#include "event/mem_levels.h"

struct alloc_older {		/* an object from before the cell, put back in front of operation op */
	uint64_t op;
	int64_t addr;		/* from the operation's own */
	uint64_t bytes;
	uint32_t owner;
	uint8_t order;
};

struct alloc_account {
	struct analysis *a;
	alloc_account_sink sink;
	void *ctx;
	uint32_t source_mask;
	struct event_cursor *cursor;
	const struct event *next;
	bool at_end, begun;
	uint32_t page_bytes;
	struct live_objects *slab, *pages, *heap;
	struct mem_process *mem;	/* by ident_process() */
	uint32_t *heap_space;		/* the same: number of the heap it uses now, 0: its own */
	int64_t *heap_bytes;
	uint32_t heap_space_cnt;
	const struct trace_turn *turn;	/* the next one; NULL: that at turn_at */
	size_t turn_at, turn_cnt;
	struct alloc_change change;	/* being made: for the pairing callbacks */
	uint64_t op, op_addr;		/* allocations and frees of this cell so far; the last one's */
	/* notes being made */
	uint32_t cell;			/* counted from 1; 0: none are made */
	uint32_t *noted;		/* by process: the cell it was noted in */
	uint32_t note_cnt;
	uint64_t note_op;		/* of the last object note */
	struct buf process_notes, object_notes;
	/* notes being followed */
	struct alloc_older *older;
	size_t older_cnt, older_at;
};

/* The process is about to change, or to matter. */
void alloc_state_note(struct alloc_account *x, uint32_t process);
static inline void alloc_state_touch(struct alloc_account *x, uint32_t process)
{
	if (x->noted[process] != x->cell)
		alloc_state_note(x, process);
}

static inline uint32_t alloc_state_space(const struct alloc_account *x, uint32_t process)
{
	return x->heap_space[process] ? x->heap_space[process] : process;
}

int alloc_state_load(struct alloc_account *x, const struct alloc_account_start *start);
/* The objects that the operation now beginning needs. */
int alloc_state_put_back(struct alloc_account *x, struct live_objects *o, uint32_t space);
void alloc_state_fresh(const struct alloc_account *x, uint32_t process, struct mem_process *ret);

#endif /* ALLOC_STATE_H */
