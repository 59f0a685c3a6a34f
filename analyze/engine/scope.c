/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Both are tables filled as a question comes upon threads and processes, and looked up per event.
 */
#include "analyze/engine/scope.h"
#include "base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <fnmatch.h>
#include <stdio.h>
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

static int add_name(struct grouping *g, const char *name)
{
	if (array_reserve(&g->names, &g->name_cap, g->cnt + 1) < 0)
		return -ENOMEM;
	g->names[g->cnt] = strdup(name);
	if (!g->names[g->cnt])
		return -ENOMEM;
	g->cnt++;
	return 0;
}

static int intern_comm(struct grouping *g, uint32_t process, uint32_t *ret)
{
	const char *comm = dense_process_comm(g->ids, process);
	uint64_t key[2] = { 0, 0 };
	int r;

	memcpy(key, comm, strnlen(comm, sizeof(key)));
	r = hash_map_intern(&g->map, key[0], key[1], ret);
	return r <= 0 ? r : add_name(g, comm);
}

static int intern_cgroup(struct grouping *g, uint32_t process, uint32_t *ret)
{
	const struct trace_process *p = dense_process_row(g->ids, process);
	const struct trace_name *name;
	char number[32];
	int r;

	/* a pseudo process is a group of its own, apart from any cgroup id */
	r = hash_map_intern(&g->map, p ? p->cgroup_id : process, p ? 0 : 1, ret);
	if (r <= 0)
		return r;
	if (!p)
		return add_name(g, dense_process_comm(g->ids, process));
	name = trace_name_find(g->trace, TRACE_NAME_CGROUP, p->cgroup_id);
	snprintf(number, sizeof(number), "cgroup:%" PRIu64, p->cgroup_id);
	return add_name(g, name ? name->name : number);
}

static uint32_t named_group(struct grouping *g, uint32_t process)
{
	uint32_t group = 0;
	int r;

	if (g->process_group[process])
		return g->process_group[process] - 1;
	r = g->by == GROUPING_COMM ? intern_comm(g, process, &group) :
				     intern_cgroup(g, process, &group);
	if (r < 0)
		return GROUPING_FAILED;
	g->process_group[process] = group + 1;
	return group;
}

int grouping_init(struct grouping *g, const struct dense_ids *d, const struct trace *t,
		  enum grouping_by by)
{
	memset(g, 0, sizeof(*g));
	g->by = by;
	g->ids = d;
	g->trace = t;
	if (by != GROUPING_COMM && by != GROUPING_CGROUP)
		return 0;
	g->process_group = calloc(d->process_cnt, sizeof(*g->process_group));
	return g->process_group ? 0 : -ENOMEM;
}

int grouping_number_all(struct grouping *g)
{
	uint32_t i;

	for (i = 0; g->process_group && i < g->ids->process_cnt; i++)
		if (named_group(g, i) == GROUPING_FAILED)
			return -ENOMEM;
	return 0;
}

void grouping_done(struct grouping *g)
{
	uint32_t i;

	for (i = 0; g->names && i < g->cnt; i++)
		free(g->names[i]);
	free(g->names);
	free(g->process_group);
	hash_map_done(&g->map);
	memset(g, 0, sizeof(*g));
}

int grouping_find(const char *name)
{
	static const char *const names[] = { "process", "thread", "comm",  "cgroup",
					     "none",	"cpu",	  "device", "vector" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return i < GROUPING_NONE ? (int)i : GROUPING_NONE;
	return -1;
}

/* Of all groupings but GROUPING_THREAD. */
static uint32_t process_group(struct grouping *g, uint32_t process)
{
	if (g->by == GROUPING_PROCESS)
		return process;
	return g->process_group ? named_group(g, process) : 0;
}

uint32_t grouping_of_thread(struct grouping *g, uint32_t thread)
{
	return g->by == GROUPING_THREAD ? thread
					: process_group(g, dense_process_of(g->ids, thread));
}

uint32_t grouping_of_process(struct grouping *g, uint32_t process)
{
	return g->by == GROUPING_THREAD ? g->ids->thread_cnt + process : process_group(g, process);
}

void grouping_label(const struct grouping *g, uint32_t group, struct grouping_label *ret)
{
	const struct dense_ids *d = g->ids;
	uint32_t process;

	*ret = (struct grouping_label){ -1, -1, "" };
	switch (g->by) {
	case GROUPING_PROCESS:
		ret->upid = dense_upid(d, group);
		ret->name = dense_process_comm(d, group);
		break;
	case GROUPING_THREAD:
		if (group >= d->thread_cnt) {
			process = group - d->thread_cnt;
			ret->name = dense_process_comm(d, process);
		} else {
			process = dense_process_of(d, group);
			ret->utid = dense_utid(d, group);
			ret->name = dense_thread_comm(d, group);
		}
		ret->upid = dense_upid(d, process);
		break;
	case GROUPING_COMM:
	case GROUPING_CGROUP:
		ret->name = g->names[group];
		break;
	default:
		break;
	}
}
