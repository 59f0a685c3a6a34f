/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * slice_merge: the records of a slice in order of time, of the hooks asked for.
 *
 * Each ring's stream is nearly in order (a record's instant is read just before the record is
 * reserved), and so is the merged stream: inversions last microseconds. Threads: one.
 */
#ifndef SLICE_MERGE_H
#define SLICE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "ring/ring.h"

struct slice_merge;

/* hooks: 1 << WIRE_x each. The slices must not change meanwhile. -ENOMEM. */
int slice_merge_new(struct slice_merge **ret, const struct ring_slice *slices, size_t cnt,
		    uint32_t hooks);
void slice_merge_free(struct slice_merge *m);
/* The next record; NULL: there is none. */
const struct wire_hdr *slice_merge_next(struct slice_merge *m);

#endif /* SLICE_MERGE_H */
