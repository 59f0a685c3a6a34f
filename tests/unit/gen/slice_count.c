/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* slice_count: a cpu_timeline for the time, a row per thread for the rest. */
#include "tests/unit/gen/slice_count.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "model/cpu_timeline.h"
#include "trace/trace.h"

struct slice_count_state {
	struct cpu_timeline *cpus;
	unsigned int cpu_cnt;
	uint64_t page_bytes;
	struct hash_map by_utid; /* index + 1 in rows */
	struct slice_share *rows;
	size_t cnt, cap;
};

static struct slice_share *row_of(struct slice_count_state *c, uint32_t utid)
{
	uintptr_t at = (uintptr_t)hash_map_get(&c->by_utid, utid);

	if (at)
		return &c->rows[at - 1];
	if (c->cnt == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 256;
		void *p = realloc(c->rows, cap * sizeof(*c->rows));

		if (!p)
			return NULL;
		c->rows = p;
		c->cap = cap;
	}
	if (hash_map_put(&c->by_utid, utid, (void *)(c->cnt + 1)) < 0)
		return NULL;
	c->rows[c->cnt] = (struct slice_share){ .utid = utid };
	return &c->rows[c->cnt++];
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	struct slice_count_state *c = ctx;
	struct slice_share *s = row_of(c, p->utid);

	if (!s)
		return -ENOMEM;
	s->oncpu_ns += p->to_ns - p->from_ns;
	if (!p->end)
		return 0;
	s = row_of(c, p->end->utid);
	if (!s)
		return -ENOMEM;
	s->switches++;
	s->preempted += (p->end->flags & EVENT_F_PREEMPT) != 0;
	return 0;
}

static int count_event(struct slice_count_state *c, const struct event *ev)
{
	uint32_t who = ev->flags & EVENT_F_IRQ ? EVENT_ID_IRQ : ev->utid;
	struct slice_share *s;

	switch (ev->kind) {
	case EVENT_SWITCH:
		return cpu_timeline_switch(c->cpus, ev);
	case EVENT_WAKEUP:
		s = row_of(c, (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID]);
		if (s)
			s->wakeups++;
		return s ? 0 : -ENOMEM;
	case EVENT_SLAB_ALLOC:
		s = row_of(c, who);
		if (!s)
			return -ENOMEM;
		s->slab_allocs++;
		s->slab_bytes += ev->v[EV_SLAB_ALLOC_BYTES];
		return 0;
	case EVENT_PAGE_ALLOC:
		s = row_of(c, who);
		if (!s)
			return -ENOMEM;
		s->page_allocs++;
		s->page_bytes += c->page_bytes << (ev->v[EV_PAGE_ALLOC_PAGE_ORDER] & 31);
		return 0;
	default:
		return 0;
	}
}

static int row_cmp(const void *a, const void *b)
{
	const struct slice_share *x = a, *y = b;

	return x->utid < y->utid ? -1 : x->utid > y->utid;
}

struct where {
	const struct trace *t;
	size_t block;
};

static uint32_t runner(void *ctx, unsigned int cpu)
{
	const struct where *w = ctx;

	return trace_block_running(w->t, w->block, cpu);
}

static int count_events(struct slice_count_state *c, struct trace *t, const struct trace_block *b,
			struct err *e)
{
	struct event_cursor *cur = NULL;
	const struct event *ev;
	int r = event_cursor_open(&cur, t, ~0u, b->from_ns, b->to_ns, e);

	while (r >= 0 && (r = event_cursor_next(cur, &ev, e)) > 0)
		r = ev->cpu < c->cpu_cnt ? count_event(c, ev) : 0;
	event_cursor_close(cur);
	return r;
}

int slice_count(struct trace *t, size_t block, const struct slice_share **ret, size_t *ret_cnt,
		struct err *e)
{
	static struct slice_count_state last;
	struct slice_count_state *c = &last;
	struct where at = { t, block };
	const struct trace_block *b;
	const char *page = trace_get(t, "page_bytes");
	size_t cnt;
	int r;

	b = trace_blocks(t, &cnt);
	if (block >= cnt)
		return -EINVAL;
	b += block;
	hash_map_done(&c->by_utid);
	free(c->rows);
	*c = (struct slice_count_state){ .cpu_cnt = trace_cpu_cnt(t),
					 .page_bytes = page ? strtoull(page, NULL, 10) : 4096 };
	r = cpu_timeline_new(&c->cpus, c->cpu_cnt, on_piece, c);
	if (r == 0)
		r = cpu_timeline_boundary(c->cpus, b->from_ns, runner, &at);
	if (r == 0)
		r = count_events(c, t, b, e);
	for (unsigned int cpu = 0; r == 0 && cpu < c->cpu_cnt; cpu++)
		if (trace_block_end(t, block, cpu))
			r = cpu_timeline_finalize(c->cpus, trace_block_end(t, block, cpu));
	if (r == 0)
		r = cpu_timeline_boundary(c->cpus, b->to_ns, NULL, NULL);
	cpu_timeline_free(c->cpus);
	if (c->cnt)
		qsort(c->rows, c->cnt, sizeof(*c->rows), row_cmp);
	*ret = c->rows;
	*ret_cnt = c->cnt;
	return r;
}
