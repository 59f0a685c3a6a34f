/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_stacks: keeps the frames of each stack once, together, innermost first. Blocks repeat the
 * stacks of their events.
 */
#include <errno.h>

#include "trace/trace_state.h"

int trace_frame_load(struct trace *t, const struct trace_frame *row)
{
	const struct trace_frame *v = t->frames.v;
	uintptr_t at = (uintptr_t)hash_map_get(&t->by_stack, row->stack);
	struct trace_frame *p;

	/* a stack begins with frame 0, and continues while it is the last one in the list */
	if (at ? row->nth == 0 || v[t->frames.cnt - 1].stack != row->stack ||
			 v[t->frames.cnt - 1].nth + 1 != row->nth
	       : row->nth != 0)
		return 0;
	p = trace_list_add(&t->frames, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = *row;
	return at ? 0 : hash_map_put(&t->by_stack, row->stack, (void *)(uintptr_t)t->frames.cnt);
}

const struct trace_frame *trace_stack_find(const struct trace *t, uint64_t stack, size_t *ret_cnt)
{
	size_t cnt, i;
	const struct trace_frame *v = trace_frames(t, &cnt);
	uintptr_t at = (uintptr_t)hash_map_get(&t->by_stack, stack);

	*ret_cnt = 0;
	if (!at)
		return NULL;
	for (i = at - 1; i < cnt && v[i].stack == stack; i++)
		++*ret_cnt;
	return &v[at - 1];
}
