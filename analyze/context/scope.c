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

static bool name_matches(const char *pattern, const char *name)
{
	/* "[kworker]" is a name before it is a pattern */
	return !pattern || !strcmp(pattern, name) || fnmatch(pattern, name, 0) == 0;
}

static bool is_listed(const uint32_t *ids, unsigned int cnt, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < cnt && ids[i] != id; i++)
		;
	return !ids || i < cnt;
}

static bool process_in(const struct scope_filter *f, const struct trace_process *p)
{
	if ((p->flags & TRACE_TASK_RECORDER) && !f->with_recorder)
		return false;
	if ((f->workload_only || f->workload) &&
	    !(p->flags & (TRACE_TASK_WORKLOAD | TRACE_TASK_RECORDER)))
		return false;
	return is_listed(f->pids, f->pid_cnt, p->pid) && name_matches(f->comm, p->comm);
}

static bool pseudo_in(const struct scope_filter *f, uint32_t id)
{
	const char *name = dense_pseudo_name(id) ? dense_pseudo_name(id) : "";

	if (f->with_pseudo)
		return true;
	if (f->pids || f->tids || f->workload)
		return false;
	if (f->comm || f->thread)
		return (!f->comm || !strcmp(f->comm, name)) &&
		       (!f->thread || !strcmp(f->thread, name));
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

/* Whatever its threads are. */
static bool is_process_in(const struct scope *s, uint32_t process)
{
	const struct trace_process *p = dense_process_row(s->ids, process);

	return p ? process_in(&s->filter, p) : pseudo_in(&s->filter, process);
}

bool scope_decide_process(const struct scope *s, uint32_t process)
{
	bool in = is_process_in(s, process) &&
		  (process < EVENT_ID_FIRST || !scope_is_of_threads(s));

	s->processes[process] = in ? SCOPE_IN : SCOPE_OUT;
	return in;
}

bool scope_decide_thread(const struct scope *s, uint32_t thread)
{
	const struct scope_filter *f = &s->filter;
	const struct trace_thread *t = dense_thread_row(s->ids, thread);
	bool in = is_process_in(s, dense_process_of(s->ids, thread)) &&
		  (!t || (is_listed(f->tids, f->tid_cnt, t->tid) &&
			  name_matches(f->thread, t->comm)));

	s->threads[thread] = in ? SCOPE_IN : SCOPE_OUT;
	return in;
}

void scope_done(struct scope *s)
{
	free(s->threads);
	free(s->processes);
	*s = (struct scope){ 0 };
}

/* ---- groups ---- */

static bool is_by_text(const struct grouping *g)
{
	return g->by && !(g->by & KEY(THREAD)) &&
	       (!(g->by & KEY(PROCESS)) || g->by & KEY(THREAD_NAME));
}

static uint32_t member_process(const struct grouping *g, uint32_t member)
{
	const struct dense_ids *d = g->ids;

	return member < d->thread_cnt ? dense_process_of(d, member) : member - d->thread_cnt;
}

/* NULL: out of memory. */
static const char *key_text(struct grouping *g, unsigned int key, uint32_t member)
{
	return key == REPORT_BY_THREAD_NAME ?
		       task_keys_thread_name(&g->keys, member) :
		       task_keys_text(&g->keys, key, member_process(g, member));
}

/* A key gets a number together with that of the keys before; the last number is the group. */
static int intern_keys(struct grouping *g, uint32_t member, uint32_t *ret)
{
	uint32_t number = 0;
	uint64_t value;
	int r = 0;

	for (unsigned int key = 0, nth = 0; key < REPORT_BY_CNT && r >= 0; key++) {
		if (!(g->by & 1u << key))
			continue;
		value = key == REPORT_BY_PROCESS ? member_process(g, member) + 1ull :
						   (uintptr_t)key_text(g, key, member);
		if (!value)
			return -ENOMEM;
		r = hash_map_intern(&g->map, value, (uint64_t)number << 8 | nth++, &number);
		if (r > 0 && array_reserve(&g->members, &g->member_cap, number + 1ull) < 0)
			return -ENOMEM;
		if (r > 0)
			g->members[number] = member;
	}
	*ret = number;
	return r < 0 ? r : 0;
}

static uint32_t text_group(struct grouping *g, uint32_t member)
{
	uint32_t *at = &g->groups[member - g->first], group;

	if (*at)
		return *at - 1;
	if (intern_keys(g, member, &group) < 0)
		return GROUPING_FAILED;
	*at = group + 1;
	return group;
}

int grouping_init(struct grouping *g, const struct dense_ids *d, unsigned int by)
{
	*g = (struct grouping){ .by = by & KEYS_WHO, .others = by & ~KEYS_WHO, .ids = d };
	task_keys_init(&g->keys, d);
	if (!is_by_text(g))
		return 0;
	g->first = by & KEY(THREAD_NAME) ? 0 : d->thread_cnt;
	g->groups = calloc((size_t)d->thread_cnt + d->process_cnt - g->first, sizeof(*g->groups));
	return g->groups ? 0 : -ENOMEM;
}

int grouping_number_all(struct grouping *g)
{
	for (uint32_t i = g->first; g->groups && i < g->ids->thread_cnt + g->ids->process_cnt; i++)
		if (text_group(g, i) == GROUPING_FAILED)
			return -ENOMEM;
	return 0;
}

void grouping_done(struct grouping *g)
{
	free(g->groups);
	free(g->members);
	hash_map_done(&g->map);
	task_keys_done(&g->keys);
	memset(g, 0, sizeof(*g));
}

static uint32_t merged_group(const struct grouping *g, uint32_t group)
{
	return g->merge ? g->merge->into(g->merge->ctx, group) : group;
}

uint32_t grouping_of_thread(struct grouping *g, uint32_t thread)
{
	if (g->by & KEY(THREAD))
		return merged_group(g, thread);
	if (g->groups && thread >= g->first)
		return text_group(g, thread);
	return grouping_of_process(g, dense_process_of(g->ids, thread));
}

uint32_t grouping_of_process(struct grouping *g, uint32_t process)
{
	if (g->groups)
		return text_group(g, g->ids->thread_cnt + process);
	return g->by & KEY(THREAD)  ? g->ids->thread_cnt + process :
	       g->by & KEY(PROCESS) ? merged_group(g, process) :
				      0;
}

void grouping_label(struct grouping *g, uint32_t group, struct grouping_label *ret)
{
	const struct dense_ids *d = g->ids;
	uint32_t member = g->groups	      ? g->members[group] :
			  g->by & KEY(THREAD) ? group :
						d->thread_cnt + group;
	uint32_t process;

	*ret = (struct grouping_label){ -1, -1, -1, "" };
	if (!g->by)
		return;
	process = member_process(g, member);
	ret->member_upid = dense_upid(d, process);
	if (g->by & (KEY(THREAD) | KEY(THREAD_NAME)) && member < d->thread_cnt)
		ret->utid = dense_utid(d, member);
	if (!(g->by & (KEY(THREAD) | KEY(PROCESS)))) {
		ret->name = key_text(g, (unsigned int)__builtin_ctz(g->by), member);
		return;
	}
	ret->upid = ret->member_upid;
	ret->name = g->by & KEY(THREAD) && ret->utid >= 0 ? dense_thread_comm(d, member) :
							    dense_process_comm(d, process);
}
