/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* carry_memory: a struct mem_process for each process of the trace; what ends or renews it by time. */
#include "event/carry_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "event/mem_levels.h"

struct turn {
	uint64_t ts_ns;
	uint32_t process; /* index */
	bool is_exit;
};

struct carry_memory {
	const struct trace_process *processes;
	size_t cnt;
	struct mem_process *levels; /* by index of processes */
	struct turn *turns;
	size_t turn_cnt, turn_at;
	carry_memory_turn on_turn;
	void *ctx;
};

static int by_time(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (int)x->is_exit - (int)y->is_exit;
}

/* SIZE_MAX: not known. */
static size_t index_of(const struct carry_memory *m, const struct trace *t, uint32_t upid)
{
	const struct trace_process *p = trace_process_find(t, upid);

	return p ? (size_t)(p - m->processes) : SIZE_MAX;
}

static int collect_turns(struct carry_memory *m, const struct trace *t)
{
	const struct trace_task_event *ev;
	size_t cnt, i, at;

	ev = trace_task_events(t, &cnt);
	m->turns = malloc((cnt + m->cnt + 1) * sizeof(*m->turns));
	if (!m->turns)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		at = index_of(m, t, ev[i].upid);
		if (ev[i].type == TRACE_TASK_EXEC && at != SIZE_MAX)
			m->turns[m->turn_cnt++] = (struct turn){ ev[i].ts_ns, (uint32_t)at, false };
	}
	for (i = 0; i < m->cnt; i++)
		if (m->processes[i].end_ns)
			m->turns[m->turn_cnt++] =
				(struct turn){ m->processes[i].end_ns, (uint32_t)i, true };
	qsort(m->turns, m->turn_cnt, sizeof(*m->turns), by_time);
	return 0;
}

int carry_memory_new(struct carry_memory **ret, const struct trace *t, carry_memory_turn on_turn,
		     void *ctx)
{
	struct carry_memory *m = calloc(1, sizeof(*m));
	const struct trace_rss *rows;
	size_t i, cnt, at;

	if (!m)
		return -ENOMEM;
	m->on_turn = on_turn;
	m->ctx = ctx;
	m->processes = trace_processes(t, &m->cnt);
	m->levels = calloc(m->cnt + 1, sizeof(*m->levels));
	if (!m->levels || collect_turns(m, t) < 0) {
		carry_memory_free(m);
		return -ENOMEM;
	}
	for (i = 0; i < m->cnt; i++)
		mem_process_init(&m->levels[i],
				 !(m->processes[i].flags & TRACE_TASK_AT_START) &&
					 m->processes[i].start_ns >= trace_start_ns(t));
	rows = trace_rss_baselines(t, &cnt);
	for (i = 0; i < cnt; i++) {
		at = index_of(m, t, rows[i].upid);
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
	free(m->turns);
	free(m);
}

void carry_memory_until(struct carry_memory *m, uint64_t ts_ns)
{
	struct mem_step rss, vm;

	for (; m->turn_at < m->turn_cnt && m->turns[m->turn_at].ts_ns < ts_ns; m->turn_at++) {
		const struct turn *x = &m->turns[m->turn_at];

		if (x->is_exit)
			mem_process_exit(&m->levels[x->process], &rss, &vm);
		else
			mem_process_exec(&m->levels[x->process], &rss);
		m->on_turn(m->ctx, m->processes[x->process].upid);
	}
}

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
