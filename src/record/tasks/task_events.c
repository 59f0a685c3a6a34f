/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * task_events: applies fork, exec, rename, exit, cgroup and snapshot records, in order of time, to
 * the maps of task_table.c. Writes a TASK_EVENTS row for each record; for a record of scheduling
 * facts, only if the facts changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/event.h"
#include "record/tasks/task_table_state.h"

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
 * Stores the time of the last switch away from a dead thread. Such switches are passed only for an
 * exec_takes_over().
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
 * Applies a mark that was set before its process was known, after the records of the slice. Returns
 * true if the mark is done.
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
