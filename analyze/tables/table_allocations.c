/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_allocations: each slab object, page block or heap object, with its end if the trace has it.
 *
 * Rows are in order of the ends (fold/allocation_pairs.h), then the objects still live.
 */
#include <string.h>

#include "analyze/engine/table.h"
#include "analyze/fold/allocation_pairs.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/context/scope.h"
#include "table_columns.h"

static const struct table_column allocation_cols[] = {
	COLS_ALLOC
	{ "at_ns", COLUMN_INT },
};

struct allocation_scan {
	struct analysis *a;
	struct allocation_pairs *pairs;
	uint32_t page_bytes;
	uint64_t at_ns;			/* later events are ignored */
	struct rowbuf *out;
};

static uint32_t families_of(const struct table_query *q)
{
	uint32_t all = 0;

	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT; i++)
		if (!q->has_key || q->key.type != VALUE_TEXT ||
		    !strcmp(q->key.s, alloc_source_name(alloc_source_of(i))))
			all |= 1u << i;
	return all;
}

static void allocations_close(void *state)
{
	struct allocation_scan *s = state;

	allocation_pairs_close(s->pairs);
}

static int give_row(void *ctx, const struct allocation *x)
{
	struct allocation_scan *s = ctx;
	const struct dense_ids *d = &s->a->ids;
	const struct live_object *obj = x->object;
	const struct live_kind *k = x->kind;
	enum alloc_source source = alloc_source_of(x->family);
	struct cell *c = rowbuf_add(s->out);

	cell_text(&c[COL_ALLOC_SOURCE], alloc_source_name(source));
	cell_int(&c[COL_ALLOC_ADDR], (int64_t)obj->addr);
	cell_int(&c[COL_ALLOC_BYTES], (int64_t)x->bytes);
	cell_int(&c[COL_ALLOC_BYTES_REQ],
		 (int64_t)(x->family == OBJECT_PAGE ? x->bytes : k->bytes_req));
	cell_int(&c[COL_ALLOC_ALLOC_NS], context_rel(s->a, obj->ts_ns));
	if (x->ev) {
		cell_int(&c[COL_ALLOC_FREE_NS], context_rel(s->a, x->ev->ts_ns));
		cell_int(&c[COL_ALLOC_LIFE_NS], (int64_t)(x->ev->ts_ns - obj->ts_ns));
	}
	cell_int(&c[COL_ALLOC_UTID], dense_utid(d, obj->owner));
	cell_int(&c[COL_ALLOC_UPID], dense_upid(d, dense_process_of(d, obj->owner)));
	if (x->ev && x->end == LIVE_FREED)
		cell_int(&c[COL_ALLOC_FREE_UTID],
			 dense_utid(d, dense_thread(d, object_event_utid(x->ev))));
	cell_int(&c[COL_ALLOC_FREE_LOST], x->end == LIVE_LOST);
	cell_int(&c[COL_ALLOC_IRQ], k->irq);
	cell_int(&c[COL_ALLOC_UNSURE],
		 loss_index_off_ns(&s->a->losses, alloc_source_event_source(source), obj->ts_ns,
				   x->ev ? x->ev->ts_ns : s->at_ns) != 0);
	if (k->stack)
		cell_int(&c[COL_ALLOC_STACK], (int64_t)k->stack);
	if (x->family == OBJECT_PAGE) {
		cell_int(&c[COL_ALLOC_PAGE_ORDER],
			 __builtin_ctzll((x->bytes / s->page_bytes) | 1ull << 63));
		cell_int(&c[COL_ALLOC_GFP], k->gfp);
		return 0;
	}
	cell_int(&c[COL_ALLOC_CALL_SITE], (int64_t)k->call_site);
	cell_text(&c[COL_ALLOC_SYMBOL], allocation_symbol(s->pairs, x));
	cell_text(&c[COL_ALLOC_CACHE], allocation_cache(s->pairs, x));
	return 0;
}

static int allocations_open(struct analysis *a, const struct table_def *def,
			    const struct table_query *q, void *state, struct err *e)
{
	struct allocation_scan *s = state;
	struct allocation_range range = { .families = families_of(q) };
	int64_t at_ns = INT64_MAX;
	int ret;

	s->a = a;
	s->page_bytes = trace_page_bytes(a->trace);
	ret = window_arg_ns(q, 0, "at_ns", &at_ns, e);
	s->at_ns = at_ns == INT64_MAX ? UINT64_MAX : context_abs(a, at_ns);
	range.from_ns = q->from_ns == INT64_MIN ? 0 : context_abs(a, q->from_ns);
	range.until_ns = q->to_ns == INT64_MAX ? UINT64_MAX : context_abs(a, q->to_ns);
	range.at_ns = s->at_ns;
	range.with_stacks = q->cols_used & (1u << COL_ALLOC_STACK | 1u << COL_ALLOC_SYMBOL);
	return ret ?: allocation_pairs_open(&s->pairs, a, &range, give_row, s, e);
}

static int allocations_step(void *state, struct rowbuf *out, struct err *e)
{
	struct allocation_scan *s = state;
	int ret = 1;

	s->out = out;
	while (ret > 0 && out->row_cnt < TABLE_BATCH_ROWS)
		ret = allocation_pairs_next(s->pairs, e);
	return ret;
}

const struct table_def table_allocations = {
	.name = "allocations",
	.doc = "allocations paired with their frees",
	.cols = allocation_cols,
	.col_cnt = COL_ALLOC_CNT,
	.arg_cnt = 1,
	.time_col = COL_ALLOC_ALLOC_NS,
	.cpu_col = -1,
	.utid_col = -1,
	.key_col = 0,
	.is_exported = true,
	.window = "alloc_ns >= :from AND alloc_ns < :to",
	.kinds = 1u << EVENT_SLAB_ALLOC | 1u << EVENT_PAGE_ALLOC | 1u << EVENT_HEAP_ALLOC,
	.events_per_row = 1,
	.state_bytes = sizeof(struct allocation_scan),
	.open = allocations_open,
	.step = allocations_step,
	.close = allocations_close,
};
