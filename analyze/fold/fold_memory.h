/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_memory: every change of a process's memory, from all memory sources, in time order.
 *
 *     slab, page, heap, RSS, VM events, exec, exit --[fold_memory]--> changes, with their owner
 *
 * A free is credited to the thread that allocated. Never add up different sources: a page may be
 * part of a slab, a slab object may be a kmalloc, and both may be part of a process's RSS.
 *
 * Found: struct alloc_change. Without a stored state, reading starts at the trace's start, because
 * a free may end an allocation of any age; baselines are reported first. The index's sums are in
 * index_memory.h. Memory grows with live objects and processes. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "analyze/fold/fold.h"
#include "model/live_objects.h"

enum alloc_source {
	ALLOC_RSS = 0,
	ALLOC_SLAB = 1,
	ALLOC_PAGE = 2,
	ALLOC_VM = 3,
	ALLOC_HEAP = 4,
	ALLOC_SOURCE_CNT = 5,
};

enum alloc_change_kind {
	/*
	 * Memory that existed before the trace or before the first event, or that was shared with
	 * the parent at birth. Negative: such memory was released.
	 */
	ALLOC_CHANGE_BASELINE = 1,
	ALLOC_CHANGE_ALLOC,
	ALLOC_CHANGE_FREE,
	ALLOC_CHANGE_LOST,     /* the object's free was lost; detected now */
	ALLOC_CHANGE_EXIT,     /* the process ended (heap: or called exec) */
	/* RSS, VM: from now on the level is the level of the new program; delta is 0 */
	ALLOC_CHANGE_EXEC,
	/* a free of an object allocated before the trace; delta is 0 if its size is unknown */
	ALLOC_CHANGE_UNPAIRED,
};

struct alloc_change {
	uint64_t ts_ns;
	int64_t delta;			/* bytes; for a sample, the bytes that it represents */
	/* number of allocations or frees; heap: in units of heap_weight_unit() */
	uint64_t cnt;
	/* the owner, in dense ids; RSS, VM: thread is EVENT_ID_UNKNOWN */
	uint32_t thread, process;
	uint8_t source, kind;
};

/* Returns the fold of a group of sources, which share events and a state. */
const struct fold_def *fold_memory(enum index_group group);

/* Returns "rss", "slab", "page", "vm" or "heap". */
const char *alloc_source_name(unsigned int source);
/* Returns the source with a name of len bytes, not necessarily terminated; -1: unknown. */
int alloc_source_find(const char *name, size_t len);
uint32_t alloc_source_kinds(unsigned int source);	/* kinds of its events: 1u << EVENT_x */
const char *alloc_source_event_source(unsigned int source);	/* returns "alloc.rss" and so on */
enum alloc_source alloc_source_of(unsigned int family);		/* family: enum object_family */
