/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * allocation_pairs: keeps a table of live objects for each family of objects. An object ends at its
 * free or when its address is allocated again; all others are still live after the last event.
 */
#include "analyze/fold/allocation_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/fold/fold_memory.h"
#include "base/strpool.h"

struct allocation_pairs {
	struct analysis *a;
	struct allocation_range range;
	allocation_sink sink;
	void *ctx;
	struct event_cursor *cursor;
	struct object_pairs pairs;
	struct strpool *texts;		/* symbols of heap call sites */
	size_t reset_at;		/* index of the next reset */
	/* all events have been read; next, the remaining objects are reported */
	bool rest;
	unsigned int family;	/* family of the object being reported */
	const struct event *ev;	/* the event that ends the object; NULL: the object is still live */
};

static const char *const wrappers[] = {
#include "alloc_wrappers.h"
};

static bool is_wrapper(const char *symbol)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		const char *w = wrappers[i];
		size_t len = strlen(w), has = strlen(symbol);

		if (*w == '*' ? has >= len - 1 && !strcmp(symbol + has - (len - 1), w + 1) :
		    w[len - 1] == '*' ? !strncmp(symbol, w, len - 1) : !strcmp(symbol, w))
			return true;
	}
	return false;
}

/*
 * Returns the call site that requested the object: the innermost frame of the recorded stack that
 * is not an allocator wrapper; without such a frame, the call site itself. NULL: unknown.
 */
static const struct trace_site *caller_of(const struct allocation_pairs *p,
					  const struct allocation *x)
{
	const struct dense_ids *d = &p->a->ids;
	uint32_t upid = dense_upid(d, dense_process_of(d, x->object->owner));
	uint64_t ts_ns = x->object->ts_ns;
	const struct trace_site *first = trace_site_find(p->a->trace, upid, x->kind->call_site,
							 ts_ns), *s;
	const struct trace_frame *f = NULL;
	size_t cnt = 0;

	if (x->kind->stack && first && is_wrapper(first->symbol))
		f = trace_stack_find(p->a->trace, x->kind->stack, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		s = f[i].upid ? trace_site_find(p->a->trace, f[i].upid, f[i].addr, ts_ns) : NULL;
		if (s && !is_wrapper(s->symbol))
			return s;
	}
	return first;
}

static const char *heap_symbol(const struct allocation_pairs *p, const struct allocation *x)
{
	const struct trace_site *site = caller_of(p, x);
	char text[SITE_TEXT_MAX];

	if (!site)
		return NULL;
	site_text_format(text, sizeof(text), site, true, p->a->lines);
	return strpool_put(p->texts, text);
}

const char *allocation_symbol(const struct allocation_pairs *p, const struct allocation *x)
{
	uint64_t call_site = x->kind->call_site;

	if (x->family == OBJECT_HEAP)
		return heap_symbol(p, x);
	return call_site ? name_text(p->a->trace, TRACE_NAME_SYMBOL, call_site) : NULL;
}

const char *allocation_cache(const struct allocation_pairs *p, const struct allocation *x)
{
	return x->kind->cache ? name_text(p->a->trace, TRACE_NAME_CACHE, x->kind->cache) : NULL;
}

static uint32_t kinds_of(const struct allocation_range *range)
{
	uint32_t all = range->with_stacks ? 1u << EVENT_STACK : 0;

	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT; i++)
		if (range->families & 1u << i)
			all |= alloc_source_kinds(alloc_source_of(i));
	return all;
}

void allocation_pairs_close(struct allocation_pairs *p)
{
	if (!p)
		return;
	event_cursor_close(p->cursor);
	object_pairs_done(&p->pairs);
	strpool_free(p->texts);
	free(p);
}

int allocation_pairs_open(struct allocation_pairs **ret, struct analysis *a,
			  const struct allocation_range *range, allocation_sink sink, void *ctx,
			  struct err *e)
{
	struct allocation_pairs *p = calloc(1, sizeof(*p));
	uint64_t from_ns = range->from_ns;
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->a = a;
	p->range = *range;
	p->sink = sink;
	p->ctx = ctx;
	r = object_pairs_init(&p->pairs, trace_page_bytes(a->trace), a->ids.process_cnt, true);
	r = r ?: strpool_new(&p->texts) ?: trace_mm_resets_prepare(a->trace);
	if (from_ns < trace_carried_ns(a->trace))
		from_ns = trace_carried_ns(a->trace);
	r = r ?: event_cursor_open_columns(&p->cursor, a->trace, kinds_of(range), range->columns,
					   from_ns, range->at_ns, e);
	if (r < 0) {
		allocation_pairs_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

static int give(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	struct allocation_pairs *p = ctx;
	const struct allocation x = {
		.family = (enum object_family)p->family, .object = obj, .bytes = bytes,
		.kind = live_objects_kind(p->pairs.of[p->family], obj->kind), .end = end,
		.ev = p->ev,
	};

	return p->sink(p->ctx, &x);
}

/* Applies the resets before before_ns. At equal timestamps events precede resets, as in folds. */
static void reset_heaps(struct allocation_pairs *p, uint64_t before_ns)
{
	for (; p->reset_at < trace_mm_reset_cnt(p->a->trace); p->reset_at++) {
		const struct trace_mm_reset *r = trace_mm_reset_at(p->a->trace, p->reset_at);

		if (r->ts_ns >= before_ns)
			break;
		object_pairs_reset(&p->pairs, dense_process(&p->a->ids, r->upid));
	}
}

/* The event of a stack follows that of its allocation and has the same timestamp. */
static int on_stack(struct allocation_pairs *p, const struct event *ev)
{
	const struct dense_ids *d = &p->a->ids;
	int family = object_family_of(ev->v[EV_STACK_SOURCE]);
	uint32_t process = dense_process_of(d, dense_thread(d, ev->utid));

	if (family < 0)
		return 0;
	return live_objects_set_stack(p->pairs.of[family],
				      object_pairs_space(&p->pairs, (unsigned int)family, process),
				      ev->v[EV_STACK_ADDR], ev->ts_ns, ev->v[EV_STACK_STACK]);
}

static int on_event(struct allocation_pairs *p, const struct event *ev)
{
	struct object_event o;
	uint32_t thread, process;
	uint64_t unknown;
	int ret;

	reset_heaps(p, ev->ts_ns);
	if (!object_event_read(ev, p->pairs.page_bytes, &o))
		return on_stack(p, ev);
	p->family = o.family;
	p->ev = ev;
	thread = dense_thread(&p->a->ids, o.utid);
	process = dense_process_of(&p->a->ids, thread);
	ret = object_pairs_event(&p->pairs, &o, ev->ts_ns, thread, process, give, p, &unknown);
	if (ret || !o.is_alloc || ev->ts_ns < p->range.until_ns)
		return ret;
	/* the allocation is not reported: it only shows that an earlier object's free was lost */
	o.is_alloc = false;
	return object_pairs_event(&p->pairs, &o, ev->ts_ns, thread, process, NULL, NULL, &unknown);
}

static size_t live_cnt(const struct allocation_pairs *p)
{
	size_t cnt = 0;

	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT; i++)
		cnt += live_objects_cnt(p->pairs.of[i]);
	return cnt;
}

/* Reports the live objects of one family per call. */
static int give_rest(struct allocation_pairs *p)
{
	int ret;

	p->ev = NULL;
	ret = live_objects_rest(p->pairs.of[p->family], give, p);
	return ret < 0 ? ret : ++p->family < OBJECT_FAMILY_CNT;
}

int allocation_pairs_next(struct allocation_pairs *p, struct err *e)
{
	const struct event *ev;
	int ret;

	if (p->rest)
		return give_rest(p);
	ret = event_cursor_next(p->cursor, &ev, e);
	if (ret < 0)
		return ret;
	if (!ret || (ev->ts_ns >= p->range.until_ns && !live_cnt(p))) {
		p->rest = true;
		p->family = 0;
		return 1;
	}
	ret = on_event(p, ev);
	return ret < 0 ? ret : 1;
}
