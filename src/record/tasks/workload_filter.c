/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * workload_filter: passes over a slice twice, first for allocations and then for frees, because an
 * object may be freed on a CPU whose ring precedes that of the allocating CPU. An address may be
 * reused several times within a slice; the object is live if the last event is an allocation.
 */
#include "record/tasks/workload_filter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct object {
	uint64_t first_alloc_ns; /* an earlier free is of another object, not of the workload */
	uint64_t last_alloc_ns;
	uint64_t last_free_ns;
	struct object *next_freed;
	uint64_t key;
	bool listed;
};

#define PAGE_KEY                                                                                   \
	(1ULL << 63) /* page numbers and addresses share a map: bit 63 of a pfn is never set */
#define PAGE_TAG(pfn) ((pfn) | PAGE_KEY)
#define ADDR_TAG(addr) ((addr) & ~PAGE_KEY)

/* Returns the key of an allocation or free in the map; 0 for other records. */
static uint64_t key_of(const struct wire_hdr *h, bool *ret_is_free)
{
	*ret_is_free = false;
	switch (h->hook) {
	case WIRE_KMALLOC:
	case WIRE_KMALLOC_NODE:
		return ADDR_TAG(((const struct wire_kmalloc *)h)->addr);
	case WIRE_CACHE_ALLOC:
	case WIRE_CACHE_ALLOC_NODE:
		return ADDR_TAG(((const struct wire_cache_alloc *)h)->addr);
	case WIRE_PAGE_ALLOC:
		return PAGE_TAG(((const struct wire_page_alloc *)h)->pfn);
	case WIRE_KFREE:
	case WIRE_CACHE_FREE:
		*ret_is_free = true;
		return ADDR_TAG(((const struct wire_kfree *)h)->addr);
	case WIRE_PAGE_FREE:
		*ret_is_free = true;
		return PAGE_TAG(((const struct wire_page_free *)h)->pfn);
	}
	return 0;
}

void workload_filter_done(struct workload_filter *f)
{
	hash_map_done_values(&f->live);
}

static int note_alloc(struct workload_filter *f, uint64_t key, uint64_t ts_ns)
{
	struct object *o = hash_map_make(&f->live, key, sizeof(*o));

	if (!o)
		return -ENOMEM;
	if (!o->last_alloc_ns)
		*o = (struct object){ .key = key, .first_alloc_ns = ts_ns };
	if (ts_ns > o->last_alloc_ns)
		o->last_alloc_ns = ts_ns;
	if (ts_ns < o->first_alloc_ns)
		o->first_alloc_ns = ts_ns;
	return 0;
}

static bool keeps_free(struct workload_filter *f, uint64_t key, uint64_t ts_ns)
{
	struct object *o = hash_map_get(&f->live, key);

	if (!o || ts_ns < o->first_alloc_ns)
		return false;
	if (ts_ns > o->last_free_ns)
		o->last_free_ns = ts_ns;
	if (!o->listed) {
		o->listed = true;
		o->next_freed = f->freed;
		f->freed = o;
	}
	return true;
}

static bool note_if_alloc(void *ctx, const struct wire_hdr *h)
{
	struct workload_filter *f = ctx;
	bool is_free;
	uint64_t key = key_of(h, &is_free);

	if (key && !is_free && !f->err)
		f->err = note_alloc(f, key, h->ts_ns);
	return true;
}

static bool keep_record(void *ctx, const struct wire_hdr *h)
{
	bool is_free;
	uint64_t key = key_of(h, &is_free);

	return !is_free || keeps_free(ctx, key, h->ts_ns);
}

/* Removes objects whose last event is a free. All others remain live in the next slice. */
static void drop_freed(struct workload_filter *f)
{
	struct object *o, *next;

	for (o = f->freed; o; o = next) {
		next = o->next_freed;
		o->listed = false;
		if (o->last_free_ns < o->last_alloc_ns)
			continue;
		hash_map_remove(&f->live, o->key);
		free(o);
	}
	f->freed = NULL;
}

int workload_filter_apply(struct workload_filter *f, struct ring_slice *slices,
			  unsigned int slice_cnt)
{
	f->err = 0;
	slices_filter(slices, slice_cnt, note_if_alloc, f);
	if (!f->err)
		slices_filter(slices, slice_cnt, keep_record, f);
	drop_freed(f);
	return f->err;
}
