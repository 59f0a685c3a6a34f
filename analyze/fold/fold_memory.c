/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Allocations and frees are paired by address; levels are steps from one reported value to the
 * next.
 */
#include "analyze/fold/fold_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_memory_state.h"

#define PAGE_BYTES_DEFAULT 4096

static const char *const source_names[ALLOC_SOURCE_CNT] = { "rss", "slab", "page", "vm", "heap" };

const char *alloc_source_name(unsigned int source)
{
	return source < ALLOC_SOURCE_CNT ? source_names[source] : "?";
}

int alloc_source_find(const char *name, size_t len)
{
	int i;

	for (i = 0; i < ALLOC_SOURCE_CNT; i++)
		if (strlen(source_names[i]) == len && !memcmp(source_names[i], name, len))
			return i;
	return -1;
}

uint32_t alloc_page_bytes(const struct trace *t)
{
	const char *s = trace_get(t, "page_bytes");
	unsigned long v = s ? strtoul(s, NULL, 10) : 0;

	return v >= 512 && v <= 1u << 24 ? (uint32_t)v : PAGE_BYTES_DEFAULT;
}

static uint32_t kinds_of(uint32_t source_mask)
{
	uint32_t kinds = 0;

	if (source_mask & 1u << ALLOC_RSS)
		kinds |= 1u << EVENT_RSS;
	if (source_mask & 1u << ALLOC_VM)
		kinds |= 1u << EVENT_VM;
	if (source_mask & 1u << ALLOC_SLAB)
		kinds |= 1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE;
	if (source_mask & 1u << ALLOC_PAGE)
		kinds |= 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE;
	if (source_mask & 1u << ALLOC_HEAP)
		kinds |= 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE;
	return kinds;
}

/* Levels need who, what and how much: not the call site, nor what was asked for. */
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

static void machine_close(void *machine)
{
	struct memory_machine *x = machine;

	live_objects_free(x->slab);
	live_objects_free(x->pages);
	live_objects_free(x->heap);
	free(x->mem);
	free(x->heap_space);
	free(x->heap_bytes);
	free(x->noted);
	buf_done(&x->process_notes);
	buf_done(&x->object_notes);
	free(x->older);
	free(x);
}

static int machine_open(void **ret, const struct fold_def *def, struct analysis *a,
			const struct fold_sink *sink)
{
	struct memory_machine *x = calloc(1, sizeof(*x));
	uint32_t cnt = a->ids.process_cnt;

	if (!x)
		return -ENOMEM;
	x->a = a;
	x->sink = *sink;
	x->source_mask = def->arg;
	x->page_bytes = alloc_page_bytes(a->trace);
	x->heap_space_cnt = cnt;
	x->mem = calloc(cnt, sizeof(*x->mem));
	x->heap_space = calloc(cnt, sizeof(*x->heap_space));
	x->heap_bytes = calloc(cnt, sizeof(*x->heap_bytes));
	x->noted = calloc(cnt, sizeof(*x->noted));
	if (!x->mem || !x->heap_space || !x->heap_bytes || !x->noted ||
	    live_objects_new(&x->slab, 0) < 0 || live_objects_new(&x->pages, x->page_bytes) < 0 ||
	    live_objects_new(&x->heap, 0) < 0) {
		machine_close(x);
		return -ENOMEM;
	}
	*ret = x;
	return 0;
}

static int give(struct memory_machine *x, uint32_t thread, uint32_t process, unsigned int kind,
		int64_t delta)
{
	x->change.thread = thread;
	x->change.process = process;
	x->change.kind = (uint8_t)kind;
	x->change.delta = delta;
	if (x->change.source == ALLOC_HEAP) {
		memory_state_touch(x, process);
		x->heap_bytes[process] += delta;
	}
	return x->sink.found(x->sink.ctx, &x->change);
}

static int give_step(struct memory_machine *x, enum alloc_source source, uint32_t process,
		     const struct mem_step *s, unsigned int kind)
{
	if (!(x->source_mask & 1u << source) || s->before == s->after)
		return 0;
	x->change.source = (uint8_t)source;
	if (s->is_baseline)
		kind = ALLOC_CHANGE_BASELINE;
	else if (!kind)
		kind = s->after > s->before ? ALLOC_CHANGE_ALLOC : ALLOC_CHANGE_FREE;
	return give(x, EVENT_ID_UNKNOWN, process, kind, (int64_t)(s->after - s->before));
}

/* The baselines come first, before all events. */
static int start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	struct memory_machine *x = machine;
	size_t cnt, i;
	const struct trace_rss *rows = trace_rss_baselines(x->a->trace, &cnt);
	uint32_t p;
	int ret = 0;

	memory_state_begin(x);
	x->change.ts_ns = x->a->start_ns;
	for (i = 0; i < cnt && !ret; i++) {
		struct mem_step rss = { 0 }, vm = { 0 };

		p = dense_process(&x->a->ids, rows[i].upid);
		/* one row per process; a later one (of the end) is no baseline */
		if (p < EVENT_ID_FIRST || x->mem[p].known)
			continue;
		mem_process_baseline(&x->mem[p], &rows[i]);
		rss.after = mem_process_rss(&x->mem[p]);
		vm.after = x->mem[p].vm_bytes;
		ret = give_step(x, ALLOC_RSS, p, &rss, ALLOC_CHANGE_BASELINE);
		if (!ret)
			ret = give_step(x, ALLOC_VM, p, &vm, ALLOC_CHANGE_BASELINE);
	}
	return ret;
}

static int on_reset(void *machine, const struct trace_mm_reset *t)
{
	struct memory_machine *x = machine;
	uint32_t process = dense_process(&x->a->ids, t->upid);
	struct mem_step rss = { 0 }, vm = { 0 };
	int ret;

	memory_state_touch(x, process);
	x->change.ts_ns = t->ts_ns;
	if (x->heap_bytes[process]) {
		x->change.source = ALLOC_HEAP;
		ret = give(x, EVENT_ID_UNKNOWN, process, ALLOC_CHANGE_EXIT,
			   -x->heap_bytes[process]);
		if (ret < 0)
			return ret;
	}
	if (t->kind == TRACE_MM_RESET_EXEC) {
		x->heap_space[process] = x->heap_space_cnt++;
		mem_process_exec(&x->mem[process], &rss);
		return give_step(x, ALLOC_RSS, process, &rss, ALLOC_CHANGE_EXIT);
	}
	mem_process_exit(&x->mem[process], &rss, &vm);
	ret = give_step(x, ALLOC_RSS, process, &rss, ALLOC_CHANGE_EXIT);
	return ret < 0 ? ret : give_step(x, ALLOC_VM, process, &vm, ALLOC_CHANGE_EXIT);
}

void alloc_event_kind(const struct event *ev, uint32_t page_bytes, struct live_kind *k,
		      uint64_t *ret_addr)
{
	memset(k, 0, sizeof(*k));
	k->irq = !!(ev->flags & EVENT_F_IRQ);
	*ret_addr = ev->v[0];
	switch (ev->kind) {
	case EVENT_SLAB_ALLOC:
		k->bytes_req = ev->v[EV_SLAB_ALLOC_BYTES_REQ];
		k->bytes = ev->v[EV_SLAB_ALLOC_BYTES];
		k->call_site = ev->v[EV_SLAB_ALLOC_CALL_SITE];
		k->cache = ev->v[EV_SLAB_ALLOC_CACHE];
		break;
	case EVENT_PAGE_ALLOC:
		k->order = ev->v[EV_PAGE_ALLOC_PAGE_ORDER] < 64
				   ? (uint8_t)ev->v[EV_PAGE_ALLOC_PAGE_ORDER]
				   : 63;
		k->bytes = k->bytes_req = k->order < 32 ? (uint64_t)page_bytes << k->order : 0;
		k->gfp = (uint32_t)ev->v[EV_PAGE_ALLOC_GFP];
		k->migratetype = (uint16_t)ev->v[EV_PAGE_ALLOC_MIGRATETYPE];
		break;
	case EVENT_HEAP_ALLOC:
		k->bytes = k->bytes_req = ev->v[EV_HEAP_ALLOC_BYTES];
		k->call_site = ev->v[EV_HEAP_ALLOC_CALL_SITE];
		break;
	default:
		break;
	}
}

static int on_object_end(void *ctx, const struct live_object *obj, uint64_t bytes,
			 enum live_end end)
{
	struct memory_machine *x = ctx;

	return give(x, obj->owner, dense_process_of(&x->a->ids, obj->owner),
		    end == LIVE_LOST ? ALLOC_CHANGE_LOST : ALLOC_CHANGE_FREE, -(int64_t)bytes);
}

static struct live_objects *objects_of(struct memory_machine *x, unsigned int kind,
				       uint8_t *ret_source)
{
	switch (kind) {
	case EVENT_SLAB_ALLOC:
	case EVENT_SLAB_FREE:
		*ret_source = ALLOC_SLAB;
		return x->slab;
	case EVENT_PAGE_ALLOC:
	case EVENT_PAGE_FREE:
		*ret_source = ALLOC_PAGE;
		return x->pages;
	default:
		*ret_source = ALLOC_HEAP;
		return x->heap;
	}
}

/* Bytes of a freed object whose allocation is not on record. */
static uint64_t unpaired_bytes(const struct memory_machine *x, const struct event *ev,
			       uint64_t unknown)
{
	const struct trace_name *n;

	if (ev->kind == EVENT_PAGE_FREE)
		return unknown;
	if (ev->kind != EVENT_SLAB_FREE || !ev->v[EV_SLAB_FREE_CACHE])
		return 0;
	n = trace_name_find(x->a->trace, TRACE_NAME_CACHE, ev->v[EV_SLAB_FREE_CACHE]);
	return n && n->arg < 1u << 30 ? n->arg : 0;
}

static int on_object(struct memory_machine *x, const struct event *ev)
{
	const struct dense_ids *d = &x->a->ids;
	uint32_t thread = dense_thread(d, ev->utid), space = 0;
	struct live_objects *o = objects_of(x, ev->kind, &x->change.source);
	bool is_alloc = ev->kind == EVENT_SLAB_ALLOC || ev->kind == EVENT_PAGE_ALLOC ||
			ev->kind == EVENT_HEAP_ALLOC;
	struct live_kind kind;
	uint64_t addr, unknown;
	int ret;

	if (o == x->heap)
		space = memory_state_space(x, dense_process_of(d, thread));
	else if (ev->flags & EVENT_F_IRQ)
		thread = EVENT_ID_IRQ;
	x->op++;
	x->op_addr = ev->v[0];
	if (x->older_at < x->older_cnt && x->older[x->older_at].op == x->op) {
		ret = memory_state_put_back(x, o, space);
		if (ret < 0)
			return ret;
	}
	if (is_alloc) {
		alloc_event_kind(ev, x->page_bytes, &kind, &addr);
		ret = live_objects_add(o, space, addr, ev->ts_ns, thread, &kind, on_object_end, x);
		if (ret < 0)
			return ret;
		return give(x, thread, dense_process_of(d, thread), ALLOC_CHANGE_ALLOC,
			    (int64_t)kind.bytes);
	}
	ret = live_objects_end(o, space, ev->v[0],
			       ev->kind == EVENT_PAGE_FREE && ev->v[EV_PAGE_ALLOC_PAGE_ORDER] < 64
				       ? (unsigned int)ev->v[EV_PAGE_ALLOC_PAGE_ORDER]
				       : 0,
			       on_object_end, x, &unknown);
	if (ret < 0 || !unknown)
		return ret;
	/* the heap's level is what this trace saw: an unpaired free takes nothing from it */
	return give(x, EVENT_ID_UNKNOWN, EVENT_ID_UNKNOWN, ALLOC_CHANGE_UNPAIRED,
		    o == x->heap ? 0 : -(int64_t)unpaired_bytes(x, ev, unknown));
}

static int on_event(void *machine, const struct event *ev)
{
	struct memory_machine *x = machine;
	struct mem_step step;
	uint32_t p;

	x->change.ts_ns = ev->ts_ns;
	if (ev->kind != EVENT_RSS && ev->kind != EVENT_VM)
		return on_object(x, ev);
	p = dense_process(&x->a->ids, (uint32_t)ev->v[EV_RSS_UPID]);
	if (p < EVENT_ID_FIRST)
		return 0;
	memory_state_touch(x, p);
	if (!mem_process_event(&x->mem[p], ev, &step))
		return 0;
	return give_step(x, ev->kind == EVENT_VM ? ALLOC_VM : ALLOC_RSS, p, &step, 0);
}

/* ---- the folds ---- */

#define GROUP_STATE(g)                                                                            \
	[g] = {                                                                                   \
		.part = INDEX_STATE + (g), .tail = INDEX_TAIL_MEMORY + (g),                       \
		.begin_interval = memory_state_begin_interval,                                    \
		.put_interval = memory_state_put_interval, .save = memory_state_save,             \
		.load = memory_state_load,                                                        \
	}

static const struct fold_state_def group_states[INDEX_GROUP_CNT] = {
	GROUP_STATE(INDEX_SLAB), GROUP_STATE(INDEX_PAGE), GROUP_STATE(INDEX_LEVELS),
	GROUP_STATE(INDEX_HEAP),
};

#define GROUP_FOLD(g, event_kinds, mask, on_reset_)                                               \
	[g] = {                                                                                   \
		.kinds = event_kinds, .columns = memory_columns, .state = &group_states[g],       \
		.arg = mask, .open = machine_open, .close = machine_close, .start = start,        \
		.event = on_event, .reset = on_reset_,                                            \
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

void fold_memory_of(struct fold_def *ret, uint32_t source_mask)
{
	*ret = group_folds[INDEX_HEAP];
	ret->state = NULL;
	ret->kinds = kinds_of(source_mask);
	ret->arg = source_mask;
	if (!(source_mask & (1u << ALLOC_HEAP | 1u << ALLOC_RSS | 1u << ALLOC_VM)))
		ret->reset = NULL;
}
