/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * task_table: maps a tid to its newest thread and a pid to its newest process; each has a chain of
 * older ones with the same id. task_events.c applies the task records.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/event.h"
#include "record/tasks/task_table.h"
#include "record/tasks/task_table_state.h"

int task_table_new(struct task_table **ret, const struct task_table_config *config)
{
	struct task_table *id = calloc(1, sizeof(*id));

	if (!id)
		return -ENOMEM;
	id->config = config;
	id->next_utid = EVENT_ID_FIRST;
	id->next_upid = EVENT_ID_FIRST;
	*ret = id;
	return 0;
}

char *task_join_args(const char *args, size_t args_len)
{
	char *s;

	while (args_len && !args[args_len - 1])
		args_len--;
	s = malloc(args_len + 1);
	if (!s)
		return NULL;
	for (size_t i = 0; i < args_len; i++)
		s[i] = args[i] ? args[i] : ' ';
	s[args_len] = 0;
	return s;
}

static void process_free(struct task_process *p)
{
	free(p->exe);
	free(p->cmdline);
	free(p);
}

void task_table_free(struct task_table *id)
{
	struct hash_slot *s;
	size_t i, pos = 0;

	if (!id)
		return;
	for (i = 0; i < id->threads.cnt; i++)
		free(id->threads.v[i]);
	for (i = 0; i < id->processes.cnt; i++)
		process_free(id->processes.v[i]);
	while ((s = hash_map_next(&id->by_waiting, &pos)))
		free(((struct task_waiting *)s->value)->cmdline);
	free(id->threads.v);
	free(id->processes.v);
	free(id->used_threads.v);
	free(id->used_processes.v);
	free(id->snap_runners);
	hash_map_done(&id->by_tid);
	hash_map_done(&id->by_pid);
	hash_map_done_values(&id->by_waiting);
	free(id);
}

/* ---- successive tasks with the same id ---- */

/*
 * Returns the task that an id means at ts_ns; NULL: unknown. *ret_until_ns (may be NULL): time from
 * which the id means another task.
 */
static void *life_at(const struct hash_map *by_id, uint32_t key, uint64_t ts_ns,
		     uint64_t *ret_until_ns)
{
	uint64_t until = UINT64_MAX;
	struct task_life *l;

	for (l = hash_map_get(by_id, key); l && ts_ns < l->since_ns; l = l->older)
		until = l->since_ns;
	if (ret_until_ns)
		*ret_until_ns = until;
	return l;
}

/*
 * Adds a task, whose since_ns is set, to the list and to the chain of its id. *ret_ended: the task
 * that ends thereby, or NULL. 0 or -ENOMEM.
 */
static int life_begin(struct task_list *list, struct hash_map *by_id, uint32_t key,
		      struct task_life *l, struct task_life **ret_ended)
{
	struct task_life *newer = NULL, *at;

	if (array_add(&list->v, &list->cap, &list->cnt, l) < 0)
		return -ENOMEM;
	for (at = hash_map_get(by_id, key); at && at->since_ns > l->since_ns; at = at->older)
		newer = at;
	l->older = at;
	if (newer) {
		newer->older = l;
		/*
		 * A newer task has the id, so this task has ended, at the latest when the newer one
		 * began.
		 */
		l->end_ns = newer->since_ns;
	} else if (hash_map_put(by_id, key, l) < 0) {
		list->cnt--;
		return -ENOMEM;
	}
	*ret_ended = at && !at->end_ns ? at : NULL;
	if (*ret_ended)
		at->end_ns = l->since_ns;
	return 0;
}

static void life_remove(struct hash_map *by_id, uint32_t key, struct task_life *l)
{
	struct task_life *at = hash_map_get(by_id, key);

	if (at == l) {
		hash_map_remove(by_id, key);
		if (l->older)	/* a slot is free after the removal, so this cannot fail */
			(void)hash_map_put(by_id, key, l->older);
		return;
	}
	while (at && at->older != l)
		at = at->older;
	if (at)
		at->older = l->older;
}

/*
 * Sets the WORKLOAD flag of all descendants. Repeats, because a snapshot may list children before
 * parents.
 */
void task_spread_workload(struct task_table *id)
{
	bool again = true;

	for (size_t i = 0; i < id->processes.cnt; i++) {
		struct task_process *p = id->processes.v[i];

		if (p->changed)
			(void)task_table_use_process(id, p);
		p->changed = false;
	}
	while (again) {
		again = false;
		for (size_t i = 0; i < id->processes.cnt; i++) {
			struct task_process *p = id->processes.v[i];

			if (p->flags & TRACE_TASK_WORKLOAD || !p->parent ||
			    !(p->parent->flags & TRACE_TASK_WORKLOAD))
				continue;
			p->flags |= TRACE_TASK_WORKLOAD;
			(void)task_table_use_process(id, p);
			again = true;
		}
	}
}

int task_table_add_workload(struct task_table *id, uint32_t pid)
{
	struct task_process *p = hash_map_get(&id->by_pid, pid);
	struct task_waiting *w;

	if (p && !p->life.end_ns) {
		p->flags |= TRACE_TASK_WORKLOAD;
		p->changed = true;
		id->spread = true;
		return 0;
	}
	w = hash_map_make(&id->by_waiting, pid, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->pid = pid;
	w->workload = true;
	return 0;
}

int task_table_set_cmdline(struct task_table *id, uint32_t pid, const char *args, size_t args_len)
{
	struct task_process *p = hash_map_get(&id->by_pid, pid);
	char *s = task_join_args(args, args_len);
	struct task_waiting *w;

	if (!s)
		return -ENOMEM;
	if (p && !p->life.end_ns) {
		free(p->cmdline);
		p->cmdline = s;
		p->changed = true;
		id->spread = true;
		return 0;
	}
	w = hash_map_make(&id->by_waiting, pid, sizeof(*w));
	if (!w) {
		free(s);
		return -ENOMEM;
	}
	w->pid = pid;
	free(w->cmdline);
	w->cmdline = s;
	return 0;
}

/* ---- dropping old tasks ---- */

static bool is_old(const struct task_life *l, uint64_t from_ns)
{
	return l->end_ns && !l->pinned && l->end_ns + TASK_TABLE_KEEP_NS < from_ns;
}

static bool process_is_old(const struct task_process *p, uint64_t from_ns)
{
	return !p->thread_cnt && is_old(&p->life, from_ns);
}

static void thread_forget(struct task_table *id, struct task_thread *t)
{
	life_remove(&id->by_tid, t->key_tid, &t->life);
	if (t->process)
		t->process->thread_cnt--;
	free(t);
}

static void task_table_forget(struct task_table *id, uint64_t from_ns)
{
	size_t i, n;

	for (i = n = 0; i < id->threads.cnt; i++) {
		struct task_thread *t = id->threads.v[i];

		if (t->same && is_old(&t->same->life, from_ns))
			thread_forget(id, t);
		else
			id->threads.v[n++] = t;
	}
	id->threads.cnt = n;
	for (i = n = 0; i < id->threads.cnt; i++) {
		struct task_thread *t = id->threads.v[i];

		if (t->same) {
			id->threads.v[n++] = t;
			continue;
		}
		/* If the exit record of a thread was lost, the thread ends with its process. */
		if (!t->life.end_ns && t->process && t->process->life.end_ns &&
		    t->process->life.end_ns + TASK_TABLE_KEEP_NS < from_ns) {
			t->life.end_ns = t->process->life.end_ns;
			(void)task_table_use_thread(id, t);
			id->threads.v[n++] = t;
		} else if (is_old(&t->life, from_ns)) {
			thread_forget(id, t);
		} else {
			id->threads.v[n++] = t;
		}
	}
	id->threads.cnt = n;
	for (i = 0; i < id->processes.cnt; i++) {
		struct task_process *p = id->processes.v[i];

		if (p->parent && process_is_old(p->parent, from_ns))
			p->parent = NULL;
	}
	for (i = n = 0; i < id->processes.cnt; i++) {
		struct task_process *p = id->processes.v[i];

		if (!process_is_old(p, from_ns)) {
			id->processes.v[n++] = p;
			continue;
		}
		life_remove(&id->by_pid, p->pid, &p->life);
		process_free(p);
	}
	id->processes.cnt = n;
}

int task_table_begin(struct task_table *id, uint64_t epoch, uint64_t from_ns, uint64_t start_ns)
{
	id->epoch = epoch;
	id->start_ns = start_ns;
	id->is_first = from_ns == start_ns;
	id->used_threads.cnt = 0;
	id->used_processes.cnt = 0;
	id->failed = false;
	task_table_forget(id, from_ns);
	return id->failed ? -ENOMEM : 0;
}

/* ---- lookup and creation ---- */

struct task_thread *task_thread_make(struct task_table *id, uint32_t tid, uint64_t since_ns,
				       uint64_t seen_ns)
{
	struct task_thread *t = calloc(1, sizeof(*t));
	struct task_life *ended;

	if (!t)
		goto fail;
	t->utid = id->next_utid;
	t->tid = t->key_tid = tid;
	t->life.since_ns = since_ns;
	t->seen_ns = seen_ns;
	if (life_begin(&id->threads, &id->by_tid, tid, &t->life, &ended) < 0)
		goto fail;
	if (ended)
		(void)task_table_use_thread(id, (struct task_thread *)ended);
	id->next_utid++;
	(void)task_table_use_thread(id, t);
	return t;
fail:
	id->failed = true;
	free(t);
	return NULL;
}

int task_thread_alias(struct task_table *id, uint32_t tid, uint64_t since_ns,
		      struct task_thread *of)
{
	struct task_thread *t = calloc(1, sizeof(*t));
	struct task_life *ended;

	if (!t)
		return -ENOMEM;
	t->tid = t->key_tid = tid;
	t->same = of;
	t->life.since_ns = since_ns;
	t->life.end_ns = UINT64_MAX;	/* later threads with this tid do not change the end */
	if (life_begin(&id->threads, &id->by_tid, tid, &t->life, &ended) < 0) {
		free(t);
		return -ENOMEM;
	}
	if (t->life.older)
		t->start_ns = ((struct task_thread *)t->life.older)->start_ns;
	return 0;
}

static bool is_recorders(const struct task_table *id, uint32_t pid)
{
	for (unsigned int i = 0; i < TASK_TABLE_HELPERS; i++)
		if (pid && pid == id->config->helper_pids[i])
			return true;
	return pid == id->config->recorder_pid;
}

struct task_process *task_process_make(struct task_table *id, uint32_t pid, uint64_t since_ns)
{
	struct task_process *p = calloc(1, sizeof(*p));
	struct task_waiting *w;
	struct task_life *ended;

	if (!p)
		goto fail;
	p->upid = id->next_upid;
	p->pid = pid;
	p->parent_upid = EVENT_ID_UNKNOWN;
	p->life.since_ns = since_ns;
	if (is_recorders(id, pid))
		p->flags |= TRACE_TASK_RECORDER;
	if (life_begin(&id->processes, &id->by_pid, pid, &p->life, &ended) < 0)
		goto fail;
	if (ended)
		(void)task_table_use_process(id, (struct task_process *)ended);
	w = p->life.end_ns ? NULL : hash_map_get(&id->by_waiting, pid);
	if (w) {
		if (w->workload)
			p->flags |= TRACE_TASK_WORKLOAD;
		p->cmdline = w->cmdline;
		w->cmdline = NULL;
		w->workload = false;
	}
	id->next_upid++;
	(void)task_table_use_process(id, p);
	return p;
fail:
	id->failed = true;
	free(p);
	return NULL;
}

struct task_thread *task_thread_find(struct task_table *id, uint32_t tid, uint64_t ts_ns)
{
	return task_thread_self(life_at(&id->by_tid, tid, ts_ns, NULL));
}

struct task_process *task_process_find(struct task_table *id, uint32_t pid, uint64_t ts_ns)
{
	return life_at(&id->by_pid, pid, ts_ns, NULL);
}

struct task_thread *task_table_thread_at(struct task_table *id, uint32_t tid, uint64_t ts_ns,
					uint64_t *ret_until_ns)
{
	struct task_thread *t = life_at(&id->by_tid, tid, ts_ns, ret_until_ns);

	return t ? task_thread_self(t) : task_thread_make(id, tid, 0, ts_ns);
}

struct task_process *task_table_process_at(struct task_table *id, uint32_t pid, uint64_t ts_ns,
					  uint64_t *ret_until_ns)
{
	struct task_process *p = life_at(&id->by_pid, pid, ts_ns, ret_until_ns);

	return p ? p : task_process_make(id, pid, 0);
}

/* ---- rows of the block ---- */

static int use(struct task_table *id, struct task_list *used, struct task_life *l)
{
	if (l->used_block == id->epoch)
		return 0;
	if (array_add(&used->v, &used->cap, &used->cnt, l) < 0) {
		id->failed = true;
		return -ENOMEM;
	}
	l->used_block = id->epoch;
	return 0;
}

int task_table_use_process(struct task_table *id, struct task_process *p)
{
	int r = 0;

	for (; p && p->life.used_block != id->epoch && r == 0; p = p->parent)
		r = use(id, &id->used_processes, &p->life);
	return r;
}

int task_table_use_thread(struct task_table *id, struct task_thread *t)
{
	return use(id, &id->used_threads, &t->life);
}

int task_table_use_alive(struct task_table *id, uint64_t from_ns)
{
	for (size_t i = 0; i < id->threads.cnt; i++) {
		struct task_thread *t = id->threads.v[i];

		if (!t->same && (!t->life.end_ns || t->life.end_ns > from_ns) &&
		    task_table_use_thread(id, t) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < id->processes.cnt; i++) {
		struct task_process *p = id->processes.v[i];

		if ((!p->life.end_ns || p->life.end_ns > from_ns) &&
		    task_table_use_process(id, p) < 0)
			return -ENOMEM;
	}
	return 0;
}

void task_table_note_rss(struct task_process *p, unsigned int member, uint64_t bytes,
			 uint64_t ts_ns)
{
	if (p->rss_known & 1u << member && ts_ns < p->rss_ns[member])
		return;
	p->rss_known |= (uint8_t)(1u << member);
	p->rss_bytes[member] = bytes;
	p->rss_ns[member] = ts_ns;
}

int task_table_put_rss_state(struct task_table *id, struct row_writer *w, uint64_t ts_ns)
{
	for (size_t i = 0; i < id->processes.cnt; i++) {
		struct task_process *p = id->processes.v[i];
		struct trace_rss row = { .ts_ns = ts_ns, .upid = p->upid };

		if (!p->rss_known || (p->life.end_ns && p->life.end_ns <= ts_ns))
			continue;
		memcpy(row.bytes, p->rss_bytes, sizeof(row.bytes));
		row.total_vm_bytes = p->rss_bytes[4];
		row_put_rss(w, &row);
		if (task_table_use_process(id, p) < 0)
			return -ENOMEM;
	}
	return w->out.failed ? -ENOMEM : 0;
}

int task_table_put_tasks(struct task_table *id, struct row_writer *processes,
		       struct row_writer *threads)
{
	for (size_t i = 0; i < id->used_threads.cnt; i++) {
		const struct task_thread *t = id->used_threads.v[i];
		struct trace_thread row = {
			.utid = t->utid, .tid = t->tid, .ns_tid = t->ns_tid, .flags = t->flags,
			.upid = t->process ? t->process->upid : EVENT_ID_UNKNOWN,
			.start_ns = t->start_ns, .end_ns = t->life.end_ns,
			.sum_exec_start_ns = t->sum_exec_start_ns,
			.sum_exec_end_ns = t->sum_exec_end_ns, .comm = t->comm,
			.start_state = t->start_state, .start_call = t->start_call,
			.sched = t->sched,
		};

		if (t->process) {
			row.flags |=
				t->process->flags & (TRACE_TASK_RECORDER | TRACE_TASK_WORKLOAD);
			(void)task_table_use_process(id, t->process);
		}
		row_put_thread(threads, &row);
	}
	for (size_t i = 0; i < id->used_processes.cnt; i++) {
		const struct task_process *p = id->used_processes.v[i];
		bool cmdline = id->config->all_cmdlines || p->flags & TRACE_TASK_WORKLOAD;
		struct trace_process row = {
			.upid = p->upid, .pid = p->pid, .ns_pid = p->ns_pid, .ppid = p->ppid,
			.parent_upid = p->parent_upid, .uid = p->uid, .flags = p->flags,
			.exit_code = p->exit_code, .start_ns = p->start_ns,
			.end_ns = p->life.end_ns, .cgroup_id = p->cgroup_id, .comm = p->comm,
			.exe = p->exe,
			.cmdline = cmdline ? p->cmdline : "",
		};

		row_put_process(processes, &row);
	}
	return id->failed || processes->out.failed || threads->out.failed ? -ENOMEM : 0;
}

const struct task_process *const *task_table_used_processes(struct task_table *id, size_t *ret_cnt)
{
	*ret_cnt = id->used_processes.cnt;
	return (const struct task_process *const *)id->used_processes.v;
}
