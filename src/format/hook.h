/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hook: names for the hook numbers in loss and cost rows, and an estimate of the cost of a hook's
 * programs in an interval, from a sample of it. Threads: any. No errors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/rows.h"

struct hook_name {
	const char *name;	/* "KMALLOC" */
	const char *source;	/* "alloc.slab", as in -e */
	uint8_t cls;		/* as in trace_loss.cls */
};

/* NULL: this version has no such hook. */
const struct hook_name *hook_name_find(unsigned int hook);

/* The mean over many intervals of one hook. All zeros: no data yet. */
struct hook_mean {
	uint64_t run_cnt, run_time_ns, sampled_cnt, sampled_ns;
};

static inline void hook_mean_add(struct hook_mean *m, const struct trace_hook_stat *row)
{
	m->run_cnt += row->run_cnt;
	m->run_time_ns += row->run_time_ns;
	m->sampled_cnt += row->sampled_cnt;
	m->sampled_ns += row->sampled_ns;
}

/*
 * Returns whether the programs filter most events out, so that runs depend on time, not on events.
 */
static inline bool hook_mean_filters(const struct hook_mean *m)
{
	return m->run_cnt / 4 > m->sampled_cnt;
}

/*
 * Estimates the run time in the row's interval: the time per event measured in the interval (with
 * few events, weighted with the mean) times the number of events. For programs that ran without an
 * event (they filtered all out), the measured time is scaled to the interval; without a measurement
 * in it, a filtering program gets the mean by time. Without data, 0; at most INT64_MAX.
 */
uint64_t hook_cost_ns(const struct trace_hook_stat *row, const struct hook_mean *mean);
