/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * live_objects: pairs frees with the allocations they end, by address. Also in this file:
 * object_pairs, which finds allocations and frees in events, and heap_weight, which computes how
 * much a sample of a heap represents.
 *
 *     allocations, frees --[live_objects]--> for each free (or lost free): the allocation's owner,
 *                                            instant and kind
 *
 * Spaces separate address spaces: the kernel's slab objects share one, page frames another, and
 * each process's heap has its own. Page frames come in blocks of 2^order: an allocation may be
 * freed in parts, and is then split as the kernel's buddy allocator does.
 *
 * An allocation at an address that is still live means that its free was lost: the old object is
 * reported as lost before the new one is added. Memory is proportional to live objects plus the
 * distinct combinations of call site, cache, sizes, flags and stack. An entry of a table takes 16
 * bytes, or 32 with is_detailed. A table is at most three quarters full, including entries of ended
 * objects; it is then rebuilt, and grows if live entries fill at least half of it. Calls come in
 * time order. Threads: one. Errors: -ENOMEM or the result of a callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"

struct live_objects;

#define LIVE_ORDER_MAX 20	/* far above any kernel's MAX_ORDER; a higher order is damage */

/* Properties that many objects share; interned. */
struct live_kind {
	uint64_t call_site, cache;
	uint64_t bytes_req, bytes;	/* pages: both are the bytes of the whole block */
	uint64_t stack;			/* number of the recorded stack; 0: not recorded */
	uint32_t gfp;
	uint16_t migratetype;
	uint8_t order;			/* pages: log2 of their number; else 0 */
	uint8_t irq;			/* 1: allocated in interrupt context */
};

struct live_object {
	uint64_t addr;			/* address, or page frame number */
	uint64_t ts_ns;			/* time of the allocation */
	uint32_t owner;			/* as passed to live_objects_add() */
	uint32_t kind;			/* index for live_objects_kind() */
	uint32_t space;
};

/* The way an object ended. */
enum live_end { LIVE_FREED = 1, LIVE_LOST = 2, LIVE_REMAINS = 3 };

typedef int (*live_objects_sink)(void *ctx, const struct live_object *object, uint64_t bytes,
				 enum live_end end);

/*
 * pages: addresses are page frames, of page_bytes each; 0: plain addresses. is_detailed: stores
 * ts_ns and space of objects, which takes twice the memory; otherwise both are 0.
 */
int live_objects_new(struct live_objects **ret, uint32_t page_bytes, bool is_detailed);
void live_objects_free(struct live_objects *o);
/* Removes all objects and keeps the memory. */
void live_objects_clear(struct live_objects *o);
/*
 * Makes room for cnt objects. Call it before adding the objects of live_objects_rest(): these are
 * in the order of one table's hashes, and would collide in a smaller table that grows. 0 or
 * -ENOMEM.
 */
int live_objects_reserve(struct live_objects *o, size_t cnt);

/* Adds an object. First passes to sink each object whose free must have been lost. */
int live_objects_add(struct live_objects *o, uint32_t space, uint64_t addr, uint64_t ts_ns,
		     uint32_t owner, const struct live_kind *kind, live_objects_sink sink,
		     void *ctx);

/* Prefetches the slot of an address that will soon be added or ended. */
void live_objects_prefetch(const struct live_objects *o, uint32_t space, uint64_t addr);

/*
 * Sets the stack of the object at addr that was added at ts_ns, if that object still exists. 0 or
 * -ENOMEM.
 */
int live_objects_set_stack(struct live_objects *o, uint32_t space, uint64_t addr, uint64_t ts_ns,
			   uint64_t stack);

/*
 * Ends the object at addr (pages: all objects in the 2^order frames from addr on). sink gets each
 * object or part of an object. *ret_unknown: bytes (pages) or number of objects (0 or 1) that had
 * no recorded allocation.
 */
int live_objects_end(struct live_objects *o, uint32_t space, uint64_t addr, unsigned int order,
		     live_objects_sink sink, void *ctx, uint64_t *ret_unknown);

/* Passes all remaining objects to sink, in no particular order, as LIVE_REMAINS. */
int live_objects_rest(struct live_objects *o, live_objects_sink sink, void *ctx);

/*
 * From now on, before an operation ends or splits an object that was added before this call, passes
 * the whole object to older(). The passed objects suffice to repeat the operations: another
 * live_objects with only these objects would end the same objects.
 */
typedef void (*live_objects_older)(void *ctx, const struct live_object *object);
void live_objects_begin_notes(struct live_objects *o, live_objects_older older, void *ctx);

size_t live_objects_cnt(const struct live_objects *o);
const struct live_kind *live_objects_kind(const struct live_objects *o, uint32_t kind);

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
 * allocation. 0 or -ENOMEM; call object_pairs_done() even after -ENOMEM.
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

/*
 * heap_weight: the number of allocations and bytes that a sample of a sampled heap represents
 * (record --heap=SIZE).
 *
 * An allocation of s bytes is a sample with the probability p = 1 - exp(-s / mean), independent of
 * all others (src/preload/heap_share.h). It represents 1 / p allocations of s bytes each (Horvitz
 * and Thompson): the sums over samples have the right expected value. The variance of a sum of
 * bytes is the sum of s^2 (1 - p) / p over all allocations, and s (1 - p) / p is at most mean: the
 * variance is at most mean times the sum.
 *
 * mean: manifest's heap.sample_bytes; 0: all allocations are recorded, and each represents itself.
 */

/*
 * Returns the units per allocation in sums of weights: 1024, so that little is lost by rounding; 1
 * if the heap is not sampled.
 */
static inline uint64_t heap_weight_unit(uint64_t mean)
{
	return mean ? 1024 : 1;
}

/* Returns the number of allocations that a sample represents, in units of heap_weight_unit(). */
uint64_t heap_weight_cnt(uint64_t mean, uint64_t bytes);
/* Returns the number of bytes that a sample represents, rounded. */
uint64_t heap_weight_bytes(uint64_t mean, uint64_t bytes);
/*
 * Returns the possible error of an estimate of `bytes`, in bytes, with a confidence of at least
 * 90 %: the upper half of Wilson's interval for a Poisson count of bytes / mean.
 */
uint64_t heap_weight_error(uint64_t mean, uint64_t bytes);
