/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_tasks: writes the sections of a cut block that describe ids: tasks, names, code addresses,
 * stacks.
 *
 * First collects the ids to which the block's events refer, according to the declarations of their
 * columns; then writes the row of the old trace for each id.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "edit/cut_state.h"
#include "model/call.h"
#include "model/irq_track.h"
#include "model/live_objects.h"
#include "model/request_track.h"

/*
 * cut_filter: whether a request must be kept may become clear only at a later event, such as its
 * issue. Block events are therefore read twice: the first pass numbers the requests' lives (uses of
 * an address, see request_track.h) and selects the lives to keep.
 */

struct cut_filter {
	const struct trace *t;
	struct hash_map upids;
	struct object_pairs pairs; /* live objects of the processes */
	bool *is_on; /* by CPU: a thread of the processes may be running */
	struct irq_track *irq; /* interrupts being served, from kept events */
	bool hit; /* the last event allocated or freed an object of the processes */
	uint64_t *life_of; /* by block event, in order: number of the request's life */
	size_t event_cnt, event_cap, event_at;
	bool *is_kept; /* by number of a life */
	size_t life_cap;
};

bool cut_filter_has_process(const struct cut_filter *f, uint64_t upid)
{
	return hash_map_get(&f->upids, upid);
}

bool cut_filter_has_thread(const struct cut_filter *f, uint64_t utid)
{
	const struct trace_thread *h = trace_thread_find(f->t, (uint32_t)utid);

	return h && cut_filter_has_process(f, h->upid);
}

/* ---- requests ---- */

static bool concerns(const struct cut_filter *f, const struct event *ev)
{
	bool by = ev->v[EV_REQUEST_ACTION] != EVENT_REQUEST_COMPLETE &&
		  ev->v[EV_REQUEST_ACTION] != EVENT_REQUEST_DONE &&
		  ev->v[EV_REQUEST_ACTION] != EVENT_REQUEST_ERROR && !(ev->flags & EVENT_F_IRQ);

	return (by && cut_filter_has_thread(f, ev->utid)) ||
	       (ev->v[EV_REQUEST_OWNER_UPID] &&
		cut_filter_has_process(f, ev->v[EV_REQUEST_OWNER_UPID]));
}

static int number_event(struct cut_filter *f, struct request_track *track, const struct event *ev)
{
	struct request_life of;
	uint64_t life;

	if (request_track_event(track, ev) < 0)
		return -ENOMEM;
	/* number 0: bios whose request is unknown */
	life = request_track_life(track, ev, &of) ? 1 + of.number : 0;
	if (array_reserve(&f->life_of, &f->event_cap, f->event_cnt + 1) < 0 ||
	    array_reserve(&f->is_kept, &f->life_cap, life + 1) < 0)
		return -ENOMEM;
	f->is_kept[life] |= concerns(f, ev);
	f->life_of[f->event_cnt++] = life;
	return 0;
}

static int number_requests(struct cut_filter *f, struct trace *t, const struct checkpoint *before,
			   uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	struct request_track *track = NULL;
	struct event_cursor *cur;
	const struct event *ev;
	int r = event_cursor_open(&cur, t, 1u << EVENT_REQUEST, from_ns, to_ns, e);

	if (r < 0)
		return r;
	r = request_track_new(&track, NULL, NULL);
	for (size_t i = 0; i < before->event_cnt && r >= 0; i++)
		if (before->events[i].kind == EVENT_REQUEST)
			r = number_event(f, track, &before->events[i]);
	while (r >= 0 && (r = event_cursor_next(cur, &ev, e)) > 0)
		r = number_event(f, track, ev);
	event_cursor_close(cur);
	request_track_free(track);
	return r;
}

/* ---- allocations ---- */

static int ended(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct cut_filter *f = ctx;

	f->hit = true;
	return 0;
}

static int on_object(struct cut_filter *f, struct event *ev)
{
	struct object_event o;
	uint64_t unknown;
	bool mine;
	int r;

	object_event_read(ev, f->pairs.page_bytes, &o);
	mine = cut_filter_has_thread(f, o.utid);
	/* heap addresses belong to one process: no thread of another process can free the object */
	if (o.family == OBJECT_HEAP)
		return mine;
	f->hit = o.is_alloc && mine;
	o.is_alloc = f->hit;
	r = object_pairs_event(&f->pairs, &o, ev->ts_ns, 0, 0, ended, f, &unknown);
	if (r < 0 || !f->hit)
		return r < 0 ? r : 0;
	if (!mine) {
		ev->utid = EVENT_ID_FILTERED;
		ev->flags &= (uint8_t)~EVENT_F_IRQ;
	}
	return 1;
}

/* ---- single events ---- */

/*
 * Keeps a switch of a kept thread, and a switch that shows that the switch away from a kept thread
 * was lost.
 */
static int on_switch(struct cut_filter *f, struct event *ev)
{
	bool was_on = ev->cpu >= trace_cpu_cnt(f->t) || f->is_on[ev->cpu];
	bool from = cut_filter_has_thread(f, ev->utid),
	     to = cut_filter_has_thread(f, ev->v[EV_SWITCH_NEXT_UTID]);

	if (!from)
		ev->utid = EVENT_ID_FILTERED;
	if (!to) {
		ev->v[EV_SWITCH_NEXT_UTID] = EVENT_ID_FILTERED;
		ev->flags |= EVENT_F_NEXT_OUT;
	}
	if (ev->cpu < trace_cpu_cnt(f->t))
		f->is_on[ev->cpu] = to;
	return from || to || was_on;
}

/* Keeps an event if the thread or process in its owner column is kept. */
static int on_owned(const struct cut_filter *f, struct event *ev, const struct event_column *owner)
{
	uint64_t id = ev->v[owner->index];

	if (owner->refers == EVENT_REFERS_THREAD ? !cut_filter_has_thread(f, id) :
						   !cut_filter_has_process(f, id))
		return 0;
	if (!cut_filter_has_thread(f, ev->utid))
		ev->utid = EVENT_ID_FILTERED;
	return 1;
}

/*
 * Keeps an interrupt of a kept thread, and an interrupt of another thread that shows that the exit
 * of a kept interrupt was lost.
 */
static int on_irq(struct cut_filter *f, struct event *ev)
{
	int r;

	if (!cut_filter_has_thread(f, ev->utid)) {
		if (!irq_track_depth(f->irq, ev->cpu))
			return 0;
		ev->utid = EVENT_ID_FILTERED;
		/* one event that shows the loss is enough: forget the CPU's open interrupts */
		r = irq_track_hole_on(f->irq, ev->cpu);
	} else {
		r = irq_track_event(f->irq, ev);
	}
	return r < 0 ? r : 1;
}

int cut_filter_event(struct cut_filter *f, struct event *ev)
{
	const struct event_column *owner;

	switch (ev->kind) {
	case EVENT_SWITCH:
		return on_switch(f, ev);
	case EVENT_SLAB_ALLOC:
	case EVENT_SLAB_FREE:
	case EVENT_PAGE_ALLOC:
	case EVENT_PAGE_FREE:
	case EVENT_HEAP_ALLOC:
	case EVENT_HEAP_FREE:
		return on_object(f, ev);
	case EVENT_REQUEST:
		if (f->event_at >= f->event_cnt)
			return 0;
		return f->is_kept[f->life_of[f->event_at++]];
	case EVENT_IRQ:
		return on_irq(f, ev);
	default:
		owner = event_owner_column(ev->kind);
		return owner ? on_owned(f, ev, owner) : cut_filter_has_thread(f, ev->utid);
	}
}

void cut_filter_begin_block(struct cut_filter *f)
{
	for (unsigned int cpu = 0; cpu < trace_cpu_cnt(f->t); cpu++)
		f->is_on[cpu] = true;
}

int cut_filter_new(struct cut_filter **ret, struct trace *t, const uint32_t *upids, size_t cnt,
		   const struct checkpoint *before, uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	struct cut_filter *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->t = t;
	for (size_t i = 0; i < cnt && r == 0; i++)
		r = hash_map_put(&f->upids, upids[i], (void *)1);
	f->is_on = calloc(trace_cpu_cnt(t) + 1, sizeof(*f->is_on));
	if (!f->is_on)
		r = -ENOMEM;
	r = r ?: object_pairs_init(&f->pairs, trace_page_bytes(t), 1, false);
	r = r ?: irq_track_new(&f->irq, trace_cpu_cnt(t), &(struct irq_sink){ 0 });
	r = r ?: number_requests(f, t, before, from_ns, to_ns, e);
	if (r < 0) {
		cut_filter_free(f);
		return err_set(e, r, "%s", err_text(e, r));
	}
	*ret = f;
	return 0;
}

void cut_filter_free(struct cut_filter *f)
{
	if (!f)
		return;
	hash_map_done(&f->upids);
	object_pairs_done(&f->pairs);
	irq_track_free(f->irq);
	free(f->is_on);
	free(f->life_of);
	free(f->is_kept);
	free(f);
}

/* Ids to which a block refers, and rows already written. */
struct refs {
	struct hash_map processes, threads;	/* keys: upid, utid */
	/* rows already written: */
	struct hash_map names[TRACE_NAME_TYPE_CNT];	/* by trace_name_key() */
	struct hash_map sites, stacks;	/* keys: address of the row; number of the stack */
};

static void refs_done(struct refs *f)
{
	hash_map_done(&f->processes);
	hash_map_done(&f->threads);
	hash_map_done(&f->sites);
	hash_map_done(&f->stacks);
	for (unsigned int i = 0; i < TRACE_NAME_TYPE_CNT; i++)
		hash_map_done(&f->names[i]);
}

/* Adds a key. 1: new; 0: already present; -ENOMEM. */
static int add_key(struct hash_map *m, uint64_t key)
{
	if (hash_map_get(m, key))
		return 0;
	return hash_map_put(m, key, (void *)1) < 0 ? -ENOMEM : 1;
}

/* Collects the id in a column of an event, or writes the rows for this id. */
typedef int (*put_ref_fn)(struct cut *c, struct refs *f, const struct event *ev,
			  const struct event_column *col);

#define TASKS (1u << EVENT_REFERS_THREAD | 1u << EVENT_REFERS_PROCESS)
#define STACKS (1u << EVENT_REFERS_STACK)
#define OBJECTS (1u << (EVENT_REFERS_NAME + TRACE_NAME_SOCKET))
#define SITES (STACKS | OBJECTS | 1u << EVENT_REFERS_SITE)
#define NAMES (STACKS | ~((2u << EVENT_REFERS_NAME) - 1))

/* Calls put for each column that refers to a type in what, a mask of 1 << enum event_refers. */
static int each_ref(struct cut *c, struct refs *f, const struct event *events, size_t cnt,
		    uint32_t what, put_ref_fn put)
{
	uint32_t columns[EVENT_KIND_CNT] = { 0 }, left;
	const struct event_column *col;
	int r = 0;

	for (unsigned int kind = 1; kind < EVENT_KIND_CNT; kind++)
		for (unsigned int k = 0; (col = event_column(kind, k)); k++)
			columns[kind] |= what & 1u << col->refers ? 1u << k : 0;
	for (size_t i = 0; i < cnt; i++)
		for (left = columns[events[i].kind]; left && r >= 0; left &= left - 1)
			r = put(c, f, &events[i],
				event_column(events[i].kind, (unsigned int)__builtin_ctz(left)));
	return r < 0 ? r : 0;
}

/* ---- ids ---- */

/* Adds a process and its ancestors, which are part of its description. */
static int add_process(struct cut *c, struct refs *f, uint32_t upid)
{
	const struct trace_process *p;
	int r;

	while ((r = add_key(&f->processes, upid)) > 0) {
		p = trace_process_find(c->t, upid);
		if (!p)
			return 0;
		upid = p->parent_upid;
	}
	return r;
}

static int add_thread(struct cut *c, struct refs *f, uint32_t utid)
{
	int r = add_key(&f->threads, utid);
	const struct trace_thread *of = r > 0 ? trace_thread_find(c->t, utid) : NULL;

	return of ? add_process(c, f, of->upid) : r;
}

static int add_task(struct cut *c, struct refs *f, const struct event *ev,
		    const struct event_column *col)
{
	if (col->refers == EVENT_REFERS_THREAD)
		return add_thread(c, f, (uint32_t)ev->v[col->index]);
	return add_process(c, f, (uint32_t)ev->v[col->index]);
}

static bool lives(const struct cut *c, uint32_t upid, uint64_t start_ns, uint64_t end_ns)
{
	if (c->filter && !cut_filter_has_process(c->filter, upid))
		return false;
	return start_ns < c->to_ns && (!end_ns || end_ns >= c->from_ns);
}

/* Adds every task that is alive during the window. */
static int add_living(struct cut *c, struct refs *f)
{
	size_t process_cnt, thread_cnt, i;
	const struct trace_process *p = trace_processes(c->t, &process_cnt);
	const struct trace_thread *h = trace_threads(c->t, &thread_cnt);
	int r = 0;

	for (i = 0; i < process_cnt && r >= 0; i++)
		if (lives(c, p[i].upid, p[i].start_ns, p[i].end_ns))
			r = add_process(c, f, p[i].upid);
	for (i = 0; i < thread_cnt && r >= 0; i++)
		if (lives(c, h[i].upid, h[i].start_ns, h[i].end_ns))
			r = add_thread(c, f, h[i].utid);
	return r;
}

/* Returns the keys of m, sorted, malloc'ed. NULL: out of memory. */
static uint32_t *sort_ids(const struct hash_map *m)
{
	uint32_t *ids = malloc((m->cnt + 1) * sizeof(*ids));
	struct hash_slot *slot;
	size_t pos = 0, cnt = 0;

	while (ids && (slot = hash_map_next(m, &pos)))
		ids[cnt++] = (uint32_t)slot->a;
	if (cnt)
		qsort(ids, cnt, sizeof(*ids), compare_u32);
	return ids;
}

/* ---- names ---- */

static int put_name(struct cut *c, struct refs *f, enum trace_name_type type,
		    const struct trace_name *n)
{
	int r = n ? add_key(&f->names[type], trace_name_key(type, n->id, n->arg)) : 0;

	if (r > 0)
		row_put_name(&c->rows, n);
	return r < 0 ? r : 0;
}

static int put_name_of(struct cut *c, struct refs *f, enum trace_name_type type, uint64_t id)
{
	return put_name(c, f, type, trace_name_find(c->t, type, id));
}

/* Calls put for every frame of a stack. */
static int each_frame(struct cut *c, struct refs *f, uint64_t stack, uint64_t ts_ns,
		      int (*put)(struct cut *c, struct refs *f, const struct trace_frame *frame,
				 uint64_t ts_ns))
{
	size_t cnt, i;
	const struct trace_frame *frame = trace_stack_find(c->t, stack, &cnt);
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++)
		r = put(c, f, &frame[i], ts_ns);
	return r;
}

static int put_frame_name(struct cut *c, struct refs *f, const struct trace_frame *frame,
			  uint64_t ts_ns)
{
	return frame->upid ? 0 : put_name_of(c, f, TRACE_NAME_SYMBOL, frame->addr);
}

static int put_names(struct cut *c, struct refs *f, const struct event *ev,
		     const struct event_column *col)
{
	uint64_t id = ev->v[col->index];

	if (col->refers == EVENT_REFERS_STACK)
		return each_frame(c, f, id, ev->ts_ns, put_frame_name);
	if (col->refers == EVENT_REFERS_FILE)
		return put_name(c, f, TRACE_NAME_FILE,
				trace_file_find(c->t, (uint32_t)ev->v[col->index + 1], id));
	if (OBJECTS & 1u << col->refers) {
		enum call_object what = call_object_of((uint32_t)ev->v[EV_SWITCH_CALL]);

		if (what == CALL_OBJECT_FILE || what == CALL_OBJECT_INODE_LOCK)
			return put_name_of(c, f, TRACE_NAME_WAITED, id);
		if (what == CALL_OBJECT_GROUP)
			return put_name_of(c, f, TRACE_NAME_CGROUP, CALL_GROUP_ID(id));
		if (what == CALL_OBJECT_KERNEL_LOCK)
			return put_name_of(c, f, TRACE_NAME_SYMBOL, CALL_LOCK_ADDR(id));
	}
	return put_name_of(c, f, col->refers - EVENT_REFERS_NAME, id);
}

static int put_all_names(struct cut *c, struct refs *f, enum trace_name_type type)
{
	size_t cnt, i;
	const struct trace_name *n = trace_names(c->t, type, &cnt);
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++)
		r = put_name(c, f, type, &n[i]);
	return r;
}

/*
 * Writes a row that shows whether the old trace has paths, even if the cut keeps no path. In a
 * trace with paths, a request without a path has no file; in a trace without paths, a request gets
 * the name of its inode (block_requests).
 */
static int put_path_mark(struct cut *c, struct refs *f)
{
	static const struct trace_name mark = { .type = TRACE_NAME_PATH, .id = UINT64_MAX,
						.name = "" };
	size_t cnt;

	trace_names(c->t, TRACE_NAME_PATH, &cnt);
	return cnt ? put_name(c, f, TRACE_NAME_PATH, &mark) : 0;
}

bool cut_has_quota(const struct cut *c, const struct trace_quota *q)
{
	size_t cnt, i;
	const struct trace_process *p = trace_processes(c->t, &cnt);

	if (q->from_ns >= c->to_ns || q->to_ns <= c->from_ns)
		return false;
	for (i = 0; c->filter && i < cnt; i++)
		if (p[i].cgroup_id == q->cgroup_id &&
		    cut_filter_has_process(c->filter, p[i].upid))
			return true;
	return !c->filter;
}

/* Writes the names of groups whose quota limits a group that is kept. */
static int put_limit_names(struct cut *c, struct refs *f)
{
	size_t cnt, i;
	const struct trace_quota *q = trace_quotas(c->t, &cnt);
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++)
		if (cut_has_quota(c, &q[i]))
			r = put_name_of(c, f, TRACE_NAME_CGROUP, q[i].limit_id);
	return r;
}

/*
 * Writes names that are needed even if no event refers to them: cgroups that processes joined,
 * groups with quotas, devices, interrupt lines.
 */
static int put_window_names(struct cut *c, struct refs *f)
{
	size_t event_cnt, i;
	const struct trace_task_event *ev = trace_task_events(c->t, &event_cnt);
	int r = 0;

	for (i = 0; i < event_cnt && r == 0; i++)
		if (ev[i].ts_ns >= c->from_ns && ev[i].ts_ns < c->to_ns &&
		    hash_map_get(&f->processes, ev[i].upid))
			r = put_name_of(c, f, TRACE_NAME_CGROUP, ev[i].cgroup_id);
	r = r ?: put_limit_names(c, f) ?: put_all_names(c, f, TRACE_NAME_DEVICE);
	r = r ?: put_path_mark(c, f);
	return r == 0 ? put_all_names(c, f, TRACE_NAME_IRQ) : r;
}

/* ---- addresses of user space ---- */

static int put_site(struct cut *c, struct refs *f, uint32_t upid, uint64_t addr, uint64_t ts_ns)
{
	const struct trace_site *s = trace_site_find(c->t, upid, addr, ts_ns);
	int r = s ? add_key(&f->sites, (uintptr_t)s) : 0;

	if (r > 0)
		row_put_site(&c->rows, s);
	return r < 0 ? r : 0;
}

static int put_frame_site(struct cut *c, struct refs *f, const struct trace_frame *frame,
			  uint64_t ts_ns)
{
	return frame->upid ? put_site(c, f, frame->upid, frame->addr, ts_ns) : 0;
}

/* Writes the sites of the code addresses in a column: heap objects, stacks and locks. */
static int put_sites(struct cut *c, struct refs *f, const struct event *ev,
		     const struct event_column *col)
{
	const struct trace_thread *of;

	if (col->refers == EVENT_REFERS_STACK)
		return each_frame(c, f, ev->v[col->index], ev->ts_ns, put_frame_site);
	if (OBJECTS & 1u << col->refers &&
	    call_object_of((uint32_t)ev->v[EV_SWITCH_CALL]) != CALL_OBJECT_LOCK)
		return 0;
	of = trace_thread_find(c->t, ev->utid);
	return of ? put_site(c, f, of->upid, ev->v[col->index], ev->ts_ns) : 0;
}

static int put_frames(struct cut *c, struct refs *f, const struct event *ev,
		      const struct event_column *col)
{
	uint64_t stack = ev->v[col->index];
	const struct trace_frame *frame;
	size_t cnt, i;
	int r = stack ? add_key(&f->stacks, stack) : 0;

	frame = r > 0 ? trace_stack_find(c->t, stack, &cnt) : NULL;
	for (i = 0; frame && i < cnt; i++)
		row_put_frame(&c->rows, &frame[i]);
	return r;
}

/* ---- sections ---- */

/* Writes the rows of tasks in order of ids; section: PROCESSES or THREADS. */
static int put_tasks(struct cut *c, const struct hash_map *of, enum chunk_section_type section,
		     uint64_t base_ns)
{
	uint32_t *ids = sort_ids(of);
	const void *row;

	if (!ids)
		return -ENOMEM;
	cut_begin_rows(c, base_ns);
	for (size_t i = 0; i < of->cnt; i++) {
		row = trace_row_find(c->t, section, ids[i]);
		if (row)
			row_put(&c->rows, row_type_of(section), row);
	}
	block_out_add_rows(&c->out, section, &c->rows);
	free(ids);
	return 0;
}

/* Writes the names of the processes' cgroups and users, in order of upid. */
static int put_process_names(struct cut *c, struct refs *f)
{
	uint32_t *upids = sort_ids(&f->processes);
	const struct trace_process *p;
	int r = upids ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < f->processes.cnt; i++) {
		p = trace_process_find(c->t, upids[i]);
		if (p)
			r = put_name_of(c, f, TRACE_NAME_CGROUP, p->cgroup_id);
		if (p && r == 0)
			r = put_name_of(c, f, TRACE_NAME_USER, p->uid + 1ull);
	}
	free(upids);
	return r;
}

void cut_begin_rows(struct cut *c, uint64_t base_ns)
{
	buf_reset(&c->rows.out);
	c->rows.cnt = 0;
	c->rows.base_ns = base_ns;
}

static int put_sections(struct cut *c, struct refs *f, const struct event *events, size_t cnt,
			bool whole, uint64_t base_ns)
{
	int r = put_tasks(c, &f->threads, CHUNK_THREADS, base_ns);

	r = r ?: put_tasks(c, &f->processes, CHUNK_PROCESSES, base_ns);
	cut_begin_rows(c, base_ns);
	r = r ?: put_process_names(c, f) ?: each_ref(c, f, events, cnt, NAMES, put_names);
	if (r == 0 && whole)
		r = put_window_names(c, f);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_NAMES, &c->rows);
	cut_begin_rows(c, base_ns);
	r = r ?: each_ref(c, f, events, cnt, SITES, put_sites);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_SITES, &c->rows);
	cut_begin_rows(c, base_ns);
	r = r ?: each_ref(c, f, events, cnt, STACKS, put_frames);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_FRAMES, &c->rows);
	return r;
}

int cut_put_tasks(struct cut *c, const struct event *events, size_t cnt, bool whole,
		  uint64_t base_ns)
{
	struct refs f = { 0 };
	int r = 0;

	for (size_t i = 0; i < cnt && r >= 0; i++)
		r = add_thread(c, &f, events[i].utid);
	if (r >= 0)
		r = each_ref(c, &f, events, cnt, TASKS, add_task);
	if (r >= 0 && whole)
		r = add_living(c, &f);
	if (r >= 0)
		r = put_sections(c, &f, events, cnt, whole, base_ns);
	refs_done(&f);
	return r;
}
