/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The sources of memory events, and what an allocation event says of its object. */
#include <string.h>

#include "analyze/fold/fold_memory.h"

static const struct {
	const char *name;
	uint32_t kinds;		/* of events */
} sources[ALLOC_SOURCE_CNT] = {
	[ALLOC_RSS] = { "rss", 1u << EVENT_RSS },
	[ALLOC_SLAB] = { "slab", 1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE },
	[ALLOC_PAGE] = { "page", 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE },
	[ALLOC_VM] = { "vm", 1u << EVENT_VM },
	[ALLOC_HEAP] = { "heap", 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE },
};

const char *alloc_source_name(unsigned int source)
{
	return source < ALLOC_SOURCE_CNT ? sources[source].name : "?";
}

int alloc_source_find(const char *name, size_t len)
{
	int i;

	for (i = 0; i < ALLOC_SOURCE_CNT; i++)
		if (strlen(sources[i].name) == len && !memcmp(sources[i].name, name, len))
			return i;
	return -1;
}

uint32_t alloc_source_kinds(unsigned int source)
{
	return sources[source].kinds;
}

void alloc_event_kind(const struct event *ev, uint32_t page_bytes, struct live_kind *k,
		      uint64_t *ret_addr)
{
	memset(k, 0, sizeof(*k));
	k->irq = !!(ev->flags & EVENT_F_IRQ);
	*ret_addr = ev->v[0];
	switch (ev->kind) {
	case EVENT_SLAB_ALLOC:
		k->bytes_req = ev->v[EV_SLAB_ALLOC_BYTES_REQ];
		k->bytes = ev->v[EV_SLAB_ALLOC_BYTES];
		k->call_site = ev->v[EV_SLAB_ALLOC_CALL_SITE];
		k->cache = ev->v[EV_SLAB_ALLOC_CACHE];
		break;
	case EVENT_PAGE_ALLOC:
		k->order = ev->v[EV_PAGE_ALLOC_PAGE_ORDER] < 64
				   ? (uint8_t)ev->v[EV_PAGE_ALLOC_PAGE_ORDER]
				   : 63;
		k->bytes = k->bytes_req = k->order < 32 ? (uint64_t)page_bytes << k->order : 0;
		k->gfp = (uint32_t)ev->v[EV_PAGE_ALLOC_GFP];
		k->migratetype = (uint16_t)ev->v[EV_PAGE_ALLOC_MIGRATETYPE];
		break;
	case EVENT_HEAP_ALLOC:
		k->bytes = k->bytes_req = ev->v[EV_HEAP_ALLOC_BYTES];
		k->call_site = ev->v[EV_HEAP_ALLOC_CALL_SITE];
		break;
	default:
		break;
	}
}
