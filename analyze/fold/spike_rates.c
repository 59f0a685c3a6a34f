/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A list of bins per process and source, and what is known of it as it grows. */
#include "analyze/fold/spike_rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void spike_rates_init(struct spike_rates *s, const struct analysis *a, uint64_t window_ns)
{
	memset(s, 0, sizeof(*s));
	s->a = a;
	s->window_ns = window_ns;
}

void spike_rates_done(struct spike_rates *s)
{
	size_t i;

	for (i = 0; i < s->cnt; i++)
		free(s->rates[i].bins);
	free(s->rates);
	hash_map_done(&s->map);
	memset(s, 0, sizeof(*s));
}

static struct spike_rate *rate_of(struct spike_rates *s, uint32_t process, unsigned int source)
{
	uint32_t i;
	int ret = hash_map_intern(&s->map, process, source, &i);

	if (ret < 0)
		return NULL;
	if (array_reserve(&s->rates, &s->cap, i + 1) < 0) {
		/* the map knows one more than there are: nothing may be looked up any more */
		hash_map_clear(&s->map);
		s->cap = 0;
		return NULL;
	}
	if (ret) {
		s->rates[i] = (struct spike_rate){ .process = process, .source = (uint8_t)source };
		s->cnt = i + 1;
	}
	return &s->rates[i];
}

int spike_rates_add(struct spike_rates *s, uint32_t process, unsigned int source, uint64_t bin,
		    uint64_t bytes)
{
	struct spike_rate *r;
	struct spike_bin *last;
	uint64_t pair;
	uint32_t i;

	if (s->only && !hash_map_find(s->only, process, source, &i))
		return 0;
	r = rate_of(s, process, source);
	if (!r)
		return -ENOMEM;
	if (!r->cnt || r->bins[r->cnt - 1].bin != bin) {
		if (array_reserve(&r->bins, &r->cap, r->cnt + 1) < 0)
			return -ENOMEM;
		r->bins[r->cnt++] = (struct spike_bin){ bin, 0 };
	}
	last = &r->bins[r->cnt - 1];
	last->bytes += bytes;
	pair = last->bytes;
	if (r->cnt > 1 && last[-1].bin + 1 == bin)
		pair += last[-1].bytes;
	if (pair > r->pair_max)
		r->pair_max = pair;
	return 0;
}

int spike_rates_read(struct spike_rates *s, const struct index *x, enum index_group group,
		     size_t from, size_t to)
{
	uint64_t granules = s->window_ns / INDEX_GRANULE_NS, bytes;
	struct buf mem = { 0 };
	struct index_rate r;
	struct packed_in in;
	int ret = 0, source;

	for (; !ret && from < to; from++) {
		ret = index_read(x, from, INDEX_RATES + group, &mem, &in);
		while (!ret && (ret = index_rate_begin(s->a, &in, &r)) > 0) {
			source = index_memory_source(group, r.slot);
			ret = source < 0 ? -EBADMSG : 0;
			for (; r.cnt && !ret; r.cnt--) {
				ret = index_rate_next(&in, &r, &bytes);
				if (!ret)
					ret = spike_rates_add(s, r.process, (unsigned int)source,
							      r.granule / granules, bytes);
			}
		}
	}
	buf_done(&mem);
	return ret;
}

static int compare_bytes(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/*
 * Those bins of the process's life without any bytes are the zeros in front. sums: room for all
 * bins.
 */
static uint64_t median(const struct spike_rates *s, const struct spike_rate *r, uint64_t *sums)
{
	const struct trace_process *p = dense_process_row(&s->a->ids, r->process);
	uint64_t from = p && p->start_ns > s->a->start_ns ? p->start_ns : s->a->start_ns;
	uint64_t to = p && p->end_ns && p->end_ns < s->a->end_ns ? p->end_ns : s->a->end_ns;
	uint64_t bins = (to > from ? to - from : 0) / s->window_ns + 1, zeros;
	size_t i;

	zeros = bins > r->cnt ? bins - r->cnt : 0;
	bins = zeros + r->cnt;
	if (bins / 2 < zeros)
		return 0;
	for (i = 0; i < r->cnt; i++)
		sums[i] = r->bins[i].bytes;
	qsort(sums, r->cnt, sizeof(*sums), compare_bytes);
	return sums[bins / 2 - zeros];
}

int spike_rates_finish(struct spike_rates *s)
{
	uint64_t *sums;
	size_t i, max = 0;

	for (i = 0; i < s->cnt; i++)
		max = s->rates[i].cnt > max ? s->rates[i].cnt : max;
	sums = malloc((max + 1) * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (i = 0; i < s->cnt; i++)
		s->rates[i].median = median(s, &s->rates[i], sums);
	free(sums);
	return 0;
}

int spike_rates_save(struct index *x, struct zpack *z, const struct analysis *a,
		     enum index_group group)
{
	struct spike_rates s;
	struct buf out = { 0 };
	size_t i, cnt = 0;
	int ret;

	spike_rates_init(&s, a, SPIKE_WINDOW_NS);
	ret = spike_rates_read(&s, x, group, 0, index_interval_cnt(x));
	if (!ret)
		ret = spike_rates_finish(&s);
	for (i = 0; i < s.cnt; i++)
		cnt += s.rates[i].pair_max >= SPIKE_MIN_BYTES;
	packed_put(&out, cnt);
	for (i = 0; i < s.cnt; i++) {
		const struct spike_rate *r = &s.rates[i];

		if (r->pair_max < SPIKE_MIN_BYTES)
			continue;
		packed_put(&out, (uint64_t)dense_upid(&a->ids, r->process) << 1 |
					(r->source == ALLOC_VM));
		packed_put(&out, r->median);
		packed_put(&out, r->pair_max);
	}
	if (!ret)
		ret = index_add_tail(x, z, INDEX_TAIL_SPIKES + group, &out);
	buf_done(&out);
	spike_rates_done(&s);
	return ret;
}

int spike_rates_load(struct spike_rates *s, const struct index *x, enum index_group group,
		     const struct hash_map *only)
{
	struct buf mem = { 0 };
	struct packed_in in;
	size_t n;
	int ret = index_read_tail(x, INDEX_TAIL_SPIKES + group, &mem, &in), source;

	if (ret < 0 || in.p == in.end) {
		buf_done(&mem);
		return ret;
	}
	for (n = packed_get_cnt(&in); n && !ret; n--) {
		uint64_t id = packed_get(&in), median_bytes = packed_get(&in),
			 pair = packed_get(&in);
		struct spike_rate *r;
		uint32_t i;

		source = index_memory_source(group, id & 1);
		if (source < 0) {
			ret = -EBADMSG;
			break;
		}
		if (only && !hash_map_find(only, id >> 1, (uint64_t)source, &i))
			continue;
		r = rate_of(s, dense_process(&s->a->ids, (uint32_t)(id >> 1)),
			    (unsigned int)source);
		if (!r) {
			ret = -ENOMEM;
			break;
		}
		r->median = median_bytes;
		r->pair_max = pair;
	}
	if (!ret && in.bad)
		ret = -EBADMSG;
	buf_done(&mem);
	return ret < 0 ? ret : 1;
}
