/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* index_rates: the rates of all processes are in one array, in order of time. */
#include "analyze/fold/index_rates.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/index_job.h"
#include "analyze/fold/index_memory.h"
#include "base/array.h"
#include "model/heap_weight.h"

struct rate {			/* bytes that a process allocated in a granule */
	uint64_t granule, bytes;
	uint32_t number;	/* slot * process_cnt + process */
};

int index_rates_init(struct index_rates *r, const struct analysis *a)
{
	*r = (struct index_rates){ .a = a };
	r->last = calloc((size_t)a->ids.process_cnt * INDEX_SLOT_CNT, sizeof(*r->last));
	return r->last ? 0 : -ENOMEM;
}

void index_rates_done(struct index_rates *r)
{
	free(r->last);
	free(r->rates);
}

int index_rates_add(struct index_rates *r, unsigned int slot, const struct alloc_change *c)
{
	uint64_t at_ns = c->ts_ns - r->a->start_ns;
	uint32_t number = slot * r->a->ids.process_cnt + c->process, *last = &r->last[number];

	if (c->kind != ALLOC_CHANGE_ALLOC || c->process < EVENT_ID_FIRST)
		return 0;
	/* mostly the last change was in the same granule, which avoids a slow division */
	if (at_ns - r->granule * INDEX_GRANULE_NS >= INDEX_GRANULE_NS)
		r->granule = at_ns / INDEX_GRANULE_NS;
	if (!*last || r->rates[*last - 1].granule != r->granule) {
		if (array_add(&r->rates, &r->cap, &r->cnt,
			      (struct rate){ .granule = r->granule, .number = number }) < 0)
			return -ENOMEM;
		*last = (uint32_t)r->cnt;
	}
	r->rates[*last - 1].bytes += (uint64_t)c->delta;
	return 0;
}

void index_rates_put(struct index_rates *r, struct buf *out)
{
	const struct dense_ids *d = &r->a->ids;
	uint64_t granule = 0;

	for (size_t i = 0; i < r->cnt; i++) {
		const struct rate *x = &r->rates[i];

		packed_put(out, x->granule - granule);
		packed_put(out, (uint64_t)dense_upid(d, x->number % d->process_cnt) << 1 |
					x->number / d->process_cnt);
		packed_put(out, x->bytes);
		granule = x->granule;
		r->last[x->number] = 0;
	}
	r->cnt = 0;
}

int index_rates_read(const struct index *x, const struct analysis *a, enum index_group group,
		     size_t interval, index_rates_each each, void *ctx)
{
	struct buf mem = { 0 };
	struct packed_in in;
	uint64_t granule = 0;
	int ret = *a->stop ? -EINTR : index_read(x, interval, INDEX_RATES + group, &mem, &in);

	while (!ret && in.p != in.end) {
		uint64_t more = packed_get(&in), id = packed_get(&in), bytes = packed_get(&in);
		int source = index_memory_source(group, id & 1);

		granule += more;
		ret = in.bad || source < 0 ?
			      -EBADMSG : each(ctx, dense_process(&a->ids, (uint32_t)(id >> 1)),
					      (unsigned int)source, granule, bytes);
	}
	buf_done(&mem);
	return ret;
}

/* ---- the fold: allocations, without any state ---- */

/* Reports an allocation as fold_memory.c does. */
static int rates_event(void *machine, const struct event *ev)
{
	const struct fold_machine *m = machine;
	const struct dense_ids *d = &m->a->ids;
	struct alloc_change c = { .ts_ns = ev->ts_ns, .kind = ALLOC_CHANGE_ALLOC };

	switch (ev->kind) {
	case EVENT_SLAB_ALLOC:
		c.source = ALLOC_SLAB;
		c.delta = (int64_t)ev->v[EV_SLAB_ALLOC_BYTES];
		break;
	case EVENT_PAGE_ALLOC:
		c.source = ALLOC_PAGE;
		c.delta = (int64_t)((uint64_t)trace_page_bytes(m->a->trace)
				    << (ev->v[EV_PAGE_ALLOC_PAGE_ORDER] & 63));
		break;
	default:
		c.source = ALLOC_HEAP;
		c.delta = (int64_t)heap_weight_bytes(m->a->heap_mean, ev->v[EV_HEAP_ALLOC_BYTES]);
	}
	c.thread = dense_thread(d, object_event_utid(ev));
	c.process = dense_process_of(d, c.thread);
	return fold_found(m, &c);
}

static const uint32_t rates_columns[EVENT_KIND_CNT] = {
	[EVENT_SLAB_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SLAB_ALLOC_BYTES,
	[EVENT_PAGE_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_PAGE_ALLOC_PAGE_ORDER,
	[EVENT_HEAP_ALLOC] = EVENT_COL_UTID | 1u << EV_HEAP_ALLOC_BYTES,
};

const struct fold_def fold_rates = {
	.kinds = 1u << EVENT_SLAB_ALLOC | 1u << EVENT_PAGE_ALLOC | 1u << EVENT_HEAP_ALLOC,
	.asks = ANALYSIS_RATES,
	.columns = rates_columns, .begin = FOLD_FROM_EDGE, .bytes = sizeof(struct fold_machine),
	.event = rates_event,
};

/* ---- the job ---- */

struct rates_job {
	struct index_job *j;
	struct index_rates slab, page, heap;
	uint64_t from_ns;		/* beginning of the first interval */
	struct buf out;
};

static int on_change(void *ctx, const void *found)
{
	struct rates_job *s = ctx;
	const struct alloc_change *c = found;

	return c->ts_ns < s->from_ns ? 0 :
		index_rates_add(c->source == ALLOC_SLAB ? &s->slab :
				c->source == ALLOC_PAGE ? &s->page : &s->heap, 0, c);
}

static int add(struct rates_job *s, size_t interval, struct index_rates *r, enum index_group group)
{
	buf_reset(&s->out);
	index_rates_put(r, &s->out);
	return index_add(s->j->x, s->j->z, interval, INDEX_RATES + group, &s->out);
}

static int put_interval(void *ctx, size_t interval)
{
	struct rates_job *s = ctx;
	int ret = add(s, interval, &s->slab, INDEX_SLAB);

	ret = ret ?: add(s, interval, &s->page, INDEX_PAGE);
	return ret ?: add(s, interval, &s->heap, INDEX_HEAP);
}

int index_rates_job(struct index_job *j)
{
	struct rates_job s = { .j = j, .from_ns = index_interval_from(j->x, j->from) };
	const struct fold_def *fold = &fold_rates;
	const struct index_keeper keeper = { .sink = { &s, on_change }, .put = put_interval };
	int ret = index_rates_init(&s.slab, j->a);

	ret = ret ?: index_rates_init(&s.page, j->a) ?: index_rates_init(&s.heap, j->a);
	ret = ret ?: index_fold_job(j, &fold, 1, &keeper);
	index_rates_done(&s.slab);
	index_rates_done(&s.page);
	index_rates_done(&s.heap);
	buf_done(&s.out);
	return ret;
}
