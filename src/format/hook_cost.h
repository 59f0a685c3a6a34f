/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hook_cost: estimates what a hook's programs cost in an interval from a sample of it. Threads:
 * any. No errors.
 */
#ifndef HOOK_COST_H
#define HOOK_COST_H

#include <stdint.h>

#include "format/rows.h"

/* The mean over many intervals of one hook. All zeros: nothing is known yet. */
struct hook_mean {
	uint64_t run_time_ns, sampled_cnt;
};

static inline void hook_mean_add(struct hook_mean *m, const struct trace_hook_stat *row)
{
	m->run_time_ns += row->run_time_ns;
	m->sampled_cnt += row->sampled_cnt;
}

/*
 * The estimated run time in the row's interval: the time per event measured in the interval (or,
 * with few events, drawn to the mean) times the number of events. For programs that ran without an
 * event (they filtered all out), the measured time is scaled to the interval. 0 when nothing is
 * known; at most INT64_MAX.
 */
uint64_t hook_cost_ns(const struct trace_hook_stat *row, const struct hook_mean *mean);

#endif /* HOOK_COST_H */
