/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_sites: the list of user-space code addresses. Every block repeats those of its events, so
 * rows are merged while they are read, by (process, address, since when).
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/trace_state.h"

/* Numbers the row's key in order of first calls. 1: it is new; 0: it was there; -ENOMEM. */
static int number_site(struct trace *t, const struct trace_site *row, uint32_t *ret)
{
	uint32_t code;

	if (hash_map_intern(&t->site_code, row->upid, row->addr, &code) < 0)
		return -ENOMEM;
	return hash_map_intern(&t->site_row, code, row->from_ns, ret);
}

int trace_site_load(struct trace *t, const struct trace_site *row)
{
	struct trace_list *l = &t->rows[CHUNK_SITES];
	struct trace_site *p;
	uint32_t i;
	int r = number_site(t, row, &i);

	if (r < 0 || (r > 0 && !trace_list_add(l, sizeof(*p))))
		return -ENOMEM;
	p = (struct trace_site *)l->v + i;
	/* the later answer is better, unless the process had exited by then */
	if (r > 0 || !row->why || p->why)
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
	struct trace_list *l = &t->rows[CHUNK_SITES];
	const struct trace_site *v = l->v;
	uint32_t ignored;
	size_t i;

	if (l->cnt)
		qsort(l->v, l->cnt, sizeof(*v), site_cmp);
	/* a refresh goes on to add rows */
	hash_map_clear(&t->site_row);
	for (i = 0; i < l->cnt; i++)
		if (number_site(t, &v[i], &ignored) < 0)
			return -ENOMEM;
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
