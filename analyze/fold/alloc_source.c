/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* alloc_source: the sources of memory events. */
#include <string.h>

#include "analyze/fold/fold_memory.h"

static const struct {
	const char *name;	/* name of the source of events */
	uint32_t kinds;		/* of events */
} sources[ALLOC_SOURCE_CNT] = {
	[ALLOC_RSS] = { "alloc.rss", 1u << EVENT_RSS },
	[ALLOC_SLAB] = { "alloc.slab", 1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE },
	[ALLOC_PAGE] = { "alloc.page", 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE },
	[ALLOC_VM] = { "alloc.vm", 1u << EVENT_VM },
	[ALLOC_HEAP] = { "alloc.heap", 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE },
};

const char *alloc_source_name(unsigned int source)
{
	return source < ALLOC_SOURCE_CNT ? sources[source].name + strlen("alloc.") : "?";
}

int alloc_source_find(const char *name, size_t len)
{
	for (unsigned int i = 0; i < ALLOC_SOURCE_CNT; i++)
		if (strlen(alloc_source_name(i)) == len && !memcmp(alloc_source_name(i), name, len))
			return (int)i;
	return -1;
}

uint32_t alloc_source_kinds(unsigned int source)
{
	return sources[source].kinds;
}

const char *alloc_source_event_source(unsigned int source)
{
	return sources[source].name;
}

enum alloc_source alloc_source_of(unsigned int family)
{
	static const uint8_t of[OBJECT_FAMILY_CNT] = {
		[OBJECT_SLAB] = ALLOC_SLAB, [OBJECT_PAGE] = ALLOC_PAGE, [OBJECT_HEAP] = ALLOC_HEAP,
	};

	return of[family];
}
