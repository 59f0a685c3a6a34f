/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* checkpoint_memory: a struct mem_process for each process of the trace. */
#include "edit/checkpoint_memory.h"

#include <errno.h>
#include <stdlib.h>

/* NULL: the trace does not know the process. */
static struct mem_process *levels_of(const struct checkpoint_memory *m, uint32_t upid)
{
	size_t at = trace_process_index(m->t, upid);

	return at == SIZE_MAX ? NULL : &m->levels[at];
}

int checkpoint_memory_init(struct checkpoint_memory *m, struct trace *t)
{
	size_t process_cnt, row_cnt, i;
	const struct trace_process *p = trace_processes(t, &process_cnt);
	const struct trace_rss *rows = trace_rss_baselines(t, &row_cnt);
	struct mem_process *of;

	*m = (struct checkpoint_memory){ .t = t };
	m->levels = calloc(process_cnt + 1, sizeof(*m->levels));
	if (!m->levels || trace_mm_resets_prepare(t) < 0)
		return -ENOMEM;
	for (i = 0; i < process_cnt; i++)
		mem_process_init(&m->levels[i], !(p[i].flags & TRACE_TASK_AT_START) &&
							p[i].start_ns >= trace_start_ns(t));
	for (i = 0; i < row_cnt; i++) {
		of = levels_of(m, rows[i].upid);
		/* of several baselines the first one counts */
		if (of && !of->known)
			mem_process_baseline(of, &rows[i]);
	}
	return 0;
}

void checkpoint_memory_done(struct checkpoint_memory *m)
{
	free(m->levels);
}

void checkpoint_memory_until(struct checkpoint_memory *m, uint64_t ts_ns)
{
	const struct trace_mm_reset *reset;
	struct mem_step rss, vm;
	struct mem_process *of;

	for (; m->reset_at < trace_mm_reset_cnt(m->t); m->reset_at++) {
		reset = trace_mm_reset_at(m->t, m->reset_at);
		if (reset->ts_ns >= ts_ns)
			break;
		of = levels_of(m, reset->upid);
		if (!of)
			continue;
		if (reset->kind == TRACE_MM_RESET_EXIT)
			mem_process_exit(of, &rss, &vm);
		else
			mem_process_exec(of, &rss);
		if (m->on_reset)
			m->on_reset(m->ctx, reset->upid);
	}
}

void checkpoint_memory_event(struct checkpoint_memory *m, const struct event *ev)
{
	/* both kinds have the process at the same place */
	struct mem_process *of = levels_of(m, (uint32_t)ev->v[EV_RSS_UPID]);
	struct mem_step step;

	if (of)
		mem_process_event(of, ev, &step);
}

int checkpoint_memory_rows(struct checkpoint_memory *m, uint64_t at_ns, struct trace_rss **ret,
			   size_t *ret_cnt)
{
	size_t process_cnt, i, cnt = 0;
	const struct trace_process *p = trace_processes(m->t, &process_cnt);
	struct trace_rss *rows = malloc((process_cnt + 1) * sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	checkpoint_memory_until(m, at_ns);
	for (i = 0; i < process_cnt; i++) {
		const struct mem_process *of = &m->levels[i];

		/* a process that begins later begins with nothing */
		if (of->ended || !of->known || p[i].start_ns >= at_ns)
			continue;
		rows[cnt] = mem_process_row(of);
		rows[cnt].ts_ns = at_ns;
		rows[cnt++].upid = p[i].upid;
	}
	*ret = rows;
	*ret_cnt = cnt;
	return 0;
}

void checkpoint_memory_set(struct checkpoint_memory *m, uint64_t at_ns,
			   const struct trace_rss *rows, size_t cnt)
{
	struct mem_process *of;
	size_t i;

	checkpoint_memory_until(m, at_ns);
	for (i = 0; i < cnt; i++) {
		of = levels_of(m, rows[i].upid);
		if (!of)
			continue;
		mem_process_init(of, false);
		mem_process_baseline(of, &rows[i]);
	}
}
