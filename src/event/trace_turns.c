/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_turns: the instants at which a process's memory ends or begins anew, of all processes by time. Made of task events and
 * processes; of a trace with lists.idx read from there, as far as they are asked for.
 */
#include <errno.h>
#include <stdlib.h>

#include "event/trace_state.h"

static int turn_cmp(const void *a, const void *b)
{
	const struct trace_turn *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->upid < y->upid ? -1 : x->upid > y->upid;
}

int trace_turns_make(const struct trace *t, struct trace_list *ret)
{
	size_t event_cnt, process_cnt, i, n = 0;
	const struct trace_task_event *ev = trace_task_events(t, &event_cnt);
	const struct trace_process *p = trace_processes(t, &process_cnt);
	struct trace_turn *v = malloc((event_cnt + process_cnt + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (i = 0; i < event_cnt; i++)
		if (ev[i].type == TRACE_TASK_EXEC)
			v[n++] = (struct trace_turn){
				ev[i].ts_ns,
				trace_process_find(t, ev[i].upid) ? ev[i].upid : EVENT_ID_UNKNOWN,
				TRACE_TURN_EXEC,
			};
	for (i = 0; i < process_cnt; i++)
		if (p[i].end_ns)
			v[n++] = (struct trace_turn){ p[i].end_ns, p[i].upid, TRACE_TURN_EXIT };
	qsort(v, n, sizeof(*v), turn_cmp);
	*ret = (struct trace_list){ .v = v, .cnt = n, .cap = n };
	return 0;
}

int trace_turns_prepare(struct trace *t)
{
	struct trace_list turns;

	if (t->lists || t->has_turns)
		return 0;
	if (trace_turns_make(t, &turns) < 0)
		return -ENOMEM;
	free(t->turns.v);
	t->turns = turns;
	t->has_turns = true;
	return 0;
}

size_t trace_turn_cnt(const struct trace *t)
{
	return t->turns.cnt;
}

const struct trace_turn *trace_turn_at(const struct trace *t, size_t i)
{
	if (t->lists)
		trace_lists_need_row((struct trace *)t, TRACE_ROWS_TURNS, i);
	return (const struct trace_turn *)t->turns.v + i;
}

size_t trace_turn_from(const struct trace *t, uint64_t ts_ns)
{
	const struct trace_turn *v = t->turns.v;
	size_t lo = 0, hi = t->turns.cnt;

	if (t->lists)
		return trace_lists_lower_bound((struct trace *)t, TRACE_ROWS_TURNS, ts_ns);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].ts_ns < ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
