/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_memory: pairs allocations and frees by address, and converts reported levels to steps.
 *
 * The state of an interval consists of notes: the processes that change in the interval, as they
 * were at its beginning, and the older objects that an operation of the interval ends or splits,
 * each with the operation's number. The whole state is all processes and all live objects.
 *
 * For example, slab events of threads A and B, and the changes found:
 *
 *     A allocates 64 bytes at 0x10    ALLOC  A  +64
 *     B frees 0x10                    FREE   A  -64: credited to the thread that allocated
 *     B allocates 32 bytes at 0x10    ALLOC  B  +32
 *     A allocates 96 bytes at 0x10    LOST   B  -32: the free was lost; then ALLOC  A  +96
 *     B frees 0x20                    UNPAIRED: allocated before the trace
 */
#include "analyze/fold/fold_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/folds.h"
#include "base/array.h"
#include "model/live_objects.h"

/* fold_levels: a process is initialized when it first occurs in a keyframe, an event or a reset. */

struct level {
	struct mem_process mem;
	bool is_met;
};

struct levels_machine {
	struct fold_machine f;
	struct level *levels;	/* indexed by dense_process() */
};

static int levels_open(void *machine)
{
	struct levels_machine *m = machine;

	m->levels = calloc(m->f.a->ids.process_cnt, sizeof(*m->levels));
	return m->levels ? 0 : -ENOMEM;
}

static void levels_close(void *machine)
{
	free(((struct levels_machine *)machine)->levels);
}

/* Sets *ret to the state of a (dense) process before its baseline and its first event. */
static void fold_levels_fresh(const struct analysis *a, uint32_t process, struct mem_process *ret)
{
	const struct trace_process *p = dense_process_row(&a->ids, process);

	/*
	 * the start of a process without a fork event is unknown, and so is its memory until its
	 * first event
	 */
	mem_process_init(ret, p && !(p->flags & TRACE_TASK_AT_START) && p->start_ns >= a->start_ns);
}

/* Returns the state of a process. NULL: unknown process. */
static struct mem_process *process_of(struct levels_machine *m, uint32_t process)
{
	struct level *l = &m->levels[process];

	if (process < EVENT_ID_FIRST)
		return NULL;
	if (!l->is_met)
		fold_levels_fresh(m->f.a, process, &l->mem);
	l->is_met = true;
	return &l->mem;
}

static int emit_levels(struct levels_machine *m, uint32_t process, uint64_t ts_ns, bool is_exec)
{
	return fold_found(&m->f, &(struct level_found){ ts_ns, process, is_exec,
							&m->levels[process].mem });
}

static int levels_start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	struct levels_machine *m = machine;
	const struct trace_rss *rows;
	size_t cnt = 0, i;
	int ret = 0;

	if (!block)
		rows = trace_rss_baselines(m->f.a->trace, &cnt);
	else
		ret = trace_block_rss(m->f.a->trace, block, &rows, &cnt, e);
	if (ret == -EBADMSG)	/* the memory at a damaged block is unknown */
		ret = 0;
	for (i = 0; !ret && i < cnt; i++) {
		uint32_t process = dense_process(&m->f.a->ids, rows[i].upid);
		struct mem_process *p = process_of(m, process);

		/*
		 * the first of several baselines is used; a keyframe has only one row per process
		 */
		if (p && (block || !(p->known || p->born_inside)))
			mem_process_baseline(p, &rows[i]);
		if (p)
			ret = emit_levels(m, process, from_ns, false);
	}
	return ret;
}

static int on_event(void *machine, const struct event *ev)
{
	struct levels_machine *m = machine;
	/* RSS and VM events store the process in the same column */
	uint32_t process = dense_process(&m->f.a->ids, (uint32_t)ev->v[EV_RSS_UPID]);
	struct mem_process *p = process_of(m, process);
	struct mem_step step;

	if (!p)
		return 0;
	mem_process_event(p, ev, &step);
	return emit_levels(m, process, ev->ts_ns, false);
}

static int levels_on_reset(void *machine, const struct trace_mm_reset *t)
{
	struct levels_machine *m = machine;
	uint32_t process = dense_process(&m->f.a->ids, t->upid);
	struct mem_process *p = process_of(m, process);
	uint64_t own[MEM_LEVEL_CNT];
	struct mem_step rss, vm;

	if (!p)
		return 0;
	if (t->kind == TRACE_MM_RESET_EXIT)
		mem_process_exit(p, &rss, &vm);
	else
		mem_process_exec(p, &rss, own);
	return emit_levels(m, process, t->ts_ns, t->kind == TRACE_MM_RESET_EXEC);
}

static const uint32_t level_columns[EVENT_KIND_CNT] = {
	[EVENT_RSS] = 1u << EV_RSS_UPID | 1u << EV_RSS_MEMBER | 1u << EV_RSS_BYTES,
	[EVENT_VM] = 1u << EV_VM_UPID | 1u << EV_VM_TOTAL_VM_BYTES,
};

const struct fold_def fold_levels = {
	.kinds = 1u << EVENT_RSS | 1u << EVENT_VM, .columns = level_columns,
	.begin = FOLD_FROM_EDGE, .bytes = sizeof(struct levels_machine), .open = levels_open,
	.close = levels_close, .start = levels_start, .event = on_event, .reset = levels_on_reset,
};

/* Levels need neither the call site nor the requested bytes. */
static const uint32_t memory_columns[EVENT_KIND_CNT] = {
	[EVENT_RSS] = 1u << EV_RSS_UPID | 1u << EV_RSS_MEMBER | 1u << EV_RSS_BYTES,
	[EVENT_VM] = 1u << EV_VM_UPID | 1u << EV_VM_TOTAL_VM_BYTES,
	[EVENT_SLAB_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SLAB_ALLOC_ADDR |
			     1u << EV_SLAB_ALLOC_BYTES,
	[EVENT_SLAB_FREE] = 1u << EV_SLAB_ALLOC_ADDR | 1u << EV_SLAB_FREE_CACHE,
	[EVENT_PAGE_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_PAGE_ALLOC_PFN |
			     1u << EV_PAGE_ALLOC_PAGE_ORDER,
	[EVENT_PAGE_FREE] = 1u << EV_PAGE_ALLOC_PFN | 1u << EV_PAGE_ALLOC_PAGE_ORDER,
	[EVENT_HEAP_ALLOC] = EVENT_COL_UTID | 1u << EV_HEAP_ALLOC_ADDR | 1u << EV_HEAP_ALLOC_BYTES,
	[EVENT_HEAP_FREE] = EVENT_COL_UTID | 1u << EV_HEAP_ALLOC_ADDR,
};

/* An object older than the interval, added to the live objects before operation `op`. */
struct older_object {
	uint64_t op;
	int64_t addr;		/* relative to the operation's address */
	uint64_t bytes;
	uint32_t owner;
	uint8_t order;
};

struct process_state {
	struct mem_process mem;
	int64_t heap_bytes;
	/* value of `round` when a note of this process was last written */
	uint32_t note_round;
};

#define LEVEL_KINDS (1u << EVENT_RSS | 1u << EVENT_VM)
/*
 * An object's slot is prefetched this many events ahead. With 200,000 live objects this saves 4 %
 * of the CPU time of a trace's first allocation report.
 */
#define AHEAD_EVENTS 16

struct memory_machine {
	struct fold_machine f;
	const struct dense_ids *ids;
	uint32_t source_mask;
	struct object_pairs pairs;
	struct process_state *processes;	/* indexed by dense_process() */
	size_t process_cap;
	uint32_t process_cnt;
	struct alloc_change change;	/* the next change to report */
	/* allocations and frees in this interval so far, and the address of the last one */
	uint64_t op, op_addr;
	/* notes being written */
	uint32_t round;			/* number of the interval, from 1; 0: write no notes */
	uint32_t note_cnt;
	uint64_t note_op;		/* operation of the last object note */
	struct buf process_notes, object_notes;
	/* notes being applied */
	struct older_object *older;
	size_t older_cnt, older_cap, older_at;
};

static void machine_close(void *machine)
{
	struct memory_machine *x = machine;

	object_pairs_done(&x->pairs);
	free(x->processes);
	buf_done(&x->process_notes);
	buf_done(&x->object_notes);
	free(x->older);
}

static int machine_open(void *machine)
{
	struct memory_machine *x = machine;

	x->ids = &x->f.a->ids;
	x->source_mask = x->f.def->arg;
	x->process_cnt = x->ids->process_cnt;
	x->change.cnt = 1;
	if (array_reserve(&x->processes, &x->process_cap, x->process_cnt) < 0)
		return -ENOMEM;
	return object_pairs_init(&x->pairs, trace_page_bytes(x->f.a->trace), x->ids->process_cnt,
				 false);
}

/* ---- processes and objects as bytes ---- */

static void put_process(const struct memory_machine *x, uint32_t process, struct buf *out)
{
	const struct mem_process *m = &x->processes[process].mem;

	packed_put(out, dense_upid(x->ids, process));
	packed_put(out, m->known | (unsigned int)m->ended << 5);
	for (unsigned int i = 0; i < MEM_MEMBER_CNT; i++)
		packed_put(out, m->bytes[i]);
	packed_put(out, m->vm_bytes);
	for (unsigned int i = 0; i < MEM_LEVEL_CNT; i++)
		packed_put(out, m->inherited[i]);
	packed_put_signed(out, x->processes[process].heap_bytes);
}

static int get_process(struct memory_machine *x, struct packed_in *in)
{
	uint32_t p = dense_process(x->ids, (uint32_t)packed_get(in));
	struct mem_process *m = &x->processes[p].mem;
	uint64_t known = packed_get(in);

	fold_levels_fresh(x->f.a, p, m);
	m->known = (uint8_t)(known & 0x1f);
	m->ended = known >> 5 & 1;
	for (unsigned int i = 0; i < MEM_MEMBER_CNT; i++)
		m->bytes[i] = packed_get(in);
	m->vm_bytes = packed_get(in);
	for (unsigned int i = 0; i < MEM_LEVEL_CNT; i++)
		m->inherited[i] = packed_get(in);
	x->processes[p].heap_bytes = packed_get_signed(in);
	return in->bad ? -EBADMSG : 0;
}

/* Returns the family whose live objects are kept in the index. */
static enum object_family kept_family(const struct memory_machine *x)
{
	return x->source_mask & 1u << ALLOC_SLAB ? OBJECT_SLAB :
	       x->source_mask & 1u << ALLOC_PAGE ? OBJECT_PAGE : OBJECT_HEAP;
}

static struct live_objects *kept_objects(const struct memory_machine *x)
{
	return x->pairs.of[kept_family(x)];
}

/*
 * Returns whether the object can still be freed; false if its heap has ended with an exec or exit.
 */
static bool is_kept(const struct memory_machine *x, const struct live_object *obj)
{
	return obj->space == object_pairs_space(&x->pairs, kept_family(x),
						dense_process_of(x->ids, obj->owner));
}

static void put_object(const struct memory_machine *x, const struct live_object *obj,
		       uint64_t from_addr, struct buf *out)
{
	const struct live_kind *k = live_objects_kind(kept_objects(x), obj->kind);

	packed_put_signed(out, (int64_t)(obj->addr - from_addr));
	packed_put(out, dense_utid(x->ids, obj->owner));
	packed_put(out, k->bytes);
	if (x->source_mask & 1u << ALLOC_PAGE)
		packed_put(out, k->order);
}

static void get_object(const struct memory_machine *x, struct packed_in *in,
		       struct older_object *ret)
{
	ret->addr = packed_get_signed(in);
	ret->owner = dense_thread(x->ids, (uint32_t)packed_get(in));
	ret->bytes = packed_get(in);
	ret->order = x->source_mask & 1u << ALLOC_PAGE ? (uint8_t)packed_get(in) : 0;
}

static int add_object(struct memory_machine *x, struct live_objects *o, uint32_t space,
		      uint64_t addr, const struct older_object *older)
{
	struct live_kind k = { .bytes = older->bytes, .bytes_req = older->bytes,
			       .order = older->order };

	return live_objects_add(o, space, addr, 0, older->owner, &k, NULL, NULL);
}

/* ---- events ---- */

/* Writes a note of the process before it changes or is first used. */
static void note_process(struct memory_machine *x, uint32_t process)
{
	if (x->processes[process].note_round == x->round)
		return;
	x->processes[process].note_round = x->round;
	x->note_cnt++;
	put_process(x, process, &x->process_notes);
}

/* Resets all processes from row `from` on to their state before any event. */
static void forget_processes(struct memory_machine *x, uint32_t from)
{
	for (uint32_t i = from; i < x->process_cnt; i++)
		fold_levels_fresh(x->f.a, i, &x->processes[i].mem);
}

static int resume(void *machine)
{
	struct memory_machine *x = machine;
	uint32_t before = x->process_cnt, cnt = x->ids->process_cnt;

	if (array_reserve(&x->processes, &x->process_cap, cnt) < 0 ||
	    object_pairs_grow(&x->pairs, before, cnt) < 0)
		return -ENOMEM;
	x->process_cnt = cnt;
	forget_processes(x, before);
	return 0;
}

/* Adds the older objects that the current operation needs. */
static int put_back(struct memory_machine *x, struct live_objects *o, uint32_t space)
{
	int ret = 0;

	for (; !ret && x->older_at < x->older_cnt && x->older[x->older_at].op == x->op;
	     x->older_at++)
		ret = add_object(x, o, space, x->op_addr + (uint64_t)x->older[x->older_at].addr,
				 &x->older[x->older_at]);
	return ret;
}

static int give(struct memory_machine *x, uint32_t thread, uint32_t process, unsigned int kind,
		int64_t delta)
{
	x->change.thread = thread;
	x->change.process = process;
	x->change.kind = (uint8_t)kind;
	x->change.delta = delta;
	if (x->change.source == ALLOC_HEAP) {
		note_process(x, process);
		x->processes[process].heap_bytes += delta;
	}
	return fold_found(&x->f, &x->change);
}

static int give_step(struct memory_machine *x, enum alloc_source source, uint32_t process,
		     const struct mem_step *s, unsigned int kind)
{
	int64_t own = (int64_t)(s->after - s->before) - s->inherited;
	int ret = 0;

	if (!(x->source_mask & 1u << source) || s->before == s->after)
		return 0;
	x->change.source = (uint8_t)source;
	if (s->inherited)
		ret = give(x, EVENT_ID_UNKNOWN, process, ALLOC_CHANGE_BASELINE, s->inherited);
	if (s->is_baseline)
		kind = ALLOC_CHANGE_BASELINE;
	else if (!kind)
		kind = s->after > s->before ? ALLOC_CHANGE_ALLOC : ALLOC_CHANGE_FREE;
	return ret < 0 || !own ? ret : give(x, EVENT_ID_UNKNOWN, process, kind, own);
}

/* Reports the baselines, which precede all events. */
static int start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	struct memory_machine *x = machine;
	const struct trace_rss *rows;
	size_t cnt = 0, i;
	uint32_t p;
	int ret = 0;

	forget_processes(x, 0);
	x->change.ts_ns = block ? from_ns : x->f.a->start_ns;
	if (!block)
		rows = trace_rss_baselines(x->f.a->trace, &cnt);
	else if (x->f.def->kinds & LEVEL_KINDS)
		ret = trace_block_rss(x->f.a->trace, block, &rows, &cnt, e);
	if (ret == -EBADMSG)	/* the memory at a damaged block is unknown */
		ret = 0;
	for (i = 0; i < cnt && !ret; i++) {
		struct mem_step rss = { 0 }, vm = { 0 };

		p = dense_process(x->ids, rows[i].upid);
		/* use the first row: a later row (of the process's end) is not a baseline */
		if (p < EVENT_ID_FIRST || x->processes[p].mem.known ||
		    x->processes[p].mem.born_inside)
			continue;
		mem_process_baseline(&x->processes[p].mem, &rows[i]);
		rss.after = mem_process_rss(&x->processes[p].mem);
		vm.after = x->processes[p].mem.vm_bytes;
		ret = give_step(x, ALLOC_RSS, p, &rss, ALLOC_CHANGE_BASELINE);
		ret = ret ?: give_step(x, ALLOC_VM, p, &vm, ALLOC_CHANGE_BASELINE);
	}
	return ret;
}

/*
 * Reports an exec, and the resulting step of the level. Inherited bytes become the process's own.
 */
static int give_exec(struct memory_machine *x, enum alloc_source source, uint32_t process,
		     uint64_t own, const struct mem_step *s)
{
	int ret = 0;

	if (!(x->source_mask & 1u << source))
		return 0;
	x->change.source = (uint8_t)source;
	if (own) {
		ret = give(x, EVENT_ID_UNKNOWN, process, ALLOC_CHANGE_BASELINE, -(int64_t)own);
		ret = ret < 0 ? ret : give(x, EVENT_ID_UNKNOWN, process, ALLOC_CHANGE_ALLOC,
					   (int64_t)own);
	}
	ret = ret < 0 ? ret : give_step(x, source, process, s, ALLOC_CHANGE_EXIT);
	return ret < 0 ? ret : give(x, EVENT_ID_UNKNOWN, process, ALLOC_CHANGE_EXEC, 0);
}

static int on_reset(void *machine, const struct trace_mm_reset *t)
{
	struct memory_machine *x = machine;
	uint32_t process = dense_process(x->ids, t->upid);
	struct mem_step rss = { 0 }, vm = { 0 };
	uint64_t own[MEM_LEVEL_CNT];
	int ret;

	note_process(x, process);
	x->change.ts_ns = t->ts_ns;
	if (x->processes[process].heap_bytes) {
		x->change.source = ALLOC_HEAP;
		ret = give(x, EVENT_ID_UNKNOWN, process, ALLOC_CHANGE_EXIT,
			   -x->processes[process].heap_bytes);
		if (ret < 0)
			return ret;
	}
	object_pairs_reset(&x->pairs, process);
	if (t->kind == TRACE_MM_RESET_EXEC) {
		mem_process_exec(&x->processes[process].mem, &rss, own);
		ret = give_exec(x, ALLOC_RSS, process, own[MEM_RSS], &rss);
		return ret < 0 ? ret : give_exec(x, ALLOC_VM, process, own[MEM_VM], &vm);
	}
	mem_process_exit(&x->processes[process].mem, &rss, &vm);
	ret = give_step(x, ALLOC_RSS, process, &rss, ALLOC_CHANGE_EXIT);
	return ret < 0 ? ret : give_step(x, ALLOC_VM, process, &vm, ALLOC_CHANGE_EXIT);
}

/* Returns the bytes that a sampled object represents, and sets the count of the next change. */
static uint64_t weigh(struct memory_machine *x, uint64_t bytes)
{
	uint64_t mean = x->change.source == ALLOC_HEAP ? x->f.a->heap_mean : 0;

	if (!mean)
		return bytes;
	x->change.cnt = heap_weight_cnt(mean, bytes);
	return heap_weight_bytes(mean, bytes);
}

static int on_object_end(void *ctx, const struct live_object *obj, uint64_t bytes,
			 enum live_end end)
{
	struct memory_machine *x = ctx;

	return give(x, obj->owner, dense_process_of(x->ids, obj->owner),
		    end == LIVE_LOST ? ALLOC_CHANGE_LOST : ALLOC_CHANGE_FREE,
		    -(int64_t)weigh(x, bytes));
}

/* Returns the bytes of a freed object without a recorded allocation. */
static uint64_t unpaired_bytes(const struct memory_machine *x, const struct event *ev,
			       uint64_t unknown)
{
	const struct trace_name *n;

	if (ev->kind == EVENT_PAGE_FREE)
		return unknown;
	if (ev->kind != EVENT_SLAB_FREE || !ev->v[EV_SLAB_FREE_CACHE])
		return 0;
	n = trace_name_find(x->f.a->trace, TRACE_NAME_CACHE, ev->v[EV_SLAB_FREE_CACHE]);
	return n && n->arg < 1u << 30 ? n->arg : 0;
}

static int on_object(struct memory_machine *x, const struct event *ev)
{
	struct object_event o;
	uint32_t thread, process;
	uint64_t unknown;
	int ret = 0;

	object_event_read(ev, x->pairs.page_bytes, &o);
	thread = dense_thread(x->ids, o.utid);
	process = dense_process_of(x->ids, thread);
	x->change.source = (uint8_t)alloc_source_of(o.family);
	x->op++;
	x->op_addr = o.addr;
	if (x->older_at < x->older_cnt && x->older[x->older_at].op == x->op)
		ret = put_back(x, x->pairs.of[o.family],
			       object_pairs_space(&x->pairs, o.family, process));
	if (ret >= 0)
		ret = object_pairs_event(&x->pairs, &o, ev->ts_ns, thread, process, on_object_end,
					 x, &unknown);
	if (ret < 0)
		return ret;
	if (o.is_alloc)
		return give(x, thread, process, ALLOC_CHANGE_ALLOC,
			    (int64_t)weigh(x, o.kind.bytes));
	if (!unknown)
		return ret;
	if (o.family == OBJECT_HEAP && x->f.a->heap_mean)
		return ret;	/* the number of bytes that a sampled free represents is unknown */
	/*
	 * an unpaired free does not lower the heap's level, which counts only this trace's
	 * allocations
	 */
	return give(x, EVENT_ID_UNKNOWN, EVENT_ID_UNKNOWN, ALLOC_CHANGE_UNPAIRED,
		    o.family == OBJECT_HEAP ? 0 : -(int64_t)unpaired_bytes(x, ev, unknown));
}

static int on_level(struct memory_machine *x, const struct event *ev)
{
	uint32_t p = dense_process(x->ids, (uint32_t)ev->v[EV_RSS_UPID]);
	struct mem_step step = { 0 };

	if (p < EVENT_ID_FIRST)
		return 0;
	note_process(x, p);
	if (!mem_process_event(&x->processes[p].mem, ev, &step))
		return 0;
	return give_step(x, ev->kind == EVENT_VM ? ALLOC_VM : ALLOC_RSS, p, &step, 0);
}

static void prefetch(const struct memory_machine *x, const struct event *ev)
{
	int family = object_family_of(ev->kind);

	if (family == OBJECT_SLAB || family == OBJECT_PAGE)
		live_objects_prefetch(x->pairs.of[family], 0, ev->v[0]);
}

static int on_events(void *machine, const struct event *ev, size_t cnt)
{
	struct memory_machine *x = machine;
	int ret = 0;

	for (size_t i = 0; i < cnt && i < AHEAD_EVENTS; i++)
		prefetch(x, &ev[i]);
	for (size_t i = 0; i < cnt && ret >= 0; i++) {
		if (i + AHEAD_EVENTS < cnt)
			prefetch(x, &ev[i + AHEAD_EVENTS]);
		x->change.ts_ns = ev[i].ts_ns;
		ret = 1u << ev[i].kind & LEVEL_KINDS ? on_level(x, &ev[i]) : on_object(x, &ev[i]);
	}
	return ret;
}

/* ---- states ---- */

static void on_older(void *ctx, const struct live_object *obj)
{
	struct memory_machine *x = ctx;

	packed_put(&x->object_notes, x->op - x->note_op);
	put_object(x, obj, x->op_addr, &x->object_notes);
	x->note_op = x->op;
}

static void begin_interval(void *m, uint64_t from_ns)
{
	struct memory_machine *x = m;

	x->round++;
	x->note_cnt = 0;
	x->op = x->note_op = 0;
	buf_reset(&x->process_notes);
	buf_reset(&x->object_notes);
	live_objects_begin_notes(kept_objects(x), on_older, x);
}

static void put_interval(void *m, struct buf *out)
{
	const struct memory_machine *x = m;

	if (!x->note_cnt && !x->object_notes.len)
		return;
	packed_put(out, x->note_cnt);
	buf_add(out, x->process_notes.data, x->process_notes.len);
	buf_add(out, x->object_notes.data, x->object_notes.len);
	out->failed |= x->process_notes.failed | x->object_notes.failed;
}

struct saving {
	const struct memory_machine *x;
	struct buf *out;	/* NULL: only count the objects */
	uint64_t last_addr;
	size_t cnt;
};

static int save_object(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	struct saving *s = ctx;
	const struct memory_machine *x = s->x;

	if (!is_kept(x, obj))
		return 0;
	s->cnt++;
	if (!s->out)
		return 0;
	put_object(x, obj, s->last_addr, s->out);
	s->last_addr = obj->addr;
	return s->out->failed ? -ENOMEM : 0;
}

static void add_rows(struct buf *out, size_t cnt, struct buf *rows)
{
	packed_put(out, cnt);
	buf_add(out, rows->data, rows->len);
	out->failed |= rows->failed;
	buf_done(rows);
}

static void save(void *m, uint64_t at_ns, struct buf *out)
{
	const struct memory_machine *x = m;
	struct saving s = { .x = x };
	struct buf rows = { 0 };
	uint32_t cnt = 0, i;

	for (i = 0; i < x->process_cnt; i++) {
		struct mem_process fresh;

		fold_levels_fresh(x->f.a, i, &fresh);
		if (!x->processes[i].heap_bytes && mem_process_same(&fresh, &x->processes[i].mem))
			continue;
		put_process(x, i, &rows);
		cnt++;
	}
	add_rows(out, cnt, &rows);
	/* count first, then write: a second buffer for all objects might be large */
	(void)live_objects_rest(kept_objects(x), save_object, &s);
	packed_put(out, s.cnt);
	s.out = out;
	(void)live_objects_rest(kept_objects(x), save_object, &s);
}

struct carrying {
	const struct memory_machine *x;
	struct checkpoint *to;
	uint64_t at_ns;
};

static int carry_object(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	const struct carrying *s = ctx;
	const struct memory_machine *x = s->x;

	if (!is_kept(x, obj))
		return 0;
	return checkpoint_add_object(s->to, s->at_ns,
				     (enum checkpoint_part)(CHECKPOINT_SLAB + x->f.def->group), obj,
				     live_objects_kind(kept_objects(x), obj->kind),
				     dense_utid(x->ids, obj->owner));
}

static int checkpoint_memory(void *m, uint64_t at_ns, struct checkpoint *ret)
{
	struct memory_machine *x = m;
	struct carrying s = { x, ret, at_ns };
	size_t cnt, i;
	const struct trace_process *p = trace_processes(x->f.a->trace, &cnt);
	int r = 0;

	if (!(x->source_mask & 1u << ALLOC_RSS))
		return live_objects_rest(kept_objects(x), carry_object, &s);
	for (i = 0; i < cnt && r == 0; i++)
		r = checkpoint_add_memory(ret, at_ns, &p[i],
					  &x->processes[dense_process(x->ids, p[i].upid)].mem);
	return r;
}

static int restore(void *m, uint64_t at_ns, const struct checkpoint *from)
{
	struct memory_machine *x = m;
	struct mem_process *of;
	int ret = trace_mm_resets_prepare(x->f.a->trace);

	ret = ret ?: start(m, at_ns, 0, NULL);
	/* apply older resets, so that an object of a process that has ended is not live */
	for (size_t i = 0; x->f.def->reset && i < trace_mm_reset_cnt(x->f.a->trace) && !ret; i++) {
		const struct trace_mm_reset *reset = trace_mm_reset_at(x->f.a->trace, i);

		if (reset->ts_ns >= at_ns)
			break;
		ret = on_reset(m, reset);
	}
	for (size_t i = 0; i < from->event_cnt && !ret; i++)
		ret = x->f.def->kinds >> from->events[i].kind & 1 ?
			      on_events(m, &from->events[i], 1) : -EBADMSG;
	for (size_t i = 0; i < from->memory_cnt; i++) {
		of = &x->processes[dense_process(x->ids, from->memory[i].upid)].mem;
		mem_process_init(of, false);
		mem_process_baseline(of, &from->memory[i]);
	}
	return ret;
}

static int load_notes(struct memory_machine *x, struct packed_in *in)
{
	uint64_t op = 0;

	while (in->p != in->end && !in->bad) {
		struct older_object *older;

		if (array_reserve(&x->older, &x->older_cap, x->older_cnt + 1) < 0)
			return -ENOMEM;
		older = &x->older[x->older_cnt++];
		op += packed_get(in);
		older->op = op;
		get_object(x, in, older);
	}
	return in->bad ? -EBADMSG : 0;
}

static int load_objects(struct memory_machine *x, struct packed_in *in)
{
	struct live_objects *o = kept_objects(x);
	struct older_object older;
	uint64_t addr = 0;
	size_t cnt = packed_get_cnt(in);
	int ret = live_objects_reserve(o, cnt);

	for (; cnt && !ret && !in->bad; cnt--) {
		get_object(x, in, &older);
		addr += (uint64_t)older.addr;
		ret = add_object(x, o, object_pairs_space(&x->pairs, kept_family(x),
							  dense_process_of(x->ids, older.owner)),
				 addr, &older);
	}
	return ret < 0 ? ret : in->bad ? -EBADMSG : 0;
}

static int load(void *m, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	struct memory_machine *x = m;
	int ret = 0;

	x->op = 0;
	x->older_cnt = x->older_at = 0;
	live_objects_clear(kept_objects(x));
	if (is_tail) {
		forget_processes(x, 0);
		for (size_t cnt = packed_get_cnt(in); cnt; cnt--) {
			packed_get(in);
			packed_get_signed(in);
		}
	}
	/* the notes contain every process that matters in the interval */
	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
	for (size_t cnt = packed_get_cnt(in); cnt && !ret; cnt--)
		ret = get_process(x, in);
	if (ret < 0 || in->bad)
		return -EBADMSG;
	return is_tail ? load_objects(x, in) : load_notes(x, in);
}

/* ---- the folds ---- */

static const struct fold_state_def memory_state = {
	.part = INDEX_STATE, .tail = INDEX_TAIL_MEMORY, .begin_interval = begin_interval,
	.put_interval = put_interval, .save = save, .load = load,
};

#define GROUP_FOLD(g, event_kinds, mask, on_reset_)                                               \
	[g] = {                                                                                   \
		.kinds = event_kinds, .columns = memory_columns, .state = &memory_state,          \
		.group = g, .arg = mask, .bytes = sizeof(struct memory_machine),                  \
		.open = machine_open, .close = machine_close, .start = start,                     \
		.events = on_events, .reset = on_reset_, .checkpoint = checkpoint_memory,         \
		.restore = restore, .resume = resume,                                             \
	}

static const struct fold_def group_folds[INDEX_GROUP_CNT] = {
	GROUP_FOLD(INDEX_SLAB, 1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE, 1u << ALLOC_SLAB,
		   NULL),
	GROUP_FOLD(INDEX_PAGE, 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE, 1u << ALLOC_PAGE,
		   NULL),
	GROUP_FOLD(INDEX_LEVELS, 1u << EVENT_RSS | 1u << EVENT_VM, 1u << ALLOC_RSS | 1u << ALLOC_VM,
		   on_reset),
	GROUP_FOLD(INDEX_HEAP, 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE, 1u << ALLOC_HEAP,
		   on_reset),
};

const struct fold_def *fold_memory(enum index_group group)
{
	return &group_folds[group];
}

/* alloc_source: the sources of memory events. */

static const struct {
	const char *name;	/* name of the event source */
	uint32_t kinds;		/* kinds of events: 1u << EVENT_x */
} sources[ALLOC_SOURCE_CNT] = {
	[ALLOC_RSS] = { "alloc.rss", 1u << EVENT_RSS },
	[ALLOC_SLAB] = { "alloc.slab", 1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE },
	[ALLOC_PAGE] = { "alloc.page", 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE },
	[ALLOC_VM] = { "alloc.vm", 1u << EVENT_VM },
	[ALLOC_HEAP] = { "alloc.heap", 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE },
};

const char *alloc_source_name(unsigned int source)
{
	return source < ALLOC_SOURCE_CNT ? sources[source].name + strlen("alloc.") : "?";
}

int alloc_source_find(const char *name, size_t len)
{
	for (unsigned int i = 0; i < ALLOC_SOURCE_CNT; i++)
		if (strlen(alloc_source_name(i)) == len && !memcmp(alloc_source_name(i), name, len))
			return (int)i;
	return -1;
}

uint32_t alloc_source_kinds(unsigned int source)
{
	return sources[source].kinds;
}

const char *alloc_source_event_source(unsigned int source)
{
	return sources[source].name;
}

enum alloc_source alloc_source_of(unsigned int family)
{
	static const uint8_t of[OBJECT_FAMILY_CNT] = {
		[OBJECT_SLAB] = ALLOC_SLAB, [OBJECT_PAGE] = ALLOC_PAGE, [OBJECT_HEAP] = ALLOC_HEAP,
	};

	return of[family];
}
