/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sampler: regularly reads counters (of the BPF programs, the readers, the recorder's own resource
 * use), and converts their increments to rows: losses, hook statistics and cost.
 */
#pragma once

#include <stdint.h>

#include "probe/probe.h"
#include "ring/ring.h"

struct block_slice;
struct sampler;

/*
 * stats_helper: from probe_stats_start(); if it has no process, run times of programs are unknown.
 * feeds: feeds of the ring group; the array is copied. All other objects must outlive *ret.
 */
int sampler_new(struct sampler **ret, struct probe *probe, struct ring_group *rings,
		uint64_t ring_bytes, const struct helper *stats_helper,
		const struct ring_feed *feeds, unsigned int feed_cnt, uint64_t now_ns);
void sampler_free(struct sampler *s);

/* Adds rows for the losses since the last call. Cheap; call this every 50 ms. */
int sampler_look(struct sampler *s, uint64_t now_ns);

/*
 * Begin and end a measurement of program run time in a slice: in each of the first four slices,
 * then in every eighth, or in every slice if `each`. Measurements are rare, because switching the
 * kernel's statistics on and off takes longer than all other work of a quiet recorder.
 */
void sampler_stats_begin(struct sampler *s, bool each);
void sampler_stats_end(struct sampler *s);

/*
 * Adds a process whose CPU time counts as the recorder's, in addition to the stats_helper's. pid:
 * in the recorder's pid namespace; 0: none.
 */
void sampler_add_helper(struct sampler *s, int pid);

/*
 * Ends the slice's resource usage: CPU time that the recorder uses later counts for the next slice.
 */
void sampler_end_usage(struct sampler *s);

/*
 * Adds losses, hook statistics and cost since the last call to the rows of a slice. The rows are
 * valid until the next call of any function here.
 */
int sampler_take(struct sampler *s, uint64_t bytes_written, struct block_slice *slice);

enum { SAMPLER_CLASS_CNT = 7 };		/* enum event_class */

struct sampler_totals {
	/* lost events: the ring was full, a reservation failed, or a program was skipped */
	uint64_t lost_cnt[SAMPLER_CLASS_CNT];
	uint64_t full_cnt;			/* part of lost_cnt: the ring had no room */
	/*
	 * Number of records since the recording's start. lost excludes skipped programs, which
	 * attempted nothing. After everything is drained, attempted = read + lost.
	 */
	uint64_t attempted, read, lost;
	/*
	 * Sums of the trace's cost rows, and therefore equal to those of `report cost`. CPU time is
	 * the recorder's, without the workload's and without the time after the last row.
	 */
	uint64_t user_ns, sys_ns;
	uint64_t rss_max_bytes;
	uint64_t bpf_ns;	/* run time of the BPF programs, extrapolated from samples */
};
/* Returns the totals of the recording so far. */
void sampler_totals(struct sampler *s, struct sampler_totals *ret);

/*
 * Starts the recording: earlier usage and reads do not count. Call this once, before the first
 * sampler_take().
 */
void sampler_begin(struct sampler *s, uint64_t start_ns);

/* Cost of the recording until the last sampler_take(). bpf_ns is extrapolated, see event.h. */
struct sampler_cost {
	uint64_t at_ns;			/* end of the slice of the last sampler_take() */
	uint64_t own_ns;		/* user and system time of the recorder */
	uint64_t bpf_ns[WIRE_HOOK_MAX], read_cnt[WIRE_HOOK_MAX];
};
void sampler_cost(const struct sampler *s, struct sampler_cost *ret);

/*
 * Subtracts records that were read and then removed from their slice: they do not count as records
 * of the recording. cnt: their number, by hook.
 */
void sampler_leave_out(struct sampler *s, const uint64_t cnt[WIRE_HOOK_MAX]);

/* Subtracts records that were read but are after the recording's end, and therefore in no slice. */
void sampler_drop(struct sampler *s, struct ring_slice *slices, unsigned int slice_cnt);
