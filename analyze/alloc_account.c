/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Merges two streams: events from the trace's cursor, and exec and exit of processes (trace_turn_at()).
 * At one instant an exit comes after the events.
 */
#include "analyze/alloc_account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/alloc_state.h"

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

static int account_init(struct alloc_account *x)
{
	uint32_t cnt = x->a->ident.process_cnt;

	x->page_bytes = alloc_page_bytes(x->a->trace);
	x->mem = calloc(cnt, sizeof(*x->mem));
	x->heap_space = calloc(cnt, sizeof(*x->heap_space));
	x->heap_bytes = calloc(cnt, sizeof(*x->heap_bytes));
	x->noted = calloc(cnt, sizeof(*x->noted));
	if (!x->mem || !x->heap_space || !x->heap_bytes || !x->noted ||
	    live_objects_new(&x->slab, 0) < 0 || live_objects_new(&x->pages, x->page_bytes) < 0 ||
	    live_objects_new(&x->heap, 0) < 0)
		return -ENOMEM;
	x->heap_space_cnt = cnt;
	return 0;
}

/* What is known of each process when nothing was seen of it yet. */
void alloc_state_fresh(const struct alloc_account *x, uint32_t process, struct mem_process *ret)
{
	const struct trace_process *p = ident_process_row(&x->a->ident, process);

	/* a fork that was lost has no start: what it held before its first event is not known */
	mem_process_init(ret, p && !(p->flags & TRACE_TASK_AT_START) &&
			      p->start_ns >= x->a->start_ns);
}

/* Levels need who, what and how much: not the call site, nor what was asked for. */
static const uint32_t account_columns[EVENT_KIND_CNT] = {
	[EVENT_RSS] = 1u << EV_RSS_UPID | 1u << EV_RSS_MEMBER | 1u << EV_RSS_BYTES,
	[EVENT_VM] = 1u << EV_VM_UPID | 1u << EV_VM_TOTAL,
	[EVENT_SLAB_ALLOC] =
		EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SLAB_ADDR | 1u << EV_SLAB_BYTES,
	[EVENT_SLAB_FREE] = 1u << EV_SLAB_ADDR | 1u << EV_SLAB_FREE_CACHE,
	[EVENT_PAGE_ALLOC] =
		EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_PAGE_PFN | 1u << EV_PAGE_ORDER,
	[EVENT_PAGE_FREE] = 1u << EV_PAGE_PFN | 1u << EV_PAGE_ORDER,
	[EVENT_HEAP_ALLOC] = EVENT_COL_UTID | 1u << EV_HEAP_ADDR | 1u << EV_HEAP_BYTES,
	[EVENT_HEAP_FREE] = EVENT_COL_UTID | 1u << EV_HEAP_ADDR,
};

static int open_at(struct alloc_account **ret, struct analysis *a, uint32_t source_mask,
		   const struct alloc_account_start *start, uint64_t until_ns,
		   alloc_account_sink sink, void *ctx, struct err *e)
{
	struct alloc_account *x = calloc(1, sizeof(*x));
	uint32_t i;
	int r;

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	x->a = a;
	x->sink = sink;
	x->ctx = ctx;
	x->source_mask = source_mask;
	r = account_init(x);
	if (!r && source_mask & (1u << ALLOC_HEAP | 1u << ALLOC_RSS | 1u << ALLOC_VM)) {
		r = trace_turns_prepare(a->trace);
		x->turn_cnt = trace_turn_cnt(a->trace);
	}
	/* a cell's notes have every process that matters there */
	for (i = 0; !r && i < a->ident.process_cnt && (!start || start->whole); i++)
		alloc_state_fresh(x, i, &x->mem[i]);
	if (!r && start)
		r = alloc_state_load(x, start);
	if (r < 0)
		err_set(e, r, "%s", err_text(NULL, r));
	else
		r = event_cursor_open_columns(&x->cursor, a->trace, kinds_of(source_mask),
					      account_columns, start ? start->from_ns : 0,
					      until_ns, e);
	if (r < 0) {
		alloc_account_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

int alloc_account_open(struct alloc_account **ret, struct analysis *a, uint32_t source_mask,
		       uint64_t until_ns, alloc_account_sink sink, void *ctx, struct err *e)
{
	return open_at(ret, a, source_mask, NULL, until_ns, sink, ctx, e);
}

int alloc_account_open_cell(struct alloc_account **ret, struct analysis *a, uint32_t source_mask,
			    const struct alloc_account_start *start, uint64_t until_ns,
			    alloc_account_sink sink, void *ctx, struct err *e)
{
	return open_at(ret, a, source_mask, start, until_ns, sink, ctx, e);
}

void alloc_account_close(struct alloc_account *x)
{
	if (!x)
		return;
	event_cursor_close(x->cursor);
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

static int give(struct alloc_account *x, uint32_t thread, uint32_t process, unsigned int kind,
		int64_t delta)
{
	x->change.thread = thread;
	x->change.process = process;
	x->change.kind = (uint8_t)kind;
	x->change.delta = delta;
	if (x->change.source == ALLOC_HEAP) {
		alloc_state_touch(x, process);
		x->heap_bytes[process] += delta;
	}
	return x->sink(x->ctx, &x->change);
}

static int give_step(struct alloc_account *x, enum alloc_source source, uint32_t process,
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

static int begin(struct alloc_account *x)
{
	size_t cnt, i;
	const struct trace_rss *rows = trace_rss_baselines(x->a->trace, &cnt);
	uint32_t p;
	int ret = 0;

	x->begun = true;
	x->change.ts_ns = x->a->start_ns;
	for (i = 0; i < cnt && !ret; i++) {
		struct mem_step rss = { 0 }, vm = { 0 };

		p = ident_process(&x->a->ident, rows[i].upid);
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

static int on_turn(struct alloc_account *x, const struct trace_turn *t)
{
	uint32_t process = ident_process(&x->a->ident, t->upid);
	struct mem_step rss = { 0 }, vm = { 0 };
	int ret;

	alloc_state_touch(x, process);
	x->change.ts_ns = t->ts_ns;
	if (x->heap_bytes[process]) {
		x->change.source = ALLOC_HEAP;
		ret = give(x, EVENT_ID_UNKNOWN, process, ALLOC_CHANGE_EXIT,
			   -x->heap_bytes[process]);
		if (ret < 0)
			return ret;
	}
	if (t->kind == TRACE_TURN_EXEC) {
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
		k->bytes_req = ev->v[EV_SLAB_BYTES_REQ];
		k->bytes = ev->v[EV_SLAB_BYTES];
		k->call_site = ev->v[EV_SLAB_CALL_SITE];
		k->cache = ev->v[EV_SLAB_CACHE];
		break;
	case EVENT_PAGE_ALLOC:
		k->order = ev->v[EV_PAGE_ORDER] < 64 ? (uint8_t)ev->v[EV_PAGE_ORDER] : 63;
		k->bytes = k->bytes_req = k->order < 32 ? (uint64_t)page_bytes << k->order : 0;
		k->gfp = (uint32_t)ev->v[EV_PAGE_GFP];
		k->migratetype = (uint16_t)ev->v[EV_PAGE_MIGRATETYPE];
		break;
	case EVENT_HEAP_ALLOC:
		k->bytes = k->bytes_req = ev->v[EV_HEAP_BYTES];
		k->call_site = ev->v[EV_HEAP_CALL_SITE];
		break;
	default:
		break;
	}
}

static int on_object_end(void *ctx, const struct live_object *obj, uint64_t bytes,
			 enum live_end end)
{
	struct alloc_account *x = ctx;

	return give(x, obj->owner, ident_process_of(&x->a->ident, obj->owner),
		    end == LIVE_LOST ? ALLOC_CHANGE_LOST : ALLOC_CHANGE_FREE, -(int64_t)bytes);
}

static struct live_objects *objects_of(struct alloc_account *x, unsigned int kind,
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
static uint64_t unpaired_bytes(const struct alloc_account *x, const struct event *ev,
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

static int on_object(struct alloc_account *x, const struct event *ev)
{
	const struct ident *d = &x->a->ident;
	uint32_t thread = ident_thread(d, ev->utid), space = 0;
	struct live_objects *o = objects_of(x, ev->kind, &x->change.source);
	bool is_alloc = ev->kind == EVENT_SLAB_ALLOC || ev->kind == EVENT_PAGE_ALLOC ||
			ev->kind == EVENT_HEAP_ALLOC;
	struct live_kind kind;
	uint64_t addr, unknown;
	int ret;

	if (o == x->heap)
		space = alloc_state_space(x, ident_process_of(d, thread));
	else if (ev->flags & EVENT_F_IRQ)
		thread = EVENT_ID_IRQ;
	x->op++;
	x->op_addr = ev->v[0];
	if (x->older_at < x->older_cnt && x->older[x->older_at].op == x->op) {
		ret = alloc_state_put_back(x, o, space);
		if (ret < 0)
			return ret;
	}
	if (is_alloc) {
		alloc_event_kind(ev, x->page_bytes, &kind, &addr);
		ret = live_objects_add(o, space, addr, ev->ts_ns, thread, &kind, on_object_end, x);
		if (ret < 0)
			return ret;
		return give(x, thread, ident_process_of(d, thread), ALLOC_CHANGE_ALLOC,
			    (int64_t)kind.bytes);
	}
	ret = live_objects_end(o, space, ev->v[0],
			       ev->kind == EVENT_PAGE_FREE && ev->v[EV_PAGE_ORDER] < 64
				       ? (unsigned int)ev->v[EV_PAGE_ORDER]
				       : 0,
			       on_object_end, x, &unknown);
	if (ret < 0 || !unknown)
		return ret;
	/* the heap's level is what this trace saw: an unpaired free takes nothing from it */
	return give(x, EVENT_ID_UNKNOWN, EVENT_ID_UNKNOWN, ALLOC_CHANGE_UNPAIRED,
		    o == x->heap ? 0 : -(int64_t)unpaired_bytes(x, ev, unknown));
}

static int on_event(struct alloc_account *x, const struct event *ev)
{
	struct mem_step step;
	uint32_t p;

	x->change.ts_ns = ev->ts_ns;
	if (ev->kind != EVENT_RSS && ev->kind != EVENT_VM)
		return on_object(x, ev);
	p = ident_process(&x->a->ident, (uint32_t)ev->v[EV_RSS_UPID]);
	if (p < EVENT_ID_FIRST)
		return 0;
	alloc_state_touch(x, p);
	if (!mem_process_event(&x->mem[p], ev, &step))
		return 0;
	return give_step(x, ev->kind == EVENT_VM ? ALLOC_VM : ALLOC_RSS, p, &step, 0);
}

int alloc_account_run(struct alloc_account *x, uint64_t to_ns, struct err *e)
{
	int ret = x->begun ? 0 : begin(x);

	while (ret >= 0) {
		uint64_t turn_ns;

		if (!x->turn && x->turn_at < x->turn_cnt)
			x->turn = trace_turn_at(x->a->trace, x->turn_at++);
		turn_ns = x->turn ? x->turn->ts_ns : UINT64_MAX;
		if (!x->next && !x->at_end) {
			ret = event_cursor_next(x->cursor, &x->next, e);
			if (ret < 0)
				return ret;
			x->at_end = !ret;
			if (!ret)
				x->next = NULL;
		}
		if (x->next && x->next->ts_ns <= turn_ns) {
			if (x->next->ts_ns >= to_ns)
				return 0;
			ret = on_event(x, x->next);
			x->next = NULL;
		} else {
			if (turn_ns >= to_ns)
				return 0;
			ret = on_turn(x, x->turn);
			x->turn = NULL;
		}
	}
	return err_set(e, ret, "out of memory");
}
