/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_mm_resets: the instants at which a process's memory ends or starts anew, of all processes,
 * by time. They are derived from task events and processes, or come with the lists of the derived
 * file.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/trace_state.h"

static int mm_reset_cmp(const void *a, const void *b)
{
	const struct trace_mm_reset *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->upid < y->upid ? -1 : x->upid > y->upid;
}

int trace_mm_resets_prepare(struct trace *t)
{
	size_t event_cnt, process_cnt, i, n = 0;
	const struct trace_task_event *ev;
	const struct trace_process *p;
	struct trace_mm_reset *v;

	if (t->lists || t->has_mm_resets)
		return 0;
	ev = trace_task_events(t, &event_cnt);
	p = trace_processes(t, &process_cnt);
	v = malloc((event_cnt + process_cnt + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < event_cnt; i++)
		if (ev[i].type == TRACE_TASK_EXEC)
			v[n++] = (struct trace_mm_reset){
				ev[i].ts_ns,
				trace_process_find(t, ev[i].upid) ? ev[i].upid : EVENT_ID_UNKNOWN,
				TRACE_MM_RESET_EXEC,
			};
	for (i = 0; i < process_cnt; i++)
		if (p[i].end_ns)
			v[n++] = (struct trace_mm_reset){ p[i].end_ns, p[i].upid,
							  TRACE_MM_RESET_EXIT };
	qsort(v, n, sizeof(*v), mm_reset_cmp);
	free(t->rows[TRACE_LIST_MM_RESETS].v);
	t->rows[TRACE_LIST_MM_RESETS].v = v;
	t->rows[TRACE_LIST_MM_RESETS].cnt = t->rows[TRACE_LIST_MM_RESETS].cap = n;
	t->has_mm_resets = true;
	return 0;
}

size_t trace_mm_reset_cnt(const struct trace *t)
{
	return t->rows[TRACE_LIST_MM_RESETS].cnt;
}

const struct trace_mm_reset *trace_mm_reset_at(const struct trace *t, size_t i)
{
	return trace_row_at(t, TRACE_LIST_MM_RESETS, i);
}

size_t trace_mm_reset_from(const struct trace *t, uint64_t ts_ns)
{
	return trace_rows_from(t, TRACE_LIST_MM_RESETS, ts_ns);
}
