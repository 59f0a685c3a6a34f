/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * overhead: keeps a recording within --max-overhead by turning sources off and on.
 *
 *     sampler (cost) --> budget (decides) --> [overhead] --> probe (detach, attach), gaps
 *
 * Nothing here fails a recording: a source that cannot be turned on again stays off, declared.
 * Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "bpf/wire.h"
#include "format/rows.h"
#include "ring/ring.h"

struct block_slice;
struct overhead;
struct probe;
struct sampler;

/*
 * budget_ppm: millionths of the machine's CPU time. sources: a mask of SOURCE_BIT; all of them are
 * on. The caller keeps all arguments. Warns the caller the first time a source goes off.
 */
int overhead_new(struct overhead **ret, uint64_t budget_ppm, const struct notices *notices,
		 uint32_t sources, struct probe *probe, struct sampler *sampler, uint64_t start_ns);
void overhead_free(struct overhead *o);

/*
 * Turns off the sources that cost too much, or one source on. Call it after a slice was written and
 * before the next is cut. -ENOMEM.
 */
int overhead_look(struct overhead *o);

/*
 * Removes a slice's records inside gaps, and adds the gaps to the slice, cut to its time; they stay
 * valid until the next call. Call it before the slice is counted and encoded. -ENOMEM.
 */
int overhead_slice(struct overhead *o, struct ring_slice *slices, unsigned int slice_cnt,
		   struct block_slice *slice);

/*
 * Returns the sources that are off now, joined by blanks; valid until the next overhead_look().
 * *ret_cnt: how often a source was turned off.
 */
const char *overhead_off(const struct overhead *o, unsigned int *ret_cnt);

/*
 * Gaps: intervals during which a source was off on purpose, to the nanosecond. Programs are
 * detached and attached one after the other, while records are on their way. Yet a gap is a plain
 * interval: records of a source whose timestamp is inside one of its gaps are removed from the
 * slices before they are encoded.
 */

/* All zeros: no gaps. */
struct gaps {
	struct buf list;	/* struct gap */
	struct buf rows;	/* struct trace_gap, of one slice */
};

void gaps_done(struct gaps *g);

/*
 * The source is off from from_ns on, which is after all slices so far. The row's strings must
 * outlive g; its to_ns is ignored. At most one open gap per source. hooks: 1ull << hook of each of
 * its hooks.
 */
int gaps_open(struct gaps *g, const struct trace_gap *gap, uint64_t hooks);
/* The source is on again from to_ns on, which is after all slices so far. */
void gaps_close(struct gaps *g, const char *source, uint64_t to_ns);

/* Removes the records inside gaps from the slices and adds their number to dropped, by hook. */
void gaps_filter(struct gaps *g, struct ring_slice *slices, unsigned int slice_cnt,
		 uint64_t dropped[WIRE_HOOK_MAX]);

/*
 * Returns the gaps of a slice, cut to the slice; valid until the next call. Slices come in order of
 * time. -ENOMEM.
 */
int gaps_rows(struct gaps *g, uint64_t from_ns, uint64_t to_ns, const struct trace_gap **ret,
	      size_t *ret_cnt);
