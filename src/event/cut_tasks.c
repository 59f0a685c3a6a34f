/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_tasks: which tasks and names a block of a cut trace has to tell of: ids are collected first, then given
 * with what the whole trace knows of them.
 */
#include <errno.h>

#include "event/cut_state.h"

struct told {
	struct idmap processes, threads;
	struct idmap names[TRACE_NAME_TYPE_CNT]; /* by trace_name_key(), but for those of files */
};

static int tell_thread(struct cut *c, struct told *told, uint32_t utid)
{
	const struct trace_thread *of = trace_thread_find(c->t, utid);
	int r = idmap_put(&told->threads, utid, (void *)1);

	return r == 0 && of ? idmap_put(&told->processes, of->upid, (void *)1) : r;
}

static int tell_event(struct cut *c, struct told *told, const struct event *ev)
{
	int r = tell_thread(c, told, ev->utid);
	unsigned int i, cnt = event_kind_values(ev->kind);

	for (i = 0; r == 0 && i < cnt; i++)
		if (column_codec(ev->kind, i) == EVENT_CODEC_UTID)
			r = tell_thread(c, told, (uint32_t)ev->v[i]);
	if (r == 0 && (ev->kind == EVENT_RSS || ev->kind == EVENT_VM))
		return idmap_put(&told->processes, ev->v[EV_RSS_UPID], (void *)1);
	if (r == 0 && ev->kind == EVENT_BLOCK && ev->v[EV_BLOCK_OWNER_UPID])
		return idmap_put(&told->processes, ev->v[EV_BLOCK_OWNER_UPID], (void *)1);
	return r;
}

static bool lives(const struct cut *c, uint32_t upid, uint64_t start_ns, uint64_t end_ns)
{
	if (c->filter && !cut_filter_has_process(c->filter, upid))
		return false;
	return start_ns < c->to_ns && (!end_ns || end_ns >= c->from_ns);
}

static int put_name(struct cut *c, struct told *told, enum trace_name_type type,
		    const struct trace_name *n)
{
	struct row_name name = { .type = type };

	if (!n || idmap_get(&told->names[type], trace_name_key(type, n->id, n->arg)))
		return 0;
	name.id = n->id;
	name.arg = n->arg;
	name.name = n->name;
	row_put_name(&c->rows, &name);
	return idmap_put(&told->names[type], trace_name_key(type, n->id, n->arg), (void *)1);
}

static int put_name_of(struct cut *c, struct told *told, enum trace_name_type type, uint64_t id)
{
	return put_name(c, told, type, trace_name_find(c->t, type, id));
}

static int put_stack_names(struct cut *c, struct told *told, uint64_t stack)
{
	size_t cnt, i;
	const struct trace_frame *f = trace_stack_find(c->t, stack, &cnt);
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++)
		if (!f[i].upid)
			r = put_name_of(c, told, TRACE_NAME_SYMBOL, f[i].addr);
	return r;
}

static int put_event_names(struct cut *c, struct told *told, const struct event *ev)
{
	int r;

	switch (ev->kind) {
	case EVENT_SLAB_ALLOC:
		r = put_name_of(c, told, TRACE_NAME_SYMBOL, ev->v[EV_SLAB_CALL_SITE]);
		return r == 0 ? put_name_of(c, told, TRACE_NAME_CACHE, ev->v[EV_SLAB_CACHE]) : r;
	case EVENT_SLAB_FREE:
		return put_name_of(c, told, TRACE_NAME_CACHE, ev->v[EV_SLAB_FREE_CACHE]);
	case EVENT_BLOCK:
		r = put_name_of(c, told, TRACE_NAME_DEVICE, ev->v[EV_BLOCK_DEV]);
		if (r == 0)
			r = put_name_of(c, told, TRACE_NAME_DEVICE, ev->v[EV_BLOCK_PART]);
		if (r == 0 && ev->v[EV_BLOCK_INO])
			r = put_name(c, told, TRACE_NAME_FILE,
				     trace_file_find(c->t, (uint32_t)ev->v[EV_BLOCK_INO_DEV],
						     ev->v[EV_BLOCK_INO]));
		return r;
	case EVENT_STACK:
		return put_stack_names(c, told, ev->v[EV_STACK_STACK]);
	case EVENT_DIRTY:
		return put_name(c, told, TRACE_NAME_FILE,
				trace_file_find(c->t, (uint32_t)ev->v[EV_DIRTY_INO_DEV],
						ev->v[EV_DIRTY_INO]));
	default:
		return 0;
	}
}

/* A file's name may stand in another block than the requests that write it, one that is not in the window. */
static int put_file_names(struct cut *c, struct told *told)
{
	struct event_cursor *cur;
	const struct event *ev;
	int r = event_cursor_open(&cur, c->t,
				  c->kinds_left & (1u << EVENT_BLOCK | 1u << EVENT_DIRTY),
				  c->from_ns, c->to_ns, NULL);

	if (r < 0)
		return r;
	while ((r = event_cursor_next(cur, &ev, NULL)) > 0) {
		r = put_event_names(c, told, ev);
		if (r < 0)
			break;
	}
	event_cursor_close(cur);
	return r;
}

static int put_names(struct cut *c, struct told *told, const struct event *events, size_t cnt,
		     bool all, uint64_t base_ns)
{
	const struct trace_process *p = c->t->processes.v;
	const struct trace_task_event *ev = c->t->task_events.v;
	size_t i;
	int r = 0;

	cut_begin_rows(c, base_ns);
	for (i = 0; i < c->t->processes.cnt && r == 0; i++)
		if (idmap_get(&told->processes, p[i].upid))
			r = put_name_of(c, told, TRACE_NAME_CGROUP, p[i].cgroup_id);
	for (i = 0; all && i < c->t->task_events.cnt && r == 0; i++)
		if (ev[i].ts_ns >= c->from_ns && ev[i].ts_ns < c->to_ns &&
		    idmap_get(&told->processes, ev[i].upid))
			r = put_name_of(c, told, TRACE_NAME_CGROUP, ev[i].cgroup_id);
	for (i = 0; i < cnt && r == 0; i++)
		r = put_event_names(c, told, &events[i]);
	if (r == 0 && all)
		r = put_file_names(c, told);
	for (i = 0; all && i < c->t->names[TRACE_NAME_IRQ].cnt && r == 0; i++)
		r = put_name(c, told, TRACE_NAME_IRQ, (const struct trace_name *)c->t->names[TRACE_NAME_IRQ].v + i);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_NAMES, &c->rows);
	return r;
}

static int put_site(struct cut *c, struct idmap *told, uint32_t upid, uint64_t addr, uint64_t ts_ns)
{
	const struct trace_site *s = trace_site_find(c->t, upid, addr, ts_ns);

	if (!s || idmap_get(told, (uintptr_t)s))
		return 0;
	row_put_site(&c->rows, s);
	return idmap_put(told, (uintptr_t)s, (void *)1);
}

/* The stacks that events refer to. */
static int put_frames(struct cut *c, const struct event *events, size_t cnt, uint64_t base_ns)
{
	struct idmap told = { 0 };
	size_t i, k, frame_cnt;
	int r = 0;

	cut_begin_rows(c, base_ns);
	for (i = 0; i < cnt && r == 0; i++) {
		const struct trace_frame *f;

		if (events[i].kind != EVENT_STACK || idmap_get(&told, events[i].v[EV_STACK_STACK]))
			continue;
		f = trace_stack_find(c->t, events[i].v[EV_STACK_STACK], &frame_cnt);
		for (k = 0; k < frame_cnt; k++)
			row_put_frame(&c->rows, &f[k]);
		r = idmap_put(&told, events[i].v[EV_STACK_STACK], (void *)1);
	}
	idmap_done(&told);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_FRAMES, &c->rows);
	return r;
}

/* What stands at the code addresses of heap objects, and in stacks. */
static int put_sites(struct cut *c, const struct event *events, size_t cnt, uint64_t base_ns)
{
	struct idmap told = { 0 };	/* by the row's place */
	size_t i, k, frame_cnt;
	int r = 0;

	cut_begin_rows(c, base_ns);
	for (i = 0; i < cnt && r == 0; i++) {
		const struct trace_thread *of = trace_thread_find(c->t, events[i].utid);
		const struct trace_frame *f;

		if (events[i].kind == EVENT_HEAP_ALLOC && of)
			r = put_site(c, &told, of->upid, events[i].v[EV_HEAP_CALL_SITE], events[i].ts_ns);
		if (events[i].kind != EVENT_STACK)
			continue;
		f = trace_stack_find(c->t, events[i].v[EV_STACK_STACK], &frame_cnt);
		for (k = 0; k < frame_cnt && r == 0; k++)
			if (f[k].upid)
				r = put_site(c, &told, f[k].upid, f[k].addr, events[i].ts_ns);
	}
	idmap_done(&told);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_SITES, &c->rows);
	return r < 0 ? r : put_frames(c, events, cnt, base_ns);
}

/* Where a process comes from is part of what it is. Parents have lower ids than their children. */
static int tell_parents(struct cut *c, struct told *told)
{
	const struct trace_process *p = c->t->processes.v;
	size_t i;
	int r = 0;

	for (i = c->t->processes.cnt; i-- > 0 && r == 0;)
		if (idmap_get(&told->processes, p[i].upid))
			r = idmap_put(&told->processes, p[i].parent_upid, (void *)1);
	return r;
}

static int tell_living(struct cut *c, struct told *told)
{
	const struct trace_process *p = c->t->processes.v;
	const struct trace_thread *h = c->t->threads.v;
	size_t i;
	int r = 0;

	for (i = 0; i < c->t->processes.cnt && r == 0; i++)
		if (lives(c, p[i].upid, p[i].start_ns, p[i].end_ns))
			r = idmap_put(&told->processes, p[i].upid, (void *)1);
	for (i = 0; i < c->t->threads.cnt && r == 0; i++)
		if (lives(c, h[i].upid, h[i].start_ns, h[i].end_ns))
			r = tell_thread(c, told, h[i].utid);
	return r;
}

static void put_rows(struct cut *c, struct told *told, uint64_t base_ns)
{
	const struct trace_process *p = c->t->processes.v;
	const struct trace_thread *h = c->t->threads.v;
	size_t i;

	cut_begin_rows(c, base_ns);
	for (i = 0; i < c->t->processes.cnt; i++)
		if (idmap_get(&told->processes, p[i].upid))
			row_put_process(&c->rows, &p[i]);
	block_out_add_rows(&c->out, CHUNK_PROCESSES, &c->rows);
	cut_begin_rows(c, base_ns);
	for (i = 0; i < c->t->threads.cnt; i++)
		if (idmap_get(&told->threads, h[i].utid))
			row_put_thread(&c->rows, &h[i]);
	block_out_add_rows(&c->out, CHUNK_THREADS, &c->rows);
}

void cut_begin_rows(struct cut *c, uint64_t base_ns)
{
	buf_reset(&c->rows.out);
	c->rows.cnt = 0;
	c->rows.base_ns = base_ns;
}

int cut_put_tasks(struct cut *c, const struct event *events, size_t cnt, bool all, uint64_t base_ns)
{
	struct told told = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++)
		r = tell_event(c, &told, &events[i]);
	if (r == 0 && all)
		r = tell_living(c, &told);
	if (r == 0)
		r = tell_parents(c, &told);
	if (r == 0) {
		put_rows(c, &told, base_ns);
		r = put_names(c, &told, events, cnt, all, base_ns);
		if (r == 0)
			r = put_sites(c, events, cnt, base_ns);
	}
	idmap_done(&told.processes);
	idmap_done(&told.threads);
	for (i = 0; i < TRACE_NAME_TYPE_CNT; i++)
		idmap_done(&told.names[i]);
	return r;
}
