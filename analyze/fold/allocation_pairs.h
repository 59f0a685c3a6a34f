/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * allocation_pairs: each slab object, page block or heap object with its end, if the trace has it.
 *
 *     events --[allocation_pairs: live_objects]--> struct allocation, when it ends
 *
 * An allocation is followed from its event to its free, even if that is much later. So a range of
 * allocation times avoids reading earlier events, but not later ones. Objects that are still live
 * come last. Pages that are freed in parts are reported part by part.
 *
 * Errors: 0 or -errno. Threads: one.
 */
#pragma once

#include "analyze/context/context.h"
#include "model/object_pairs.h"

struct allocation_pairs;

struct allocation {
	enum object_family family;
	const struct live_object *object;	/* its owner is a dense thread */
	const struct live_kind *kind;
	uint64_t bytes;			/* of this part of the object */
	enum live_end end;
	const struct event *ev;		/* the event that ended it; NULL: it is live */
};

struct allocation_range {
	uint64_t from_ns, until_ns;	/* report allocations of [from_ns, until_ns) */
	uint64_t at_ns;			/* ignore events from this time on */
	uint32_t families;		/* 1u << OBJECT_x */
	bool with_stacks;
};

/* Gets a pointer that is valid during the call. 0 or -errno. */
typedef int (*allocation_sink)(void *ctx, const struct allocation *x);

int allocation_pairs_open(struct allocation_pairs **ret, struct analysis *a,
			  const struct allocation_range *range, allocation_sink sink, void *ctx,
			  struct err *e);
void allocation_pairs_close(struct allocation_pairs *p);	/* NULL is fine */
/* Reads the next event; after the last one reports live objects. 1: continue; 0: end; -errno. */
int allocation_pairs_next(struct allocation_pairs *p, struct err *e);

/*
 * Return the names of the call site and of the kmem_cache, valid as long as p; NULL: unknown. The
 * site of a heap object has its name at the time of the allocation; equal names are one pointer.
 * With stacks (allocation_range), wrappers of the allocator (schema/alloc_wrappers.decl) are
 * skipped.
 */
const char *allocation_symbol(const struct allocation_pairs *p, const struct allocation *x);
const char *allocation_cache(const struct allocation_pairs *p, const struct allocation *x);
