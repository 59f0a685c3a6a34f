/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gen_chaos: random traces of a bad day: losses, late records, unknown threads, lost frees,
 * split pages, heaps, interrupts in interrupts, requests in any order, tiny and empty blocks.
 * The dice are its own, so the same seed gives the same trace.
 */
#pragma once

#include "tests/unit/gen/gen_trace.h"

#define CHAOS_T0 5000000000ull	/* start of the traces */

struct chaos_irq {
	unsigned int depth, open[3];	/* entry hook << 8 | vector */
	uint32_t tid;
};

struct chaos {
	char dir[64], path[80], index[128];	/* of its own; the trace; its derived file */
	struct gen *g;
	struct gen_mix m;
	struct chaos_irq irq[3];	/* by CPU: the open interrupts */
	uint64_t edge_ns;	/* where the last block ended */
};

/* The dice: chaos_begin() sets them. */
uint64_t chaos_below(uint64_t n);

void chaos_begin(struct chaos *f, uint64_t seed);
void chaos_add_blocks(struct chaos *f, unsigned int cnt);
/*
 * finished: the trace is closed as a recorder does it; otherwise it is left as a killed recorder
 * leaves it. The caller removes f->dir.
 */
void chaos_end(struct chaos *f, bool finished);
/* Makes the index in derived.idx, with checkpoints every so many events of a job. */
struct trace;
void chaos_make_index(struct trace *t, uint64_t checkpoint_events);
