/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sampler: turns counters that only grow (kernel side, readers, own resource use) into rows
 * of what happened between two looks: losses, hook statistics, cost.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/rows.h"
#include "probe/probe.h"
#include "probe/run_stats.h"
#include "ring/ring.h"

struct sampler;

/* run_stats may be NULL: no run times of programs then. All stay the caller's. */
int sampler_new(struct sampler **ret, struct probe *probe, struct ring_group *rings,
		uint64_t ring_bytes, struct run_stats *run_stats, uint64_t now_ns);
void sampler_free(struct sampler *s);

/* Looks for losses since the last look; cheap, meant for every 50 ms. */
int sampler_look(struct sampler *s, uint64_t now_ns);

/* Statistics of program run time are switched on for a moment of each slice: begin and end of that moment. */
void sampler_stats_begin(struct sampler *s);
void sampler_stats_end(struct sampler *s);

/* The rows since the last call, for a slice that ends at to_ns. Valid until the next call of any function here. */
struct sampler_rows {
	const struct trace_loss *losses;
	size_t loss_cnt;
	const struct trace_hook_stat *hook_stats;
	size_t hook_stat_cnt;
	struct trace_cost cost;
};
int sampler_take(struct sampler *s, uint64_t to_ns, uint64_t bytes_written,
		 struct sampler_rows *ret);

/* All events lost, whatever way. */
uint64_t sampler_rows_lost(const struct sampler_rows *rows);

/*
 * Totals so far, of the recording's span: records dropped because they lie outside it are taken off
 * attempted and read alike. attempted = read + lost once everything is drained.
 */
struct sampler_totals {
	uint64_t lost_cnt[WIRE_CLASS_CNT];	/* no room, failed reservation, skipped program */
	uint64_t full_cnt;			/* of these, no room */
	uint64_t attempted, read,
		lost; /* lost here: without skipped programs, which attempted nothing */
	uint64_t user_ns, sys_ns, rss_max_bytes;
	uint64_t bpf_ns;			/* as in sampler_cost, of all hooks */
};
void sampler_totals(struct sampler *s, struct sampler_totals *ret);

/* Recording begins: what was used and read before is not counted. Call once, before the first take. */
void sampler_begin(struct sampler *s, uint64_t start_ns);

/*
 * What recording has cost until the last take, summed up since the beginning. bpf_ns is extrapolated, see
 * hook_cost.h.
 */
struct sampler_cost {
	uint64_t at_ns;			/* of the last take */
	uint64_t own_ns;		/* user and system time of the recorder */
	uint64_t bpf_ns[WIRE_HOOK_MAX], read_cnt[WIRE_HOOK_MAX];
};
void sampler_cost(const struct sampler *s, struct sampler_cost *ret);

/* Records that were read and then left out of their slice, by hook: not part of the recording. */
void sampler_leave_out(struct sampler *s, const uint64_t cnt[WIRE_HOOK_MAX]);

/* Records that were read but lie after the recording's end, and are in no slice. */
void sampler_drop(struct sampler *s, const struct ring_slice *slices, unsigned int slice_cnt);

/* Class of a hook, by the list in wire.h. */
unsigned int sampler_hook_class(unsigned int hook);

#endif /* SAMPLER_H */
