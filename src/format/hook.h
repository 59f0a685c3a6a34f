/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hook: names of the hook numbers in rows of losses and cost, and an estimate of the run time of a
 * hook's programs in an interval, from a sample. Threads: any. No errors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/rows.h"

struct hook_name {
	const char *name;	/* "KMALLOC" */
	const char *source;	/* name of the source in -e: "alloc.slab" */
	uint8_t cls;		/* enum event_class */
};

/* Returns the names of a hook; NULL: this version has no such hook. */
const struct hook_name *hook_name_find(unsigned int hook);

/* Sums over many intervals of one hook, for means. All zeros: no data. */
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
 * Returns whether the programs reject most events: their number of runs does not depend on recorded
 * events.
 */
static inline bool hook_mean_filters(const struct hook_mean *m)
{
	return m->run_cnt / 4 > m->sampled_cnt;
}

/*
 * Estimates the run time of a hook's programs in the row's interval: time per event while
 * statistics were on (weighted with the mean of all intervals if there were few events), times the
 * number of events. If programs ran but rejected all events, the measured time is scaled to the
 * interval. If nothing was measured and the programs reject most events, the mean time per length
 * of interval is used. Without any data: 0. At most INT64_MAX.
 */
uint64_t hook_cost_ns(const struct trace_hook_stat *row, const struct hook_mean *mean);
