/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * object_pairs: interprets events of allocations and frees, and pairs them.
 *
 *     SLAB, PAGE, HEAP events, exec, exit --[object_pairs: live_objects]--> ends of objects
 *
 * There are three families with separate addresses: slab objects, page blocks, and heap objects.
 * Each process has its own address space for heap objects. An exec or the end of a process starts a
 * new space: objects of the old one can no longer be freed. An allocation in an interrupt belongs
 * to EVENT_ID_IRQ, not to the interrupted thread; user space, where heaps are, has no interrupts. A
 * page order above every kernel's limit is damage; such an event has no pair. Threads: one.
 */
#pragma once

#include "format/event.h"
#include "model/live_objects.h"

enum object_family {
	OBJECT_SLAB = 0, OBJECT_PAGE = 1, OBJECT_HEAP = 2, OBJECT_FAMILY_CNT = 3
};

struct object_event {
	uint64_t addr;			/* address, or page frame number */
	uint32_t utid;			/* thread of the event, or EVENT_ID_IRQ */
	uint8_t family;			/* enum object_family */
	bool is_alloc;
	struct live_kind kind;		/* for a free: only the fields that its event has */
};

/* Returns the family of events of this kind (enum event_kind); -1: none. */
int object_family_of(uint64_t kind);
/* Returns the thread of a family's event, or EVENT_ID_IRQ. */
uint32_t object_event_utid(const struct event *ev);
/* False: the event belongs to no family. */
bool object_event_read(const struct event *ev, uint32_t page_bytes, struct object_event *ret);

struct object_pairs {
	struct live_objects *of[OBJECT_FAMILY_CNT];
	uint32_t *heap_spaces;		/* by process; 0: the space is the process's number */
	uint32_t next_heap_space;	/* next number of a new space, counting down */
	uint32_t page_bytes;
};

/*
 * Processes have numbers below process_cnt. has_instants: objects keep the time of their
 * allocation. 0 or -ENOMEM; call done() even after -ENOMEM.
 */
int object_pairs_init(struct object_pairs *p, uint32_t page_bytes, uint32_t process_cnt,
		      bool has_instants);
void object_pairs_done(struct object_pairs *p);
/* Raises the number of processes from before to cnt. 0 or -ENOMEM. */
int object_pairs_grow(struct object_pairs *p, uint32_t before, uint32_t cnt);
/* Call this at an exec or the end of a process. */
void object_pairs_reset(struct object_pairs *p, uint32_t process);
/* Returns the address space, for live_objects, of an event of the process. */
uint32_t object_pairs_space(const struct object_pairs *p, unsigned int family, uint32_t process);
/*
 * Adds or ends an object of the process; owner is for live_objects_add(). sink gets the objects
 * that the event ends, including an object whose free must have been lost. *ret_unknown: as in
 * live_objects_end(); 0 for allocations.
 */
int object_pairs_event(struct object_pairs *p, const struct object_event *o, uint64_t ts_ns,
		       uint32_t owner, uint32_t process, live_objects_sink sink, void *ctx,
		       uint64_t *ret_unknown);
