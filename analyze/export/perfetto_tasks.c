/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tasks for Perfetto: a process tree of what lives when the window begins, and births, names and
 * deaths as ftrace events. trace_processor takes a birth for the end of an older task with that id,
 * so ids that the kernel used again stay apart.
 */
#include "analyze/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TREE_PROCESS = 1, TREE_THREAD = 2,
	PROCESS_PID = 1, PROCESS_PPID = 2, PROCESS_CMDLINE = 3, PROCESS_UID = 5,
	PROCESS_START_BOOT = 7, PROCESS_IS_KTHREAD = 8, PROCESS_CMDLINE_IS_COMM = 9,
	THREAD_TID = 1, THREAD_NAME = 2, THREAD_PID = 3,
	FTRACE_NEWTASK = 235, NEWTASK_PID = 1, NEWTASK_COMM = 2, NEWTASK_CLONE_FLAGS = 3,
	FTRACE_RENAME = 236, RENAME_PID = 1, RENAME_COMM = 3,
	FTRACE_FREE = 240, FREE_COMM = 1, FREE_PID = 2,
	CLONE_THREAD_FLAG = 0x10000,
};

/* ---- the process tree ---- */

/*
 * The parent at the process's birth, also where it got another one later: to trace_processor, a
 * process with another parent is another process.
 */
static uint32_t parent_pid(const struct perfetto *x, const struct trace_process *r)
{
	if (!trace_process_find(x->t, r->parent_upid))
		return r->ppid;
	return perfetto_pid(x, dense_process(&x->a->ids, r->parent_upid));
}

static void put_process(struct perfetto *x, const struct trace_process *r)
{
	struct proto *p = &x->packet;

	proto_begin(p, TREE_PROCESS);
	proto_uint(p, PROCESS_PID, r->pid);
	proto_uint(p, PROCESS_PPID, parent_pid(x, r));
	perfetto_text(p, PROCESS_CMDLINE, r->cmdline[0] ? r->cmdline : r->comm);
	proto_uint(p, PROCESS_CMDLINE_IS_COMM, !r->cmdline[0]);
	proto_uint(p, PROCESS_UID, r->uid);
	if (r->start_ns)
		proto_uint(p, PROCESS_START_BOOT, perfetto_boot_ns(x, r->start_ns));
	proto_uint(p, PROCESS_IS_KTHREAD, !!(r->flags & TRACE_TASK_KTHREAD));
	proto_end(p);
}

static void put_thread(struct perfetto *x, const struct trace_thread *r)
{
	struct proto *p = &x->packet;

	proto_begin(p, TREE_THREAD);
	proto_uint(p, THREAD_TID, r->tid);
	perfetto_text(p, THREAD_NAME, r->comm);
	proto_uint(p, THREAD_PID, perfetto_pid(x, dense_process(&x->a->ids, r->upid)));
	proto_end(p);
}

static bool lives_at(uint64_t start_ns, uint64_t end_ns, uint64_t ts_ns)
{
	return start_ns < ts_ns && (!end_ns || end_ns >= ts_ns);
}

/* A thread that exits leaves its CPU for the last time a while later. 0: it has not ended. */
static uint64_t gone_ns(const struct perfetto *x, const struct trace_thread *t)
{
	uint64_t left = x->left_cpu_ns[dense_thread(&x->a->ids, t->utid)];

	return t->end_ns && left > t->end_ns ? left : t->end_ns;
}

static void find_process_ends(struct perfetto *x)
{
	size_t cnt, i;
	const struct trace_thread *t = trace_threads(x->t, &cnt);

	for (i = 0; i < cnt; i++) {
		uint64_t *end = &x->process_end_ns[dense_process(&x->a->ids, t[i].upid)];

		if (*end < gone_ns(x, &t[i]))
			*end = gone_ns(x, &t[i]);
	}
}

static int write_tree(struct perfetto *x)
{
	size_t i, cnt;
	const struct trace_process *r = trace_processes(x->t, &cnt);
	const struct trace_thread *t;

	perfetto_packet(x, x->from_ns);
	proto_begin(&x->packet, PACKET_PROCESS_TREE);
	for (i = 0; i < cnt; i++) {
		uint64_t last = x->process_end_ns[dense_process(&x->a->ids, r[i].upid)];

		if (lives_at(r[i].start_ns, r[i].end_ns && last > r[i].end_ns ? last : r[i].end_ns,
			     x->from_ns))
			put_process(x, &r[i]);
	}
	t = trace_threads(x->t, &cnt);
	for (i = 0; i < cnt; i++)
		if (lives_at(t[i].start_ns, gone_ns(x, &t[i]), x->from_ns) &&
		    trace_process_find(x->t, t[i].upid))
			put_thread(x, &t[i]);
	return perfetto_packet_end(x);
}

/* ---- what happens to tasks ---- */

/* The tid of the thread that made t; where it is not known, of the first thread of its process. */
static uint32_t maker_tid(const struct perfetto *x, const struct trace_thread *t,
			  const struct trace_process *p)
{
	const struct dense_ids *ids = &x->a->ids;
	bool is_main = t->tid == p->pid;
	uint32_t maker = x->maker[dense_thread(ids, t->utid)];
	const struct trace_thread *m = maker ? dense_thread_row(ids, maker) : NULL;

	/* clone() can make a sister of the process that calls it */
	if (m && m->upid == (is_main ? p->parent_upid : p->upid))
		return m->tid;
	return is_main ? parent_pid(x, p) : p->pid;
}

static int write_new(struct perfetto *x, const struct trace_task_event *ev)
{
	const struct trace_process *p = trace_process_find(x->t, ev->upid);
	const struct trace_thread *t = trace_thread_find(x->t, ev->utid);
	bool is_main;

	if (!p || !t)
		return 0;
	is_main = t->tid == p->pid;
	perfetto_event(x, ev->ts_ns, ev->cpu, maker_tid(x, t, p), FTRACE_NEWTASK);
	proto_uint(&x->packet, NEWTASK_PID, t->tid);
	perfetto_text(&x->packet, NEWTASK_COMM, ev->comm);
	proto_uint(&x->packet, NEWTASK_CLONE_FLAGS, is_main ? 0 : CLONE_THREAD_FLAG);
	return perfetto_event_end(x);
}

static int write_rename(struct perfetto *x, const struct trace_task_event *ev)
{
	const struct trace_thread *t = trace_thread_find(x->t, ev->utid);

	if (!t)
		return 0;
	perfetto_event(x, ev->ts_ns, ev->cpu, t->tid, FTRACE_RENAME);
	proto_uint(&x->packet, RENAME_PID, t->tid);
	perfetto_text(&x->packet, RENAME_COMM, ev->comm);
	return perfetto_event_end(x);
}

/* trace_processor knows the parent no more, and would take the process for another one. */
static bool parent_is_gone(const struct perfetto *x, const struct trace_process *p, uint64_t ts_ns)
{
	uint64_t end_ns = x->process_end_ns[dense_process(&x->a->ids, p->parent_upid)];

	return p->parent_upid != EVENT_ID_UNKNOWN && end_ns >= x->from_ns && end_ns &&
	       end_ns < ts_ns;
}

/* A process that executes a program has its arguments after that. */
static int write_exec(struct perfetto *x, const struct trace_task_event *ev)
{
	const struct trace_process *r = trace_process_find(x->t, ev->upid);
	struct trace_process now;
	int ret = write_rename(x, ev);

	if (!r || ret || parent_is_gone(x, r, ev->ts_ns))
		return ret;
	now = *r;
	now.comm = ev->comm;
	now.cmdline = ev->cmdline[0] ? ev->cmdline : ev->exe;
	perfetto_packet(x, ev->ts_ns);
	proto_begin(&x->packet, PACKET_PROCESS_TREE);
	put_process(x, &now);
	return perfetto_packet_end(x);
}

/* Threads whose birth was lost, but not all of what happened to them. */
static int write_unborn(struct perfetto *x, const bool *is_born)
{
	size_t i, cnt;
	const struct trace_thread *t = trace_threads(x->t, &cnt);
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++) {
		const struct trace_process *p = trace_process_find(x->t, t[i].upid);

		if (is_born[i] || !p || t[i].start_ns < x->from_ns || t[i].start_ns >= x->to_ns)
			continue;
		perfetto_packet(x, t[i].start_ns);
		proto_begin(&x->packet, PACKET_PROCESS_TREE);
		put_process(x, p);
		put_thread(x, &t[i]);
		ret = perfetto_packet_end(x);
	}
	return ret;
}

static int write_lives(struct perfetto *x, bool *is_born)
{
	size_t cnt, i;
	const struct trace_task_event *ev = trace_task_events(x->t, &cnt);
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++) {
		size_t thread = trace_thread_index(x->t, ev[i].utid);

		if (ev[i].ts_ns < x->from_ns || ev[i].ts_ns >= x->to_ns)
			continue;
		if (ev[i].type == TRACE_TASK_NEW && thread != SIZE_MAX)
			is_born[thread] = true;
		if (ev[i].type == TRACE_TASK_NEW)
			ret = write_new(x, &ev[i]);
		else if (ev[i].type == TRACE_TASK_RENAME)
			ret = write_rename(x, &ev[i]);
		else if (ev[i].type == TRACE_TASK_EXEC)
			ret = write_exec(x, &ev[i]);
	}
	return ret ? ret : write_unborn(x, is_born);
}

int perfetto_tasks(struct perfetto *x)
{
	bool *is_born = calloc(trace_thread_cnt(x->t) + 1, sizeof(*is_born));
	int ret = -ENOMEM;

	if (is_born) {
		find_process_ends(x);
		ret = write_tree(x);
	}
	ret = ret ?: write_lives(x, is_born);
	free(is_born);
	return ret;
}

/* ---- ends ---- */

static int write_end(struct perfetto *x, uint64_t ts_ns, uint32_t tid, const char *comm)
{
	perfetto_event(x, ts_ns, 0, tid, FTRACE_FREE);
	perfetto_text(&x->packet, FREE_COMM, comm);
	proto_uint(&x->packet, FREE_PID, tid);
	return perfetto_event_end(x);
}

/*
 * The kernel frees a task after the task has left the CPU for the last time, and the first thread
 * of a process after all others. The trace does not have the instant: one ns after is the first
 * that can be right.
 */
int perfetto_task_ends(struct perfetto *x)
{
	const struct dense_ids *ids = &x->a->ids;
	int ret = 0;

	for (uint32_t i = EVENT_ID_FIRST; i < ids->thread_cnt; i++) {
		const struct trace_thread *t = dense_thread_row(ids, i);
		const struct trace_process *p;
		uint64_t end = t ? gone_ns(x, t) : 0;

		if (!end || end < x->from_ns || t->end_ns >= x->to_ns)
			continue;
		p = trace_process_find(x->t, t->upid);
		if (p && t->tid == p->pid)
			continue;
		ret = write_end(x, end + 1, t->tid, t->comm);
		if (ret)
			return ret;
	}
	for (uint32_t i = EVENT_ID_FIRST; i < ids->process_cnt && !ret; i++) {
		const struct trace_process *p = dense_process_row(ids, i);

		if (p && p->end_ns && p->end_ns < x->to_ns && x->process_end_ns[i] >= x->from_ns)
			ret = write_end(x, x->process_end_ns[i] + 1, p->pid, p->comm);
	}
	return ret;
}
