/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Both are tables filled as a question comes upon threads and processes, and looked up per event.
 */
#include "analyze/context/scope.h"
#include "base/array.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool comm_matches(const struct scope_filter *f, const char *comm)
{
	/* "[kworker]" is a name before it is a pattern */
	return !strcmp(f->comm, comm) || fnmatch(f->comm, comm, 0) == 0;
}

static bool process_in(const struct scope_filter *f, const struct trace_process *p)
{
	unsigned int i;

	if ((p->flags & TRACE_TASK_RECORDER) && !f->with_recorder)
		return false;
	if (f->workload_only && !(p->flags & (TRACE_TASK_WORKLOAD | TRACE_TASK_RECORDER)))
		return false;
	if (!f->pids)
		return true;
	for (i = 0; i < f->pid_cnt; i++)
		if (f->pids[i] == p->pid)
			return true;
	return false;
}

static bool pseudo_in(const struct scope_filter *f, uint32_t id)
{
	if (f->with_pseudo)
		return true;
	if (f->pids)
		return false;
	if (f->comm)
		return !strcmp(f->comm, dense_pseudo_name(id) ? dense_pseudo_name(id) : "");
	if (id == EVENT_ID_IDLE || id == EVENT_ID_FILTERED)
		return f->with_idle;
	return id == EVENT_ID_UNKNOWN || id == EVENT_ID_IRQ;
}

int scope_init(struct scope *s, const struct dense_ids *d, const struct scope_filter *f)
{
	s->threads = calloc(d->thread_cnt, 1);
	s->processes = calloc(d->process_cnt, 1);
	s->ids = d;
	s->filter = *f;
	if (!s->threads || !s->processes) {
		scope_done(s);
		return -ENOMEM;
	}
	return 0;
}

/* Whose names do not count, or are not looked at. */
static bool nameless_in(const struct scope *s, uint32_t process)
{
	const struct trace_process *p = dense_process_row(s->ids, process);

	return p ? process_in(&s->filter, p) : pseudo_in(&s->filter, process);
}

/* is_pseudo: the name is no task's own, and does not count. */
static bool is_in(const struct scope *s, uint32_t process, bool is_pseudo, const char *comm)
{
	return nameless_in(s, process) &&
	       (is_pseudo || !s->filter.comm || comm_matches(&s->filter, comm));
}

bool scope_decide_process(const struct scope *s, uint32_t process)
{
	bool in = is_in(s, process, process < EVENT_ID_FIRST, dense_process_comm(s->ids, process));

	s->processes[process] = in ? SCOPE_IN : SCOPE_OUT;
	return in;
}

bool scope_decide_thread(const struct scope *s, uint32_t thread)
{
	uint32_t process = dense_process_of(s->ids, thread);
	bool in = is_in(s, process, thread < EVENT_ID_FIRST,
			s->filter.comm_of_thread ? dense_thread_comm(s->ids, thread)
						 : dense_process_comm(s->ids, process));

	s->threads[thread] = in ? SCOPE_IN : SCOPE_OUT;
	return in;
}

void scope_done(struct scope *s)
{
	free(s->threads);
	free(s->processes);
	s->threads = s->processes = NULL;
}

/* ---- groups ---- */

static bool is_by_text(const struct grouping *g)
{
	return g->by && !(g->by & (KEY(PROCESS) | KEY(THREAD)));
}

/* A text gets a number together with that of the texts before; the last number is the group. */
static int intern_texts(struct grouping *g, uint32_t process, uint32_t *ret)
{
	uint32_t number = 0;
	const char *text;
	int r = 0;

	for (unsigned int key = 0, nth = 0; key < REPORT_BY_CNT && r >= 0; key++) {
		if (!(g->by & 1u << key))
			continue;
		text = task_keys_text(&g->keys, key, process);
		if (!text)
			return -ENOMEM;
		r = hash_map_intern(&g->map, (uintptr_t)text, (uint64_t)number << 8 | nth++,
				    &number);
		if (r > 0 && array_reserve(&g->members, &g->member_cap, number + 1ull) < 0)
			return -ENOMEM;
		if (r > 0)
			g->members[number] = process;
	}
	*ret = number;
	return r < 0 ? r : 0;
}

static uint32_t text_group(struct grouping *g, uint32_t process)
{
	uint32_t group;

	if (g->process_group[process])
		return g->process_group[process] - 1;
	if (intern_texts(g, process, &group) < 0)
		return GROUPING_FAILED;
	g->process_group[process] = group + 1;
	return group;
}

int grouping_init(struct grouping *g, const struct dense_ids *d, unsigned int by)
{
	*g = (struct grouping){ .by = by & KEYS_WHO, .others = by & ~KEYS_WHO, .ids = d };
	task_keys_init(&g->keys, d);
	if (!is_by_text(g))
		return 0;
	g->process_group = calloc(d->process_cnt, sizeof(*g->process_group));
	return g->process_group ? 0 : -ENOMEM;
}

int grouping_number_all(struct grouping *g)
{
	uint32_t i;

	for (i = 0; g->process_group && i < g->ids->process_cnt; i++)
		if (text_group(g, i) == GROUPING_FAILED)
			return -ENOMEM;
	return 0;
}

void grouping_done(struct grouping *g)
{
	free(g->process_group);
	free(g->members);
	hash_map_done(&g->map);
	task_keys_done(&g->keys);
	memset(g, 0, sizeof(*g));
}

/* Not by thread. */
static uint32_t process_group(struct grouping *g, uint32_t process)
{
	if (g->by & KEY(PROCESS))
		return process;
	return g->process_group ? text_group(g, process) : 0;
}

uint32_t grouping_of_thread(struct grouping *g, uint32_t thread)
{
	return g->by & KEY(THREAD) ? thread : process_group(g, dense_process_of(g->ids, thread));
}

uint32_t grouping_of_process(struct grouping *g, uint32_t process)
{
	return g->by & KEY(THREAD) ? g->ids->thread_cnt + process : process_group(g, process);
}

void grouping_label(struct grouping *g, uint32_t group, struct grouping_label *ret)
{
	const struct dense_ids *d = g->ids;
	uint32_t process = group;

	*ret = (struct grouping_label){ -1, -1, -1, "" };
	if (!g->by)
		return;
	if (is_by_text(g)) {
		process = g->members[group];
		ret->name = task_keys_text(&g->keys, (unsigned int)__builtin_ctz(g->by), process);
	} else if (g->by & KEY(THREAD) && group < d->thread_cnt) {
		process = dense_process_of(d, group);
		ret->utid = dense_utid(d, group);
		ret->name = dense_thread_comm(d, group);
	} else {
		process -= g->by & KEY(THREAD) ? d->thread_cnt : 0;
		ret->name = dense_process_comm(d, process);
	}
	ret->member_upid = dense_upid(d, process);
	if (!is_by_text(g))
		ret->upid = ret->member_upid;
}
