/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * overhead: detaches the programs of a source that is off, so that they cost nothing. A gap begins
 * before the first program is detached and ends after the last is attached: inside nothing can be
 * complete, and outside nothing is missing.
 */
#include "record/guard/overhead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/hook.h"
#include "probe/probe.h"
#include "probe/source.h"
#include "record/guard/budget.h"
#include "record/guard/gaps.h"
#include "record/sampler.h"

#define REASON "max-overhead"

struct overhead {
	struct overhead_config config;
	struct budget budget;
	struct gaps *gaps;
	struct sampler_cost seen;
	uint32_t warned;			/* sources for which warn() was called */
	unsigned int step_cnt;
	char off[128];
};

int overhead_new(struct overhead **ret, const struct overhead_config *config, uint64_t start_ns)
{
	struct overhead *o = calloc(1, sizeof(*o));

	if (!o || gaps_new(&o->gaps)) {
		free(o);
		return -ENOMEM;
	}
	o->config = *config;
	o->seen.at_ns = start_ns;
	budget_init(&o->budget, config->budget_ppm, config->sources);
	*ret = o;
	return 0;
}

void overhead_free(struct overhead *o)
{
	if (!o)
		return;
	gaps_free(o->gaps);
	free(o);
}

static uint64_t hooks_of(unsigned int source)
{
	uint64_t mask = 0;
	unsigned int h;

	for (h = 0; h < WIRE_HOOK_MAX; h++) {
		const struct hook_name *n = hook_name_find(h);

		if (n && !strcmp(n->source, source_infos[source].name))
			mask |= 1ull << h;
	}
	return mask;
}

static void measure(struct overhead *o, struct budget_usage *u)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct sampler_cost now;
	unsigned int i, h;

	memset(u, 0, sizeof(*u));
	sampler_cost(o->config.sampler, &now);
	u->dur_ns = now.at_ns - o->seen.at_ns;
	u->cpu_cnt = cpus > 0 ? (unsigned int)cpus : 1;
	u->own_ns = now.own_ns - o->seen.own_ns;
	for (i = 0; i < SOURCE_CNT; i++) {
		uint64_t hooks = hooks_of(i);

		for (h = 0; h < WIRE_HOOK_MAX; h++) {
			if (!(hooks >> h & 1))
				continue;
			u->source_ns[i] += now.bpf_ns[h] - o->seen.bpf_ns[h];
			u->event_cnt[i] += now.read_cnt[h] - o->seen.read_cnt[h];
		}
	}
	o->seen = now;
}

static void list_off(struct overhead *o)
{
	const struct budget *b = &o->budget;
	size_t n = 0;
	unsigned int i;

	o->off[0] = 0;
	for (i = 0; i < b->off_cnt && n < sizeof(o->off); i++)
		n += (size_t)snprintf(o->off + n, sizeof(o->off) - n, "%s%s", n ? " " : "",
				      source_infos[b->off[i]].name);
}

static void say_off(struct overhead *o, unsigned int source)
{
	char text[256];

	if (o->warned & SOURCE_BIT(source) || !o->config.warn)
		return;
	o->warned |= SOURCE_BIT(source);
	snprintf(text, sizeof(text),
		 "recording costs %.2f %% of the machine's CPU time, --max-overhead allows %.2f "
		 "%%: %s is "
		 "off until it costs less; `ebpfrec info` tells from when to when",
		 (double)o->budget.mean_ppm / 1e4, (double)o->budget.budget_ppm / 1e4,
		 source_infos[source].name);
	o->config.warn(o->config.warn_ctx, text);
}

static int step_off(struct overhead *o, unsigned int source)
{
	struct trace_gap gap = {
		.from_ns = clock_mono_ns(),
		.source = source_infos[source].name,
		.reason = REASON,
		.cost_ppm = o->budget.mean_ppm,
		.budget_ppm = o->budget.budget_ppm,
	};
	int err = gaps_open(o->gaps, &gap, hooks_of(source));

	if (err)
		return err;
	probe_source_off(o->config.probe, source);
	o->step_cnt++;
	say_off(o, source);
	return 0;
}

static void step_on(struct overhead *o, unsigned int source)
{
	struct err e = { "" };
	char text[400];
	int err = probe_source_on(o->config.probe, source, &e);

	if (!err) {
		gaps_close(o->gaps, source_infos[source].name, clock_mono_ns());
		return;
	}
	budget_failed_on(&o->budget, source);
	snprintf(text, sizeof(text), "%s cannot be turned on again: %s", source_infos[source].name,
		 err_text(&e, err));
	if (o->config.warn)
		o->config.warn(o->config.warn_ctx, text);
}

int overhead_look(struct overhead *o)
{
	enum budget_step step;
	struct budget_usage u;
	unsigned int source;
	int err = 0;

	measure(o, &u);
	step = budget_judge(&o->budget, &u, &source);
	if (step == BUDGET_OFF)
		err = step_off(o, source);
	else if (step == BUDGET_ON)
		step_on(o, source);
	if (step != BUDGET_STAY)
		list_off(o);
	return err;
}

void overhead_filter(struct overhead *o, struct ring_slice *slices, unsigned int slice_cnt)
{
	uint64_t dropped[WIRE_HOOK_MAX] = { 0 };

	gaps_filter(o->gaps, slices, slice_cnt, dropped);
	sampler_leave_out(o->config.sampler, dropped);
}

int overhead_gaps(struct overhead *o, uint64_t from_ns, uint64_t to_ns,
		  const struct trace_gap **ret, size_t *ret_cnt)
{
	return gaps_rows(o->gaps, from_ns, to_ns, ret, ret_cnt);
}

const char *overhead_off(const struct overhead *o)
{
	return o->off;
}

unsigned int overhead_step_cnt(const struct overhead *o)
{
	return o->step_cnt;
}
