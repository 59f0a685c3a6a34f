/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * slice_merge: the records of a slice in order of time, of the hooks asked for.
 *
 * Each ring's stream is nearly in order (a record's instant is taken just before it is put there), and
 * so is the merged one: inversions are of microseconds. Threads: one.
 */
#ifndef SLICE_MERGE_H
#define SLICE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "ring/ring.h"

struct slice_merge;

/* hooks: 1 << WIRE_x each. The slices have to stay as they are while it is used. -ENOMEM. */
int slice_merge_new(struct slice_merge **ret, const struct ring_slice *slices, size_t cnt,
		    uint32_t hooks);
void slice_merge_free(struct slice_merge *m);
/* NULL: there is no more. */
const struct wire_hdr *slice_merge_next(struct slice_merge *m);

#endif /* SLICE_MERGE_H */
