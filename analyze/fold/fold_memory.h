/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_memory: every change of what a process holds, from all memory sources, in time order.
 *
 *     slab, page, heap, RSS, VM events, exec, exit --[fold_memory]--> changes, with whom to credit
 *
 * A free credits the thread that allocated. Sources are told apart and must never be added up: a
 * page may be a slab's, a slab object a kmalloc's, and both part of a process's RSS.
 *
 * Found: struct alloc_change. Without a stored state, reading starts at the trace's start, for a
 * free may end what was allocated any time before, and baselines are found first. What the index
 * adds up is in index_memory.h. Memory: live objects, processes. Threads: one.
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
	 * It was there before the trace, or before the first event, or is shared with the parent
	 * at birth; below 0: such memory was given back.
	 */
	ALLOC_CHANGE_BASELINE = 1,
	ALLOC_CHANGE_ALLOC,
	ALLOC_CHANGE_FREE,
	ALLOC_CHANGE_LOST,     /* its free was lost; found out now */
	ALLOC_CHANGE_EXIT,     /* the process ended (or, heap: called exec) */
	ALLOC_CHANGE_EXEC,     /* RSS, VM: the level is the new program's from here; delta is 0 */
	/* a free of what was allocated before the trace; delta only if its size is known */
	ALLOC_CHANGE_UNPAIRED,
};

struct alloc_change {
	uint64_t ts_ns;
	int64_t delta;			/* bytes */
	/* dense, who is credited; RSS, VM: thread is EVENT_ID_UNKNOWN */
	uint32_t thread, process;
	uint8_t source, kind;
};

/* The fold of the sources that share events and a state. */
const struct fold_def *fold_memory(enum index_group group);

/* "rss", "slab", "page", "vm", "heap" */
const char *alloc_source_name(unsigned int source);
/* Index or -1; name need not end at len. */
int alloc_source_find(const char *name, size_t len);
uint32_t alloc_source_kinds(unsigned int source);	/* of events: 1u << EVENT_x */
const char *alloc_source_event_source(unsigned int source);	/* "alloc.rss" and so on */
enum alloc_source alloc_source_of(unsigned int family);		/* enum object_family */
