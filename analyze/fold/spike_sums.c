/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spike_sums: bytes allocated by processes in bins of the spike window, and the results that an
 * index stores in the tail INDEX_TAIL_SPIKES.
 */
#include "analyze/fold/spikes.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/index_memory.h"
#include "base/array.h"

const unsigned int spike_saved[SPIKE_BY_MAX] = { KEY(PROCESS), KEY(COMM), 0 };

void spikes_done(struct spikes *s)
{
	for (size_t i = 0; i < s->cnt; i++) {
		burst_done(&s->candidates[i].burst);
		free(s->candidates[i].bins);
	}
	free(s->candidates);
	free(s->marks);
	for (unsigned int i = 0; i < SPIKE_BY_MAX; i++) {
		free(s->group_of[i]);
		free(s->group_bin[i]);
	}
	for (unsigned int i = 0; i < ALLOC_SOURCE_CNT; i++)
		free(s->chosen[i]);
	hash_map_done(&s->map);
}

static uint64_t first_bin_of(const struct spikes *s, uint32_t process)
{
	const struct trace_process *p = dense_process_row(&s->a->ids, process);

	return p && p->start_ns > s->a->start_ns ?
		       (p->start_ns - s->a->start_ns) / s->q.window_ns : 0;
}

/* Assigns processes to groups by the key q.by[by]. first: an array with space for all groups. */
static int group_by(struct spikes *s, unsigned int by, bool uses_scope, uint32_t *first)
{
	struct hash_map map = { 0 };	/* maps texts to group numbers */
	enum report_by key = (enum report_by)(s->q.by[by] ? __builtin_ctz(s->q.by[by]) : 0);
	uint32_t *of = s->group_of[by], group;
	uint64_t *bins = s->group_bin[by], bin;
	int ret = 0;

	for (uint32_t i = 0; i < s->a->ids.process_cnt; i++) {
		const struct trace_process *p = dense_process_row(&s->a->ids, i);
		const char *text = "";

		of[i] = EVENT_ID_UNKNOWN;
		if (!p || p->flags & TRACE_TASK_RECORDER ||
		    (uses_scope && !scope_has_process(&s->a->question->scope, i)))
			continue;
		if (s->q.by[by])
			text = task_keys_text(&s->a->keys, key, i);
		ret = text ? hash_map_intern(&map, (uintptr_t)text, 0, &group) : -ENOMEM;
		if (ret < 0)
			break;
		bin = first_bin_of(s, i);
		if (ret)
			first[group] = i;
		of[i] = first[group];
		if (ret || bin < bins[first[group]])
			bins[first[group]] = bin;
	}
	hash_map_done(&map);
	return ret < 0 ? ret : 0;
}

int spikes_group(struct spikes *s, bool uses_scope)
{
	uint32_t cnt = s->a->ids.process_cnt, *first = calloc(cnt, sizeof(*first));
	int ret = first ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < s->q.by_cnt && !ret; i++) {
		if (s->q.by[i] == KEY(PROCESS))
			continue;
		s->group_of[i] = calloc(cnt, sizeof(*s->group_of[i]));
		s->group_bin[i] = calloc(cnt, sizeof(*s->group_bin[i]));
		ret = s->group_of[i] && s->group_bin[i] ? group_by(s, i, uses_scope, first) :
							  -ENOMEM;
	}
	free(first);
	return ret;
}

struct spike_candidate *spikes_candidate(struct spikes *s, unsigned int by, uint32_t process,
					 unsigned int source)
{
	uint32_t i;
	int ret = hash_map_intern(&s->map, process, by * ALLOC_SOURCE_CNT + source, &i);

	if (ret < 0 || array_reserve(&s->candidates, &s->cap, i + 1) < 0)
		return NULL;
	if (ret) {
		s->candidates[i] = (struct spike_candidate){
			.process = process, .by = by, .source = (uint8_t)source,
			.first_bin = s->group_bin[by] ? s->group_bin[by][process] :
							first_bin_of(s, process),
		};
		s->cnt = i + 1;
	}
	return &s->candidates[i];
}

int spikes_list_chosen(struct spikes *s)
{
	uint32_t cnt = s->a->ids.process_cnt, process, row;

	for (unsigned int source = 0; source < ALLOC_SOURCE_CNT; source++) {
		if (!(s->q.source_mask & 1u << source))
			continue;
		s->chosen[source] = calloc((size_t)cnt * s->q.by_cnt, sizeof(**s->chosen));
		if (!s->chosen[source])
			return -ENOMEM;
		for (unsigned int by = 0; by < s->q.by_cnt; by++)
			for (process = 0; process < cnt; process++)
				if (hash_map_find(&s->map, spikes_member(s, by, process),
						  by * ALLOC_SOURCE_CNT + source, &row) &&
				    s->candidates[row].is_chosen)
					s->chosen[source][(size_t)by * cnt + process] = row + 1;
	}
	return 0;
}

uint64_t spikes_pair_at(const struct spike_candidate *c, size_t i)
{
	bool has_one_before = i && c->bins[i - 1].number + 1 == c->bins[i].number;

	return c->bins[i].bytes + (has_one_before ? c->bins[i - 1].bytes : 0);
}

static int add_bytes(struct spike_candidate *c, uint64_t bin, uint64_t bytes)
{
	if (!c->cnt || c->bins[c->cnt - 1].number != bin) {
		if (array_add(&c->bins, &c->cap, &c->cnt, (struct spike_bin){ bin, 0 }) < 0)
			return -ENOMEM;
	}
	c->bins[c->cnt - 1].bytes += bytes;
	if (spikes_pair_at(c, c->cnt - 1) > c->pair_max)
		c->pair_max = spikes_pair_at(c, c->cnt - 1);
	return 0;
}

int spikes_add_bytes(struct spikes *s, uint32_t process, unsigned int source, uint64_t bin,
		     uint64_t bytes)
{
	struct spike_candidate *c;
	uint32_t member;
	int ret = 0;

	for (unsigned int i = 0; i < s->q.by_cnt && !ret; i++) {
		member = spikes_member(s, i, process);
		if (member == EVENT_ID_UNKNOWN)
			continue;
		c = s->is_second ? spikes_chosen(s, i, process, source) :
				   spikes_candidate(s, i, member, source);
		if (c)
			ret = add_bytes(c, bin, bytes);
		else if (!s->is_second)
			ret = -ENOMEM;
	}
	return ret;
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

/*
 * Returns how many of the first cnt bins precede the run of bins that may belong to a burst active
 * at bin `end`.
 */
static size_t cnt_before_run(const struct spike_candidate *c, size_t cnt, uint64_t end)
{
	size_t i = cnt;

	while (i && c->bins[i - 1].number + 1 >= end && spikes_pair_at(c, i - 1) >= SPIKE_MIN_BYTES)
		end = c->bins[--i].number;
	/* the first bin of the run's first pair belongs to the run */
	return i && i < cnt && c->bins[i - 1].number + 1 == end ? i - 1 : i;
}

/*
 * Computes, for each age, the median of the bins up to this age, without the bins of a burst that
 * is active at this age. For slab and heap, whose frees are not subtracted, a run that fills more
 * than three quarters of the life so far is a steady rate, not a burst, and is included. Bins
 * without bytes count as zero. sums: an array with space for all bins.
 */
static void find_ages(struct spike_candidate *c, uint64_t *sums)
{
	uint64_t last = c->cnt ? c->bins[c->cnt - 1].number : 0, bins, before;
	bool is_growth = spikes_is_growth(c->source);
	size_t cnt = 0, n;

	c->age_cnt = 0;
	for (unsigned int i = 0; i < SPIKE_AGES; i++) {
		bins = (uint64_t)SPIKE_AGE_BINS << i;
		if (c->first_bin + bins > last)
			break;
		while (cnt < c->cnt && c->bins[cnt].number < c->first_bin + bins)
			cnt++;
		n = cnt_before_run(c, cnt, c->first_bin + bins);
		before = n < cnt ? c->bins[n].number - c->first_bin : bins;
		if (!is_growth && before < bins / 4) {
			n = cnt;
			before = bins;
		}
		c->age_cnt++;
		c->medians[i] = 0;
		if (before / 2 < before - n || !before)
			continue;
		for (size_t k = 0; k < n; k++)
			sums[k] = c->bins[k].bytes;
		qsort(sums, n, sizeof(*sums), compare_u64);
		c->medians[i] = sums[before / 2 - (before - n)];
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
	struct spikes s = { .a = a, .q = { .window_ns = SPIKE_WINDOW_NS, .by_cnt = SPIKE_BY_MAX } };
	struct buf out = { 0 };
	size_t i, cnt = 0;
	int ret;

	for (i = 0; i < SPIKE_BY_MAX; i++)
		s.q.by[i] = spike_saved[i];
	ret = spikes_group(&s, false);
	ret = ret ?: spikes_read_rates(&s, x, group, 0, index_interval_cnt(x));
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
		packed_put(&out, c->by);
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
