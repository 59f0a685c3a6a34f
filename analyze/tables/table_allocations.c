/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_allocations: each slab object, page block or heap object with its end, if the trace has it.
 *
 * An allocation is followed from its event to its free, however late that is, so a time range on
 * alloc_ns saves reading what came before, not what comes after. Rows appear as objects end;
 * objects still live come last. Pages that are freed in parts make a row per part.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_memory.h"
#include "analyze/engine/code_text.h"
#include "analyze/engine/table.h"
#include "analyze/fold/window.h"
#include "base/strpool.h"
#include "base/hash_map.h"
#include "model/live_objects.h"

#define BATCH_ROWS 256

static const struct table_column allocation_cols[] = {
	{ "source", COLUMN_TEXT },    { "addr", COLUMN_INT },	   { "bytes", COLUMN_INT },
	{ "bytes_req", COLUMN_INT },  { "alloc_ns", COLUMN_INT },  { "free_ns", COLUMN_INT },
	{ "life_ns", COLUMN_INT },    { "utid", COLUMN_INT },	   { "upid", COLUMN_INT },
	{ "free_utid", COLUMN_INT },  { "free_lost", COLUMN_INT }, { "irq", COLUMN_INT },
	{ "call_site", COLUMN_INT },  { "symbol", COLUMN_TEXT },   { "cache", COLUMN_TEXT },
	{ "page_order", COLUMN_INT }, { "gfp", COLUMN_INT },	   { "unsure", COLUMN_INT },
	{ "stack", COLUMN_INT },
	{ "at_ns", COLUMN_INT },
};

enum { COL_STACK = 18, ALLOCATION_COLS = 19 };

enum family { FAMILY_SLAB = 0, FAMILY_PAGE = 1, FAMILY_HEAP = 2, FAMILY_CNT = 3 };

static const struct {
	enum alloc_source source;
	const char *name;	/* of the event source */
	uint8_t alloc, free;	/* kinds of events */
} families[FAMILY_CNT] = {
	{ ALLOC_SLAB, "alloc.slab", EVENT_SLAB_ALLOC, EVENT_SLAB_FREE },
	{ ALLOC_PAGE, "alloc.page", EVENT_PAGE_ALLOC, EVENT_PAGE_FREE },
	{ ALLOC_HEAP, "alloc.heap", EVENT_HEAP_ALLOC, EVENT_HEAP_FREE },
};

struct allocation_scan {
	struct analysis *a;
	struct table_query q;
	struct event_cursor *cursor;
	struct live_objects *objects[FAMILY_CNT];
	struct strpool *texts;		/* of call sites, one per site */
	struct hash_map heaps;		/* (process, number of its execs) -> space */
	uint32_t *exec_cnt;		/* by process */
	const struct trace_task_event *turns;
	size_t turn_cnt, turn_at;
	uint32_t page_bytes;
	uint64_t until_ns;		/* allocations from this instant on are not wanted */
	uint64_t at_ns;			/* nothing from this instant on counts */
	bool rest;			/* all events are read */
	unsigned int family; /* the family of the objects handed out now */
	struct rowbuf *out;
	const struct event *ev;	/* the event that ends the objects; NULL: they are still live */
};

static uint32_t kinds_of(const struct table_query *q)
{
	uint32_t all = q->cols_used & 1u << COL_STACK ? 1u << EVENT_STACK : 0;
	unsigned int i;

	for (i = 0; i < FAMILY_CNT; i++)
		if (!q->has_key || q->key.type != VALUE_TEXT ||
		    !strcmp(q->key.s, alloc_source_name(families[i].source)))
			all |= 1u << families[i].alloc | 1u << families[i].free;
	return all;
}

static void allocations_close(void *state)
{
	struct allocation_scan *s = state;
	unsigned int i;

	event_cursor_close(s->cursor);
	for (i = 0; i < FAMILY_CNT; i++)
		live_objects_free(s->objects[i]);
	hash_map_done(&s->heaps);
	strpool_free(s->texts);
	free(s->exec_cnt);
	free(s);
}

static uint64_t first_ns(const struct analysis *a, const struct table_query *q)
{
	uint64_t from_ns = q->from_ns == INT64_MIN ? 0 : context_abs(a, q->from_ns);

	return from_ns < trace_carried_ns(a->trace) ? trace_carried_ns(a->trace) : from_ns;
}

static int allocations_open(struct analysis *a, const struct table_def *def,
			    const struct table_query *q, void **ret_state, struct err *e)
{
	struct allocation_scan *s = calloc(1, sizeof(*s));
	int64_t at_ns = INT64_MAX;
	unsigned int i;
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->q = *q;
	s->page_bytes = trace_page_bytes(a->trace);
	s->until_ns = q->to_ns == INT64_MAX ? UINT64_MAX : context_abs(a, q->to_ns);
	ret = window_arg_ns(q, 0, "at_ns", &at_ns, e);
	s->at_ns = at_ns == INT64_MAX ? UINT64_MAX : context_abs(a, at_ns);
	s->turns = trace_task_events(a->trace, &s->turn_cnt);
	s->exec_cnt = calloc(a->ids.process_cnt, sizeof(*s->exec_cnt));
	if (!ret && (!s->exec_cnt || strpool_new(&s->texts) < 0))
		ret = err_set(e, -ENOMEM, "out of memory");
	for (i = 0; i < FAMILY_CNT && !ret; i++)
		if (live_objects_new(&s->objects[i], i == FAMILY_PAGE ? s->page_bytes : 0) < 0)
			ret = err_set(e, -ENOMEM, "out of memory");
	if (!ret)
		ret = event_cursor_open(&s->cursor, a->trace, kinds_of(q),
					first_ns(a, q), s->at_ns, e);
	if (ret < 0) {
		allocations_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

/* The symbol at the heap's caller at that time; NULL: unknown. cell_text() does not copy it. */
static const char *heap_symbol(struct allocation_scan *s, uint32_t upid, uint64_t addr,
			       uint64_t ts_ns)
{
	const struct trace_site *site = trace_site_find(s->a->trace, upid, addr, ts_ns);
	char text[SITE_TEXT_MAX];

	if (!site)
		return NULL;
	site_text_format(text, sizeof(text), site, true, s->a->lines);
	return strpool_put(s->texts, text);
}

static bool was_off(const struct allocation_scan *s, uint64_t from_ns, uint64_t to_ns)
{
	return loss_index_off_ns(&s->a->losses, families[s->family].name, from_ns, to_ns);
}

static int give_row(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	struct allocation_scan *s = ctx;
	const struct dense_ids *d = &s->a->ids;
	const struct live_kind *k = live_objects_kind(s->objects[s->family], obj->kind);
	struct cell *c = rowbuf_add(s->out);

	if (!c)
		return -ENOMEM;
	cell_text(&c[0], alloc_source_name(families[s->family].source));
	cell_int(&c[1], (int64_t)obj->addr);
	cell_int(&c[2], (int64_t)bytes);
	cell_int(&c[3], s->family == FAMILY_PAGE ? (int64_t)bytes : (int64_t)k->bytes_req);
	cell_int(&c[4], context_rel(s->a, obj->ts_ns));
	if (end != LIVE_REMAINS) {
		cell_int(&c[5], context_rel(s->a, s->ev->ts_ns));
		cell_int(&c[6], (int64_t)(s->ev->ts_ns - obj->ts_ns));
	}
	cell_int(&c[7], dense_utid(d, obj->owner));
	cell_int(&c[8], dense_upid(d, dense_process_of(d, obj->owner)));
	if (end == LIVE_FREED)
		cell_int(&c[9], s->ev->flags & EVENT_F_IRQ ? EVENT_ID_IRQ :
				dense_utid(d, dense_thread(d, s->ev->utid)));
	cell_int(&c[10], end == LIVE_LOST);
	cell_int(&c[11], k->irq);
	cell_int(&c[17], was_off(s, obj->ts_ns, end == LIVE_REMAINS ? s->at_ns : s->ev->ts_ns));
	if (k->stack)
		cell_int(&c[COL_STACK], (int64_t)k->stack);
	if (s->family == FAMILY_PAGE) {
		cell_int(&c[15], __builtin_ctzll((bytes / s->page_bytes) | 1ull << 63));
		cell_int(&c[16], k->gfp);
		return 0;
	}
	cell_int(&c[12], (int64_t)k->call_site);
	if (s->family == FAMILY_SLAB) {
		if (k->call_site)
			cell_text(&c[13], name_text(s->a->trace, TRACE_NAME_SYMBOL, k->call_site));
		if (k->cache)
			cell_text(&c[14], name_text(s->a->trace, TRACE_NAME_CACHE, k->cache));
	} else {
		cell_text(&c[13], heap_symbol(s, dense_upid(d, dense_process_of(d, obj->owner)),
					      k->call_site, obj->ts_ns));
	}
	return 0;
}

static int heap_space(struct allocation_scan *s, uint32_t process, uint64_t ts_ns, uint32_t *ret)
{
	/* an exec begins a new heap; nothing of the old one can be freed any more */
	for (; s->turn_at < s->turn_cnt && s->turns[s->turn_at].ts_ns <= ts_ns; s->turn_at++)
		if (s->turns[s->turn_at].type == TRACE_TASK_EXEC)
			s->exec_cnt[dense_process(&s->a->ids, s->turns[s->turn_at].upid)]++;
	return hash_map_intern(&s->heaps, process, s->exec_cnt[process], ret);
}

/* A stack follows its allocation's event, with the same instant. */
static int on_stack(struct allocation_scan *s, const struct event *ev)
{
	const struct dense_ids *d = &s->a->ids;
	uint32_t space = 0;
	unsigned int family = 0;
	int ret = 0;

	while (family < FAMILY_CNT && families[family].alloc != ev->v[EV_STACK_SOURCE])
		family++;
	if (family == FAMILY_CNT)
		return 0;
	if (family == FAMILY_HEAP)
		ret = heap_space(s, dense_process_of(d, dense_thread(d, ev->utid)), ev->ts_ns,
				 &space);
	return ret < 0 ? ret
		       : live_objects_set_stack(s->objects[family], space, ev->v[EV_STACK_ADDR],
						ev->ts_ns, ev->v[EV_STACK_STACK]);
}

static int on_event(struct allocation_scan *s, const struct event *ev)
{
	const struct dense_ids *d = &s->a->ids;
	bool is_heap;
	uint32_t thread = dense_thread(d, ev->utid), space = 0;
	struct live_kind kind;
	uint64_t addr, unknown;
	int ret;

	if (ev->kind == EVENT_STACK)
		return on_stack(s, ev);
	for (s->family = 0; ev->kind != families[s->family].alloc &&
			    ev->kind != families[s->family].free;)
		s->family++;
	is_heap = s->family == FAMILY_HEAP;
	s->ev = ev;
	if (is_heap && (ret = heap_space(s, dense_process_of(d, thread), ev->ts_ns, &space)) < 0)
		return ret;
	if (ev->kind == families[s->family].free)
		return live_objects_end(s->objects[s->family], space, ev->v[0],
					ev->kind == EVENT_PAGE_FREE &&
						ev->v[EV_PAGE_ALLOC_PAGE_ORDER] < 64
						? (unsigned int)ev->v[EV_PAGE_ALLOC_PAGE_ORDER]
						: 0,
					give_row, s, &unknown);
	alloc_event_kind(ev, s->page_bytes, &kind, &addr);
	if (!is_heap && (ev->flags & EVENT_F_IRQ))
		thread = EVENT_ID_IRQ;
	ret = live_objects_add(s->objects[s->family], space, addr, ev->ts_ns, thread, &kind,
			       give_row, s);
	if (!ret && ev->ts_ns >= s->until_ns) {
		/*
		 * this allocation only had to prove that a free was lost, and is not wanted itself
		 */
		return live_objects_end(s->objects[s->family], space, addr, kind.order, NULL, NULL,
					&unknown);
	}
	return ret;
}

static size_t live_cnt(const struct allocation_scan *s)
{
	size_t cnt = 0;
	unsigned int i;

	for (i = 0; i < FAMILY_CNT; i++)
		cnt += live_objects_cnt(s->objects[i]);
	return cnt;
}

static int allocations_step(void *state, struct rowbuf *out, struct err *e)
{
	struct allocation_scan *s = state;
	const struct event *ev;
	int ret;

	s->out = out;
	if (s->rest) {
		/* each step handles one family */
		s->ev = NULL;
		ret = live_objects_rest(s->objects[s->family], give_row, s);
		if (ret < 0)
			return err_set(e, ret, "out of memory");
		return ++s->family < FAMILY_CNT;
	}
	while (out->row_cnt < BATCH_ROWS) {
		ret = event_cursor_next(s->cursor, &ev, e);
		if (ret < 0)
			return ret;
		if (!ret || (ev->ts_ns >= s->until_ns && !live_cnt(s))) {
			s->rest = true;
			s->family = 0;
			return 1;
		}
		ret = on_event(s, ev);
		if (ret < 0)
			return err_set(e, ret, "out of memory");
	}
	return 1;
}

const struct table_def tables_of_allocations[] = {
	{
		.name = "allocations",
		.doc = "allocations paired with their frees",
		.cols = allocation_cols,
		.col_cnt = ALLOCATION_COLS,
		.arg_cnt = 1,
		.time_col = 4,
		.cpu_col = -1,
		.utid_col = -1,
		.key_col = 0,
		.is_exported = true,
		.window = "alloc_ns >= :from AND alloc_ns < :to",
		.kinds = 1u << EVENT_SLAB_ALLOC | 1u << EVENT_PAGE_ALLOC |
			 1u << EVENT_HEAP_ALLOC,
		.events_per_row = 1,
		.open = allocations_open,
		.step = allocations_step,
		.close = allocations_close,
	},
	{ .name = NULL },
};
