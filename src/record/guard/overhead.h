/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * overhead: keeps a recording within --max-overhead by turning sources off and on.
 *
 *     sampler (cost) --> budget (decides) --> [overhead] --> probe (detach, attach), gaps
 *
 * Nothing here fails a recording: a source that cannot be turned on again stays off, declared.
 * Threads: one.
 */
#ifndef OVERHEAD_H
#define OVERHEAD_H

#include <stdint.h>

#include "record/session.h"
#include "ring/ring.h"

struct block_slice;
struct overhead;
struct probe;
struct sampler;

/*
 * sources: a mask of SOURCE_BIT; all of them are on. The caller keeps all arguments. The first time
 * a source goes off, the caller is warned.
 */
int overhead_new(struct overhead **ret, const struct session_options *options, uint32_t sources,
		 struct probe *probe, struct sampler *sampler, uint64_t start_ns);
void overhead_free(struct overhead *o);

/* Takes at most one step. Call it after a slice was written and before the next is cut. -ENOMEM. */
int overhead_look(struct overhead *o);

/*
 * Removes from a slice's records what lies in gaps, and puts the gaps into the slice, cut to its
 * time; they stay valid until the next call. Call it before the slice is counted and encoded.
 * -ENOMEM.
 */
int overhead_slice(struct overhead *o, struct ring_slice *slices, unsigned int slice_cnt,
		   struct block_slice *slice);

/* Sets off and off_cnt. */
void overhead_get_stats(const struct overhead *o, struct session_stats *ret);

#endif /* OVERHEAD_H */
