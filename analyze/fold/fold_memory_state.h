/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_memory_state: what fold_memory.c (the machine) and fold_memory_state.c (its state as bytes,
 * for the index) share. Nobody else.
 */
#ifndef FOLD_MEMORY_STATE_H
#define FOLD_MEMORY_STATE_H

#include "analyze/fold/fold_memory.h"
#include "model/mem_levels.h"

/* an object from before the interval, put back in front of operation op */
struct alloc_older {
	uint64_t op;
	int64_t addr;		/* from the operation's own */
	uint64_t bytes;
	uint32_t owner;
	uint8_t order;
};

struct memory_machine {
	struct analysis *a;
	struct fold_sink sink;
	uint32_t source_mask;
	uint32_t page_bytes;
	struct live_objects *slab, *pages, *heap;
	struct mem_process *mem;	/* by dense_process() */
	uint32_t *heap_space;		/* the same: number of the heap it uses now, 0: its own */
	int64_t *heap_bytes;
	uint32_t heap_space_cnt;
	struct alloc_change change;	/* being made: for the pairing callbacks */
	uint64_t op, op_addr;	/* allocations and frees of this interval so far; the last one's */
	/* notes being made */
	uint32_t round;			/* counted from 1; 0: none are made */
	uint32_t *noted;		/* by process: the round it was noted in */
	uint32_t note_cnt;
	uint64_t note_op;		/* of the last object note */
	struct buf process_notes, object_notes;
	/* notes being followed */
	struct alloc_older *older;
	size_t older_cnt, older_cap, older_at;
};

/* The process is about to change, or to matter. */
void memory_state_note(struct memory_machine *x, uint32_t process);
static inline void memory_state_touch(struct memory_machine *x, uint32_t process)
{
	if (x->noted[process] != x->round)
		memory_state_note(x, process);
}

static inline uint32_t memory_state_space(const struct memory_machine *x, uint32_t process)
{
	return x->heap_space[process] ? x->heap_space[process] : process;
}

/* The objects that the operation now beginning needs. */
int memory_state_put_back(struct memory_machine *x, struct live_objects *o, uint32_t space);
/* All processes as they are when nothing was seen of them yet. */
void memory_state_begin(struct memory_machine *x);

/* Of struct fold_state_def. */
int memory_state_begin_interval(void *m, uint64_t from_ns);
int memory_state_put_interval(void *m, struct buf *out);
int memory_state_save(void *m, uint64_t at_ns, struct buf *out);
/* A tail has levels in front (index_memory.h), which are skipped. */
int memory_state_load(void *m, uint64_t at_ns, struct packed_in *in, bool is_tail);

#endif /* FOLD_MEMORY_STATE_H */
