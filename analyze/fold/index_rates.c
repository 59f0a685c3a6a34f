/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A process has a list of granules per slot; the lists lie in one array, in the order of time. */
#include "analyze/fold/index_rates.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/index_job.h"
#include "analyze/fold/index_memory.h"
#include "base/array.h"

struct rate {			/* what a process allocated in a granule */
	uint64_t granule, bytes;
	uint32_t next;			/* the row of its next granule + 1 */
};

struct rate_list {		/* the rates of a slot and process in this interval */
	uint32_t first, last;		/* rows + 1; 0: there are none */
	uint32_t cnt;
};

int index_rates_init(struct index_rates *r, const struct analysis *a)
{
	*r = (struct index_rates){ .a = a };
	r->lists = calloc((size_t)a->ids.process_cnt * INDEX_SLOT_CNT, sizeof(*r->lists));
	return r->lists ? 0 : -ENOMEM;
}

void index_rates_done(struct index_rates *r)
{
	free(r->lists);
	free(r->rates);
	free(r->rated);
}

int index_rates_add(struct index_rates *r, unsigned int slot, const struct alloc_change *c)
{
	uint64_t at_ns = c->ts_ns - r->a->start_ns, granule;
	uint32_t number = slot * r->a->ids.process_cnt + c->process;
	struct rate_list *l = &r->lists[number];

	if (c->kind != ALLOC_CHANGE_ALLOC || c->process < EVENT_ID_FIRST)
		return 0;
	/* most often the last change was in the same granule: a division takes long */
	if (at_ns - r->granule * INDEX_GRANULE_NS >= INDEX_GRANULE_NS)
		r->granule = at_ns / INDEX_GRANULE_NS;
	granule = r->granule;
	if (!l->cnt || r->rates[l->last - 1].granule != granule) {
		if (array_reserve(&r->rates, &r->rate_cap, r->rate_cnt + 1) < 0 ||
		    array_reserve(&r->rated, &r->rated_cap, r->rated_cnt + 1) < 0)
			return -ENOMEM;
		r->rates[r->rate_cnt++] = (struct rate){ .granule = granule };
		if (l->cnt++) {
			r->rates[l->last - 1].next = (uint32_t)r->rate_cnt;
		} else {
			l->first = (uint32_t)r->rate_cnt;
			r->rated[r->rated_cnt++] = number;
		}
		l->last = (uint32_t)r->rate_cnt;
	}
	r->rates[l->last - 1].bytes += (uint64_t)c->delta;
	return 0;
}

void index_rates_put(struct index_rates *r, struct buf *out)
{
	const struct dense_ids *d = &r->a->ids;
	size_t i;

	if (r->rated_cnt)
		qsort(r->rated, r->rated_cnt, sizeof(*r->rated), compare_u32);
	for (i = 0; i < r->rated_cnt; i++) {
		uint32_t number = r->rated[i], slot = number / d->process_cnt, row;
		struct rate_list *l = &r->lists[number];
		uint64_t granule = 0;

		packed_put(out, (uint64_t)dense_upid(d, number % d->process_cnt) << 1 | slot);
		packed_put(out, l->cnt);
		for (row = l->first; row; row = r->rates[row - 1].next) {
			packed_put(out, r->rates[row - 1].granule - granule);
			packed_put(out, r->rates[row - 1].bytes);
			granule = r->rates[row - 1].granule;
		}
		*l = (struct rate_list){ 0 };
	}
	r->rate_cnt = r->rated_cnt = 0;
}

int index_rates_read(const struct index *x, const struct analysis *a, enum index_group group,
		     size_t interval, index_rates_each each, void *ctx)
{
	struct buf mem = { 0 };
	struct packed_in in;
	int ret = index_read(x, interval, INDEX_RATES + group, &mem, &in);

	while (!ret && in.p != in.end) {
		uint64_t id = packed_get(&in), granule = 0;
		uint32_t process = dense_process(&a->ids, (uint32_t)(id >> 1));
		int source = index_memory_source(group, id & 1);
		size_t n = packed_get_cnt(&in);

		ret = in.bad || source < 0 ? -EBADMSG : 0;
		for (; n && !ret; n--) {
			uint64_t bytes;

			granule += packed_get(&in);
			bytes = packed_get(&in);
			ret = in.bad ? -EBADMSG :
				       each(ctx, process, (unsigned int)source, granule, bytes);
		}
	}
	buf_done(&mem);
	return ret;
}

/* ---- the fold: allocations, with nothing to remember ---- */

/* As fold_memory.c says it of an allocation. */
static int rates_event(void *machine, const struct event *ev)
{
	const struct fold_machine *m = machine;
	const struct dense_ids *d = &m->a->ids;
	struct object_event o;
	struct alloc_change c = { .ts_ns = ev->ts_ns, .kind = ALLOC_CHANGE_ALLOC };

	object_event_read(ev, 0, &o);
	c.thread = dense_thread(d, o.utid);
	c.process = dense_process_of(d, c.thread);
	c.delta = (int64_t)o.kind.bytes;
	c.source = o.family == OBJECT_SLAB ? ALLOC_SLAB : ALLOC_HEAP;
	return fold_found(m, &c);
}

static const uint32_t rates_columns[EVENT_KIND_CNT] = {
	[EVENT_SLAB_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SLAB_ALLOC_BYTES,
	[EVENT_HEAP_ALLOC] = EVENT_COL_UTID | 1u << EV_HEAP_ALLOC_BYTES,
};

const struct fold_def fold_rates = {
	.kinds = 1u << EVENT_SLAB_ALLOC | 1u << EVENT_HEAP_ALLOC, .asks = ANALYSIS_RATES,
	.columns = rates_columns, .begin = FOLD_FROM_EDGE, .bytes = sizeof(struct fold_machine),
	.event = rates_event,
};

/* ---- the job ---- */

struct rates_job {
	struct index_job *j;
	struct index_rates slab, heap;
	uint64_t from_ns;		/* of the first interval */
	struct buf out;
};

static int on_change(void *ctx, const void *found)
{
	struct rates_job *s = ctx;
	const struct alloc_change *c = found;

	return c->ts_ns < s->from_ns ? 0 :
		index_rates_add(c->source == ALLOC_SLAB ? &s->slab : &s->heap, 0, c);
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

	return ret ? ret : add(s, interval, &s->heap, INDEX_HEAP);
}

int index_rates_job(struct index_job *j)
{
	struct rates_job s = { .j = j, .from_ns = index_interval_from(j->x, j->from) };
	const struct fold_def *fold = &fold_rates;
	const struct index_keeper keeper = { .sink = { &s, on_change }, .put = put_interval };
	int ret = index_rates_init(&s.slab, j->a);

	if (!ret)
		ret = index_rates_init(&s.heap, j->a);
	if (!ret)
		ret = index_fold_job(j, &fold, 1, &keeper);
	index_rates_done(&s.slab);
	index_rates_done(&s.heap);
	buf_done(&s.out);
	return ret;
}
