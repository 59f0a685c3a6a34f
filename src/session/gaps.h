/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gaps: when which source was off on purpose, to the nanosecond.
 *
 * Programs are detached and attached one after the other, and records are on their way meanwhile;
 * a gap is a plain interval all the same: what a source sent with an instant inside one of its gaps is
 * taken out of the slices before they are encoded. Threads: one.
 */
#ifndef GAPS_H
#define GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "chunk/rows.h"
#include "ring/ring.h"

struct gaps;

int gaps_new(struct gaps **ret);
void gaps_free(struct gaps *g);

/*
 * The source is off from from_ns on, which lies in no slice yet. The row's strings must outlive g; its to_ns is not
 * looked at. One gap per source at a time. hooks: mask of 1ull << hook, its hooks.
 */
int gaps_open(struct gaps *g, const struct trace_gap *gap, uint64_t hooks);
/* It is on again from to_ns on, which lies in no slice yet. */
void gaps_close(struct gaps *g, const char *source, uint64_t to_ns);

/* Takes the records that lie in gaps out of the slabs and adds their number to dropped, by hook. */
void gaps_filter(struct gaps *g, struct ring_slice *slices, unsigned int slice_cnt,
		 uint64_t dropped[WIRE_HOOK_MAX]);

/* The rows of a slice, cut to it; valid until the next call. Slices come in order of time. -ENOMEM. */
int gaps_rows(struct gaps *g, uint64_t from_ns, uint64_t to_ns, const struct trace_gap **ret,
	      size_t *ret_cnt);

#endif /* GAPS_H */
