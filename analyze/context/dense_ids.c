/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * dense_ids: the recorder assigns ids in sequence, so row i nearly always has id 16 + i. In this
 * case the dense number equals the id, and a flag is stored to avoid further lookups. Other ids are
 * looked up in the trace each time.
 */
#include "analyze/context/dense_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int dense_init(struct dense_ids *d, const struct trace *t)
{
	size_t thread_cnt = trace_thread_cnt(t), process_cnt = trace_process_cnt(t);

	memset(d, 0, sizeof(*d));
	if (thread_cnt > UINT32_MAX / 2 || process_cnt > UINT32_MAX / 2)
		return -EFBIG;
	d->trace = t;
	d->thread_cnt = EVENT_ID_FIRST + (uint32_t)thread_cnt;
	d->process_cnt = EVENT_ID_FIRST + (uint32_t)process_cnt;
	d->thread_is_id = calloc(d->thread_cnt, sizeof(*d->thread_is_id));
	d->process_is_id = calloc(d->process_cnt, sizeof(*d->process_is_id));
	d->process_of = calloc(d->thread_cnt, sizeof(*d->process_of));
	d->names = calloc(1, sizeof(*d->names));
	if (!d->thread_is_id || !d->process_is_id || !d->process_of || !d->names) {
		dense_done(d);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < EVENT_ID_FIRST; i++) {
		d->thread_is_id[i] = d->process_is_id[i] = dense_pseudo_name(i) != NULL;
		d->process_of[i] = i + 1;
	}
	return 0;
}

static void names_done(struct task_names *n)
{
	free(n->first);
	free(n->cnt);
	free(n->names);
	free(n->renames);
	*n = (struct task_names){ 0 };
}

void dense_done(struct dense_ids *d)
{
	free((void *)d->thread_is_id);
	free((void *)d->process_is_id);
	free((void *)d->process_of);
	if (d->names)
		names_done(d->names);
	free(d->names);
	memset(d, 0, sizeof(*d));
}

static uint32_t look_up(size_t row, uint32_t id, _Atomic uint8_t *is_id)
{
	uint32_t dense;

	if (row == SIZE_MAX)
		return EVENT_ID_UNKNOWN;
	dense = EVENT_ID_FIRST + (uint32_t)row;
	if (dense == id)
		atomic_store_explicit(&is_id[id], 1, memory_order_relaxed);
	return dense;
}

uint32_t dense_look_up_thread(const struct dense_ids *d, uint32_t utid)
{
	return look_up(utid < EVENT_ID_FIRST ? SIZE_MAX : trace_thread_index(d->trace, utid), utid,
		       d->thread_is_id);
}

uint32_t dense_look_up_process(const struct dense_ids *d, uint32_t upid)
{
	return look_up(upid < EVENT_ID_FIRST ? SIZE_MAX : trace_process_index(d->trace, upid), upid,
		       d->process_is_id);
}

uint32_t dense_look_up_process_of(const struct dense_ids *d, uint32_t thread)
{
	uint32_t p = dense_process(d, trace_thread_at(d->trace, thread - EVENT_ID_FIRST)->upid);

	atomic_store_explicit(&d->process_of[thread], p + 1, memory_order_relaxed);
	return p;
}

/*
 * For pseudo ids, the difference wraps around to an index after the last row, so NULL is returned.
 */
const struct trace_thread *dense_thread_row(const struct dense_ids *d, uint32_t thread)
{
	return trace_thread_at(d->trace, thread - EVENT_ID_FIRST);
}

const struct trace_process *dense_process_row(const struct dense_ids *d, uint32_t process)
{
	return trace_process_at(d->trace, process - EVENT_ID_FIRST);
}

const char *dense_pseudo_name(uint32_t id)
{
	switch (id) {
	case EVENT_ID_IDLE:
		return "[idle]";
	case EVENT_ID_UNKNOWN:
		return "[unknown]";
	case EVENT_ID_IRQ:
		return "[irq]";
	case EVENT_ID_FILTERED:
		return "[filtered]";
	default:
		return NULL;
	}
}

static const char *pseudo_or_unknown(uint32_t id)
{
	const char *name = dense_pseudo_name(id);

	return name ? name : dense_pseudo_name(EVENT_ID_UNKNOWN);
}

const char *dense_thread_comm(const struct dense_ids *d, uint32_t thread)
{
	const struct trace_thread *row = dense_thread_row(d, thread);

	return row ? row->comm : pseudo_or_unknown(thread);
}

const char *dense_process_comm(const struct dense_ids *d, uint32_t process)
{
	const struct trace_process *row = dense_process_row(d, process);

	return row ? row->comm : pseudo_or_unknown(process);
}

uint32_t dense_utid(const struct dense_ids *d, uint32_t thread)
{
	const struct trace_thread *row = dense_thread_row(d, thread);

	return row ? row->utid : thread;
}

uint32_t dense_upid(const struct dense_ids *d, uint32_t process)
{
	const struct trace_process *row = dense_process_row(d, process);

	return row ? row->upid : process;
}

/* ---- names over time ---- */

/*
 * Maximum time from the rename by an exec to the exec's event: usually microseconds, but longer on
 * a busy machine.
 */
#define EXEC_NS 20000000

struct named {			/* a task event that contains a name */
	/* sort key, first member for compare_u64: (member << 32) + number of the event */
	uint64_t order;
	uint64_t ts_ns;
	const char *name;
	bool is_exec;
};

struct collect {
	const struct dense_ids *d;
	struct named *v;
	size_t cnt, cap;
	uint32_t *main_of;	/* by dense process: main thread + 1; 0: unknown */
};

static uint32_t member_cnt(const struct dense_ids *d)
{
	return d->thread_cnt + d->process_cnt;
}

static int add_named(struct collect *c, uint32_t member, const struct trace_task_event *ev)
{
	const struct named x = { (uint64_t)member << 32 | (uint32_t)c->cnt, ev->ts_ns, ev->comm,
				 ev->type == TRACE_TASK_EXEC };

	return array_add(&c->v, &c->cap, &c->cnt, x);
}

static int collect_event(struct collect *c, const struct trace_task_event *ev)
{
	const struct dense_ids *d = c->d;
	uint32_t thread = dense_thread(d, ev->utid), process;
	const struct trace_thread *t = dense_thread_row(d, thread);
	const struct trace_process *p;
	int r;

	if (!t || ev->type == TRACE_TASK_EXIT || ev->type == TRACE_TASK_CGROUP ||
	    ev->type == TRACE_TASK_SCHED)
		return 0;
	process = dense_process_of(d, thread);
	p = dense_process_row(d, process);
	r = add_named(c, thread, ev);
	if (r < 0 || !p)
		return r;
	/*
	 * a thread that calls exec becomes the main thread, and all rows of this thread have the
	 * main thread's tid
	 */
	if (ev->type == TRACE_TASK_EXEC || (!c->main_of[process] && t->tid == p->pid))
		c->main_of[process] = thread + 1;
	return c->main_of[process] == thread + 1 ? add_named(c, d->thread_cnt + process, ev) : 0;
}

static const char *last_name(const struct dense_ids *d, uint32_t member)
{
	return member < d->thread_cnt ? dense_thread_comm(d, member) :
					dense_process_comm(d, member - d->thread_cnt);
}

/*
 * Returns the time from which the i-th name is valid. A rename that is part of an exec is valid
 * from the exec on.
 */
static uint64_t holds_from(const struct collect *c, size_t i)
{
	const struct named *x = &c->v[i], *next = x + 1;

	return i + 1 < c->cnt && next->order >> 32 == x->order >> 32 && next->is_exec &&
			       !x->is_exec && next->ts_ns - x->ts_ns < EXEC_NS &&
			       !strcmp(next->name, x->name) ? next->ts_ns : x->ts_ns;
}

/*
 * Returns whether the process is the recorded command. Before its exec, the command belongs to the
 * recorder.
 */
static bool is_command(const struct dense_ids *d, uint32_t process)
{
	const struct trace_process *p = dense_process_row(d, process);
	const struct trace_process *parent =
		p ? dense_process_row(d, dense_process(d, p->parent_upid)) : NULL;

	return parent && parent->flags & TRACE_TASK_RECORDER && !(p->flags & TRACE_TASK_RECORDER);
}

/*
 * Returns the index of the first valid name of a member in v[from..to). For the recorded command,
 * the name set by its exec is valid from the command's creation on.
 */
static size_t first_name(const struct collect *c, size_t from, size_t to)
{
	uint32_t member = (uint32_t)(c->v[from].order >> 32), cnt = c->d->thread_cnt;
	size_t i = from;

	if (!is_command(c->d, member < cnt ? dense_process_of(c->d, member) : member - cnt))
		return from;
	while (i < to && !c->v[i].is_exec)
		i++;
	return i < to ? i : from;
}

/* Stores the names of a member, v[from..to). */
static void take_names(struct task_names *n, const struct collect *c, size_t from, size_t to)
{
	uint32_t member = (uint32_t)(c->v[from].order >> 32);
	const char *last = last_name(c->d, member);
	struct task_name *first = &n->names[n->name_cnt], *x = first;

	from = first_name(c, from, to);
	*x = (struct task_name){ 0, UINT64_MAX, c->v[from].name, false };
	for (size_t i = from + 1; i < to; i++) {
		uint64_t ts_ns = holds_from(c, i);

		if (!strcmp(x->name, c->v[i].name))
			continue;
		if (ts_ns > x->from_ns) {
			x->to_ns = ts_ns;
			*++x = (struct task_name){ ts_ns, UINT64_MAX, NULL, false };
		}
		x->name = c->v[i].name;
	}
	if (x == first && !strcmp(x->name, last))
		return;
	n->first[member] = (uint32_t)n->name_cnt;
	n->cnt[member] = (uint32_t)(x - first) + 1;
	n->name_cnt += n->cnt[member];
	for (size_t i = 0; i < n->cnt[member]; i++) {
		first[i].is_last = !strcmp(first[i].name, last);
		if (i)
			n->renames[n->rename_cnt++] =
				(struct task_rename){ first[i].from_ns, member };
	}
}

static int make_names(struct task_names *n, struct collect *c)
{
	size_t from = 0, to;

	n->first = calloc(member_cnt(c->d), sizeof(*n->first));
	n->cnt = calloc(member_cnt(c->d), sizeof(*n->cnt));
	n->names = calloc(c->cnt + 1, sizeof(*n->names));
	n->renames = calloc(c->cnt + 1, sizeof(*n->renames));
	if (!n->first || !n->cnt || !n->names || !n->renames)
		return -ENOMEM;
	if (c->cnt)
		qsort(c->v, c->cnt, sizeof(*c->v), compare_u64);
	for (; from < c->cnt; from = to) {
		for (to = from + 1;
		     to < c->cnt && c->v[to].order >> 32 == c->v[from].order >> 32; to++)
			;
		take_names(n, c, from, to);
	}
	if (n->rename_cnt)
		qsort(n->renames, n->rename_cnt, sizeof(*n->renames), compare_u64);
	return 0;
}

int task_names_prepare(const struct dense_ids *d)
{
	struct collect c = { .d = d };
	struct task_names *n = d->names;
	const struct trace_task_event *ev;
	size_t cnt, i;
	int r = 0;

	if (n->is_ready)
		return 0;
	ev = trace_task_events(d->trace, &cnt);
	if (cnt >= UINT32_MAX / 2)
		return -ENOMEM;
	c.main_of = calloc(d->process_cnt, sizeof(*c.main_of));
	if (!c.main_of)
		return -ENOMEM;
	for (i = 0; i < cnt && r >= 0; i++)
		r = collect_event(&c, &ev[i]);
	r = r < 0 ? r : make_names(n, &c);
	free(c.v);
	free(c.main_of);
	if (r < 0)
		names_done(n);
	n->is_ready = r >= 0;
	return r;
}

const struct task_name *task_name_at(const struct dense_ids *d, uint32_t member, uint64_t ts_ns)
{
	const struct task_names *n = d->names;
	size_t from, to, middle;

	if (!n->names || !n->cnt[member])
		return NULL;
	from = n->first[member];
	to = from + n->cnt[member];
	while (to - from > 1) {
		middle = from + (to - from) / 2;
		if (n->names[middle].from_ns <= ts_ns)
			from = middle;
		else
			to = middle;
	}
	return &n->names[from];
}

const char *task_name_text(const struct dense_ids *d, uint32_t member, uint64_t ts_ns)
{
	const struct task_name *x = task_name_at(d, member, ts_ns);

	return x ? x->name : last_name(d, member);
}

size_t task_renames_from(const struct dense_ids *d, uint64_t ts_ns)
{
	const struct task_names *n = d->names;
	size_t from = 0, to = n->rename_cnt;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (n->renames[middle].ts_ns < ts_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t task_renames_between(const struct dense_ids *d, const struct task_set *tasks,
			      uint64_t from_ns, uint64_t to_ns)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < tasks->cnt; i++) {
		const struct task_name *a = task_name_at(d, tasks->members[i], from_ns);

		cnt += a ? (uint32_t)(task_name_at(d, tasks->members[i], to_ns) - a) : 0;
	}
	return cnt;
}

uint64_t task_names_end(const struct dense_ids *d, const struct task_set *tasks, uint64_t ts_ns)
{
	uint64_t end_ns = UINT64_MAX;

	for (uint32_t i = 0; i < tasks->cnt; i++) {
		const struct task_name *x = task_name_at(d, tasks->members[i], ts_ns);

		end_ns = x && x->to_ns < end_ns ? x->to_ns : end_ns;
	}
	return end_ns;
}

uint64_t task_rename_instant(const struct dense_ids *d, const struct task_set *tasks,
			     uint64_t from_ns, uint32_t n)
{
	uint64_t at_ns = from_ns, next;

	while (task_renames_between(d, tasks, from_ns, at_ns) < n) {
		next = task_names_end(d, tasks, at_ns);
		if (next == UINT64_MAX)
			break;
		at_ns = next;
	}
	return at_ns;
}
