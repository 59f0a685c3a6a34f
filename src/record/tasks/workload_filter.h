/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * workload_filter: under --only, keeps the frees of the workload's objects and drops all others.
 *
 * A free names an address, not an owner, so the kernel sends every free, while allocations arrive
 * filtered. This filter knows the workload's live objects and decides. Memory grows with their
 * number.
 */
#pragma once

#include "base/hash_map.h"
#include "ring/ring.h"

/* All zeros: no live objects. */
struct workload_filter {
	struct hash_map live;
	struct object *freed;		/* list of the objects that this slice freed */
	int err;			/* of this slice */
};

void workload_filter_done(struct workload_filter *f);

/*
 * Removes foreign frees from a slice's records, in place. 0 or -ENOMEM (then no other record is
 * removed).
 */
int workload_filter_apply(struct workload_filter *f, struct ring_slice *slices,
			  unsigned int slice_cnt);
