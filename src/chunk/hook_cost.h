/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hook_cost: what a hook's programs cost in an interval, from what was measured in a part of it.
 * Threads: any. No errors.
 */
#ifndef HOOK_COST_H
#define HOOK_COST_H

#include <stdint.h>

#include "chunk/rows.h"

/* Of many intervals of one hook. All zeros: nothing is known yet. */
struct hook_mean {
	uint64_t run_time_ns, sampled_cnt;
};

static inline void hook_mean_add(struct hook_mean *m, const struct trace_hook_stat *row)
{
	m->run_time_ns += row->run_time_ns;
	m->sampled_cnt += row->sampled_cnt;
}

/*
 * Estimated run time in the row's interval: time per event, as measured in the interval and, where few events
 * were, as it is on average, times the events there were. Programs that ran and had no event
 * (they left all out) are taken to the interval by time. 0 when nothing is known; INT64_MAX at most.
 */
uint64_t hook_cost_ns(const struct trace_hook_stat *row, const struct hook_mean *mean);

#endif /* HOOK_COST_H */
