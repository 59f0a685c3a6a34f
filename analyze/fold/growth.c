/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The lowest level of a sliding window is the head of a queue from which every new level first
 * drops all that are not lower: each step enters and leaves once.
 */
#include "analyze/fold/growth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIM_GAP_PART 16	/* of the window */
#define TRIM_BYTES_PART 20	/* of the growth: 5 % */

void growth_init(struct growth *r, uint64_t window_ns, uint64_t min_bytes)
{
	memset(r, 0, sizeof(*r));
	r->window_ns = window_ns ? window_ns : 1;
	r->min_bytes = min_bytes ? min_bytes : 1;
}

void growth_done(struct growth *r)
{
	free(r->lows);
	memset(r, 0, sizeof(*r));
}

static struct growth_low *low_at(const struct growth *r, size_t i)
{
	return &r->lows[(r->head + i) & (r->cap - 1)];
}

static void drop_first_low(struct growth *r)
{
	r->head = (r->head + 1) & (r->cap - 1);
	r->cnt--;
}

static int add_low(struct growth *r, uint64_t ts_ns, uint64_t level)
{
	while (r->cnt && low_at(r, r->cnt - 1)->level >= level)
		r->cnt--;
	while (r->cnt && ts_ns - low_at(r, 0)->ts_ns >= r->window_ns)
		drop_first_low(r);
	if (r->cnt == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64, i;
		struct growth_low *lows = malloc(cap * sizeof(*lows));

		if (!lows)
			return -ENOMEM;
		for (i = 0; i < r->cnt; i++)
			lows[i] = *low_at(r, i);
		free(r->lows);
		r->lows = lows;
		r->cap = cap;
		r->head = 0;
	}
	*low_at(r, r->cnt++) = (struct growth_low){ ts_ns, level };
	return 0;
}

static void begin(struct growth *r, uint64_t level)
{
	uint64_t gap = r->window_ns / TRIM_GAP_PART, lowest = low_at(r, 0)->level;
	size_t i, cut = 0;

	for (i = 1;
	     i < r->cnt && low_at(r, i)->level - lowest <= (level - lowest) / TRIM_BYTES_PART; i++)
		if (low_at(r, i)->ts_ns - low_at(r, i - 1)->ts_ns >= gap)
			cut = i;
	r->active = true;
	r->found.start_ns = low_at(r, cut)->ts_ns;
	r->found.baseline = r->base = low_at(r, cut)->level;
	r->peak = 0;
}

static void end(struct growth *r, struct burst_found *ret)
{
	r->active = false;
	*ret = r->found;
	/* what belonged to it must not help to begin another one */
	while (r->cnt && low_at(r, 0)->ts_ns <= r->found.end_ns)
		drop_first_low(r);
}

int growth_add(struct growth *r, uint64_t ts_ns, uint64_t before, uint64_t after,
	       struct burst_found *ret_found)
{
	bool high;
	int ret = 0;

	if (add_low(r, ts_ns, before) < 0)
		return -ENOMEM;
	high = after - low_at(r, 0)->level >= r->min_bytes;
	if (r->active && (!high || ts_ns - r->last_ns >= r->window_ns)) {
		end(r, ret_found);
		ret = 1;
	}
	if (!r->active && high)
		begin(r, after);
	r->last_ns = ts_ns;
	if (r->active && after > r->peak) {
		r->peak = after;
		r->found.end_ns = ts_ns;
		r->found.bytes = after - r->base;
	}
	return ret;
}

void growth_shift(struct growth *r, int64_t delta)
{
	size_t i;

	for (i = 0; i < r->cnt; i++)
		low_at(r, i)->level += (uint64_t)delta;
	if (!r->active)
		return;
	r->peak += (uint64_t)delta;
	r->base += (uint64_t)delta;
}

int growth_finish(struct growth *r, struct burst_found *ret_found)
{
	if (!r->active)
		return 0;
	end(r, ret_found);
	return 1;
}
