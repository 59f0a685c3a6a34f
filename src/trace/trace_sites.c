/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_sites: the list of user-space code addresses. Every block repeats those of its events, so
 * rows are merged while they are read, by a seeded hash of (process, address, since when).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "trace/trace_state.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 29;
}

/* Index + 1 of the row with the same key; 0: there is none, and *ret_key is free. */
static uintptr_t find(const struct trace *t, const struct trace_site *row, uint64_t *ret_key)
{
	const struct trace_site *v = t->sites.v;
	uint64_t key = mix(mix(mix(t->site_seed, row->upid), row->addr), row->from_ns);
	uintptr_t at;

	while ((at = (uintptr_t)hash_map_get(&t->by_site, key)) != 0) {
		const struct trace_site *p = &v[at - 1];

		if (p->upid == row->upid && p->addr == row->addr && p->from_ns == row->from_ns)
			break;
		key++;
	}
	*ret_key = key;
	return at;
}

int trace_site_load(struct trace *t, struct trace_site *row)
{
	struct trace_site *p;
	uint64_t key;
	uintptr_t at;

	if (!t->site_seed && getrandom(&t->site_seed, sizeof(t->site_seed), GRND_NONBLOCK) < 0)
		t->site_seed = (uintptr_t)row;
	row->symbol = strpool_put(t->strings, row->symbol);
	row->module = strpool_put(t->strings, row->module);
	row->build_id = strpool_put(t->strings, row->build_id);
	if (!row->symbol || !row->module || !row->build_id)
		return -ENOMEM;
	at = find(t, row, &key);
	if (at) {
		p = (struct trace_site *)t->sites.v + (at - 1);
		/* the later answer is better, unless the process had exited by then */
		if (!row->why || p->why)
			*p = *row;
		return 0;
	}
	p = trace_list_add(&t->sites, sizeof(*p));
	if (!p || hash_map_put(&t->by_site, key, (void *)(uintptr_t)t->sites.cnt) < 0)
		return -ENOMEM;
	*p = *row;
	return 0;
}

static int site_cmp(const void *a, const void *b)
{
	const struct trace_site *x = a, *y = b;

	if (x->upid != y->upid)
		return x->upid < y->upid ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

int trace_sites_link(struct trace *t)
{
	struct trace_site *v = t->sites.v;
	uint64_t key;
	size_t i;

	if (!t->sites.cnt)
		return 0;
	qsort(v, t->sites.cnt, sizeof(*v), site_cmp);
	/* a refresh continues to add rows */
	hash_map_done(&t->by_site);
	for (i = 0; i < t->sites.cnt; i++) {
		(void)find(t, &v[i], &key);
		if (hash_map_put(&t->by_site, key, (void *)(uintptr_t)(i + 1)) < 0)
			return -ENOMEM;
	}
	return 0;
}

const struct trace_site *trace_site_find(const struct trace *t, uint32_t upid, uint64_t addr,
					 uint64_t ts_ns)
{
	struct trace_site want = { .upid = upid, .addr = addr, .from_ns = ts_ns };
	size_t lo = 0, hi;
	const struct trace_site *v = trace_sites(t, &hi);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (site_cmp(&v[mid], &want) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || v[lo - 1].upid != upid || v[lo - 1].addr != addr)
		return NULL;
	return &v[lo - 1];
}
