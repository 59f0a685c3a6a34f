/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_memory: every change of a process's memory, from all memory sources, in time order.
 *
 *     slab, page, heap, RSS, VM events, exec, exit --[fold_memory]--> changes, with their owner
 *
 * A free is credited to the thread that allocated. The sources are separate and must never be added
 * up: a page may be part of a slab, a slab object may be a kmalloc, and both are part of a
 * process's RSS.
 *
 * Found: struct alloc_change. Without a stored state, reading starts at the trace's start, because
 * a free may end an allocation from any earlier time; baselines are reported first. The index's
 * sums are in index_memory.h. Memory: live objects, processes. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "analyze/fold/fold.h"
#include "model/object_pairs.h"

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
	 * Memory from before the trace, or before the first event, or shared with the parent at
	 * birth; negative: such memory was released.
	 */
	ALLOC_CHANGE_BASELINE = 1,
	ALLOC_CHANGE_ALLOC,
	ALLOC_CHANGE_FREE,
	ALLOC_CHANGE_LOST,     /* its free was lost; detected now */
	ALLOC_CHANGE_EXIT,     /* the process ended (or, heap: called exec) */
	/* RSS, VM: from here on the level is the new program's; delta is 0 */
	ALLOC_CHANGE_EXEC,
	/* a free of an allocation from before the trace; delta only if its size is known */
	ALLOC_CHANGE_UNPAIRED,
};

struct alloc_change {
	uint64_t ts_ns;
	int64_t delta;			/* bytes; those that a sample stands for */
	uint64_t cnt;			/* allocations or frees; heap: in heap_weight_unit() */
	/* dense, the owner; RSS, VM: thread is EVENT_ID_UNKNOWN */
	uint32_t thread, process;
	uint8_t source, kind;
};

/* Returns the fold of the sources that share events and a state. */
const struct fold_def *fold_memory(enum index_group group);

/* "rss", "slab", "page", "vm", "heap" */
const char *alloc_source_name(unsigned int source);
/* Returns the index or -1; name need not end at len. */
int alloc_source_find(const char *name, size_t len);
uint32_t alloc_source_kinds(unsigned int source);	/* of events: 1u << EVENT_x */
const char *alloc_source_event_source(unsigned int source);	/* "alloc.rss" and so on */
enum alloc_source alloc_source_of(unsigned int family);		/* enum object_family */
