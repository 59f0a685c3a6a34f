/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* summary_count: a cpu_timeline for the time, a row per thread for the rest. */
#include "event/summary_count.h"

#include <errno.h>
#include <stdlib.h>

#include "base/idmap.h"

struct summary_count {
	struct cpu_timeline *cpus;
	unsigned int cpu_cnt;
	uint64_t page_bytes;
	struct idmap by_utid; /* index + 1 in rows */
	struct trace_summary *rows;
	size_t cnt, cap;
};

static struct trace_summary *row_of(struct summary_count *c, uint32_t utid)
{
	uintptr_t at = (uintptr_t)idmap_get(&c->by_utid, utid);

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
	if (idmap_put(&c->by_utid, utid, (void *)(c->cnt + 1)) < 0)
		return NULL;
	c->rows[c->cnt] = (struct trace_summary){ .utid = utid };
	return &c->rows[c->cnt++];
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	struct summary_count *c = ctx;
	struct trace_summary *s = row_of(c, p->utid);

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

int summary_count_new(struct summary_count **ret, unsigned int cpu_cnt, uint64_t page_bytes)
{
	struct summary_count *c = calloc(1, sizeof(*c));

	if (!c || cpu_timeline_new(&c->cpus, cpu_cnt, on_piece, c) < 0) {
		free(c);
		return -ENOMEM;
	}
	c->cpu_cnt = cpu_cnt;
	c->page_bytes = page_bytes;
	*ret = c;
	return 0;
}

void summary_count_free(struct summary_count *c)
{
	if (!c)
		return;
	cpu_timeline_free(c->cpus);
	idmap_done(&c->by_utid);
	free(c->rows);
	free(c);
}

int summary_count_begin(struct summary_count *c, uint64_t from_ns, cpu_timeline_runner runner,
			void *ctx)
{
	return cpu_timeline_boundary(c->cpus, from_ns, runner, ctx);
}

int summary_count_event(struct summary_count *c, const struct event *ev)
{
	uint32_t who = ev->flags & EVENT_F_IRQ ? EVENT_ID_IRQ : ev->utid;
	struct trace_summary *s;

	switch (ev->kind) {
	case EVENT_SWITCH:
		return cpu_timeline_switch(c->cpus, ev);
	case EVENT_WAKEUP:
		s = row_of(c, (uint32_t)ev->v[EV_WAKEUP_TARGET]);
		if (s)
			s->wakeups++;
		return s ? 0 : -ENOMEM;
	case EVENT_SLAB_ALLOC:
		s = row_of(c, who);
		if (!s)
			return -ENOMEM;
		s->slab_allocs++;
		s->slab_bytes += ev->v[EV_SLAB_BYTES];
		return 0;
	case EVENT_PAGE_ALLOC:
		s = row_of(c, who);
		if (!s)
			return -ENOMEM;
		s->page_allocs++;
		s->page_bytes += c->page_bytes << (ev->v[EV_PAGE_ORDER] & 31);
		return 0;
	default:
		return 0;
	}
}

static int row_cmp(const void *a, const void *b)
{
	const struct trace_summary *x = a, *y = b;

	return x->utid < y->utid ? -1 : x->utid > y->utid;
}

int summary_count_end(struct summary_count *c, uint64_t to_ns, const uint32_t *ends,
		      const struct trace_summary **ret, size_t *ret_cnt)
{
	unsigned int cpu;
	int r;

	for (cpu = 0; ends && cpu < c->cpu_cnt; cpu++)
		cpu_timeline_settle(c->cpus, cpu, ends[cpu]);
	r = cpu_timeline_boundary(c->cpus, to_ns, NULL, NULL);
	if (r < 0)
		return r;
	if (c->cnt)
		qsort(c->rows, c->cnt, sizeof(*c->rows), row_cmp);
	*ret = c->rows;
	*ret_cnt = c->cnt;
	return 0;
}
