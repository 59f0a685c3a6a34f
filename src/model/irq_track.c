/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq_track: keeps a stack of served interrupts per CPU. Its depth is bounded, because it never
 * has an interrupt twice (a second entry shows that the exit was lost), and because a soft
 * interrupt is always at the bottom.
 */
#include "model/irq_track.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define DEPTH_MAX 8

struct open_run {
	struct irq_run run;	/* cuts are set when the run ends */
	struct irq_span *cuts;
	size_t cut_cnt, cut_cap;
	bool is_broken;		/* the run has a part of unknown length */
};

struct cpu_stack {
	/* each entry keeps its memory for cuts for the next run at that depth */
	struct open_run open[DEPTH_MAX];
	unsigned int depth;
};

struct irq_track {
	struct irq_sink sink;
	struct cpu_stack *cpus;
	unsigned int cpu_cnt;
	unsigned int open_cnt;		/* sum over all CPUs */
};

int irq_track_new(struct irq_track **ret, unsigned int cpu_cnt, const struct irq_sink *sink)
{
	struct irq_track *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->sink = *sink;
	t->cpu_cnt = cpu_cnt;
	t->cpus = calloc(cpu_cnt + 1, sizeof(*t->cpus));
	if (!t->cpus) {
		free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void irq_track_free(struct irq_track *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < t->cpu_cnt; i++)
		for (unsigned int k = 0; k < DEPTH_MAX; k++)
			free(t->cpus[i].open[k].cuts);
	free(t->cpus);
	free(t);
}

static int give_broken(struct irq_track *t, const struct irq_run *r)
{
	return t->sink.broken ? t->sink.broken(t->sink.ctx, r) : 0;
}

/*
 * Drops the interrupts above depth: their exits were lost, at an unknown time, so the interrupts
 * below are broken, too.
 */
static int drop_to(struct irq_track *t, struct cpu_stack *c, unsigned int depth)
{
	int ret = 0;

	if (c->depth <= depth)
		return 0;
	for (unsigned int i = 0; i < depth; i++)
		c->open[i].is_broken = true;
	while (c->depth > depth && ret >= 0) {
		ret = give_broken(t, &c->open[--c->depth].run);
		t->open_cnt--;
	}
	return ret;
}

static bool is_same(const struct open_run *o, const struct irq_run *r)
{
	return o->run.type == r->type && o->run.vector == r->vector;
}

/* Returns the index of r's interrupt in the stack; DEPTH_MAX: not found. */
static unsigned int find(const struct cpu_stack *c, const struct irq_run *r)
{
	unsigned int i = c->depth;

	while (i--)
		if (is_same(&c->open[i], r))
			return i;
	return DEPTH_MAX;
}

static int enter(struct irq_track *t, struct cpu_stack *c, const struct irq_run *r, bool is_broken)
{
	unsigned int at = r->type == EVENT_IRQ_SOFT ? 0 : find(c, r);
	struct open_run *o;
	int ret = 0;

	if (at == DEPTH_MAX && c->depth == DEPTH_MAX)
		at = 0;
	if (at != DEPTH_MAX)
		ret = drop_to(t, c, at);
	if (ret < 0)
		return ret;
	o = &c->open[c->depth++];
	o->run = *r;
	o->cut_cnt = 0;
	o->is_broken = is_broken;
	t->open_cnt++;
	return 0;
}

static int add_cut(struct open_run *o, uint64_t from_ns, uint64_t to_ns)
{
	return array_add(&o->cuts, &o->cut_cap, &o->cut_cnt, (struct irq_span){ from_ns, to_ns });
}

static int give_run(struct irq_track *t, struct open_run *o, uint64_t to_ns)
{
	struct irq_run r = o->run;

	r.to_ns = to_ns;
	r.cuts = o->cuts;
	r.cut_cnt = o->cut_cnt;
	r.own_ns = to_ns - r.from_ns;
	for (size_t i = 0; i < r.cut_cnt; i++)
		r.own_ns -= r.cuts[i].to_ns - r.cuts[i].from_ns;
	return t->sink.run ? t->sink.run(t->sink.ctx, &r) : 0;
}

static int leave(struct irq_track *t, struct cpu_stack *c, const struct irq_run *r)
{
	unsigned int at = find(c, r), i;
	struct open_run *o;
	int ret;

	if (at == DEPTH_MAX) {
		for (i = 0; i < c->depth; i++)
			c->open[i].is_broken = true;
		return give_broken(t, r);
	}
	ret = drop_to(t, c, at + 1);
	if (ret < 0)
		return ret;
	o = &c->open[at];
	c->depth--;
	t->open_cnt--;
	/*
	 * the time in o does not count for the outer interrupt, even if it is unknown which
	 * interrupt ran
	 */
	if (at && add_cut(&c->open[at - 1], o->run.from_ns, r->from_ns) < 0)
		return -ENOMEM;
	return o->is_broken ? give_broken(t, &o->run) : give_run(t, o, r->from_ns);
}

int irq_track_event(struct irq_track *t, const struct event *ev)
{
	const struct irq_run r = { .cpu = ev->cpu, .utid = ev->utid,
				   .type = (uint32_t)ev->v[EV_IRQ_TYPE],
				   .vector = (uint32_t)ev->v[EV_IRQ_VECTOR],
				   .from_ns = ev->ts_ns, .to_ns = ev->ts_ns };
	struct cpu_stack *c;
	int ret = 0;

	if (ev->kind != EVENT_IRQ || ev->cpu >= t->cpu_cnt)
		return 0;
	c = &t->cpus[ev->cpu];
	if (c->depth && c->open[0].run.utid != r.utid)
		ret = drop_to(t, c, 0);
	if (ret < 0)
		return ret;
	return ev->v[EV_IRQ_ACTION] == EVENT_IRQ_ENTRY ? enter(t, c, &r, ev->flags & EVENT_F_BROKEN)
						       : leave(t, c, &r);
}

int irq_track_hole_on(struct irq_track *t, unsigned int cpu)
{
	return cpu < t->cpu_cnt ? drop_to(t, &t->cpus[cpu], 0) : 0;
}

int irq_track_hole(struct irq_track *t)
{
	int ret = 0;

	for (unsigned int i = 0; i < t->cpu_cnt && t->open_cnt && ret >= 0; i++)
		ret = drop_to(t, &t->cpus[i], 0);
	return ret;
}

int irq_track_cut(struct irq_track *t, uint64_t end_ns)
{
	int ret = 0;

	for (unsigned int i = 0; i < t->cpu_cnt && t->open_cnt && ret >= 0; i++) {
		struct cpu_stack *c = &t->cpus[i];

		while (c->depth && ret >= 0) {
			struct irq_run r = c->open[c->depth - 1].run;

			r.from_ns = end_ns;
			ret = leave(t, c, &r);
		}
	}
	return ret;
}

uint64_t irq_track_oldest_ns(const struct irq_track *t)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned int i = 0; i < t->cpu_cnt && t->open_cnt; i++)
		if (t->cpus[i].depth && t->cpus[i].open[0].run.from_ns < oldest)
			oldest = t->cpus[i].open[0].run.from_ns;
	return oldest;
}

unsigned int irq_track_depth(const struct irq_track *t, unsigned int cpu)
{
	return cpu < t->cpu_cnt ? t->cpus[cpu].depth : 0;
}

void irq_track_save(const struct irq_track *t, uint64_t at_ns, struct buf *out)
{
	for (unsigned int i = 0; i < t->cpu_cnt && t->open_cnt; i++) {
		const struct cpu_stack *c = &t->cpus[i];

		for (unsigned int k = 0; k < c->depth; k++) {
			const struct open_run *o = &c->open[k];

			packed_put(out, i);
			packed_put(out, o->run.utid);
			packed_put(out, o->run.type);
			packed_put(out, o->run.vector);
			packed_put(out, at_ns - o->run.from_ns);
			packed_put(out, o->is_broken);
			packed_put(out, o->cut_cnt);
			for (size_t n = 0; n < o->cut_cnt; n++) {
				packed_put(out, at_ns - o->cuts[n].from_ns);
				packed_put(out, o->cuts[n].to_ns - o->cuts[n].from_ns);
			}
		}
	}
}

static int load_cuts(struct open_run *o, struct packed_in *in, uint64_t at_ns, size_t cnt)
{
	uint64_t last = o->run.from_ns;

	o->cut_cnt = 0;
	while (cnt--) {
		uint64_t from = at_ns - packed_get(in), len = packed_get(in);

		/* saved cuts are in order, disjoint, and end by at_ns */
		if (in->bad || from < last || from > at_ns || len > at_ns - from)
			return -EBADMSG;
		last = from + len;
		if (add_cut(o, from, last) < 0)
			return -ENOMEM;
	}
	return 0;
}

int irq_track_load(struct irq_track *t, struct packed_in *in, uint64_t at_ns)
{
	while (in->p != in->end) {
		uint64_t cpu = packed_get(in);
		struct irq_run r = { .cpu = (uint32_t)cpu };
		struct open_run *o;
		uint64_t age;
		size_t cuts;
		int ret;

		r.utid = (uint32_t)packed_get(in);
		r.type = (uint32_t)packed_get(in);
		r.vector = (uint32_t)packed_get(in);
		age = packed_get(in);
		r.from_ns = r.to_ns = at_ns - age;
		if (in->bad || cpu >= t->cpu_cnt || t->cpus[cpu].depth == DEPTH_MAX || age > at_ns)
			return -EBADMSG;
		o = &t->cpus[cpu].open[t->cpus[cpu].depth++];
		t->open_cnt++;
		o->run = r;
		o->is_broken = packed_get(in) != 0;
		cuts = packed_get_cnt(in);
		ret = in->bad ? -EBADMSG : load_cuts(o, in, at_ns, cuts);
		if (ret < 0)
			return ret;
	}
	return 0;
}
