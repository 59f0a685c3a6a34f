/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * task_table: maps a tid to its newest thread and a pid to its newest process; each has a chain of
 * older ones with the same id. Task records are applied in order of time: fork, exec, rename, exit,
 * cgroup and snapshot.
 */
#include "record/tasks/task_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "format/event.h"

struct task_list {
	void **v;
	size_t cnt, cap;
};

/* A command line, or the mark as part of the workload, for a pid that is still unknown. */
struct task_waiting {
	uint32_t pid;
	bool workload;
	char *cmdline;
};

struct task_snap_runner {
	uint32_t utid, tid;	/* utid 0: none; the thread may have been dropped */
	uint64_t ts_ns;
};

struct task_table {
	const struct task_table_config *config;
	struct hash_map by_tid, by_pid, by_waiting;
	struct task_list threads, processes;
	struct task_list used_threads, used_processes;
	uint32_t next_utid, next_upid;
	struct row_writer *task_events, *rss_snaps;	/* rows of the current block */
	uint64_t epoch;			/* number of the current block */
	uint64_t start_ns;		/* start of the recording */
	bool is_first;			/* the current block is the recording's first */
	uint64_t snap_ns;		/* time of the last snapshot row; 0: none yet */
	struct task_snap_runner *snap_runners;	/* by cpu */
	size_t snap_runner_cap;
	bool spread;			/* some descendants still lack the WORKLOAD flag */
	bool failed;			/* out of memory in this block */
	uint64_t workload_execs;
};

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

/* Joins arguments, which are separated by NUL, with spaces; malloc'ed. */
static char *task_join_args(const char *args, size_t args_len)
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
 * Adds a task, whose since_ns is set, to the list and to the chain of its id. *ret_ended: the older
 * task with this id that the new task ends; NULL: none. 0 or -ENOMEM.
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
static void task_spread_workload(struct task_table *id)
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

static struct task_thread *task_thread_self(struct task_thread *t)
{
	return t && t->same ? t->same : t;
}

/* Adds a task to the list and to the chain of its id. NULL: out of memory (failed is set). */
static struct task_thread *task_thread_make(struct task_table *id, uint32_t tid, uint64_t since_ns,
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

/* Makes tid mean the existing thread `of` from since_ns on. 0 or -ENOMEM. */
static int task_thread_alias(struct task_table *id, uint32_t tid, uint64_t since_ns,
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

static struct task_process *task_process_make(struct task_table *id, uint32_t pid,
					      uint64_t since_ns)
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

static struct task_thread *task_thread_find(struct task_table *id, uint32_t tid, uint64_t ts_ns)
{
	return task_thread_self(life_at(&id->by_tid, tid, ts_ns, NULL));
}

static struct task_process *task_process_find(struct task_table *id, uint32_t pid, uint64_t ts_ns)
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

/*
 * ---- task records ----
 *
 * Each record gets a TASK_EVENTS row, but a record of scheduling facts only if the facts changed.
 */

/*
 * wire_snap.rss_pages and trace_rss.bytes have the same order as in the kernel: file, anon, swap,
 * shmem.
 */

static void set_comm(char *dst, const char *wire_comm)
{
	memcpy(dst, wire_comm, WIRE_COMM_LEN);
	dst[WIRE_COMM_LEN] = 0;
}

static void put_event(struct task_table *id, const struct wire_hdr *h,
		      enum trace_task_event_type type, const struct task_thread *t,
		      const struct trace_task_event *more)
{
	struct trace_task_event row = *more;

	row.ts_ns = h->ts_ns;
	row.type = (uint8_t)type;
	row.cpu = h->cpu;
	row.utid = t->utid;
	row.upid = t->process ? t->process->upid : EVENT_ID_UNKNOWN;
	if (row.comm)
		row.sched = t->sched;
	row_put_task_event(id->task_events, &row);
}

/* Returns the thread tid of process pid, or adds it if it is unknown. NULL: out of memory. */
static struct task_thread *thread_of(struct task_table *id, uint32_t tid, uint32_t pid,
				      uint64_t ts_ns)
{
	struct task_thread *t = task_table_thread_at(id, tid, ts_ns, NULL);
	struct task_process *p;

	if (!t)
		return NULL;
	if (!t->process) {
		p = task_table_process_at(id, pid, ts_ns, NULL);
		if (!p)
			return NULL;
		t->process = p;
		p->thread_cnt++;
	}
	if (task_table_use_thread(id, t) < 0 || task_table_use_process(id, t->process) < 0)
		return NULL;
	return t;
}

static void fill_process(struct task_table *id, struct task_process *p, const struct wire_task *r)
{
	p->ns_pid = r->ns_pid;
	p->ppid = r->ppid;
	p->uid = r->uid;
	p->cgroup_id = r->cgroup_id;
	if (r->hdr.flags & WIRE_F_KTHREAD)
		p->flags |= TRACE_TASK_KTHREAD;
	if (r->hdr.flags & WIRE_F_TARGET)
		p->flags |= TRACE_TASK_WORKLOAD;
	if (r->start_ns && r->start_ns < id->start_ns && r->tid == r->pid)
		p->flags |= TRACE_TASK_AT_START;
	if (r->tid == r->pid)
		p->start_ns = r->start_ns;
}

static void set_parent(struct task_table *id, struct task_process *p, struct task_process *parent)
{
	if (!parent || parent == p)
		return;
	p->parent = parent;
	p->parent_upid = parent->upid;
	if (parent->flags & TRACE_TASK_WORKLOAD)
		p->flags |= TRACE_TASK_WORKLOAD;
	(void)task_table_use_process(id, parent);
}

/* Builds scheduling facts from a record, limited to online CPUs. */
static struct trace_sched sched_of(const struct task_table *id, uint8_t policy, uint8_t static_prio,
				   uint8_t rt_priority, uint32_t allowed_cnt, uint64_t cpu_mask)
{
	struct trace_sched s = { policy + 1u, static_prio, rt_priority, allowed_cnt, 0 };

	if (!static_prio)	/* the record has no facts */
		return (struct trace_sched){ 0 };
	if (id->config->online_cpus) {
		s.cpus = cpu_mask & id->config->online_cpus;
		s.cpu_cnt = (uint32_t)__builtin_popcountll(s.cpus);
	} else if (!id->config->online_cnt) {
		s.cpus = cpu_mask;
	} else if (s.cpu_cnt > id->config->online_cnt) {
		s.cpu_cnt = id->config->online_cnt;
	}
	return s;
}

static void fill_thread(struct task_table *id, struct task_thread *t, const struct wire_task *r,
			struct task_process *p)
{
	t->ns_tid = r->ns_tid;
	/* after an exec by another thread, r->start_ns is that of the former leader */
	if (!t->took_over)
		t->start_ns = r->start_ns;
	set_comm(t->comm, r->comm);
	t->sched = sched_of(id, r->policy, r->static_prio, r->rt_priority, r->allowed_cnt,
			    r->cpu_mask);
	if (r->hdr.flags & WIRE_F_KTHREAD)
		t->flags |= TRACE_TASK_KTHREAD;
	if (t->start_ns && t->start_ns < id->start_ns)
		t->flags |= TRACE_TASK_AT_START;
	if (t->process != p) {
		if (t->process)
			t->process->thread_cnt--;
		t->process = p;
		p->thread_cnt++;
	}
	if (r->tid == r->pid)
		memcpy(p->comm, t->comm, sizeof(p->comm));
}

static char *copy_string(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* Returns the thread of a creation record if it is already known; else NULL. */
static struct task_thread *find_created(struct task_table *id, uint32_t tid, uint64_t start_ns)
{
	struct task_thread *t;

	if (!start_ns)
		return NULL;
	for (t = hash_map_get(&id->by_tid, tid); t; t = t->life.older)
		if (t->start_ns == start_ns)
			return task_thread_self(t);
	return NULL;
}

static int apply_new(struct task_table *id, const struct wire_task *r)
{
	uint64_t ts = r->hdr.ts_ns;
	struct task_thread *t = find_created(id, r->tid, r->start_ns);
	struct task_thread *forker = r->hdr.tid ? task_thread_find(id, r->hdr.tid, ts) : NULL;
	struct task_process *from = forker ? forker->process : NULL, *p, *parent;

	if (!t) {
		t = task_thread_make(id, r->tid, ts, ts);
		if (!t)
			return -ENOMEM;
	}
	if (t->process)	/* a snapshot row preceded the creation record */
		p = t->process;
	else if (r->tid == r->pid)
		p = task_process_make(id, r->pid, ts);
	else
		p = task_table_process_at(id, r->pid, ts, NULL);
	if (!p)
		return -ENOMEM;
	if (r->tid == r->pid || !p->ppid)
		fill_process(id, p, r);
	fill_thread(id, t, r, p);
	if (r->tid == r->pid && p->parent_upid == EVENT_ID_UNKNOWN) {
		parent = r->ppid ? task_process_find(id, r->ppid, ts) : NULL;
		set_parent(id, p, parent ? parent : from);
		if (from && from != p) {
			p->flags |= from->flags & TRACE_TASK_WORKLOAD;
			/* a child runs its parent's program until it calls exec */
			if (!p->exe)
				p->exe = copy_string(from->exe);
			if (!p->cmdline)
				p->cmdline = copy_string(from->cmdline);
		}
	}
	if (task_table_use_thread(id, t) < 0 || task_table_use_process(id, p) < 0)
		return -ENOMEM;
	put_event(id, &r->hdr, TRACE_TASK_NEW, t,
		  &(struct trace_task_event){ .cgroup_id = r->cgroup_id, .comm = t->comm });
	return 0;
}

static int note_snap_runner(struct task_table *id, const struct wire_snap *r,
			    const struct task_thread *t)
{
	if (!r->on_cpu || r->cpu > UINT16_MAX)
		return 0;
	if (array_reserve(&id->snap_runners, &id->snap_runner_cap, (size_t)r->cpu + 1) < 0)
		return -ENOMEM;
	id->snap_runners[r->cpu] = (struct task_snap_runner){
		.utid = t->utid, .tid = t->tid, .ts_ns = r->task.hdr.ts_ns,
	};
	return 0;
}

static void snap_memory(struct task_table *id, const struct wire_snap *r, struct task_process *p)
{
	struct trace_rss row = { .ts_ns = r->task.hdr.ts_ns, .upid = p->upid };
	uint64_t page = id->config->page_bytes;

	if (r->total_vm_pages < 0)	/* a kernel thread or an exiting process */
		return;
	for (unsigned int i = 0; i < WIRE_RSS_MEMBERS; i++) {
		/*
		 * the kernel batches changes per CPU, so a counter may be negative for an instant
		 */
		row.bytes[i] = r->rss_pages[i] < 0 ? 0 : (uint64_t)r->rss_pages[i] * page;
		task_table_note_rss(p, i, row.bytes[i], row.ts_ns);
	}
	row.total_vm_bytes = (uint64_t)r->total_vm_pages * page;
	task_table_note_rss(p, 4, row.total_vm_bytes, row.ts_ns);
	row_put_rss(id->rss_snaps, &row);
}

static struct task_thread *snap_thread(struct task_table *id, const struct wire_task *r)
{
	struct task_thread *t = find_created(id, r->tid, r->start_ns);

	if (t)
		return t;
	t = task_thread_find(id, r->tid, r->hdr.ts_ns);
	/* If the record of its fork was lost, the thread is known only from its other records. */
	if (t && !t->start_ns && t->seen_ns >= r->start_ns)
		return t;
	return task_thread_make(
		id, r->tid, r->start_ns < r->hdr.ts_ns ? r->start_ns : r->hdr.ts_ns, r->hdr.ts_ns);
}

static int apply_snap(struct task_table *id, const struct wire_snap *s)
{
	const struct wire_task *r = &s->task;
	struct task_thread *t = snap_thread(id, r);
	struct task_process *p;

	if (!t)
		return -ENOMEM;
	p = t->process;
	if (!p) {
		p = task_process_find(id, r->pid, r->hdr.ts_ns);
		/*
		 * A new leader means a new process with this pid, unless the known process has no
		 * leader yet.
		 */
		if (p && r->tid == r->pid && p->start_ns && p->start_ns != r->start_ns)
			p = NULL;
		if (!p)
			p = task_process_make(id, r->pid, r->tid == r->pid ? t->life.since_ns : 0);
		if (!p)
			return -ENOMEM;
	}
	fill_process(id, p, r);
	fill_thread(id, t, r, p);
	if (p->parent_upid == EVENT_ID_UNKNOWN && r->ppid)
		set_parent(id, p, task_process_find(id, r->ppid, r->hdr.ts_ns));
	if (id->is_first && !t->snap_cnt && t->flags & TRACE_TASK_AT_START) {
		bool is_held = r->pid && r->pid == id->config->command_pid;

		t->start_state = is_held ? 0 : s->off_cpu_state;
		t->start_call = is_held ? WIRE_CALL_HELD : s->off_cpu_call;
		t->state_ns = s->read_ns;
	}
	if (t->snap_cnt++ || !(t->flags & TRACE_TASK_AT_START))
		t->sum_exec_end_ns = s->sum_exec_ns;
	else
		t->sum_exec_start_ns = s->sum_exec_ns;
	if (r->tid == r->pid)
		snap_memory(id, s, p);
	if (r->hdr.ts_ns > id->snap_ns)
		id->snap_ns = r->hdr.ts_ns;
	if (note_snap_runner(id, s, t) < 0 || task_table_use_thread(id, t) < 0 ||
	    task_table_use_process(id, p) < 0)
		return -ENOMEM;
	put_event(id, &r->hdr, TRACE_TASK_SNAP, t,
		  &(struct trace_task_event){
			  .cgroup_id = r->cgroup_id,
			  .comm = t->comm,
			  .exe = p->exe,
			  .cmdline = id->config->all_cmdlines || p->flags & TRACE_TASK_WORKLOAD
					     ? p->cmdline
					     : "",
		  });
	return 0;
}

/*
 * Stores the time of the last switch away from a dead thread. The caller passes such a switch only
 * if exec_takes_over() needs it.
 */
static void note_left(struct task_table *id, const struct wire_hdr *h)
{
	struct task_thread *t = task_thread_find(id, h->tid, h->ts_ns);

	if (t)
		t->left_ns = h->ts_ns;
}

/*
 * Applies an exec by a thread other than the leader: the thread takes the tid of the leader, which
 * has ended. The tids change between the last switch of the leader and this record. If the leader
 * leaves its CPU after the change, its last switch has the former tid of the thread. Returns the
 * thread; NULL: out of memory.
 */
static struct task_thread *exec_takes_over(struct task_table *id, const struct wire_exec *r)
{
	struct task_thread *t = thread_of(id, r->old_tid, r->pid, r->hdr.ts_ns);
	struct task_thread *leader = thread_of(id, r->tid, r->pid, r->hdr.ts_ns);
	uint64_t since;

	if (!t || !leader)
		return NULL;
	if (t == leader)
		return t;
	if (!leader->life.end_ns)
		leader->life.end_ns = r->hdr.ts_ns;
	if (task_table_use_thread(id, leader) < 0)
		return NULL;
	if (t->left_ns > leader->left_ns) {
		since = t->left_ns;
		if (task_thread_alias(id, r->old_tid, since, leader) < 0)
			return NULL;
	} else {
		since = leader->left_ns > leader->life.end_ns ? leader->left_ns
							      : leader->life.end_ns;
		since += since < r->hdr.ts_ns;
	}
	if (task_thread_alias(id, r->tid, since, t) < 0)
		return NULL;
	t->left_ns = 0;
	t->tid = leader->tid;
	t->ns_tid = leader->ns_tid;
	t->took_over = true;
	t->process->leader_exited = false;
	t->process->exit_code = 0;
	return t;
}

static int apply_exec(struct task_table *id, const struct wire_exec *r)
{
	struct task_thread *t = r->old_tid != r->tid && r->old_tid
					? exec_takes_over(id, r)
					: thread_of(id, r->tid, r->pid, r->hdr.ts_ns);
	struct task_process *p;
	bool show;

	if (!t)
		return -ENOMEM;
	p = t->process;
	set_comm(t->comm, r->comm);
	memcpy(p->comm, t->comm, sizeof(p->comm));
	p->uid = r->uid;
	p->cgroup_id = r->cgroup_id;
	p->exec_ns = r->hdr.ts_ns;
	if (r->hdr.flags & WIRE_F_TARGET)
		p->flags |= TRACE_TASK_WORKLOAD;
	if (p->flags & TRACE_TASK_WORKLOAD)
		id->workload_execs++;
	free(p->exe);
	free(p->cmdline);
	p->exe = strndup(r->strings, r->file_len);
	p->cmdline = task_join_args(r->strings + r->file_len, r->args_len);
	if (!p->exe || !p->cmdline)
		return -ENOMEM;
	show = id->config->all_cmdlines || p->flags & TRACE_TASK_WORKLOAD;
	put_event(id, &r->hdr, TRACE_TASK_EXEC, t, &(struct trace_task_event){
		.cgroup_id = r->cgroup_id, .comm = t->comm, .exe = p->exe,
		.cmdline = show ? p->cmdline : "",
	});
	return 0;
}

static int apply_rename(struct task_table *id, const struct wire_rename *r)
{
	struct task_thread *t = thread_of(id, r->tid, r->pid, r->hdr.ts_ns);

	if (!t)
		return -ENOMEM;
	set_comm(t->comm, r->comm);
	if (r->tid == r->pid)
		memcpy(t->process->comm, t->comm, sizeof(t->comm));
	put_event(
		id, &r->hdr, TRACE_TASK_RENAME, t,
		&(struct trace_task_event){ .cgroup_id = t->process->cgroup_id, .comm = t->comm });
	return 0;
}

static int apply_sched_facts(struct task_table *id, const struct wire_sched_facts *r)
{
	struct task_thread *t = thread_of(id, r->hdr.tid, r->pid, r->hdr.ts_ns);
	struct trace_sched s = sched_of(id, r->policy, r->static_prio, r->rt_priority,
					r->allowed_cnt, r->cpu_mask);

	if (!t)
		return -ENOMEM;
	if (!memcmp(&s, &t->sched, sizeof(s)))
		return 0;
	t->sched = s;
	put_event(id, &r->hdr, TRACE_TASK_SCHED, t, &(struct trace_task_event){
		.cgroup_id = t->process->cgroup_id, .comm = t->comm });
	return 0;
}

static int apply_exit(struct task_table *id, const struct wire_exit *r)
{
	struct task_thread *t = thread_of(id, r->tid, r->pid, r->hdr.ts_ns);
	struct task_process *p;

	if (!t)
		return -ENOMEM;
	p = t->process;
	t->life.end_ns = r->hdr.ts_ns;
	t->sum_exec_end_ns = r->sum_exec_ns;
	if (r->tid == r->pid || (r->group_dead && !p->leader_exited)) {
		p->exit_code = r->exit_code;
		p->uid = r->uid;
		p->leader_exited = true;
	}
	if (r->group_dead) {
		/* wait() returns the leader's code, unless the whole group was terminated */
		if (r->group_code)
			p->exit_code = r->group_code - 1;
		p->life.end_ns = r->hdr.ts_ns;
	}
	put_event(id, &r->hdr, TRACE_TASK_EXIT, t, &(struct trace_task_event){
		.exit_code = r->exit_code, .cgroup_id = p->cgroup_id });
	return 0;
}

static int apply_cgroup(struct task_table *id, const struct wire_cgroup *r)
{
	struct task_thread *t = thread_of(id, r->tid, r->pid, r->hdr.ts_ns);

	if (!t)
		return -ENOMEM;
	if (r->whole_process || r->tid == r->pid)
		t->process->cgroup_id = r->cgroup_id;
	/* the process has just joined the recorded cgroup */
	if (r->hdr.flags & WIRE_F_TARGET)
		t->process->flags |= TRACE_TASK_WORKLOAD;
	put_event(id, &r->hdr, TRACE_TASK_CGROUP, t,
		  &(struct trace_task_event){ .cgroup_id = r->cgroup_id });
	return 0;
}

static int apply_one(struct task_table *id, const struct wire_hdr *h)
{
	switch (h->hook) {
	case WIRE_TASK_NEW:
		return apply_new(id, (const struct wire_task *)h);
	case WIRE_TASK_SNAP:
		return apply_snap(id, (const struct wire_snap *)h);
	case WIRE_TASK_EXEC:
		return apply_exec(id, (const struct wire_exec *)h);
	case WIRE_TASK_RENAME:
		return apply_rename(id, (const struct wire_rename *)h);
	case WIRE_TASK_EXIT:
		return apply_exit(id, (const struct wire_exit *)h);
	case WIRE_TASK_CGROUP:
		return apply_cgroup(id, (const struct wire_cgroup *)h);
	case WIRE_SCHED_FACTS:
		return apply_sched_facts(id, (const struct wire_sched_facts *)h);
	case WIRE_SWITCH:
	case WIRE_SWITCH_MORE:
		note_left(id, h);
		return 0;
	default:
		return 0;
	}
}

/* Finds the parents of processes whose snapshot row preceded their parent's row. */
static void find_parents(struct task_table *id)
{
	for (size_t i = 0; i < id->processes.cnt; i++) {
		struct task_process *p = id->processes.v[i];
		struct task_process *parent;

		if (p->life.used_block != id->epoch || p->parent_upid != EVENT_ID_UNKNOWN ||
		    !p->ppid)
			continue;
		/* find the newest process with this pid when the child was created or first seen */
		parent = task_process_find(id, p->ppid,
					   p->flags & TRACE_TASK_AT_START ? id->snap_ns
									  : p->life.since_ns);
		if (parent && parent != p) {
			set_parent(id, p, parent);
			id->spread = true;
		}
	}
}

struct waiting {
	struct task_table *id;
	uint64_t from_ns;
};

/*
 * Applies a workload mark that was set before its process was known. Called after the records of
 * the slice were applied. Returns true if the entry is no longer needed.
 */
static bool apply_waiting(void *ctx, void **value)
{
	const struct waiting *x = ctx;
	struct task_waiting *w = *value;
	struct task_process *p = hash_map_get(&x->id->by_pid, w->pid);

	/* a process that ended before this slice is an earlier process with the same pid */
	if (p && w->workload && (!p->life.end_ns || p->life.end_ns >= x->from_ns)) {
		p->flags |= TRACE_TASK_WORKLOAD;
		(void)task_table_use_process(x->id, p);
		x->id->spread = true;
		w->workload = false;
	}
	if (w->workload || w->cmdline)
		return false;
	free(w);
	return true;
}

int task_table_apply(struct task_table *id, const struct task_step *records, size_t cnt,
		   struct row_writer *task_events, struct row_writer *rss_snaps)
{
	int r;

	id->task_events = task_events;
	id->rss_snaps = rss_snaps;
	for (size_t i = 0; i < cnt; i++) {
		r = apply_one(id, records[i].h);
		if (r < 0)
			return r;
	}
	if (cnt)
		find_parents(id);
	hash_map_drop_if(&id->by_waiting, apply_waiting,
			 &(struct waiting){ id, task_events->base_ns });
	if (id->spread) {
		task_spread_workload(id);
		id->spread = false;
	}
	return id->failed || task_events->out.failed || rss_snaps->out.failed ? -ENOMEM : 0;
}

struct task_thread *task_table_snap_runner(struct task_table *id, uint32_t cpu, uint64_t from_ns)
{
	const struct task_snap_runner *s;
	struct task_thread *t;

	if (cpu >= id->snap_runner_cap)
		return NULL;
	s = &id->snap_runners[cpu];
	if (!s->utid || s->ts_ns < from_ns)
		return NULL;
	for (t = hash_map_get(&id->by_tid, s->tid); t; t = t->life.older)
		if (task_thread_self(t)->utid == s->utid)
			return task_thread_self(t);
	return NULL;
}

uint64_t task_table_workload_execs(const struct task_table *id)
{
	return id->workload_execs;
}

bool task_table_has_snap_since(const struct task_table *id, uint64_t from_ns)
{
	return id->snap_ns && id->snap_ns >= from_ns;
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
