/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hook: a table of the declared hooks, and a ratio estimate of a hook's cost. The estimate adds
 * MEAN_WEIGHT events of mean cost, so that a few slow runs do not dominate an interval.
 */
#include "format/hook.h"

#include <stddef.h>

#include "event_lists.h"

#define MEAN_WEIGHT 16

const struct hook_name *hook_name_find(unsigned int hook)
{
	static const struct hook_name names[] = {
#define X(id, name_, class_, source_) [id] = { #name_, source_, EVENT_CLASS_##class_ },
		EVENT_HOOKS(X)
#undef X
	};

	return hook < sizeof(names) / sizeof(names[0]) && names[hook].name ? &names[hook] : NULL;
}

/* Converts with limits: a damaged trace may have any value, and overflow is undefined in C. */
static uint64_t whole_ns(double ns)
{
	return ns >= 0x1p63 ? INT64_MAX : (uint64_t)ns;
}

uint64_t hook_cost_ns(const struct trace_hook_stat *row, const struct hook_mean *mean)
{
	double ns = (double)row->run_time_ns, cnt = (double)row->sampled_cnt;
	double length_ns = (double)(row->to_ns - row->from_ns);

	if (!row->sampled_cnt && row->run_time_ns && row->sampled_ns)
		return whole_ns(ns * length_ns / (double)row->sampled_ns);
	if (!row->sampled_ns && hook_mean_filters(mean) && mean->sampled_ns)
		return whole_ns((double)mean->run_time_ns * length_ns / (double)mean->sampled_ns);
	if (mean->sampled_cnt) {
		ns += MEAN_WEIGHT * (double)mean->run_time_ns / (double)mean->sampled_cnt;
		cnt += MEAN_WEIGHT;
	}
	return cnt > 0 ? whole_ns(ns / cnt * (double)row->attempted_cnt) : 0;
}
