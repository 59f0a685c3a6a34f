/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* carry_memory: a struct mem_process for each process of the trace; what ends or renews it by time. */
#include "event/carry_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "event/mem_levels.h"

struct carry_memory {
	const struct trace *t;
	const struct trace_process *processes;
	size_t cnt;
	struct mem_process *levels; /* by index of processes */
	size_t turn_at;
	carry_memory_turn on_turn;
	void *ctx;
};

/* SIZE_MAX: not known. */
static size_t find_process(const struct carry_memory *m, uint32_t upid)
{
	size_t lo = 0, hi = m->cnt, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->processes[mid].upid < upid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->cnt && m->processes[lo].upid == upid ? lo : SIZE_MAX;
}

int carry_memory_new(struct carry_memory **ret, struct trace *t, carry_memory_turn on_turn,
		     void *ctx)
{
	struct carry_memory *m = calloc(1, sizeof(*m));
	const struct trace_rss *rows;
	size_t i, cnt, at;

	if (!m)
		return -ENOMEM;
	m->t = t;
	m->on_turn = on_turn;
	m->ctx = ctx;
	m->processes = trace_processes(t, &m->cnt);
	m->levels = calloc(m->cnt + 1, sizeof(*m->levels));
	if (!m->levels || trace_turns_prepare(t) < 0) {
		carry_memory_free(m);
		return -ENOMEM;
	}
	for (i = 0; i < m->cnt; i++)
		mem_process_init(&m->levels[i],
				 !(m->processes[i].flags & TRACE_TASK_AT_START) &&
					 m->processes[i].start_ns >= trace_start_ns(t));
	rows = trace_rss_baselines(t, &cnt);
	for (i = 0; i < cnt; i++) {
		at = find_process(m, rows[i].upid);
		/* of several baselines the first one counts */
		if (at != SIZE_MAX && !m->levels[at].known)
			mem_process_baseline(&m->levels[at], &rows[i]);
	}
	*ret = m;
	return 0;
}

void carry_memory_free(struct carry_memory *m)
{
	if (!m)
		return;
	free(m->levels);
	free(m);
}

void carry_memory_until(struct carry_memory *m, uint64_t ts_ns)
{
	const struct trace_turn *x;
	struct mem_step rss, vm;

	for (; m->turn_at < trace_turn_cnt(m->t); m->turn_at++) {
		size_t at;

		x = trace_turn_at(m->t, m->turn_at);
		if (x->ts_ns >= ts_ns)
			break;
		at = find_process(m, x->upid);
		if (at == SIZE_MAX)
			continue;
		if (x->kind == TRACE_TURN_EXIT)
			mem_process_exit(&m->levels[at], &rss, &vm);
		else
			mem_process_exec(&m->levels[at], &rss);
		m->on_turn(m->ctx, x->upid);
	}
}

void carry_memory_event(struct carry_memory *m, const struct event *ev)
{
	/* both kinds have the process at the same place */
	size_t at = find_process(m, (uint32_t)ev->v[EV_RSS_UPID]);
	struct mem_step step;

	if (at != SIZE_MAX)
		mem_process_event(&m->levels[at], ev, &step);
}

int carry_memory_rows(struct carry_memory *m, uint64_t at_ns, struct trace_rss **ret,
		      size_t *ret_cnt)
{
	struct trace_rss *rows = malloc((m->cnt + 1) * sizeof(*rows));
	size_t i, cnt = 0;

	if (!rows)
		return -ENOMEM;
	carry_memory_until(m, at_ns);
	for (i = 0; i < m->cnt; i++) {
		const struct mem_process *p = &m->levels[i];

		/* one that begins later begins with nothing */
		if (p->ended || !p->known || m->processes[i].start_ns >= at_ns)
			continue;
		rows[cnt] = mem_process_row(p);
		rows[cnt].ts_ns = at_ns;
		rows[cnt++].upid = m->processes[i].upid;
	}
	*ret = rows;
	*ret_cnt = cnt;
	return 0;
}

void carry_memory_set(struct carry_memory *m, uint64_t at_ns, const struct trace_rss *rows, size_t cnt)
{
	size_t i, at;

	carry_memory_until(m, at_ns);
	for (i = 0; i < cnt; i++) {
		at = find_process(m, rows[i].upid);
		if (at == SIZE_MAX)
			continue;
		mem_process_init(&m->levels[at], false);
		mem_process_baseline(&m->levels[at], &rows[i]);
	}
}
