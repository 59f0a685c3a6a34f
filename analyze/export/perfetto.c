/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perfetto: analysis_export_perfetto() writes a window as a trace for ui.perfetto.dev and
 * trace_processor. This file writes tasks, tracks, clocks and the system.
 */
#include "analyze/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/engine/statement.h"
#include "base/array.h"
#include "base/atomic_output.h"
#include "format/event.h"

/*
 * Tasks for Perfetto: a process tree of the tasks alive at the window's start; later creations,
 * renames and exits as ftrace events. For trace_processor, a creation ends an older task with the
 * same id, so tasks with a reused id stay separate.
 */

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
 * Returns the parent at the process's creation, even if it was reparented later: trace_processor
 * takes a process with another parent for another process.
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

/* Returns when a thread exited or, if later, when it last left a CPU; 0: it has not exited. */
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

/* ---- events of tasks ---- */

/* Returns the tid of a thread's creator; if unknown, the parent's pid or the main thread's tid. */
static uint32_t maker_tid(const struct perfetto *x, const struct trace_thread *t,
			  const struct trace_process *p)
{
	const struct dense_ids *ids = &x->a->ids;
	bool is_main = t->tid == p->pid;
	uint32_t maker = x->maker[dense_thread(ids, t->utid)];
	const struct trace_thread *m = maker ? dense_thread_row(ids, maker) : NULL;

	/* clone() with CLONE_PARENT creates a sibling of the calling process */
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

/*
 * Returns whether the parent was freed. trace_processor has forgotten a freed parent, and would
 * take the process for another one.
 */
static bool parent_is_gone(const struct perfetto *x, const struct trace_process *p, uint64_t ts_ns)
{
	uint64_t end_ns = x->process_end_ns[dense_process(&x->a->ids, p->parent_upid)];

	return p->parent_upid != EVENT_ID_UNKNOWN && end_ns >= x->from_ns && end_ns &&
	       end_ns < ts_ns;
}

/* Writes a rename, then a process tree with the new program's arguments. */
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

/* Writes threads whose creation event was lost. */
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

/* Writes the tasks alive at the window's start, and the events of tasks in the window. */
static int perfetto_tasks(struct perfetto *x)
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
 * The kernel frees a task some time after the task has left the CPU for the last time, and the main
 * thread of a process after all other threads. The trace does not contain this time. Uses the
 * earliest possible time: 1 ns after the task (main thread: the last thread of the process) left
 * the CPU.
 */
static int perfetto_task_ends(struct perfetto *x)
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

/*
 * Writes tracks: block requests, requests of programs, rates, losses and marks.
 *
 * Slices of one track must be nested, but requests may overlap in any way. So each device, and each
 * name of programs' requests, has lanes, and a request uses the lowest free lane. Block requests
 * whose accounting ends in the window are written, as in `report io`; their slices are as long as
 * their latencies.
 */

enum {
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT = 5, TRACK_COUNTER = 8, TRACK_MERGING = 15,
	MERGING_NONE = 2,
	COUNTER_UNIT_NAME = 6,
	EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_NAME = 23, EVENT_COUNT = 30,
	TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4,
	ANNOTATION_INT = 4, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10,
	CPU_UNKNOWN = 0xffff,
	RATE_BINS = 1000,
};

#define RATE_BIN_MIN_NS 10000000u
#define NS_PER_S 1000000000u

/* ---- tracks and their events ---- */

/* unit NULL: the track is not a counter. */
static int write_track(struct perfetto *x, uint64_t parent, const char *name, const char *unit,
		       uint64_t *ret_uuid)
{
	struct proto *p = &x->packet;

	*ret_uuid = ++x->last_uuid;
	perfetto_packet(x, 0);
	proto_begin(p, PACKET_TRACK);
	proto_uint(p, TRACK_UUID, *ret_uuid);
	if (parent)
		proto_uint(p, TRACK_PARENT, parent);
	perfetto_text(p, TRACK_NAME, name);
	proto_uint(p, TRACK_MERGING, MERGING_NONE);
	if (unit) {
		proto_begin(p, TRACK_COUNTER);
		proto_text(p, COUNTER_UNIT_NAME, unit);
		proto_end(p);
	}
	return perfetto_packet_end(x);
}

/* name NULL: an event without a name. */
static void begin_event(struct perfetto *x, uint64_t ts_ns, uint64_t track, unsigned int type,
			const char *name)
{
	perfetto_packet(x, ts_ns);
	proto_begin(&x->packet, PACKET_TRACK_EVENT);
	proto_uint(&x->packet, EVENT_TYPE, type);
	proto_uint(&x->packet, EVENT_TRACK, track);
	if (name)
		perfetto_text(&x->packet, EVENT_NAME, name);
}

static int write_event(struct perfetto *x, uint64_t ts_ns, uint64_t track, unsigned int type,
		       const char *name)
{
	begin_event(x, ts_ns, track, type, name);
	return perfetto_event_end(x);
}

static int write_count(struct perfetto *x, uint64_t ts_ns, uint64_t track, int64_t count)
{
	begin_event(x, ts_ns, track, TYPE_COUNTER, NULL);
	proto_uint(&x->packet, EVENT_COUNT, (uint64_t)count);
	return perfetto_event_end(x);
}

static void annotate_int(struct perfetto *x, const char *name, int64_t value)
{
	proto_begin(&x->packet, EVENT_ANNOTATION);
	proto_text(&x->packet, ANNOTATION_NAME, name);
	proto_uint(&x->packet, ANNOTATION_INT, (uint64_t)value);
	proto_end(&x->packet);
}

static void annotate_text(struct perfetto *x, const char *name, const char *text)
{
	proto_begin(&x->packet, EVENT_ANNOTATION);
	proto_text(&x->packet, ANNOTATION_NAME, name);
	perfetto_text(&x->packet, ANNOTATION_STRING, text);
	proto_end(&x->packet);
}

/* ---- lanes ---- */

struct lane {
	uint64_t uuid, end_ns;
};

/* Tracks below one parent. Slices are added in order of their beginning. */
struct lanes {
	uint64_t parent;
	struct lane *items;
	size_t cnt, cap;
};

static int lane_take(struct perfetto *x, struct lanes *l, uint64_t from_ns, uint64_t to_ns,
		     uint64_t *ret_track)
{
	char name[32];
	size_t i = 0;
	int ret = 0;

	while (i < l->cnt && l->items[i].end_ns > from_ns)
		i++;
	if (i == l->cnt) {
		if (array_reserve(&l->items, &l->cap, l->cnt + 1) < 0)
			return -ENOMEM;
		snprintf(name, sizeof(name), "lane %zu", i + 1);
		ret = write_track(x, l->parent, name, NULL, &l->items[i].uuid);
		l->cnt++;
	}
	l->items[i].end_ns = to_ns > from_ns ? to_ns : from_ns + 1;
	*ret_track = l->items[i].uuid;
	return ret;
}

/* ---- queries ---- */

struct counter {
	const char *suffix, *unit;	/* suffix of the track's name */
};

struct query {
	struct perfetto *x;
	int (*row)(struct query *q, const struct value *v);
	char key[64];		/* device or source of the previous row */
	struct lanes lanes;
	uint64_t group, tracks[2];
	const struct counter *counters;	/* for the columns after key and bin */
	unsigned int counter_cnt;
	int64_t every_ns, next_ns;	/* of counters; next_ns: end of the previous bin, or -1 */
};

static int query_row(void *ctx, const struct value *v)
{
	struct query *q = ctx;

	return q->row(q, v);
}

static int query_run(struct query *q, const char *sql, struct err *e)
{
	const struct row_sink sink = { .ctx = q, .row = query_row };
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)context_rel(q->x->a, q->x->from_ns)) },
		{ ":to", value_int((uint64_t)context_rel(q->x->a, q->x->to_ns)) },
		{ ":every", value_int((uint64_t)q->every_ns) },
		{ .name = NULL },
	};

	return statement_run(q->x->a, sql, params, &sink, e);
}

/* Returns whether the row's key differs from the previous row's, and stores the key in q. */
static bool has_new_key(struct query *q, const struct value *v)
{
	if (!strncmp(q->key, v[0].text, sizeof(q->key) - 1))
		return false;
	snprintf(q->key, sizeof(q->key), "%s", v[0].text);
	return true;
}

/* ---- block requests ---- */

enum { REQUEST_DEVICE, REQUEST_QUEUED, REQUEST_ISSUE, REQUEST_COMPLETE, REQUEST_END, REQUEST_OP,
       REQUEST_BYTES, REQUEST_SECTOR, REQUEST_STATUS, REQUEST_OWNER, REQUEST_OWNER_HOW,
       REQUEST_SUBMITTER, REQUEST_FILE };

static void annotate_request(struct perfetto *x, const struct value *v)
{
	const struct dense_ids *ids = &x->a->ids;
	uint32_t owner = dense_process(ids, (uint32_t)v[REQUEST_OWNER].i);
	uint32_t submitter = dense_thread(ids, (uint32_t)v[REQUEST_SUBMITTER].i);

	annotate_int(x, "bytes", v[REQUEST_BYTES].i);
	annotate_int(x, "sector", v[REQUEST_SECTOR].i);
	annotate_int(x, "error", v[REQUEST_STATUS].i);
	annotate_text(x, "owner", dense_process_comm(ids, owner));
	if (owner >= EVENT_ID_FIRST)
		annotate_int(x, "owner_pid", perfetto_pid(x, owner));
	annotate_text(x, "owner_how", v[REQUEST_OWNER_HOW].text);
	annotate_text(x, "submitter", dense_thread_comm(ids, submitter));
	if (submitter >= EVENT_ID_FIRST)
		annotate_int(x, "submitter_tid", perfetto_tid(x, submitter));
	if (v[REQUEST_FILE].type == VALUE_TEXT)
		annotate_text(x, "file", v[REQUEST_FILE].text);
}

static uint64_t instant(const struct perfetto *x, const struct value *v, uint64_t otherwise)
{
	return v->type == VALUE_INT ? context_abs(x->a, v->i) : otherwise;
}

static int write_phase(struct perfetto *x, uint64_t track, const char *name, uint64_t from_ns,
		       uint64_t to_ns)
{
	int ret = write_event(x, from_ns, track, TYPE_BEGIN, name);

	return ret ? ret : write_event(x, to_ns, track, TYPE_END, NULL);
}

static int write_request(struct query *q, const struct value *v)
{
	struct perfetto *x = q->x;
	uint64_t complete = instant(x, &v[REQUEST_COMPLETE], context_abs(x->a, v[REQUEST_END].i));
	uint64_t issue = instant(x, &v[REQUEST_ISSUE], complete);
	uint64_t queued = instant(x, &v[REQUEST_QUEUED], issue), track;
	int ret = 0;

	if (has_new_key(q, v)) {
		q->lanes.cnt = 0;
		ret = write_track(x, q->group, q->key, NULL, &q->lanes.parent);
	}
	ret = ret ?: lane_take(x, &q->lanes, queued, complete, &track);
	if (ret)
		return ret;
	begin_event(x, queued, track, TYPE_BEGIN, v[REQUEST_OP].text);
	annotate_request(x, v);
	ret = perfetto_event_end(x);
	if (!ret && issue > queued)
		ret = write_phase(x, track, "queued", queued, issue);
	if (!ret && complete > issue)
		ret = write_phase(x, track, "device", issue, complete);
	return ret ? ret : write_event(x, complete, track, TYPE_END, NULL);
}

static int write_requests(struct perfetto *x, struct err *e)
{
	struct query q = { .x = x, .row = write_request };
	int ret = write_track(x, 0, "Block requests", NULL, &q.group);

	if (!ret)
		ret = query_run(&q,
				"SELECT device_name(dev), queued_ns, issue_ns, complete_ns, "
				"end_ns, op, bytes, sector, status, owner_upid, owner_how, "
				"submitter_utid, file FROM block_requests "
				"WHERE end_ns >= :from AND end_ns < :to "
				"ORDER BY dev, coalesce(queued_ns, issue_ns, complete_ns, end_ns)",
				e);
	free(q.lanes.items);
	return ret;
}

/* ---- requests of programs ---- */

enum { SPAN_NAME, SPAN_ID, SPAN_START, SPAN_END, SPAN_FAILED, SPAN_THREAD };

static int write_span(struct query *q, const struct value *v)
{
	uint64_t from_ns = context_abs(q->x->a, v[SPAN_START].i), track;
	uint64_t to_ns = context_abs(q->x->a, v[SPAN_END].i);
	int ret = 0;

	if (!q->group)
		ret = write_track(q->x, 0, "Requests", NULL, &q->group);
	if (has_new_key(q, v)) {
		q->lanes.cnt = 0;
		ret = ret ?: write_track(q->x, q->group, q->key, NULL, &q->lanes.parent);
	}
	ret = ret ?: lane_take(q->x, &q->lanes, from_ns, to_ns, &track);
	if (ret)
		return ret;
	begin_event(q->x, from_ns, track, TYPE_BEGIN, v[SPAN_NAME].text);
	annotate_int(q->x, "id", v[SPAN_ID].i);
	annotate_int(q->x, "failed", v[SPAN_FAILED].i);
	annotate_text(q->x, "thread", v[SPAN_THREAD].text);
	ret = perfetto_event_end(q->x);
	return ret ? ret : write_event(q->x, to_ns, track, TYPE_END, NULL);
}

/* Writes the requests that ended in the window, as `report requests` counts them. */
static int write_spans(struct perfetto *x, struct err *e)
{
	struct query q = { .x = x, .row = write_span };
	int ret = query_run(&q,
			    "SELECT r.name, r.id, r.start_ns, r.end_ns, r.failed, t.comm "
			    "FROM requests(:from, :to) AS r JOIN threads AS t USING (utid) "
			    "WHERE r.end_ns NOTNULL ORDER BY r.name, r.start_ns", e);

	free(q.lanes.items);
	return ret;
}

/* ---- rates ---- */

static int64_t per_second(const struct query *q, int64_t sum)
{
	return (int64_t)((double)sum * NS_PER_S / (double)q->every_ns);
}

/*
 * A counter keeps its value until its next value, so a missing bin needs a 0. No value is written
 * after the window, because it would extend the trace, and so the last state of each thread.
 */
static int write_rates(struct query *q, int64_t t_ns, const struct value *sums)
{
	bool missing = q->next_ns >= 0 && t_ns > q->next_ns;
	uint64_t next = missing ? context_abs(q->x->a, q->next_ns) : 0;
	int ret = 0;

	next = next < q->x->to_ns ? next : q->x->to_ns;
	for (unsigned int i = 0; i < q->counter_cnt && !ret; i++) {
		if (missing)
			ret = write_count(q->x, next, q->tracks[i], 0);
		if (!ret && sums)
			ret = write_count(q->x, context_abs(q->x->a, t_ns), q->tracks[i],
					  per_second(q, sums[i].i));
	}
	q->next_ns = t_ns + q->every_ns;
	return ret;
}

/* Writes a 0 at the end of the last bin. */
static int end_rates(struct query *q)
{
	return write_rates(q, INT64_MAX - q->every_ns, NULL);
}

static int write_rate_row(struct query *q, const struct value *v)
{
	char name[96];
	int ret = 0;

	if (has_new_key(q, v)) {
		ret = end_rates(q);
		for (unsigned int i = 0; i < q->counter_cnt && !ret; i++) {
			snprintf(name, sizeof(name), "%s%s", q->key, q->counters[i].suffix);
			ret = write_track(q->x, q->group, name, q->counters[i].unit, &q->tracks[i]);
		}
		q->next_ns = -1;
	}
	return ret ? ret : write_rates(q, v[1].i, v + 2);
}

static int write_all_rates(struct perfetto *x, struct err *e)
{
	static const struct {
		const char *group, *sql;
		unsigned int counter_cnt;
		struct counter counters[2];
	} groups[] = {
		{ "Devices",
		  "SELECT device_name(dev), t_ns, read_ios + write_ios + other_ios, "
		  "read_bytes + write_bytes "
		  "FROM device_usage(:from, :to, :every) ORDER BY dev, t_ns",
		  2, { { " requests", "requests/s" }, { " bytes", "bytes/s" } } },
		{ "Allocated",
		  "SELECT source, t_ns, sum(alloc_bytes) "
		  "FROM alloc_usage(:from, :to, :every, 'none') "
		  "WHERE source IN ('slab', 'page', 'heap') "
		  "GROUP BY source, t_ns ORDER BY source, t_ns",
		  1, { { "", "bytes/s" } } },
	};
	int64_t every = (int64_t)(x->to_ns - x->from_ns) / RATE_BINS;
	int ret = 0;

	every = every < RATE_BIN_MIN_NS ? RATE_BIN_MIN_NS : every;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]) && !ret; i++) {
		struct query q = { .x = x, .row = write_rate_row, .counters = groups[i].counters,
				   .counter_cnt = groups[i].counter_cnt, .every_ns = every,
				   .next_ns = -1 };

		ret = write_track(x, 0, groups[i].group, NULL, &q.group);
		ret = ret ?: query_run(&q, groups[i].sql, e) ?: end_rates(&q);
	}
	return ret;
}

/* ---- losses and marks ---- */

/* Makes trace_processor count a data loss for the CPU; CPU_UNKNOWN: for every CPU. */
static int write_lost_flag(struct perfetto *x, unsigned int cpu)
{
	int ret = 0;

	for (size_t i = 0; cpu == CPU_UNKNOWN && i < x->a->cpu_cnt && !ret; i++)
		ret = write_lost_flag(x, x->a->cpus[i]);
	if (cpu == CPU_UNKNOWN)
		return ret;
	perfetto_packet(x, 0);
	proto_begin(&x->packet, PACKET_FTRACE);
	proto_uint(&x->packet, BUNDLE_CPU, cpu);
	proto_uint(&x->packet, BUNDLE_LOST_EVENTS, 1);
	return perfetto_packet_end(x);
}

static int write_missing(struct perfetto *x, struct lanes *l, uint64_t from_ns, uint64_t to_ns,
			 const char *name)
{
	uint64_t track;
	int ret;

	from_ns = from_ns > x->from_ns ? from_ns : x->from_ns;
	to_ns = to_ns < x->to_ns ? to_ns : x->to_ns;
	if (from_ns > to_ns)
		return 0;
	ret = l->parent ? 0 : write_track(x, 0, "Missing", NULL, &l->parent);
	ret = ret ?: lane_take(x, l, from_ns, to_ns, &track);
	return ret ? ret : write_phase(x, track, name, from_ns, to_ns);
}

static int write_losses(struct perfetto *x, struct lanes *l)
{
	size_t cnt, i;
	const struct trace_loss *r = trace_losses(x->t, &cnt);
	char name[96];
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++) {
		const struct hook_name *hook = hook_name_find(r[i].hook);
		unsigned long long lost = r[i].full_cnt + r[i].other_cnt + r[i].missed_cnt;

		if (r[i].to_ns <= x->from_ns || r[i].from_ns >= x->to_ns)
			continue;
		snprintf(name, sizeof(name), "%llu lost: %s", lost, hook ? hook->name : "?");
		ret = write_missing(x, l, r[i].from_ns, r[i].to_ns, name);
		ret = ret ?: write_lost_flag(x, r[i].cpu);
	}
	return ret;
}

static int write_gaps(struct perfetto *x, struct lanes *l)
{
	size_t cnt, i;
	const struct trace_gap *r = trace_gaps(x->t, &cnt);
	struct trace_hole hole = { 0 };
	char name[96];
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++) {
		snprintf(name, sizeof(name), "%s was off: %s", r[i].source, r[i].reason);
		ret = write_missing(x, l, r[i].from_ns, r[i].to_ns, name);
	}
	while (!ret && trace_hole_next(x->t, &hole)) {
		ret = write_missing(x, l, hole.from_ns, hole.to_ns, "damaged or missing");
		if (!ret && hole.to_ns > x->from_ns && hole.from_ns < x->to_ns)
			ret = write_lost_flag(x, CPU_UNKNOWN);
	}
	return ret;
}

static int write_marks(struct perfetto *x)
{
	size_t cnt, i;
	const struct trace_mark *r = trace_marks(x->t, &cnt);
	uint64_t track;
	int ret = write_track(x, 0, "Marks", NULL, &track);

	ret = ret ?: write_event(x, x->from_ns, track, TYPE_INSTANT, "the window begins");
	for (i = 0; i < cnt && !ret; i++)
		if (r[i].ts_ns >= x->from_ns && r[i].ts_ns < x->to_ns)
			ret = write_event(x, r[i].ts_ns, track, TYPE_INSTANT, r[i].text);
	return ret ? ret : write_event(x, x->to_ns, track, TYPE_INSTANT, "the window ends");
}

static int perfetto_tracks(struct perfetto *x, struct err *e)
{
	struct lanes missing = { 0 };
	int ret = write_requests(x, e) ?: write_spans(x, e);

	ret = ret ?: write_all_rates(x, e) ?: write_losses(x, &missing);
	ret = ret ?: write_gaps(x, &missing);
	free(missing.items);
	return ret ? ret : write_marks(x);
}

/* Fields of messages, and ids of clocks. */
enum {
	CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2,
	CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3, CLOCK_IS_BOOTTIME = 6,
	SYSTEM_UTSNAME = 1, SYSTEM_MACHINE_NAME = 17,
	UTSNAME_SYSNAME = 1, UTSNAME_VERSION = 2, UTSNAME_RELEASE = 3, UTSNAME_MACHINE = 4,
};

/* Browsers and trace_processor have trouble with larger files. */
#define BYTES_MAX (500ull << 20)
/* Bytes per event of a kind, measured with recordings of compilers and databases. */
static const uint8_t event_bytes[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = 11, [EVENT_WAKEUP] = 12, [EVENT_RSS] = 48, [EVENT_REQUEST] = 90,
};

static void put_clock(struct proto *p, unsigned int id, uint64_t ns)
{
	proto_begin(p, CLOCKS_CLOCK);
	proto_uint(p, CLOCK_ID, id);
	proto_uint(p, CLOCK_TIMESTAMP, ns);
	proto_end(p);
}

static int write_clocks(struct perfetto *x)
{
	struct proto *p = &x->packet;

	perfetto_packet(x, 0);
	proto_uint(p, PACKET_SEQUENCE_FLAGS, 1);	/* first packet of the sequence */
	proto_begin(p, PACKET_CLOCKS);
	put_clock(p, CLOCK_IS_BOOTTIME, perfetto_boot_ns(x, x->from_ns));
	put_clock(p, CLOCK_IS_MONOTONIC, x->from_ns);
	put_clock(p, CLOCK_IS_REALTIME, trace_real_ns(x->t, x->from_ns));
	return perfetto_packet_end(x);
}

static void put_manifest(struct perfetto *x, unsigned int field, const char *key)
{
	const char *value = trace_get(x->t, key);

	if (value)
		perfetto_text(&x->packet, field, value);
}

/* trace_processor interprets thread states according to the kernel's version. */
static int write_system(struct perfetto *x)
{
	perfetto_packet(x, 0);
	proto_begin(&x->packet, PACKET_SYSTEM_INFO);
	proto_begin(&x->packet, SYSTEM_UTSNAME);
	proto_text(&x->packet, UTSNAME_SYSNAME, "Linux");
	put_manifest(x, UTSNAME_VERSION, "kernel.version");
	put_manifest(x, UTSNAME_RELEASE, "kernel.release");
	put_manifest(x, UTSNAME_MACHINE, "machine");
	proto_end(&x->packet);
	put_manifest(x, SYSTEM_MACHINE_NAME, "host");
	return perfetto_packet_end(x);
}

/* Returns 0, or -EFBIG if the file would be too large for its readers. */
static int check_size(const struct perfetto *x, struct err *e)
{
	uint64_t bytes = 0;

	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		if (event_bytes[k])
			bytes += context_events(x->a, 1u << k, x->from_ns, x->to_ns) *
				 event_bytes[k];
	if (bytes <= BYTES_MAX)
		return 0;
	return err_set(e, -EFBIG,
		       "the window would take about %llu MB, and Perfetto reads up to about 500 MB "
		       "well; choose a shorter one with --from and --until",
		       (unsigned long long)(bytes >> 20));
}

static int write_all(struct perfetto *x, struct err *e)
{
	int ret = write_clocks(x);

	ret = ret ?: write_system(x);
	/*
	 * perfetto_tasks() needs the times at which threads last left a CPU, which perfetto_sched()
	 * finds
	 */
	ret = ret ?: perfetto_sched(x, e) ?: perfetto_tasks(x);
	ret = ret ?: perfetto_task_ends(x) ?: perfetto_tracks(x, e);
	ret = ret ?: perfetto_stacks(x, e);
	return ret;
}

static int fill(void *ctx, FILE *f, struct err *e)
{
	struct perfetto *x = ctx;
	int ret;

	x->out = f;
	ret = write_all(x, e);
	return ret && !e->text[0] ? err_set(e, ret, "%s", strerror(-ret)) : ret;
}

int analysis_export_perfetto(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			     struct err *e)
{
	struct perfetto x = { .a = a, .t = a->trace, .sequence = 1,
			      .from_ns = r->from_ns > a->start_ns ? r->from_ns : a->start_ns,
			      .to_ns = r->to_ns < a->end_ns ? r->to_ns : a->end_ns };
	int ret;

	if (!r->force && !access(r->path, F_OK))
		return err_set(e, -EEXIST, "%s exists; -f replaces it", r->path);
	ret = check_size(&x, e);
	if (ret)
		return ret;
	x.left_cpu_ns = calloc(a->ids.thread_cnt, sizeof(*x.left_cpu_ns));
	x.maker = calloc(a->ids.thread_cnt, sizeof(*x.maker));
	x.process_end_ns = calloc(a->ids.process_cnt, sizeof(*x.process_end_ns));
	ret = x.left_cpu_ns && x.maker && x.process_end_ns ?
		atomic_output_file(r->path, r->force, fill, &x, e) :
		err_set(e, -ENOMEM, "out of memory");
	buf_done(&x.packet.buf);
	free(x.left_cpu_ns);
	free(x.maker);
	free(x.process_end_ns);
	*ret_rows = x.row_cnt;
	return ret;
}
