/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A bin is hot for a candidate when it and the one before reach the threshold together: while a
 * burst is on, every event is in a hot bin, and events are less than a window apart, so a burst
 * lies in one run of neighbouring hot bins and the bin before it. At the beginning of that bin
 * nothing is on, and what came before is out of every window that matters: a machine that begins
 * there finds what one that began at the trace's start does.
 */
#include "analyze/fold/spike_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_reader.h"
#include "base/array.h"

void spike_search_init(struct spike_search *s, struct analysis *a, uint64_t window_ns,
		       spike_sink sink, void *ctx)
{
	*s = (struct spike_search){ .a = a, .window_ns = window_ns, .sink = sink, .ctx = ctx };
}

void spike_search_done(struct spike_search *s)
{
	size_t i;

	for (i = 0; i < s->cnt; i++) {
		burst_done(&s->candidates[i].burst);
		growth_done(&s->candidates[i].growth);
		free(s->candidates[i].ranges);
	}
	free(s->candidates);
	hash_map_done(&s->map);
	s->cnt = 0;
}

int spike_search_add(struct spike_search *s, uint32_t process, unsigned int source,
		     uint64_t threshold)
{
	struct spike_candidate *c;
	uint32_t i;

	if (array_reserve(&s->candidates, &s->cap, s->cnt + 1) < 0)
		return -ENOMEM;
	if (hash_map_intern(&s->map, process, source, &i) < 0)
		return -ENOMEM;
	c = &s->candidates[s->cnt++];
	*c = (struct spike_candidate){ .process = process, .source = (uint8_t)source,
				       .threshold = threshold };
	burst_init(&c->burst, s->window_ns, threshold);
	growth_init(&c->growth, s->window_ns, threshold);
	return 0;
}

static bool is_level(const struct spike_candidate *c)
{
	return c->source == ALLOC_RSS || c->source == ALLOC_VM;
}

/* Whatever is on ends, and the machine is as new. */
static int finish_one(struct spike_search *s, struct spike_candidate *c)
{
	struct burst_found found;
	int ret = is_level(c) ? growth_finish(&c->growth, &found) : burst_finish(&c->burst, &found);

	if (ret > 0)
		ret = s->sink(s->ctx, c, &found);
	burst_done(&c->burst);
	growth_done(&c->growth);
	burst_init(&c->burst, s->window_ns, c->threshold);
	growth_init(&c->growth, s->window_ns, c->threshold);
	return ret;
}

int spike_search_finish(struct spike_search *s)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < s->cnt && ret >= 0; i++)
		ret = finish_one(s, &s->candidates[i]);
	return ret < 0 ? ret : 0;
}

/* 1: ts is in a stretch of the candidate's that is looked at; 0: it is not; or -errno. */
static int in_range(struct spike_search *s, struct spike_candidate *c, uint64_t ts_ns)
{
	int ret = 0;

	if (!s->ranged)
		return 1;
	while (c->range_at < c->range_cnt && ts_ns >= c->ranges[c->range_at].to_ns && !ret) {
		ret = finish_one(s, c);
		c->range_at++;
	}
	if (ret < 0)
		return ret;
	return c->range_at < c->range_cnt && ts_ns >= c->ranges[c->range_at].from_ns;
}

int spike_search_change(void *ctx, const void *found_change)
{
	struct spike_search *s = ctx;
	const struct alloc_change *change = found_change;
	struct burst_found found;
	struct spike_candidate *c;
	uint64_t level;
	uint32_t i;
	int ret = 0;

	if (!hash_map_find(&s->map, change->process, change->source, &i))
		return 0;
	c = &s->candidates[i];
	level = c->level > 0 ? (uint64_t)c->level : 0;
	c->level += change->delta;
	if (change->kind != ALLOC_CHANGE_ALLOC && change->kind != ALLOC_CHANGE_BASELINE)
		return 0;
	/* what a cut carried over is part of the level, and of no burst */
	if (change->kind == ALLOC_CHANGE_ALLOC && change->ts_ns < s->a->start_ns)
		return 0;
	ret = in_range(s, c, change->ts_ns);
	if (change->kind == ALLOC_CHANGE_BASELINE) {
		if (ret > 0)
			growth_shift(&c->growth, change->delta);
		return ret < 0 ? ret : 0;
	}
	if (ret > 0)
		ret = is_level(c) ? growth_add(&c->growth, change->ts_ns, level,
					     level + (uint64_t)change->delta, &found)
				  : burst_add(&c->burst, change->ts_ns, (uint64_t)change->delta,
					      level, &found);
	return ret > 0 ? s->sink(s->ctx, c, &found) : ret;
}

/* ---- where to look ---- */

struct stretch {		/* intervals whose granules are known, and the window */
	const struct index *x;
	size_t lo, hi;
	uint64_t from_bin, to_bin;	/* bins a burst of the window may have hot, [from, to) */
	uint64_t first, end;	/* bins whose pairs are known, [first, end) */
};

static void known_bins(const struct spike_search *s, struct stretch *t)
{
	uint64_t start = s->a->start_ns, w = s->window_ns;

	t->first = t->lo ? (index_interval_from(t->x, t->lo) - start + w - 1) / w + 1 : 0;
	t->end = t->hi == index_interval_cnt(t->x) ? UINT64_MAX
					       : (index_interval_to(t->x, t->hi - 1) - start) / w;
}

static bool is_hot(const struct spike_rate *r, size_t i, uint64_t threshold)
{
	uint64_t pair = r->bins[i].bytes;

	if (i && r->bins[i - 1].bin + 1 == r->bins[i].bin)
		pair += r->bins[i - 1].bytes;
	return pair >= threshold;
}

static int add_range(const struct spike_search *s, struct spike_candidate *c, uint64_t first,
		     uint64_t last)
{
	uint64_t start = s->a->start_ns;

	if (array_reserve(&c->ranges, &c->range_cap, c->range_cnt + 1) < 0)
		return -ENOMEM;
	c->ranges[c->range_cnt++] = (struct spike_range){
		start + (first ? first - 1 : 0) * s->window_ns, start + (last + 1) * s->window_ns };
	return 0;
}

/*
 * The candidate's runs of hot bins that touch the window become its ranges. 1: one of them goes
 * beyond what is known.
 */
static int find_ranges(const struct spike_search *s, const struct stretch *t,
		       struct spike_candidate *c, const struct spike_rate *r)
{
	bool beyond = false;
	size_t i, k;

	c->range_cnt = 0;
	for (i = 0; i < r->cnt; i = k) {
		k = i + 1;
		if (r->bins[i].bin < t->first || r->bins[i].bin >= t->end ||
		    !is_hot(r, i, c->threshold))
			continue;
		while (k < r->cnt && r->bins[k].bin == r->bins[k - 1].bin + 1 &&
		       r->bins[k].bin < t->end && is_hot(r, k, c->threshold))
			k++;
		if (r->bins[k - 1].bin < t->from_bin || r->bins[i].bin >= t->to_bin)
			continue;
		beyond = beyond || (t->lo && r->bins[i].bin == t->first) ||
			 r->bins[k - 1].bin + 1 == t->end;
		if (add_range(s, c, r->bins[i].bin, r->bins[k - 1].bin) < 0)
			return -ENOMEM;
	}
	return beyond;
}

/* Reads granules of ever more intervals around the window until no run of hot bins goes beyond. */
static int find_all(struct spike_search *s, struct stretch *t, enum index_group group)
{
	struct spike_rates rates;
	size_t intervals = index_interval_cnt(t->x), i, more;
	uint32_t at;
	int ret = 1;

	while (ret > 0) {
		known_bins(s, t);
		spike_rates_init(&rates, s->a, s->window_ns);
		rates.only = &s->map;
		ret = spike_rates_read(&rates, t->x, group, t->lo, t->hi);
		if (!ret)
			ret = t->first > t->from_bin || t->end < t->to_bin;
		for (i = 0; i < rates.cnt && ret >= 0; i++) {
			const struct spike_rate *r = &rates.rates[i];
			int beyond = 0;

			if (hash_map_find(&s->map, r->process, r->source, &at))
				beyond = find_ranges(s, t, &s->candidates[at], r);
			ret = beyond < 0 ? beyond : ret | beyond;
		}
		spike_rates_done(&rates);
		more = t->hi - t->lo + 1;
		if (ret > 0) {
			t->lo = t->lo > more ? t->lo - more : 0;
			t->hi = intervals - t->hi > more ? t->hi + more : intervals;
		}
	}
	return ret;
}

/* ---- looking ---- */

/* The candidates' levels at an interval's beginning. */
static int set_levels(struct spike_search *s, const struct index *x, enum index_group group,
		      size_t interval)
{
	const struct dense_ids *d = &s->a->ids;
	uint32_t cnt = index_memory_owner_cnt(s->a), i, at, process;
	int64_t *levels = calloc((size_t)cnt * INDEX_SLOT_CNT, sizeof(*levels));
	unsigned int slot;
	size_t k;
	int ret;

	if (!levels)
		return -ENOMEM;
	for (k = 0; k < s->cnt; k++)
		s->candidates[k].level = 0;
	ret = index_memory_levels(x, s->a, group, interval, levels);
	for (slot = 0; slot < INDEX_SLOT_CNT && !ret; slot++) {
		int source = index_memory_source(group, slot);

		for (i = 0; i < cnt && source >= 0; i++) {
			int64_t level = levels[(size_t)slot * cnt + i];

			if (!level)
				continue;
			process = i < d->thread_cnt ? dense_process_of(d, i) : i - d->thread_cnt;
			if (hash_map_find(&s->map, process, (uint64_t)source, &at))
				s->candidates[at].level += level;
		}
	}
	free(levels);
	return ret;
}

static int decode_intervals(struct spike_search *s, const struct index *x, enum index_group group,
			size_t from, size_t to, struct err *e)
{
	const struct fold_use use = { fold_memory(group), { s, spike_search_change } };
	const struct fold_range range = { index_interval_from(x, from),
					  index_interval_to(x, to - 1), x, FOLD_READER_AT };
	struct fold_reader *reader;
	int ret = fold_reader_open(&reader, s->a, &range, &use, 1, e);

	if (ret < 0)
		return ret;
	ret = fold_reader_run(reader, range.to_ns, SIZE_MAX, NULL, e);
	fold_reader_close(reader);
	return ret;
}

/* Marks the intervals of all ranges. */
static uint8_t *mark_intervals(const struct spike_search *s, const struct index *x,
			   enum index_group group)
{
	uint8_t *marks = calloc(index_interval_cnt(x) + 1, 1);
	uint32_t mask = fold_memory(group)->arg;
	size_t i, k, interval;

	for (i = 0; i < s->cnt && marks; i++) {
		const struct spike_candidate *c = &s->candidates[i];

		for (k = 0; k < c->range_cnt && mask & 1u << c->source; k++)
			for (interval = index_interval_at(x, c->ranges[k].from_ns);
			     interval < index_interval_cnt(x) &&
			     index_interval_from(x, interval) < c->ranges[k].to_ns; interval++)
				marks[interval] = 1;
	}
	return marks;
}

static int search_group(struct spike_search *s, struct stretch *t, enum index_group group,
			struct err *e)
{
	size_t cnt = index_interval_cnt(t->x), interval, end;
	uint8_t *marks;
	int ret = find_all(s, t, group);

	if (ret < 0)
		return ret;
	marks = mark_intervals(s, t->x, group);
	if (!marks)
		return -ENOMEM;
	for (interval = 0; interval < cnt && !ret; interval = end) {
		for (end = interval; end < cnt && marks[end]; end++)
			;
		if (end > interval) {
			ret = set_levels(s, t->x, group, interval);
			if (!ret)
				ret = decode_intervals(s, t->x, group, interval, end, e);
		} else {
			end++;
		}
	}
	free(marks);
	return ret;
}

int spike_search_index(struct spike_search *s, const struct index *x, uint64_t from_ns,
		       uint64_t to_ns, struct err *e)
{
	uint64_t from_bin = (from_ns - s->a->start_ns) / s->window_ns;
	uint64_t to_bin = (to_ns - 1 - s->a->start_ns) / s->window_ns + 2;
	uint32_t mask = 0;
	unsigned int g;
	size_t i;
	int ret = 0;

	for (i = 0; i < s->cnt; i++)
		mask |= 1u << s->candidates[i].source;
	s->ranged = true;
	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++) {
		struct stretch t = { .x = x,
				     .lo = index_interval_at(x, from_ns),
				     .hi = index_interval_at(x, to_ns - 1) + 1,
				     .from_bin = from_bin,
				     .to_bin = to_bin };

		if (mask & fold_memory((enum index_group)g)->arg)
			ret = search_group(s, &t, (enum index_group)g, e);
	}
	if (!ret)
		ret = spike_search_finish(s);
	return ret;
}
