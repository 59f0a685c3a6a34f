/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_stacks: keeps the frames of each stack once, together, innermost first. Blocks repeat the
 * stacks of their events.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "trace/trace_state.h"

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

static int stack_cmp(const void *a, const void *b)
{
	const struct trace_stack *x = a, *y = b;

	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

int trace_stacks_reserve(struct trace *t, size_t frame_cnt)
{
	free(t->stacks.v);
	t->stacks.v = malloc((frame_cnt + 1) * sizeof(struct trace_stack));
	return t->stacks.v ? 0 : -ENOMEM;
}

void trace_stacks_index(struct trace *t)
{
	const struct trace_frame *frames = t->rows[CHUNK_FRAMES].v;
	struct trace_stack *v = t->stacks.v;
	size_t i, n = 0;

	for (i = 0; i < t->rows[CHUNK_FRAMES].cnt; i++)
		if (frames[i].nth == 0)
			v[n++] = (struct trace_stack){ frames[i].stack, i };
	qsort(v, n, sizeof(*v), stack_cmp);
	t->stacks.cnt = n;
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
