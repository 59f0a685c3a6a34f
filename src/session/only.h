/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * only: under --only, keeps the frees of the workload's objects and drops all others.
 *
 * A free names an address, not an owner, so the kernel sends every free; allocations come
 * already filtered. What is live of the workload decides here. Memory grows with the
 * workload's live kernel objects.
 */
#ifndef ONLY_H
#define ONLY_H

#include "ring/ring.h"

struct only_filter;

int only_filter_new(struct only_filter **ret);
void only_filter_free(struct only_filter *f);

/* Takes the foreign frees out of a slice's slabs, in place. 0 or -ENOMEM (then nothing more is dropped). */
int only_filter_apply(struct only_filter *f, struct ring_slice *slices, unsigned int slice_cnt);

#endif /* ONLY_H */
