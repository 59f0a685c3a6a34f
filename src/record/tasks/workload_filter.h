/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * workload_filter: with --only, keeps the frees of the workload's objects and removes all other
 * frees.
 *
 * A free has an address but no owner: BPF programs filter allocations, but record almost every
 * free. This filter keeps a set of the workload's live objects. Memory is proportional to the
 * number of these objects.
 */
#pragma once

#include "base/hash_map.h"
#include "ring/ring.h"

/* All zeros: no live objects. */
struct workload_filter {
	struct hash_map live;
	struct object *freed;		/* objects freed in this slice */
	int err;			/* error of this slice */
};

void workload_filter_done(struct workload_filter *f);

/*
 * Removes frees of objects that are not the workload's from a slice's records. 0 or -ENOMEM: some
 * of these frees may remain.
 */
int workload_filter_apply(struct workload_filter *f, struct ring_slice *slices,
			  unsigned int slice_cnt);
