/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * live_objects: pairs frees with the allocations they end, by address.
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
 * distinct combinations of call site, cache, sizes, flags and stack. An object takes 32 bytes, in a
 * table that is at most half full, including ended entries, and grows if live entries fill a
 * quarter. Calls come in time order. Threads: one. Errors: -ENOMEM or the result of a callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_objects;

#define LIVE_ORDER_MAX 20	/* far above any kernel's MAX_ORDER; a larger one is damage */

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
 * From now on, calls older() before an operation ends or splits an object that was added before
 * this call; passes the whole object. With exactly these objects in its table, another live_objects
 * would end the same objects for the same operations.
 */
typedef void (*live_objects_older)(void *ctx, const struct live_object *object);
void live_objects_begin_notes(struct live_objects *o, live_objects_older older, void *ctx);

size_t live_objects_cnt(const struct live_objects *o);
const struct live_kind *live_objects_kind(const struct live_objects *o, uint32_t kind);
