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

#include <stddef.h>
#include <stdint.h>

#include "format/rows.h"
#include "ring/ring.h"

struct overhead;
struct probe;
struct sampler;

struct overhead_config {
	struct probe *probe;
	struct sampler *sampler;
	uint32_t sources;		/* mask of SOURCE_BIT, all on */
	uint64_t budget_ppm;		/* millionths of the machine's CPU time; not 0 */
	/* Called the first time a source goes off; may be NULL. */
	void (*warn)(void *ctx, const char *text);
	void *warn_ctx;
};

int overhead_new(struct overhead **ret, const struct overhead_config *config, uint64_t start_ns);
void overhead_free(struct overhead *o);

/* Takes at most one step. Call it after a slice was written and before the next is cut. -ENOMEM. */
int overhead_look(struct overhead *o);

/* Removes what lies in gaps from a slice; call it before the slice is counted and encoded. */
void overhead_filter(struct overhead *o, struct ring_slice *slices, unsigned int slice_cnt);

/* The gaps of a slice, cut to the slice. Valid until the next call. -ENOMEM. */
int overhead_gaps(struct overhead *o, uint64_t from_ns, uint64_t to_ns,
		  const struct trace_gap **ret, size_t *ret_cnt);

/*
 * The names of the sources that are off, joined by blanks, or ""; and how often any was turned off.
 */
const char *overhead_off(const struct overhead *o);
unsigned int overhead_step_cnt(const struct overhead *o);

#endif /* OVERHEAD_H */
