/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_sites: user-space code addresses, and the frames of stacks. Every block repeats those of
 * its events, so rows are merged while they are read: sites by (process, address, start of the
 * mapping), frames by stack. The frames of a stack are adjacent, innermost first.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "trace/trace_state.h"

/* Numbers the row's key in order of first use. 1: new; 0: known; -ENOMEM. */
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
	/* a later row has better names, unless the process had exited by then */
	if (r > 0 || !row->why || p->why)
		*p = *row;
	return 0;
}

static int site_cmp(const void *a, const void *b)
{
	const struct trace_site *x = a, *y = b;

	return compare_numbers(x->upid, y->upid) ?: compare_numbers(x->addr, y->addr) ?:
	       compare_numbers(x->from_ns, y->from_ns);
}

int trace_sites_link(struct trace *t)
{
	struct trace_list *l = &t->rows[CHUNK_SITES];
	const struct trace_site *v = l->v;
	uint32_t ignored;

	if (l->cnt)
		qsort(l->v, l->cnt, sizeof(*v), site_cmp);
	/* a refresh will add rows */
	hash_map_clear(&t->site_row);
	for (size_t i = 0; i < l->cnt; i++)
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

int trace_site_name(struct trace *t, size_t nr, const char *symbol, uint64_t symbol_offset)
{
	struct trace_site *s = (struct trace_site *)t->rows[CHUNK_SITES].v + nr;
	const char *kept = strpool_put(t->strings, symbol);

	if (!kept)
		return -ENOMEM;
	s->symbol = kept;
	s->symbol_offset = symbol_offset;
	s->why = TRACE_SITE_NAMED;
	s->range_from = s->range_to = 0;
	return 0;
}

/* ---- stacks ---- */

int trace_frame_load(struct trace *t, const struct trace_frame *row)
{
	uintptr_t at = (uintptr_t)hash_map_get(&t->by_key[CHUNK_FRAMES], row->stack);
	struct trace_list *l = &t->rows[CHUNK_FRAMES];
	struct trace_frame *p = l->v;

	/* a stack begins with frame 0, and continues while it is the last one in the list */
	if (at ? row->nth == 0 || p[l->cnt - 1].stack != row->stack ||
			 p[l->cnt - 1].nth + 1 != row->nth
	       : row->nth != 0)
		return 0;
	p = trace_list_add(l, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = *row;
	return at ? 0 : hash_map_put(&t->by_key[CHUNK_FRAMES], row->stack, (void *)l->cnt);
}

int trace_stacks_reserve(struct trace *t, size_t frame_cnt)
{
	free(t->stacks.v);
	t->stacks.v = malloc((frame_cnt + 1) * sizeof(struct trace_stack));
	return t->stacks.v ? 0 : -ENOMEM;
}

const struct trace_frame *trace_stack_find(const struct trace *t, uint64_t stack, size_t *ret_cnt)
{
	size_t cnt, i, at;
	const struct trace_frame *v = trace_frames(t, &cnt);
	const struct trace_stack *s = t->stacks.v;

	*ret_cnt = 0;
	at = lower_bound(s, t->stacks.cnt, stack, stack);
	if (at == t->stacks.cnt || s[at].stack != stack)
		return NULL;
	for (i = s[at].first; i < cnt && v[i].stack == stack; i++)
		++*ret_cnt;
	return &v[s[at].first];
}
