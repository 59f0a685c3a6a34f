/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* carry_irq: irq_track.h says what is being served; a list of events per CPU begins anew when nothing is. */
#include "event/carry_irq.h"

#include <errno.h>
#include <stdlib.h>

#include "event/irq_track.h"
#include "event/trace_state.h"

struct numbered {
	struct event ev;
	uint64_t nr;
};

struct carry_irq {
	struct irq_track *track;
	struct irq_holes holes;
	struct trace_list *cpus; /* struct numbered */
	unsigned int cpu_cnt;
};

static int on_run(void *ctx, const struct irq_run *r)
{
	return 0;
}

int carry_irq_new(struct carry_irq **ret, const struct trace *t)
{
	const struct irq_sink sink = { .run = on_run };
	struct carry_irq *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	q->cpu_cnt = trace_cpu_cnt(t);
	q->cpus = calloc(q->cpu_cnt + 1, sizeof(*q->cpus));
	r = q->cpus ? irq_track_new(&q->track, q->cpu_cnt, &sink) : -ENOMEM;
	if (r == 0)
		r = irq_holes_find(&q->holes, t);
	if (r < 0) {
		carry_irq_free(q);
		return r;
	}
	*ret = q;
	return 0;
}

void carry_irq_free(struct carry_irq *q)
{
	unsigned int i;

	if (!q)
		return;
	for (i = 0; q->cpus && i < q->cpu_cnt; i++)
		free(q->cpus[i].v);
	free(q->cpus);
	irq_track_free(q->track);
	irq_holes_done(&q->holes);
	free(q);
}

int carry_irq_event(struct carry_irq *q, const struct event *ev, uint64_t nr)
{
	struct numbered *n;
	unsigned int depth;
	int r = 0;

	if (ev->cpu >= q->cpu_cnt)
		return 0;
	if (irq_holes_pass(&q->holes, ev->ts_ns + 1))
		r = irq_track_hole(q->track);
	if (r >= 0)
		r = irq_track_event(q->track, ev);
	if (r < 0)
		return r;
	depth = irq_track_depth(q->track, ev->cpu);
	if (!depth || (depth == 1 && ev->v[EV_IRQ_ACTION] == EVENT_IRQ_ENTRY))
		q->cpus[ev->cpu].cnt = 0;
	if (!depth)
		return 0;
	n = trace_list_add(&q->cpus[ev->cpu], sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = (struct numbered){ *ev, nr };
	return 0;
}

int carry_irq_give(struct carry_irq *q, uint64_t at_ns, carry_irq_fn fn, void *ctx)
{
	unsigned int cpu;
	size_t i;
	int r = 0;

	if (irq_holes_pass(&q->holes, at_ns))
		r = irq_track_hole(q->track);
	for (cpu = 0; cpu < q->cpu_cnt && r >= 0; cpu++) {
		const struct numbered *n = q->cpus[cpu].v;

		if (!irq_track_depth(q->track, cpu))
			q->cpus[cpu].cnt = 0;
		for (i = 0; i < q->cpus[cpu].cnt && r >= 0; i++)
			r = fn(ctx, &n[i].ev, n[i].nr);
	}
	return r < 0 ? r : 0;
}
