/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * budget: adds usage up to periods. A period ends in at most one step. The next period is judged on
 * its own, because it has other sources.
 */
#include "record/guard/budget.h"

#include <string.h>

#define PERIOD_NS 300000000ULL
#define REPAY_NS 10e9
#define SETTLING 2	/* periods during which an older slice may still be being encoded */
#define RELAPSE_NS                                                                                 \
	10000000000ULL /* a source that goes off again within this time was turned on too early */
#define NOTABLE 20	/* a source below a 20th of the cost is not worth turning off */

void budget_init(struct budget *b, uint64_t budget_ppm, uint32_t sources)
{
	memset(b, 0, sizeof(*b));
	b->budget_ppm = budget_ppm;
	b->on = sources;
	for (unsigned int i = 0; i < SOURCE_CNT; i++)
		b->hold_ns[i] = BUDGET_HOLD_NS;
}

/* Finds what each source has cost in the period, in millionths of the machine's CPU time. */
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

/* Returns the source to turn off, or SOURCE_CNT if none would help. */
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
	 * a source that is off costs only the records it left in the buffers, which soon ends by
	 * itself
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

/* Returns the limit that, if met, brings the average since the start to the budget in REPAY_NS. */
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

void budget_failed_on(struct budget *b, unsigned int source)
{
	turn_off(b, source);
}
