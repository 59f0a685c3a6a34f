/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * allocation_pairs: reports each slab object, page block and heap object together with its end.
 *
 *     events --[allocation_pairs: live_objects]--> struct allocation, when it ends
 *
 * An object may be freed long after its allocation. So a query for a range of allocation times must
 * also read later events, but no earlier ones. Objects without an end are reported last. If pages
 * are freed in parts, each part is reported.
 *
 * Errors: 0 or -errno. Threads: one.
 */
#pragma once

#include "analyze/context/context.h"
#include "model/live_objects.h"

struct allocation_pairs;

struct allocation {
	enum object_family family;
	const struct live_object *object;	/* object->owner is a dense thread */
	const struct live_kind *kind;
	uint64_t bytes;			/* size of this part of the object */
	enum live_end end;
	/* the event that ended the object; NULL: the object is live */
	const struct event *ev;
};

struct allocation_range {
	uint64_t from_ns, until_ns;	/* report allocations of [from_ns, until_ns) */
	uint64_t at_ns;			/* end of reading: later events are ignored */
	uint32_t families;		/* 1u << OBJECT_x */
	bool with_stacks;
	const uint32_t *columns;	/* columns to decode, by kind; NULL: all */
};

/* Receives an allocation, which is valid during the call. Returns 0 or -errno. */
typedef int (*allocation_sink)(void *ctx, const struct allocation *x);

int allocation_pairs_open(struct allocation_pairs **ret, struct analysis *a,
			  const struct allocation_range *range, allocation_sink sink, void *ctx,
			  struct err *e);
void allocation_pairs_close(struct allocation_pairs *p);	/* NULL is fine */
/*
 * Reads the next event or, after the last event, reports live objects. 1: call again; 0: end;
 * -errno.
 */
int allocation_pairs_next(struct allocation_pairs *p, struct err *e);

/*
 * Return the name of the call site and of the kmem_cache; NULL: unknown. The names are valid until
 * p is closed. The site of a heap object has its name at the time of the allocation; equal names
 * are the same pointer. With stacks (allocation_range), allocator wrappers
 * (schema/alloc_wrappers.decl) are skipped.
 */
const char *allocation_symbol(const struct allocation_pairs *p, const struct allocation *x);
const char *allocation_cache(const struct allocation_pairs *p, const struct allocation *x);
