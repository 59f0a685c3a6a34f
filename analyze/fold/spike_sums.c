/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spike_sums: what processes allocated, in bins of the spike window, and what an index keeps of
 * that: the tail INDEX_TAIL_SPIKES.
 */
#include "analyze/fold/spikes.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/index_rates.h"
#include "base/array.h"

void spikes_done(struct spikes *s)
{
	for (size_t i = 0; i < s->cnt; i++) {
		burst_done(&s->candidates[i].burst);
		free(s->candidates[i].bins);
	}
	free(s->candidates);
	free(s->marks);
	hash_map_done(&s->map);
}

static void find_first_bin(const struct spikes *s, struct spike_candidate *c)
{
	const struct trace_process *p = dense_process_row(&s->a->ids, c->process);

	c->first_bin = p && p->start_ns > s->a->start_ns ?
			       (p->start_ns - s->a->start_ns) / s->q.window_ns : 0;
}

struct spike_candidate *spikes_candidate(struct spikes *s, uint32_t process, unsigned int source)
{
	uint32_t i;
	int ret = hash_map_intern(&s->map, process, source, &i);

	if (ret < 0 || array_reserve(&s->candidates, &s->cap, i + 1) < 0)
		return NULL;
	if (ret) {
		s->candidates[i] =
			(struct spike_candidate){ .process = process, .source = (uint8_t)source };
		s->cnt = i + 1;
		find_first_bin(s, &s->candidates[i]);
	}
	return &s->candidates[i];
}

struct spike_candidate *spikes_chosen(const struct spikes *s, uint32_t process, unsigned int source)
{
	uint32_t i;

	return hash_map_find(&s->map, process, source, &i) && s->candidates[i].is_chosen ?
		       &s->candidates[i] : NULL;
}

uint64_t spikes_pair_at(const struct spike_candidate *c, size_t i)
{
	bool has_one_before = i && c->bins[i - 1].number + 1 == c->bins[i].number;

	return c->bins[i].bytes + (has_one_before ? c->bins[i - 1].bytes : 0);
}

int spikes_add_bytes(struct spikes *s, uint32_t process, unsigned int source, uint64_t bin,
		     uint64_t bytes)
{
	struct spike_candidate *c = s->is_second ? spikes_chosen(s, process, source) :
					     spikes_candidate(s, process, source);

	if (!c)
		return s->is_second ? 0 : -ENOMEM;
	if (!c->cnt || c->bins[c->cnt - 1].number != bin) {
		if (array_add(&c->bins, &c->cap, &c->cnt, (struct spike_bin){ bin, 0 }) < 0)
			return -ENOMEM;
	}
	c->bins[c->cnt - 1].bytes += bytes;
	if (spikes_pair_at(c, c->cnt - 1) > c->pair_max)
		c->pair_max = spikes_pair_at(c, c->cnt - 1);
	return 0;
}

static int on_rate(void *ctx, uint32_t process, unsigned int source, uint64_t granule,
		   uint64_t bytes)
{
	struct spikes *s = ctx;

	return spikes_add_bytes(s, process, source,
				granule / (s->q.window_ns / INDEX_GRANULE_NS), bytes);
}

int spikes_read_rates(struct spikes *s, const struct index *x, unsigned int group, size_t from,
		      size_t to)
{
	int ret = 0;

	for (; from < to && !ret; from++)
		ret = index_rates_read(x, s->a, (enum index_group)group, from, on_rate, s);
	return ret;
}

uint64_t spikes_threshold(const struct spike_candidate *c, uint64_t min_bytes, uint64_t bin)
{
	uint64_t age = bin > c->first_bin ? bin - c->first_bin : 0;
	unsigned int i = 0;

	if (min_bytes)
		return min_bytes;
	if (age < SPIKE_AGE_BINS || !c->age_cnt)
		return SPIKE_MIN_BYTES;
	while (i + 1u < c->age_cnt && age >= (uint64_t)SPIKE_AGE_BINS << (i + 1))
		i++;
	return c->medians[i] > SPIKE_MIN_BYTES / SPIKE_MEDIANS ? c->medians[i] * SPIKE_MEDIANS
							       : SPIKE_MIN_BYTES;
}

/* The median of each age; bins without any bytes are zeros. sums: room for all bins. */
static void find_ages(struct spike_candidate *c, uint64_t *sums)
{
	uint64_t last = c->cnt ? c->bins[c->cnt - 1].number : 0, bins;
	size_t cnt = 0;

	c->age_cnt = 0;
	for (unsigned int i = 0; i < SPIKE_AGES; i++) {
		bins = (uint64_t)SPIKE_AGE_BINS << i;
		if (c->first_bin + bins > last)
			break;
		while (cnt < c->cnt && c->bins[cnt].number < c->first_bin + bins)
			cnt++;
		c->age_cnt++;
		c->medians[i] = 0;
		if (bins / 2 < bins - cnt)
			continue;
		for (size_t k = 0; k < cnt; k++)
			sums[k] = c->bins[k].bytes;
		qsort(sums, cnt, sizeof(*sums), compare_u64);
		c->medians[i] = sums[bins / 2 - (bins - cnt)];
	}
	c->is_hot = false;
	for (size_t k = 0; k < c->cnt && !c->is_hot; k++)
		c->is_hot = spikes_pair_at(c, k) >= spikes_threshold(c, 0, c->bins[k].number);
}

int spikes_find_medians(struct spikes *s)
{
	uint64_t *sums;
	size_t i, max = 0;

	for (i = 0; i < s->cnt; i++)
		max = s->candidates[i].cnt > max ? s->candidates[i].cnt : max;
	sums = malloc((max + 1) * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (i = 0; i < s->cnt; i++)
		find_ages(&s->candidates[i], sums);
	free(sums);
	return 0;
}

int spikes_save(struct index *x, struct zpack *z, struct analysis *a, enum index_group group)
{
	struct spikes s = { .a = a, .q.window_ns = SPIKE_WINDOW_NS };
	struct buf out = { 0 };
	size_t i, cnt = 0;
	int ret = spikes_read_rates(&s, x, group, 0, index_interval_cnt(x));

	ret = ret ?: spikes_find_medians(&s);
	for (i = 0; i < s.cnt; i++)
		cnt += s.candidates[i].pair_max >= SPIKE_MIN_BYTES;
	packed_put(&out, cnt);
	for (i = 0; i < s.cnt; i++) {
		const struct spike_candidate *c = &s.candidates[i];

		if (c->pair_max < SPIKE_MIN_BYTES)
			continue;
		packed_put(&out, (uint64_t)dense_upid(&s.a->ids, c->process) << 1 |
					 (c->source == ALLOC_VM));
		packed_put(&out, c->pair_max << 1 | c->is_hot);
		packed_put(&out, c->age_cnt);
		for (unsigned int k = 0; k < c->age_cnt; k++)
			packed_put(&out, c->medians[k]);
	}
	ret = ret ?: index_add_tail(x, z, INDEX_TAIL_SPIKES + group, &out);
	buf_done(&out);
	spikes_done(&s);
	return ret;
}
