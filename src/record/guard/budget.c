/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * budget: adds usage up to periods. Each period ends in at most one step, and the next one is
 * judged afresh, because it has one source more or less.
 */
#include "record/guard/budget.h"

#include <string.h>

#define PERIOD_NS 500000000ULL
#define RELAPSE_NS                                                                                 \
	10000000000ULL /* a source that goes off again within this time came back too early */
#define NOTABLE 20	/* turning off a source below a 20th of the cost helps too little */

void budget_init(struct budget *b, uint64_t budget_ppm, uint32_t sources)
{
	unsigned int i;

	memset(b, 0, sizeof(*b));
	b->budget_ppm = budget_ppm;
	b->on = sources;
	for (i = 0; i < SOURCE_CNT; i++)
		b->hold_ns[i] = BUDGET_HOLD_NS;
}

static uint64_t events_of(const struct budget *b)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < SOURCE_CNT; i++)
		sum += b->event_cnt[i];
	return sum;
}

static uint64_t cost_of(const struct budget *b)
{
	uint64_t sum = b->own_ns;
	unsigned int i;

	for (i = 0; i < SOURCE_CNT; i++)
		sum += b->source_ns[i];
	return sum;
}

/* The source to turn off, or SOURCE_CNT when none would help. */
static unsigned int dearest(const struct budget *b)
{
	double events = (double)events_of(b), total = (double)cost_of(b), best = 0;
	double cost[SOURCE_CNT];
	unsigned int i, at = SOURCE_CNT;

	for (i = 0; i < SOURCE_CNT; i++) {
		cost[i] = (double)b->source_ns[i];
		if (events > 0)
			cost[i] += (double)b->own_ns * (double)b->event_cnt[i] / events;
		if (i == SOURCE_TASK || i == SOURCE_SWITCH || !(b->on & SOURCE_BIT(i)))
			continue;
		if (cost[i] > best) {
			best = cost[i];
			at = i;
		}
	}
	if (at < SOURCE_CNT && best * NOTABLE >= total)
		return at;
	if (b->on & SOURCE_BIT(SOURCE_SWITCH) && cost[SOURCE_SWITCH] * NOTABLE >= total)
		return SOURCE_SWITCH;
	return SOURCE_CNT;
}

static void note_mean(struct budget *b)
{
	b->last_ppm = b->cpu_ns ? (uint64_t)((double)cost_of(b) * 1e6 / (double)b->cpu_ns) : 0;
	b->mean_ppm = b->has_mean ? (b->mean_ppm + b->last_ppm) / 2 : b->last_ppm;
	b->has_mean = true;
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

static enum budget_step decide(struct budget *b, unsigned int *ret_source)
{
	unsigned int source;

	if (b->mean_ppm > b->budget_ppm && b->last_ppm > b->budget_ppm) {
		source = dearest(b);
		b->is_low = false;
		if (source == SOURCE_CNT)
			return BUDGET_STAY;
		turn_off(b, source);
		*ret_source = source;
		return BUDGET_OFF;
	}
	if (!b->off_cnt || b->mean_ppm * 2 > b->budget_ppm || b->last_ppm * 2 > b->budget_ppm) {
		b->is_low = false;
		return BUDGET_STAY;
	}
	if (!b->is_low) {
		b->is_low = true;
		b->low_ns = b->now_ns - b->dur_ns;
	}
	source = b->off[b->off_cnt - 1];
	if (b->now_ns - b->low_ns < b->hold_ns[source])
		return BUDGET_STAY;
	b->off_cnt--;
	b->on |= SOURCE_BIT(source);
	b->on_ns[source] = b->now_ns;
	b->has_mean = b->is_low = false;
	*ret_source = source;
	return BUDGET_ON;
}

enum budget_step budget_judge(struct budget *b, const struct budget_usage *u,
			      unsigned int *ret_source)
{
	enum budget_step step;
	unsigned int i;

	b->dur_ns += u->dur_ns;
	b->now_ns += u->dur_ns;
	b->cpu_ns += u->dur_ns * (u->cpu_cnt ? u->cpu_cnt : 1);
	b->own_ns += u->own_ns;
	for (i = 0; i < SOURCE_CNT; i++) {
		b->source_ns[i] += u->source_ns[i];
		b->event_cnt[i] += u->event_cnt[i];
	}
	if (b->dur_ns < PERIOD_NS)
		return BUDGET_STAY;
	note_mean(b);
	step = decide(b, ret_source);
	b->dur_ns = b->cpu_ns = b->own_ns = 0;
	memset(b->source_ns, 0, sizeof(b->source_ns));
	memset(b->event_cnt, 0, sizeof(b->event_cnt));
	return step;
}

void budget_failed_on(struct budget *b, unsigned int source)
{
	turn_off(b, source);
}
