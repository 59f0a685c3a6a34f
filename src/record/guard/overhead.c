/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * overhead: detaches the programs of a source that is off, so that they cost nothing. A gap begins
 * before the first program is detached and ends after the last is attached: events may be missing
 * only inside gaps.
 */
#include "record/guard/overhead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/event.h"
#include "probe/probe.h"
#include "record/encode/block_writer.h"
#include "record/guard/sampler.h"

/*
 * budget: adds usage until a period ends. At most one step is taken at the end of a period. After a
 * step the mean starts again, because the sources have changed.
 */

#define PERIOD_NS 300000000ULL
#define REPAY_NS 10e9
#define SETTLING 2 /* number of periods during which an older slice may still be being encoded */
#define RELAPSE_NS                                                                                 \
	10000000000ULL /* a source that goes off again within this time was turned on too early */
#define NOTABLE 20	/* a source with less than this fraction (1/20) of the cost stays on */

void budget_init(struct budget *b, uint64_t budget_ppm, uint32_t sources)
{
	memset(b, 0, sizeof(*b));
	b->budget_ppm = budget_ppm;
	b->on = sources;
	for (unsigned int i = 0; i < SOURCE_CNT; i++)
		b->hold_ns[i] = BUDGET_HOLD_NS;
}

/* Computes the cost of each source in the period, in millionths of the machine's CPU time. */
static void split_cost(const struct budget *b, double cost_ppm[SOURCE_CNT])
{
	double events = 0, own = 0;

	for (unsigned int i = 0; i < SOURCE_CNT; i++)
		events += (double)b->event_cnt[i];
	for (unsigned int i = 0; i < SOURCE_CNT; i++) {
		if (events > 0)
			own = (double)b->own_ns * (double)b->event_cnt[i] / events;
		cost_ppm[i] = b->cpu_ns ? ((double)b->source_ns[i] + own) * 1e6 / (double)b->cpu_ns
					: 0;
	}
}

/* Returns the source to turn off; SOURCE_CNT: turning off a source would not help. */
static unsigned int dearest(const double cost_ppm[SOURCE_CNT], uint32_t on, double total)
{
	unsigned int i, at = SOURCE_TASK;

	for (i = 0; i < SOURCE_CNT; i++) {
		if (i != SOURCE_TASK && i != SOURCE_SWITCH && on & SOURCE_BIT(i) &&
		    (at == SOURCE_TASK || cost_ppm[i] > cost_ppm[at]))
			at = i;
	}
	if (at != SOURCE_TASK && cost_ppm[at] > 0 && cost_ppm[at] * NOTABLE >= total)
		return at;
	if (on & SOURCE_BIT(SOURCE_SWITCH) && cost_ppm[SOURCE_SWITCH] * NOTABLE >= total)
		return SOURCE_SWITCH;
	return SOURCE_CNT;
}

unsigned int budget_pick_off(const double cost_ppm[SOURCE_CNT], uint32_t on, uint64_t limit_ppm,
			     unsigned int off[SOURCE_CNT])
{
	unsigned int i, cnt = 0;
	double total = 0;

	/*
	 * ignore sources that are off: their only cost is that of records that remained in the
	 * rings
	 */
	for (i = 0; i < SOURCE_CNT; i++)
		total += on & SOURCE_BIT(i) ? cost_ppm[i] : 0;
	while (total > (double)limit_ppm) {
		i = dearest(cost_ppm, on, total);
		if (i == SOURCE_CNT)
			break;
		off[cnt++] = i;
		on &= ~SOURCE_BIT(i);
		total -= cost_ppm[i];
	}
	return cnt;
}

static void note_cost(struct budget *b)
{
	double cost = (double)b->own_ns;

	for (unsigned int i = 0; i < SOURCE_CNT; i++)
		cost += (double)b->source_ns[i];
	b->spent_ns += cost;
	b->allowed_ns += (double)b->cpu_ns * (double)b->budget_ppm / 1e6;
	b->last_ppm = b->cpu_ns ? (uint64_t)(cost * 1e6 / (double)b->cpu_ns) : 0;
	b->mean_ppm = b->has_mean ? (b->mean_ppm + b->last_ppm) / 2 : b->last_ppm;
	b->has_mean = true;
}

/* Returns the limit with which the average since the start would reach the budget in REPAY_NS. */
static uint64_t limit_now(const struct budget *b)
{
	double cpus = (double)b->cpu_ns / (double)b->dur_ns;
	double debt_ppm = (b->spent_ns - b->allowed_ns) * 1e6 / (REPAY_NS * cpus);

	if (debt_ppm <= 0)
		return b->budget_ppm;
	return b->budget_ppm - (uint64_t)(debt_ppm < (double)b->budget_ppm / 2 ?
					  debt_ppm : (double)b->budget_ppm / 2);
}

static void turn_off(struct budget *b, unsigned int source)
{
	b->on &= ~SOURCE_BIT(source);
	b->off[b->off_cnt++] = source;
	if (b->on_ns[source] && b->now_ns - b->on_ns[source] < RELAPSE_NS) {
		b->hold_ns[source] *= 2;
		if (b->hold_ns[source] > BUDGET_HOLD_MAX_NS)
			b->hold_ns[source] = BUDGET_HOLD_MAX_NS;
	} else {
		b->hold_ns[source] = BUDGET_HOLD_NS;
	}
	b->has_mean = b->is_low = false;
}

static void decide(struct budget *b, struct budget_step *ret)
{
	uint64_t limit_ppm = limit_now(b);
	double cost_ppm[SOURCE_CNT];
	unsigned int source, i;

	if (b->mean_ppm > limit_ppm && b->last_ppm > limit_ppm) {
		b->is_low = false;
		if (b->settling) {
			b->settling--;
			return;
		}
		split_cost(b, cost_ppm);
		ret->off_cnt = budget_pick_off(cost_ppm, b->on, limit_ppm, ret->off);
		b->settling = ret->off_cnt ? SETTLING : 0;
		for (i = 0; i < ret->off_cnt; i++)
			turn_off(b, ret->off[i]);
		return;
	}
	b->settling = 0;
	if (!b->off_cnt || b->mean_ppm * 2 > b->budget_ppm || b->last_ppm * 2 > b->budget_ppm) {
		b->is_low = false;
		return;
	}
	if (!b->is_low) {
		b->is_low = true;
		b->low_ns = b->now_ns - b->dur_ns;
	}
	source = b->off[b->off_cnt - 1];
	if (b->now_ns - b->low_ns < b->hold_ns[source] || b->spent_ns > b->allowed_ns)
		return;
	b->off_cnt--;
	b->on |= SOURCE_BIT(source);
	b->on_ns[source] = b->now_ns;
	b->has_mean = b->is_low = false;
	ret->is_on = true;
	ret->on = source;
}

void budget_judge(struct budget *b, const struct budget_usage *u, struct budget_step *ret)
{
	memset(ret, 0, sizeof(*ret));
	b->dur_ns += u->dur_ns;
	b->now_ns += u->dur_ns;
	b->cpu_ns += u->dur_ns * (u->cpu_cnt ? u->cpu_cnt : 1);
	b->own_ns += u->own_ns;
	for (unsigned int i = 0; i < SOURCE_CNT; i++) {
		b->source_ns[i] += u->source_ns[i];
		b->event_cnt[i] += u->event_cnt[i];
	}
	if (b->dur_ns < PERIOD_NS)
		return;
	note_cost(b);
	decide(b, ret);
	b->dur_ns = b->cpu_ns = b->own_ns = 0;
	memset(b->source_ns, 0, sizeof(b->source_ns));
	memset(b->event_cnt, 0, sizeof(b->event_cnt));
}

uint64_t budget_cost_ppm(const struct budget *b)
{
	if (b->mean_ppm > b->budget_ppm || b->allowed_ns <= 0)
		return b->mean_ppm;
	return (uint64_t)((double)b->budget_ppm * b->spent_ns / b->allowed_ns);
}

#define REASON "max-overhead"
/* records are at most this late, so closed gaps are kept for this time */
#define LATE_NS 5000000000ULL

/* ---- gaps ---- */

_Static_assert(WIRE_HOOK_MAX <= 64, "a mask of hooks has 64 bits");

struct gap {
	struct trace_gap row;	/* to_ns UINT64_MAX: still open */
	uint64_t hooks;
};

void gaps_done(struct gaps *g)
{
	buf_done(&g->list);
	buf_done(&g->rows);
}

static struct gap *gaps_list(struct gaps *g, size_t *ret_cnt)
{
	*ret_cnt = g->list.len / sizeof(struct gap);
	return (struct gap *)g->list.data;
}

int gaps_open(struct gaps *g, const struct trace_gap *gap, uint64_t hooks)
{
	struct gap x = { .row = *gap, .hooks = hooks };

	x.row.to_ns = UINT64_MAX;
	buf_add(&g->list, &x, sizeof(x));
	return g->list.failed ? -ENOMEM : 0;
}

void gaps_close(struct gaps *g, const char *source, uint64_t to_ns)
{
	size_t cnt, i;
	struct gap *list = gaps_list(g, &cnt);

	for (i = 0; i < cnt; i++) {
		if (list[i].row.to_ns == UINT64_MAX && !strcmp(list[i].row.source, source))
			list[i].row.to_ns = to_ns;
	}
}

struct filter {
	const struct gap *list;
	size_t cnt;
	uint64_t *dropped;
};

static bool lies_in_none(void *ctx, const struct wire_hdr *h)
{
	const struct filter *f = ctx;

	for (size_t i = 0; i < f->cnt; i++) {
		const struct gap *g = &f->list[i];

		if (g->hooks >> h->hook & 1 && h->ts_ns >= g->row.from_ns &&
		    h->ts_ns < g->row.to_ns) {
			f->dropped[h->hook]++;
			return false;
		}
	}
	return true;
}

void gaps_filter(struct gaps *g, struct ring_slice *slices, unsigned int slice_cnt,
		 uint64_t dropped[WIRE_HOOK_MAX])
{
	struct filter f = { .dropped = dropped };

	f.list = gaps_list(g, &f.cnt);
	if (f.cnt)
		slices_filter(slices, slice_cnt, lies_in_none, &f);
}

/* Drops gaps that no later slice overlaps. */
static void forget(struct gaps *g, uint64_t from_ns)
{
	size_t cnt, i, to = 0;
	struct gap *list = gaps_list(g, &cnt);

	for (i = 0; i < cnt; i++) {
		if (list[i].row.to_ns == UINT64_MAX || list[i].row.to_ns + LATE_NS > from_ns)
			list[to++] = list[i];
	}
	g->list.len = to * sizeof(*list);
}

int gaps_rows(struct gaps *g, uint64_t from_ns, uint64_t to_ns, const struct trace_gap **ret,
	      size_t *ret_cnt)
{
	const struct gap *list;
	struct trace_gap row;
	size_t cnt, i;

	forget(g, from_ns);
	buf_reset(&g->rows);
	list = gaps_list(g, &cnt);
	for (i = 0; i < cnt; i++) {
		row = list[i].row;
		if (row.from_ns < from_ns)
			row.from_ns = from_ns;
		if (row.to_ns > to_ns)
			row.to_ns = to_ns;
		if (row.from_ns < row.to_ns)
			buf_add(&g->rows, &row, sizeof(row));
	}
	*ret = (const struct trace_gap *)g->rows.data;
	*ret_cnt = g->rows.len / sizeof(row);
	return g->rows.failed ? -ENOMEM : 0;
}

/* ---- turning sources off and on ---- */

struct overhead {
	struct probe *probe;
	struct sampler *sampler;
	const struct notices *notices;
	struct budget budget;
	struct gaps gaps;
	struct sampler_cost seen;
	uint32_t warned;			/* sources for which say_off() has warned */
	unsigned int step_cnt;
	char off[128];
};

int overhead_new(struct overhead **ret, uint64_t budget_ppm, const struct notices *notices,
		 uint32_t sources, struct probe *probe, struct sampler *sampler, uint64_t start_ns)
{
	struct overhead *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->probe = probe;
	o->sampler = sampler;
	o->notices = notices;
	o->seen.at_ns = start_ns;
	budget_init(&o->budget, budget_ppm, sources);
	*ret = o;
	return 0;
}

void overhead_free(struct overhead *o)
{
	if (!o)
		return;
	gaps_done(&o->gaps);
	free(o);
}

static uint64_t hooks_of(unsigned int source)
{
	uint64_t mask = 0;

	for (unsigned int h = 0; h < WIRE_HOOK_MAX; h++) {
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

	memset(u, 0, sizeof(*u));
	sampler_cost(o->sampler, &now);
	u->dur_ns = now.at_ns - o->seen.at_ns;
	u->cpu_cnt = cpus > 0 ? (unsigned int)cpus : 1;
	u->own_ns = now.own_ns - o->seen.own_ns;
	for (unsigned int i = 0; i < SOURCE_CNT; i++) {
		uint64_t hooks = hooks_of(i);

		for (unsigned int h = 0; h < WIRE_HOOK_MAX; h++) {
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

	o->off[0] = 0;
	for (unsigned int i = 0; i < b->off_cnt && n < sizeof(o->off); i++)
		n += (size_t)snprintf(o->off + n, sizeof(o->off) - n, "%s%s", n ? " " : "",
				      source_infos[b->off[i]].name);
}

static void say_off(struct overhead *o, unsigned int source)
{
	if (o->warned & SOURCE_BIT(source))
		return;
	o->warned |= SOURCE_BIT(source);
	notices_warn(o->notices,
		     "recording costs %.2f %% of the machine's CPU time, --max-overhead allows "
		     "%.2f %%: %s is off until it costs less; `ebpfrec info` says from when to "
		     "when",
		     (double)budget_cost_ppm(&o->budget) / 1e4, (double)o->budget.budget_ppm / 1e4,
		     source_infos[source].name);
}

static int step_off(struct overhead *o, unsigned int source)
{
	struct trace_gap gap = {
		.from_ns = clock_mono_ns(),
		.source = source_infos[source].name,
		.reason = REASON,
		.cost_ppm = budget_cost_ppm(&o->budget),
		.budget_ppm = o->budget.budget_ppm,
	};
	int err = gaps_open(&o->gaps, &gap, hooks_of(source));

	if (err)
		return err;
	probe_source_off(o->probe, source);
	o->step_cnt++;
	say_off(o, source);
	return 0;
}

static void step_on(struct overhead *o, unsigned int source)
{
	struct err e = { "" };
	int err = probe_source_on(o->probe, source, &e);

	if (!err) {
		gaps_close(&o->gaps, source_infos[source].name, clock_mono_ns());
		return;
	}
	turn_off(&o->budget, source);	/* the source stays off for a time */
	notices_warn(o->notices, "%s cannot be turned on again: %s", source_infos[source].name,
		     err_text(&e, err));
}

int overhead_look(struct overhead *o)
{
	struct budget_step step;
	struct budget_usage u;
	int err = 0;

	measure(o, &u);
	budget_judge(&o->budget, &u, &step);
	for (unsigned int i = 0; i < step.off_cnt && !err; i++)
		err = step_off(o, step.off[i]);
	if (step.is_on)
		step_on(o, step.on);
	list_off(o);
	return err;
}

int overhead_slice(struct overhead *o, struct ring_slice *slices, unsigned int slice_cnt,
		   struct block_slice *slice)
{
	uint64_t dropped[WIRE_HOOK_MAX] = { 0 };

	gaps_filter(&o->gaps, slices, slice_cnt, dropped);
	sampler_leave_out(o->sampler, dropped);
	return gaps_rows(&o->gaps, slice->from_ns, slice->to_ns, &slice->gaps, &slice->gap_cnt);
}

const char *overhead_off(const struct overhead *o, unsigned int *ret_cnt)
{
	*ret_cnt = o->step_cnt;
	return o->off;
}
