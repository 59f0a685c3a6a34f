/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint: goes through the events before the instant once, from the last stored checkpoint on
 * (checkpoint_file.c), whose events are gone through like any others.
 *
 * Events that may matter are in a pool. The state machines that readers use (live_objects.h,
 * request_track.h, irq_track.h) say which of them still do:
 *   - an allocation stays until its free;
 *   - the events of a request stay until a new life begins at its address;
 *   - of a thread stay the last switch to it, the last one away from it, and the first wake-up
 *     after each: they say whether, and since when, the thread waits;
 *   - of a CPU stay the events since the outermost interrupt that is being served began.
 */
#include "edit/checkpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "model/irq_track.h"
#include "model/live_objects.h"
#include "model/mem_levels.h"
#include "model/request_track.h"
#include "trace/irq_holes.h"
#include "trace/trace_state.h"

#define NONE UINT32_MAX

/*
 * A checkpoint is stored every so many events, and at most one in so many times the events it
 * holds: so what is stored is small beside the trace, and a cut reads few events but those of its
 * window.
 */
#define POINT_EVENTS 2000000
#define POINT_TIMES_LIVE 32

struct kept {
	struct event ev;
	uint64_t nr;		/* counts all events */
	uint64_t left_bytes;	/* of a page block */
	uint32_t next;		/* in the same chain, or of the free entries */
	bool used;
};

/* What the events of a thread are about. */
enum { ENTER, LEAVE, WOKEN_RUNNING, WOKEN, CHAIN_CNT };

/* A request, a thread or a CPU, with its events. A request and a CPU have the first chain only. */
struct subject {
	uint64_t life;		/* of a request: request_track_life() */
	uint32_t last[CHAIN_CNT];	/* in the pool, NONE */
};

/* Second half of a subject's key; the first is the utid or the CPU. No device has such a number. */
#define KEY_THREAD (1ull << 32)
#define KEY_CPU (2ull << 32)

enum family { SLAB, PAGES, HEAP, FAMILY_CNT };

struct collector {
	struct trace *t;
	struct kept *pool;
	size_t cnt, cap;
	uint32_t free, used_cnt;
	uint64_t nr;
	struct live_objects *objects[FAMILY_CNT];	/* owner: of the allocation, in the pool */
	struct hash_map heap_space;	/* upid to a number; another one after each exec */
	uint32_t heap_space_cnt, gone_space;
	struct request_track *requests;
	struct irq_track *irq;
	struct irq_holes holes;
	struct hash_map subject_nr;
	struct subject *subjects;
	size_t subject_cnt, subject_cap;
	struct mem_process *levels;	/* by trace_process_index() */
	size_t reset_at;		/* the next exec or exit */
	struct checkpoint_file *points;	/* NULL: none are stored */
	uint64_t point_events, times_live;	/* between points at least */
	uint64_t point_nr, last_ns;	/* events before the last point; of the last event */
};

/* ---- the pool ---- */

static uint32_t keep(struct collector *c, const struct event *ev)
{
	uint32_t at = c->free;

	if (at != NONE)
		c->free = c->pool[at].next;
	else if (c->cnt < NONE && array_reserve(&c->pool, &c->cap, c->cnt + 1) == 0)
		at = (uint32_t)c->cnt++;
	else
		return NONE;
	c->used_cnt++;
	c->pool[at] = (struct kept){ .ev = *ev, .nr = c->nr, .next = NONE, .used = true };
	return at;
}

static void drop(struct collector *c, uint32_t at)
{
	c->pool[at].used = false;
	c->pool[at].next = c->free;
	c->free = at;
	c->used_cnt--;
}

/* NULL: out of memory. */
static struct subject *subject_of(struct collector *c, uint64_t id, uint64_t key)
{
	uint32_t i;
	int r = hash_map_intern(&c->subject_nr, id, key, &i);

	if (r < 0 || array_reserve(&c->subjects, &c->subject_cap, (size_t)i + 1) < 0)
		return NULL;
	if (r > 0)
		c->subjects[i] = (struct subject){ .last = { NONE, NONE, NONE, NONE } };
	return &c->subjects[i];
}

static int chain_add(struct collector *c, uint32_t *last, const struct event *ev)
{
	uint32_t at = keep(c, ev);

	if (at == NONE)
		return -ENOMEM;
	c->pool[at].next = *last;
	*last = at;
	return 0;
}

static void chain_drop(struct collector *c, uint32_t *last)
{
	uint32_t at, next;

	for (at = *last; at != NONE; at = next) {
		next = c->pool[at].next;
		drop(c, at);
	}
	*last = NONE;
}

/* ---- allocations ---- */

/* A heap belongs to a process and begins anew with an exec. 0: out of memory. */
static uint32_t space_of(struct collector *c, const struct event *ev)
{
	const struct trace_thread *h = trace_thread_find(c->t, ev->utid);
	uint64_t upid = h ? h->upid : EVENT_ID_UNKNOWN;
	uintptr_t space = (uintptr_t)hash_map_get(&c->heap_space, upid);

	if (space)
		return (uint32_t)space;
	space = c->heap_space_cnt + 1;
	if (hash_map_put(&c->heap_space, upid, (void *)space) < 0)
		return 0;
	return ++c->heap_space_cnt;
}

static int drop_object(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct collector *c = ctx;

	if (o->space == c->gone_space)
		drop(c, o->owner);
	return 0;
}

static void forget_heap(struct collector *c, uint32_t upid)
{
	c->gone_space = (uint32_t)(uintptr_t)hash_map_remove(&c->heap_space, upid);
	if (c->gone_space)
		(void)live_objects_rest(c->objects[HEAP], drop_object, c);
}

/* What is left of a page block that was freed in part stays as allocations of the parts. */
static int end_object(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct collector *c = ctx;
	struct kept *k = &c->pool[o->owner];

	if (k->ev.kind == EVENT_PAGE_ALLOC && bytes != k->left_bytes)
		k->left_bytes -= bytes;
	else
		drop(c, o->owner);
	return 0;
}

static int begin_object(struct collector *c, enum family f, const struct event *ev)
{
	uint64_t order = f == PAGES ? ev->v[EV_PAGE_ALLOC_PAGE_ORDER] : 0;
	struct live_kind k = { .bytes = 1, .order = order < 64 ? (uint8_t)order : 63 };
	uint32_t at, space = f == HEAP ? space_of(c, ev) : 1;

	if (f == PAGES) {
		k.bytes = k.order < 32 ? trace_page_bytes(c->t) << k.order : 0;
		space = 0;
	} else if (!space) {
		return -ENOMEM;
	}
	at = keep(c, ev);
	if (at == NONE)
		return -ENOMEM;
	c->pool[at].left_bytes = k.bytes;
	return live_objects_add(c->objects[f], space, ev->v[0], ev->ts_ns, at, &k, end_object, c);
}

static int free_object(struct collector *c, enum family f, const struct event *ev)
{
	uint64_t order = f == PAGES ? ev->v[EV_PAGE_FREE_PAGE_ORDER] : 0, unknown;
	uint32_t space = f == HEAP ? space_of(c, ev) : f == SLAB;

	if (f == HEAP && !space)
		return -ENOMEM;
	return live_objects_end(c->objects[f], space, ev->v[0],
				order < 64 ? (unsigned int)order : 0, end_object, c, &unknown);
}

/* ---- requests, threads, CPUs ---- */

static int request_event(struct collector *c, const struct event *ev)
{
	uint32_t dev = (uint32_t)ev->v[EV_REQUEST_DEV];
	struct subject *s = subject_of(c, ev->v[EV_REQUEST_RQ], dev);
	uint64_t life;

	if (!s || request_track_event(c->requests, ev) < 0)
		return -ENOMEM;
	life = request_track_life(c->requests, ev->v[EV_REQUEST_RQ], dev);
	if (life != s->life)
		chain_drop(c, &s->last[0]);
	s->life = life;
	return chain_add(c, &s->last[0], ev);
}

static int set_last(struct collector *c, struct subject *s, unsigned int chain,
		    unsigned int wakeup, const struct event *ev)
{
	chain_drop(c, &s->last[chain]);
	chain_drop(c, &s->last[wakeup]);
	return chain_add(c, &s->last[chain], ev);
}

static int switch_event(struct collector *c, const struct event *ev)
{
	uint32_t next = (uint32_t)ev->v[EV_SWITCH_NEXT_UTID];
	struct subject *s;
	int r = 0;

	if (ev->utid >= EVENT_ID_FIRST) {
		s = subject_of(c, ev->utid, KEY_THREAD);
		r = s ? set_last(c, s, LEAVE, WOKEN, ev) : -ENOMEM;
	}
	if (r < 0 || next < EVENT_ID_FIRST || ev->flags & EVENT_F_NEXT_OUT)
		return r;
	s = subject_of(c, next, KEY_THREAD);
	return s ? set_last(c, s, ENTER, WOKEN_RUNNING, ev) : -ENOMEM;
}

static int wakeup_event(struct collector *c, const struct event *ev)
{
	uint32_t target = (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID];
	struct subject *s;
	bool runs;
	uint32_t *last;

	if (target < EVENT_ID_FIRST)
		return 0;
	s = subject_of(c, target, KEY_THREAD);
	if (!s)
		return -ENOMEM;
	runs = s->last[ENTER] != NONE && (s->last[LEAVE] == NONE ||
					  c->pool[s->last[ENTER]].nr > c->pool[s->last[LEAVE]].nr);
	last = &s->last[runs ? WOKEN_RUNNING : WOKEN];
	return *last == NONE ? chain_add(c, last, ev) : 0;
}

static int irq_event(struct collector *c, const struct event *ev)
{
	struct subject *s;
	unsigned int depth;
	int r = 0;

	if (ev->cpu >= c->t->cpu_cnt)
		return 0;
	if (irq_holes_pass(&c->holes, ev->ts_ns + 1))
		r = irq_track_hole(c->irq);
	if (r >= 0)
		r = irq_track_event(c->irq, ev);
	if (r < 0)
		return r;
	s = subject_of(c, ev->cpu, KEY_CPU);
	if (!s)
		return -ENOMEM;
	depth = irq_track_depth(c->irq, ev->cpu);
	if (!depth || (depth == 1 && ev->v[EV_IRQ_ACTION] == EVENT_IRQ_ENTRY))
		chain_drop(c, &s->last[0]);
	return depth ? chain_add(c, &s->last[0], ev) : 0;
}

/* ---- memory of processes, as reports over the whole trace follow it ---- */

/* NULL: the trace does not know the process. */
static struct mem_process *levels_of(const struct collector *c, uint32_t upid)
{
	size_t at = trace_process_index(c->t, upid);

	return at == SIZE_MAX ? NULL : &c->levels[at];
}

static int memory_init(struct collector *c)
{
	size_t process_cnt, row_cnt, i;
	const struct trace_process *p = trace_processes(c->t, &process_cnt);
	const struct trace_rss *rows = trace_rss_baselines(c->t, &row_cnt);
	struct mem_process *of;

	c->levels = calloc(process_cnt + 1, sizeof(*c->levels));
	if (!c->levels || trace_mm_resets_prepare(c->t) < 0)
		return -ENOMEM;
	for (i = 0; i < process_cnt; i++)
		mem_process_init(&c->levels[i], !(p[i].flags & TRACE_TASK_AT_START) &&
							p[i].start_ns >= trace_start_ns(c->t));
	for (i = 0; i < row_cnt; i++) {
		of = levels_of(c, rows[i].upid);
		/* of several baselines the first one counts */
		if (of && !of->known)
			mem_process_baseline(of, &rows[i]);
	}
	return 0;
}

/* Takes in the execs and exits before ts_ns. At one instant, events come first. */
static void memory_until(struct collector *c, uint64_t ts_ns)
{
	const struct trace_mm_reset *reset;
	struct mem_step rss, vm;
	struct mem_process *of;

	for (; c->reset_at < trace_mm_reset_cnt(c->t); c->reset_at++) {
		reset = trace_mm_reset_at(c->t, c->reset_at);
		if (reset->ts_ns >= ts_ns)
			break;
		of = levels_of(c, reset->upid);
		if (!of)
			continue;
		if (reset->kind == TRACE_MM_RESET_EXIT)
			mem_process_exit(of, &rss, &vm);
		else
			mem_process_exec(of, &rss);
		forget_heap(c, reset->upid);
	}
}

/* Rows as of at_ns, by upid; malloc'ed. 0 or -ENOMEM. */
static int memory_rows(struct collector *c, uint64_t at_ns, struct trace_rss **ret,
			   size_t *ret_cnt)
{
	size_t process_cnt, i, cnt = 0;
	const struct trace_process *p = trace_processes(c->t, &process_cnt);
	struct trace_rss *rows = malloc((process_cnt + 1) * sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	memory_until(c, at_ns);
	for (i = 0; i < process_cnt; i++) {
		const struct mem_process *of = &c->levels[i];

		/* a process that begins later begins with nothing */
		if (of->ended || !of->known || p[i].start_ns >= at_ns)
			continue;
		rows[cnt] = mem_process_row(of);
		rows[cnt].ts_ns = at_ns;
		rows[cnt++].upid = p[i].upid;
	}
	*ret = rows;
	*ret_cnt = cnt;
	return 0;
}

/* Goes on from at_ns with the rows that memory_rows() gave for that instant. */
static void memory_set(struct collector *c, uint64_t at_ns,
			   const struct trace_rss *rows, size_t cnt)
{
	struct mem_process *of;
	size_t i;

	memory_until(c, at_ns);
	for (i = 0; i < cnt; i++) {
		of = levels_of(c, rows[i].upid);
		if (!of)
			continue;
		mem_process_init(of, false);
		mem_process_baseline(of, &rows[i]);
	}
}

/* ---- one by one ---- */

static int take_event(struct collector *c, const struct event *ev)
{
	struct mem_process *of;
	struct mem_step step;

	c->nr++;
	memory_until(c, ev->ts_ns);
	switch (ev->kind) {
	case EVENT_RSS:
	case EVENT_VM:
		/* both kinds have the process at the same place */
		of = levels_of(c, (uint32_t)ev->v[EV_RSS_UPID]);
		if (of)
			mem_process_event(of, ev, &step);
		return 0;
	case EVENT_SWITCH:
		return switch_event(c, ev);
	case EVENT_WAKEUP:
		return wakeup_event(c, ev);
	case EVENT_SLAB_ALLOC:
		return begin_object(c, SLAB, ev);
	case EVENT_SLAB_FREE:
		return free_object(c, SLAB, ev);
	case EVENT_PAGE_ALLOC:
		return begin_object(c, PAGES, ev);
	case EVENT_PAGE_FREE:
		return free_object(c, PAGES, ev);
	case EVENT_HEAP_ALLOC:
		return begin_object(c, HEAP, ev);
	case EVENT_HEAP_FREE:
		return free_object(c, HEAP, ev);
	case EVENT_IRQ:
		return irq_event(c, ev);
	default:
		return request_event(c, ev);
	}
}

/* ---- what there is at an instant ---- */

struct event_place {
	uint64_t nr, part;	/* part: page frame of a part of a page block */
	uint32_t at;		/* in the pool */
	uint8_t order;		/* of that part */
};

struct places {
	struct collector *c;
	struct event_place *v;
	size_t cnt, cap;
};

static int add_place(struct places *p, uint32_t at, uint64_t part, uint8_t order)
{
	if (array_reserve(&p->v, &p->cap, p->cnt + 1) < 0)
		return -ENOMEM;
	p->v[p->cnt++] = (struct event_place){ p->c->pool[at].nr, part, at, order };
	return 0;
}

/* Of page blocks in parts, an allocation for each. */
static int add_part(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct places *p = ctx;

	return add_place(p, o->owner, o->addr,
			 live_objects_kind(p->c->objects[PAGES], o->kind)->order);
}

static int add_places(struct places *p)
{
	struct collector *c = p->c;
	uint32_t i;
	int r = 0;

	for (i = 0; i < c->cnt && r == 0; i++)
		if (c->pool[i].used && c->pool[i].ev.kind != EVENT_PAGE_ALLOC)
			r = add_place(p, i, 0, 0);
	return r == 0 ? live_objects_rest(c->objects[PAGES], add_part, p) : r;
}

static int place_cmp(const void *a, const void *b)
{
	const struct event_place *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* In order. A switch that two threads need is there once, an allocation once for each part. */
static int copy_events(const struct places *p, struct checkpoint *ret)
{
	struct event *ev;
	size_t i;

	if (p->cnt)
		qsort(p->v, p->cnt, sizeof(*p->v), place_cmp);
	ret->events = malloc((p->cnt + 1) * sizeof(*ret->events));
	if (!ret->events)
		return -ENOMEM;
	for (i = 0; i < p->cnt; i++) {
		ev = &ret->events[ret->event_cnt];
		*ev = p->c->pool[p->v[i].at].ev;
		if (ev->kind == EVENT_PAGE_ALLOC) {
			ev->v[EV_PAGE_ALLOC_PFN] = p->v[i].part;
			ev->v[EV_PAGE_ALLOC_PAGE_ORDER] = p->v[i].order;
		} else if (i && p->v[i].nr == p->v[i - 1].nr) {
			continue;
		}
		ret->event_cnt++;
	}
	return 0;
}

/* Interrupts that are served where events are missing have lost their end. */
static int forget_irqs(struct collector *c, uint64_t at_ns)
{
	struct subject *s;
	unsigned int cpu;
	uint32_t i;
	int r = irq_holes_pass(&c->holes, at_ns) ? irq_track_hole(c->irq) : 0;

	for (cpu = 0; cpu < c->t->cpu_cnt && r >= 0; cpu++) {
		if (irq_track_depth(c->irq, cpu) ||
		    !hash_map_find(&c->subject_nr, cpu, KEY_CPU, &i))
			continue;
		s = &c->subjects[i];
		chain_drop(c, &s->last[0]);
	}
	return r;
}

/* Events from at_ns on may follow. */
static int make_checkpoint(struct collector *c, uint64_t at_ns, struct checkpoint *ret)
{
	struct places p = { .c = c };
	int r = memory_rows(c, at_ns, &ret->memory, &ret->memory_cnt);

	if (r == 0)
		r = forget_irqs(c, at_ns);
	if (r >= 0)
		r = add_places(&p);
	if (r >= 0)
		r = copy_events(&p, ret);
	free(p.v);
	return r;
}

/* ---- stored checkpoints ---- */

/* Called before the first event at ts_ns or later is taken. */
static int store_point(struct collector *c, uint64_t ts_ns)
{
	uint64_t cnt = c->nr - c->point_nr;
	struct checkpoint at = { 0 };
	int r;

	if (!c->points || cnt < c->point_events || cnt < c->times_live * c->used_cnt ||
	    ts_ns == c->last_ns)
		return 0;
	c->point_nr = c->nr;
	r = make_checkpoint(c, ts_ns, &at);
	if (r == 0)
		r = checkpoint_file_add(c->points, ts_ns, &at);
	checkpoint_done(&at);
	return r;
}

/*
 * *ret_ns: the instant of the stored checkpoint that the collector begins with; 0: there is none.
 */
static int begin_at_point(struct collector *c, uint64_t at_ns, uint32_t kind_mask, uint64_t *ret_ns)
{
	struct checkpoint from;
	size_t i;
	int r = checkpoint_file_find(c->points, at_ns, ret_ns, &from);

	if (r <= 0)
		return r;
	for (i = 0, r = 0; i < from.event_cnt && r >= 0; i++)
		if (kind_mask & 1u << from.events[i].kind)
			r = take_event(c, &from.events[i]);
	if (r >= 0)
		memory_set(c, *ret_ns, from.memory, from.memory_cnt);
	checkpoint_done(&from);
	c->point_nr = c->nr;
	return r;
}

/* ---- all of it ---- */

#define CARRIED_KINDS                                           \
	(1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE |       \
	 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE |       \
	 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE |       \
	 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP | 1u << EVENT_REQUEST | 1u << EVENT_IRQ)
#define MEMORY_KINDS (1u << EVENT_RSS | 1u << EVENT_VM)

static int take_all(struct collector *c, uint64_t from_ns, uint64_t at_ns, uint32_t kind_mask,
		    struct err *e)
{
	struct event_cursor *cur;
	const struct event *ev;
	int r;

	r = event_cursor_open(&cur, c->t, (CARRIED_KINDS & kind_mask) | MEMORY_KINDS, from_ns,
			      at_ns, e);
	if (r < 0)
		return r;
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		r = store_point(c, ev->ts_ns);
		if (r == 0)
			r = take_event(c, ev);
		if (r < 0)
			break;
		c->last_ns = ev->ts_ns;
	}
	event_cursor_close(cur);
	return r;
}

static int collector_init(struct collector *c, struct trace *t)
{
	unsigned int f;
	int r;

	*c = (struct collector){ .t = t, .free = NONE, .last_ns = UINT64_MAX };
	r = memory_init(c);
	for (f = 0; f < FAMILY_CNT && r == 0; f++)
		r = live_objects_new(&c->objects[f],
				     f == PAGES ? (uint32_t)trace_page_bytes(t) : 0);
	if (r == 0)
		r = request_track_new(&c->requests, NULL, NULL);
	if (r == 0)
		r = irq_track_new(&c->irq, t->cpu_cnt, &(struct irq_sink){ 0 });
	return r == 0 ? irq_holes_find(&c->holes, t) : r;
}

static void collector_done(struct collector *c)
{
	unsigned int f;

	free(c->pool);
	for (f = 0; f < FAMILY_CNT; f++)
		live_objects_free(c->objects[f]);
	hash_map_done(&c->heap_space);
	request_track_free(c->requests);
	irq_track_free(c->irq);
	irq_holes_done(&c->holes);
	hash_map_done(&c->subject_nr);
	free(c->subjects);
	free(c->levels);
	checkpoint_file_free(c->points);
}

int checkpoint(struct trace *t, uint64_t at_ns, const struct checkpoint_request *q,
	       struct checkpoint *ret, struct err *e)
{
	struct checkpoint out = { 0 };
	struct collector c;
	uint64_t from_ns = 0;
	int r = collector_init(&c, t);

	c.point_events = q->point_events ? q->point_events : POINT_EVENTS;
	c.times_live = q->point_events ? 0 : POINT_TIMES_LIVE;
	if (r == 0 && !q->no_points)
		r = checkpoint_file_open(&c.points, t);
	if (r == 0 && c.points)
		r = begin_at_point(&c, at_ns, q->kind_mask, &from_ns);
	/* a stored checkpoint has all kinds */
	if (r >= 0 && (q->kind_mask & CARRIED_KINDS) != CARRIED_KINDS) {
		checkpoint_file_free(c.points);
		c.points = NULL;
	}
	if (r >= 0)
		r = take_all(&c, from_ns, at_ns, q->kind_mask, e);
	if (r >= 0)
		r = make_checkpoint(&c, at_ns, &out);
	if (r >= 0 && c.points)
		checkpoint_file_save(c.points);
	collector_done(&c);
	if (r < 0) {
		checkpoint_done(&out);
		return err_set(e, r, "%s", err_text(e, r));
	}
	*ret = out;
	return 0;
}

void checkpoint_done(struct checkpoint *c)
{
	free(c->events);
	free(c->memory);
	*c = (struct checkpoint){ 0 };
}
