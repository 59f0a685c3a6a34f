/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * overhead: keeps a recording within --max-overhead by turning sources off and on.
 *
 *     sampler (cost) --> budget (decides) --> [overhead] --> probe (detach, attach), gaps
 *
 * Errors here do not end a recording: a source that cannot be turned on again stays off, and its
 * gap is recorded. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "bpf/wire.h"
#include "format/rows.h"
#include "probe/source.h"
#include "ring/ring.h"

struct block_slice;
struct overhead;
struct probe;
struct sampler;

/*
 * budget_ppm: millionths of the machine's CPU time. sources: mask of SOURCE_BIT of the recorded
 * sources, which are all on. The caller owns all objects, which must outlive *ret. Calls
 * notices->warn when a source is turned off for the first time.
 */
int overhead_new(struct overhead **ret, uint64_t budget_ppm, const struct notices *notices,
		 uint32_t sources, struct probe *probe, struct sampler *sampler, uint64_t start_ns);
void overhead_free(struct overhead *o);

/*
 * Turns sources off that cost too much, or one source on. Call this after a slice was written and
 * before the next cut. -ENOMEM.
 */
int overhead_look(struct overhead *o);

/*
 * Removes records inside gaps from the slice, and adds the gaps to it, clipped to its interval. The
 * gaps are valid until the next call. Call this before the slice is counted and encoded. -ENOMEM.
 */
int overhead_slice(struct overhead *o, struct ring_slice *slices, unsigned int slice_cnt,
		   struct block_slice *slice);

/*
 * Returns the sources that are off now, separated by blanks; valid until the next overhead_look().
 * *ret_cnt: number of times that a source was turned off.
 */
const char *overhead_off(const struct overhead *o, unsigned int *ret_cnt);

/*
 * A gap is an interval during which a source was off on purpose, exact to the nanosecond. Programs
 * are detached and attached one after the other, and records may still be in the rings. Therefore
 * records of a source with timestamps inside its gaps are removed from slices before encoding.
 */

/* All zeros: no gaps. */
struct gaps {
	struct buf list;	/* struct gap */
	struct buf rows;	/* struct trace_gap, of one slice */
};

void gaps_done(struct gaps *g);

/*
 * Begins a gap: the source is off from from_ns on, which is after all slices so far. The row's
 * strings must outlive g; its to_ns is ignored. A source has at most one open gap. hooks: mask
 * (1ull << hook) of the source's hooks.
 */
int gaps_open(struct gaps *g, const struct trace_gap *gap, uint64_t hooks);
/* Ends the source's open gap at to_ns, which is after all slices so far. */
void gaps_close(struct gaps *g, const char *source, uint64_t to_ns);

/* Removes the records inside gaps from the slices. Adds their number to dropped, by hook. */
void gaps_filter(struct gaps *g, struct ring_slice *slices, unsigned int slice_cnt,
		 uint64_t dropped[WIRE_HOOK_MAX]);

/*
 * Returns the gaps of a slice, limited to the slice; valid until the next call. Slices come in
 * order of time. -ENOMEM.
 */
int gaps_rows(struct gaps *g, uint64_t from_ns, uint64_t to_ns, const struct trace_gap **ret,
	      size_t *ret_cnt);

/*
 * budget: decides which sources to turn off, or on again, so that recording stays within a share of
 * the machine's CPU time.
 *
 *     cost of a period, per source --[budget]--> no change | sources off | one source on
 *
 * Cost = (run time of the BPF programs + the recorder's user and system time) / (CPUs online x
 * time). After each period, the mean of its cost and of the previous mean is compared with the
 * limit.
 *
 * The cost of a source is the time of its programs and a share of the recorder's own time that is
 * proportional to the source's events. If the cost exceeds the limit, the most expensive sources
 * are turned off, as many as necessary; task is never turned off, and sched.switch only if no other
 * source has a twentieth of the remaining cost. The limit is the budget, or less (at least half the
 * budget) until the average cost since the start is within the budget. During that time, no source
 * is turned on. If the cost is below half the budget for a while, the source that was turned off
 * last is turned on; if it soon has to be turned off again, it stays off twice as long. The budget
 * uses neither the clock nor the kernel. Threads: one.
 */
/* after the cost has been below half the budget for this time, a source is turned on */
#define BUDGET_HOLD_NS 3000000000ULL
#define BUDGET_HOLD_MAX_NS 60000000000ULL

struct budget {
	uint64_t budget_ppm;		/* millionths of the machine's CPU time */
	uint32_t on;			/* mask of SOURCE_BIT */
	/* sources that are off, in the order in which they were turned off */
	unsigned int off[SOURCE_CNT], off_cnt;
	uint64_t now_ns;		/* sum of the periods */
	uint64_t on_ns[SOURCE_CNT]; /* when the source was last turned on again; 0: never */
	uint64_t hold_ns[SOURCE_CNT];
	uint64_t low_ns;		/* if is_low: when the cost fell below half the budget */
	bool is_low;
	/*
	 * Number of periods to ignore, because the recorder still encodes records of sources that
	 * were turned off.
	 */
	unsigned int settling;

	double spent_ns, allowed_ns;	/* cost so far, and budget for the time so far */

	/* the current period */
	uint64_t dur_ns, own_ns, cpu_ns;	/* cpu_ns: CPUs online x time */
	uint64_t source_ns[SOURCE_CNT], event_cnt[SOURCE_CNT];
	bool has_mean;
	uint64_t mean_ppm, last_ppm;
};

struct budget_usage {			/* increments since the last call */
	uint64_t dur_ns;
	unsigned int cpu_cnt;		/* number of CPUs online */
	uint64_t own_ns;		/* user and system time of the recorder */
	uint64_t source_ns[SOURCE_CNT];	/* run time of the BPF programs */
	uint64_t event_cnt[SOURCE_CNT];	/* records read */
};

struct budget_step {
	unsigned int off_cnt, off[SOURCE_CNT];	/* sources to turn off */
	bool is_on;
	unsigned int on;			/* if is_on: the source to turn on */
};

void budget_init(struct budget *b, uint64_t budget_ppm, uint32_t sources);

/*
 * Selects sources among `on` to turn off, the most expensive first, until the others cost at most
 * limit_ppm. Returns the number of selected sources. SOURCE_TASK is never selected, SOURCE_SWITCH
 * only if each other source has less than a twentieth of the cost. The others may still cost more
 * than limit_ppm, because a source with less than a twentieth of the cost stays on.
 */
unsigned int budget_pick_off(const double cost_ppm[SOURCE_CNT], uint32_t on, uint64_t limit_ppm,
			     unsigned int off[SOURCE_CNT]);

/*
 * Adds usage. Sets *ret to a step to take; all zeros: no period has ended, or no step is necessary.
 */
void budget_judge(struct budget *b, const struct budget_usage *u, struct budget_step *ret);

/* Returns the cost that exceeds the budget: the mean, or else the average since the start. */
uint64_t budget_cost_ppm(const struct budget *b);
