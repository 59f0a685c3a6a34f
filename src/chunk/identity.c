/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * identity: two maps, tid to the newest thread and pid to the newest process that had it, each
 * with the older ones in a chain behind it. The task records are applied in identity_task.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/columns.h"
#include "chunk/identity.h"
#include "chunk/identity_state.h"

int identity_new(struct identity **ret, const struct identity_config *config)
{
	struct identity *id = calloc(1, sizeof(*id));

	if (!id)
		return -ENOMEM;
	id->config = *config;
	if (!id->config.page_bytes)
		id->config.page_bytes = 4096;
	id->next_utid = EVENT_ID_FIRST;
	id->next_upid = EVENT_ID_FIRST;
	*ret = id;
	return 0;
}

static void process_free(struct ident_process *p)
{
	free(p->exe);
	free(p->cmdline);
	free(p);
}

void identity_free(struct identity *id)
{
	size_t i;

	if (!id)
		return;
	for (i = 0; i < id->threads.cnt; i++)
		free(id->threads.v[i]);
	for (i = 0; i < id->processes.cnt; i++)
		process_free(id->processes.v[i]);
	for (i = 0; i < id->waiting.cnt; i++) {
		struct ident_waiting *w = id->waiting.v[i];

		free(w->cmdline);
		free(w);
	}
	free(id->threads.v);
	free(id->processes.v);
	free(id->waiting.v);
	free(id->used_threads.v);
	free(id->used_processes.v);
	free(id->snap_runners);
	idmap_done(&id->by_tid);
	idmap_done(&id->by_pid);
	idmap_done(&id->by_waiting);
	free(id);
}

int ident_list_add(struct ident_list *l, void *p)
{
	if (l->cnt == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		void **v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->cnt++] = p;
	return 0;
}

/* ---- what is asked for before the task is known ---- */

struct ident_waiting *ident_waiting_get(struct identity *id, uint32_t pid, bool make)
{
	struct ident_waiting *w = idmap_get(&id->by_waiting, pid);

	if (w || !make)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->pid = pid;
	if (idmap_put(&id->by_waiting, pid, w) < 0) {
		free(w);
		return NULL;
	}
	if (ident_list_add(&id->waiting, w) < 0) {
		idmap_remove(&id->by_waiting, pid);
		free(w);
		return NULL;
	}
	return w;
}

/* Passes WORKLOAD on to descendants, which may have come in any order: a snapshot may list children before parents. */
void ident_spread_workload(struct identity *id)
{
	bool again = true;
	size_t i;

	for (i = 0; i < id->processes.cnt; i++) {
		struct ident_process *p = id->processes.v[i];

		if (p->changed)
			(void)identity_use_process(id, p);
		p->changed = false;
	}
	while (again) {
		again = false;
		for (i = 0; i < id->processes.cnt; i++) {
			struct ident_process *p = id->processes.v[i];

			if (p->flags & TRACE_TASK_WORKLOAD || !p->parent ||
			    !(p->parent->flags & TRACE_TASK_WORKLOAD))
				continue;
			p->flags |= TRACE_TASK_WORKLOAD;
			(void)identity_use_process(id, p);
			again = true;
		}
	}
}

int identity_add_workload(struct identity *id, uint32_t pid)
{
	struct ident_process *p = idmap_get(&id->by_pid, pid);
	struct ident_waiting *w;

	if (p && !p->end_ns) {
		p->flags |= TRACE_TASK_WORKLOAD;
		p->changed = true;
		id->spread = true;
		return 0;
	}
	w = ident_waiting_get(id, pid, true);
	if (!w)
		return -ENOMEM;
	w->workload = true;
	return 0;
}

int identity_set_cmdline(struct identity *id, uint32_t pid, const char *args, size_t args_len)
{
	struct ident_process *p = idmap_get(&id->by_pid, pid);
	char *s = ident_join_args(args, args_len);
	struct ident_waiting *w;

	if (!s)
		return -ENOMEM;
	if (p && !p->end_ns) {
		free(p->cmdline);
		p->cmdline = s;
		p->changed = true;
		id->spread = true;
		return 0;
	}
	w = ident_waiting_get(id, pid, true);
	if (!w) {
		free(s);
		return -ENOMEM;
	}
	free(w->cmdline);
	w->cmdline = s;
	return 0;
}

/* ---- forgetting ---- */

static bool thread_is_old(struct ident_thread *t, uint64_t from_ns)
{
	return t->end_ns && !t->pinned && t->end_ns + IDENTITY_KEEP_NS < from_ns;
}

static void thread_forget(struct identity *id, struct ident_thread *t)
{
	struct ident_thread *head = idmap_get(&id->by_tid, t->tid), **at;

	if (head == t) {
		idmap_remove(&id->by_tid, t->tid);
		if (t->older)	/* the slot just given back is free: this cannot fail */
			(void)idmap_put(&id->by_tid, t->tid, t->older);
	} else if (head) {
		for (at = &head->older; *at && *at != t; at = &(*at)->older)
			;
		if (*at)
			*at = t->older;
	}
	if (t->process)
		t->process->thread_cnt--;
	free(t);
}

static void process_forget(struct identity *id, struct ident_process *p)
{
	struct ident_process *head = idmap_get(&id->by_pid, p->pid), **at;

	if (head == p) {
		idmap_remove(&id->by_pid, p->pid);
		if (p->older)
			(void)idmap_put(&id->by_pid, p->pid, p->older);
	} else if (head) {
		for (at = &head->older; *at && *at != p; at = &(*at)->older)
			;
		if (*at)
			*at = p->older;
	}
	process_free(p);
}

static bool process_is_old(const struct ident_process *p, uint64_t from_ns)
{
	return p->end_ns && !p->thread_cnt && !p->pinned && p->end_ns + IDENTITY_KEEP_NS < from_ns;
}

static void identity_forget(struct identity *id, uint64_t from_ns)
{
	size_t i, n;

	for (i = n = 0; i < id->threads.cnt; i++) {
		struct ident_thread *t = id->threads.v[i];

		/* Its own exit was lost, but the process is gone, so it is too. */
		if (!t->end_ns && t->process && t->process->end_ns &&
		    t->process->end_ns + IDENTITY_KEEP_NS < from_ns) {
			t->end_ns = t->process->end_ns;
			(void)identity_use_thread(id, t);
			id->threads.v[n++] = t;
		} else if (thread_is_old(t, from_ns)) {
			thread_forget(id, t);
		} else {
			id->threads.v[n++] = t;
		}
	}
	id->threads.cnt = n;
	for (i = 0; i < id->processes.cnt; i++) {
		struct ident_process *p = id->processes.v[i];

		if (p->parent && process_is_old(p->parent, from_ns))
			p->parent = NULL;
	}
	for (i = n = 0; i < id->processes.cnt; i++) {
		struct ident_process *p = id->processes.v[i];

		if (process_is_old(p, from_ns))
			process_forget(id, p);
		else
			id->processes.v[n++] = p;
	}
	id->processes.cnt = n;
}

int identity_begin(struct identity *id, uint64_t epoch, uint64_t from_ns, uint64_t start_ns)
{
	id->epoch = epoch;
	id->start_ns = start_ns;
	id->used_threads.cnt = 0;
	id->used_processes.cnt = 0;
	id->failed = false;
	identity_forget(id, from_ns);
	return id->failed ? -ENOMEM : 0;
}

/* ---- looking up and making ---- */

struct ident_thread *ident_thread_make(struct identity *id, uint32_t tid, uint64_t since_ns,
				       uint64_t seen_ns)
{
	struct ident_thread *t = calloc(1, sizeof(*t)), *newer = NULL, *at;

	if (!t)
		goto fail;
	t->utid = id->next_utid;
	t->tid = tid;
	t->since_ns = since_ns;
	t->seen_ns = seen_ns;
	if (ident_list_add(&id->threads, t) < 0)
		goto fail;
	for (at = idmap_get(&id->by_tid, tid); at && at->since_ns > since_ns; at = at->older)
		newer = at;
	t->older = at;
	if (newer) {
		newer->older = t;
		/* Another one has the tid since: this one is gone, when exactly went lost. */
		t->end_ns = newer->since_ns;
	} else if (idmap_put(&id->by_tid, tid, t) < 0) {
		id->threads.cnt--;
		goto fail;
	}
	if (at && !at->end_ns) {
		at->end_ns = since_ns;
		(void)identity_use_thread(id, at);
	}
	id->next_utid++;
	(void)identity_use_thread(id, t);
	return t;
fail:
	id->failed = true;
	free(t);
	return NULL;
}

static bool is_recorders(const struct identity *id, uint32_t pid)
{
	unsigned int i;

	for (i = 0; i < id->config.helper_cnt; i++)
		if (pid && pid == id->config.helper_pids[i])
			return true;
	return pid == id->config.recorder_pid;
}

struct ident_process *ident_process_make(struct identity *id, uint32_t pid, uint64_t since_ns)
{
	struct ident_process *p = calloc(1, sizeof(*p)), *newer = NULL, *at;
	struct ident_waiting *w;

	if (!p)
		goto fail;
	p->upid = id->next_upid;
	p->pid = pid;
	p->parent_upid = EVENT_ID_UNKNOWN;
	p->since_ns = since_ns;
	if (is_recorders(id, pid))
		p->flags |= TRACE_TASK_RECORDER;
	if (ident_list_add(&id->processes, p) < 0)
		goto fail;
	for (at = idmap_get(&id->by_pid, pid); at && at->since_ns > since_ns; at = at->older)
		newer = at;
	p->older = at;
	if (newer) {
		newer->older = p;
		p->end_ns = newer->since_ns;
	} else if (idmap_put(&id->by_pid, pid, p) < 0) {
		id->processes.cnt--;
		goto fail;
	}
	if (at && !at->end_ns) {
		at->end_ns = since_ns;
		(void)identity_use_process(id, at);
	}
	w = newer ? NULL : ident_waiting_get(id, pid, false);
	if (w) {
		if (w->workload)
			p->flags |= TRACE_TASK_WORKLOAD;
		p->cmdline = w->cmdline;
		w->cmdline = NULL;
		w->workload = false;
	}
	id->next_upid++;
	(void)identity_use_process(id, p);
	return p;
fail:
	id->failed = true;
	free(p);
	return NULL;
}

struct ident_thread *ident_thread_find(struct identity *id, uint32_t tid, uint64_t ts_ns)
{
	struct ident_thread *t;

	for (t = idmap_get(&id->by_tid, tid); t && ts_ns < t->since_ns; t = t->older)
		;
	return t;
}

struct ident_process *ident_process_find(struct identity *id, uint32_t pid, uint64_t ts_ns)
{
	struct ident_process *p;

	for (p = idmap_get(&id->by_pid, pid); p && ts_ns < p->since_ns; p = p->older)
		;
	return p;
}

struct ident_thread *identity_thread_at(struct identity *id, uint32_t tid, uint64_t ts_ns,
					uint64_t *ret_until_ns)
{
	uint64_t until = UINT64_MAX;
	struct ident_thread *t;

	for (t = idmap_get(&id->by_tid, tid); t && ts_ns < t->since_ns; t = t->older)
		until = t->since_ns;
	if (ret_until_ns)
		*ret_until_ns = until;
	return t ? t : ident_thread_make(id, tid, 0, ts_ns);
}

struct ident_process *identity_process_at(struct identity *id, uint32_t pid, uint64_t ts_ns,
					  uint64_t *ret_until_ns)
{
	uint64_t until = UINT64_MAX;
	struct ident_process *p;

	for (p = idmap_get(&id->by_pid, pid); p && ts_ns < p->since_ns; p = p->older)
		until = p->since_ns;
	if (ret_until_ns)
		*ret_until_ns = until;
	return p ? p : ident_process_make(id, pid, 0);
}

/* ---- what the block says ---- */

int identity_use_process(struct identity *id, struct ident_process *p)
{
	for (; p && p->used_block != id->epoch; p = p->parent) {
		if (ident_list_add(&id->used_processes, p) < 0) {
			id->failed = true;
			return -ENOMEM;
		}
		p->used_block = id->epoch;
	}
	return 0;
}

int identity_use_thread(struct identity *id, struct ident_thread *t)
{
	if (t->used_block == id->epoch)
		return 0;
	if (ident_list_add(&id->used_threads, t) < 0) {
		id->failed = true;
		return -ENOMEM;
	}
	t->used_block = id->epoch;
	return 0;
}

int identity_use_alive(struct identity *id, uint64_t from_ns)
{
	size_t i;

	for (i = 0; i < id->threads.cnt; i++) {
		struct ident_thread *t = id->threads.v[i];

		if ((!t->end_ns || t->end_ns > from_ns) && identity_use_thread(id, t) < 0)
			return -ENOMEM;
	}
	for (i = 0; i < id->processes.cnt; i++) {
		struct ident_process *p = id->processes.v[i];

		if ((!p->end_ns || p->end_ns > from_ns) && identity_use_process(id, p) < 0)
			return -ENOMEM;
	}
	return 0;
}

void identity_note_rss(struct ident_process *p, unsigned int member, uint64_t bytes, uint64_t ts_ns)
{
	if (p->rss_known & 1u << member && ts_ns < p->rss_ns[member])
		return;
	p->rss_known |= (uint8_t)(1u << member);
	p->rss_bytes[member] = bytes;
	p->rss_ns[member] = ts_ns;
}

int identity_put_rss_state(struct identity *id, struct row_writer *w, uint64_t ts_ns)
{
	size_t i;

	for (i = 0; i < id->processes.cnt; i++) {
		struct ident_process *p = id->processes.v[i];
		struct trace_rss row = { .ts_ns = ts_ns, .upid = p->upid };

		if (!p->rss_known || (p->end_ns && p->end_ns <= ts_ns))
			continue;
		memcpy(row.bytes, p->rss_bytes, sizeof(row.bytes));
		row.total_vm_bytes = p->rss_bytes[4];
		row_put_rss(w, &row);
		if (identity_use_process(id, p) < 0)
			return -ENOMEM;
	}
	return w->out.failed ? -ENOMEM : 0;
}

int identity_put_tasks(struct identity *id, struct row_writer *processes,
		       struct row_writer *threads)
{
	size_t i;

	for (i = 0; i < id->used_threads.cnt; i++) {
		const struct ident_thread *t = id->used_threads.v[i];
		struct trace_thread row = {
			.utid = t->utid, .tid = t->tid, .ns_tid = t->ns_tid, .flags = t->flags,
			.upid = t->process ? t->process->upid : EVENT_ID_UNKNOWN,
			.start_ns = t->start_ns, .end_ns = t->end_ns,
			.sum_exec_start_ns = t->sum_exec_start_ns,
			.sum_exec_end_ns = t->sum_exec_end_ns, .comm = t->comm,
		};

		if (t->process) {
			row.flags |=
				t->process->flags & (TRACE_TASK_RECORDER | TRACE_TASK_WORKLOAD);
			(void)identity_use_process(id, t->process);
		}
		row_put_thread(threads, &row);
	}
	for (i = 0; i < id->used_processes.cnt; i++) {
		const struct ident_process *p = id->used_processes.v[i];
		bool cmdline = id->config.all_cmdlines || p->flags & TRACE_TASK_WORKLOAD;
		struct trace_process row = {
			.upid = p->upid, .pid = p->pid, .ns_pid = p->ns_pid, .ppid = p->ppid,
			.parent_upid = p->parent_upid, .uid = p->uid, .flags = p->flags,
			.exit_code = p->exit_code, .start_ns = p->start_ns, .end_ns = p->end_ns,
			.cgroup_id = p->cgroup_id, .comm = p->comm, .exe = p->exe,
			.cmdline = cmdline ? p->cmdline : "",
		};

		row_put_process(processes, &row);
	}
	return id->failed || processes->out.failed || threads->out.failed ? -ENOMEM : 0;
}

void identity_each_used_process(struct identity *id,
				void (*f)(void *ctx, const struct ident_process *p), void *ctx)
{
	size_t i;

	for (i = 0; i < id->used_processes.cnt; i++)
		f(ctx, id->used_processes.v[i]);
}
