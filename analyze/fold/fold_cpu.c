/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_cpu: blocks cover consecutive slices of time. The time of a hole between two blocks (a
 * damaged block) is assigned to EVENT_ID_UNKNOWN. A record inside a hole arrived late, in another
 * block. A keyframe is used if its edge is clean, that is if no later block has a record from
 * before the edge. Otherwise the chain of switches continues across the edge.
 */
#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"
#include "trace/trace_read.h"

struct cpu_machine {
	struct fold_machine f;
	struct cpu_timeline *tl;
	const struct trace_block *blocks;
	size_t block_cnt;
	uint64_t begin_ns;		/* start of the timeline */
	uint64_t start_ns;		/* start of the trace */
};

struct keyframe {
	const struct trace *trace;
	size_t block;
};

static uint32_t runner_of_keyframe(void *ctx, unsigned int cpu)
{
	const struct keyframe *k = ctx;

	return trace_block_running(k->trace, k->block, cpu);
}

static uint32_t runner_unknown(void *ctx, unsigned int cpu)
{
	return EVENT_ID_UNKNOWN;
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	const struct cpu_machine *m = ctx;
	struct cpu_piece in_trace;

	if (p->from_ns > m->start_ns)
		return fold_found(ctx, p);
	/* if the stay begins with the trace, steal time that exceeds it is older: drop that time */
	in_trace = *p;
	in_trace.steal_ns = cpu_piece_own_steal_ns(p);
	return fold_found(ctx, &in_trace);
}

static int cpu_open(void *machine)
{
	struct cpu_machine *m = machine;
	const struct trace *t = m->f.a->trace;

	m->blocks = trace_blocks(t, &m->block_cnt);
	m->start_ns = trace_start_ns(t);
	return cpu_timeline_new(&m->tl, trace_cpu_cnt(t), on_piece, m);
}

static void cpu_close(void *machine)
{
	cpu_timeline_free(((struct cpu_machine *)machine)->tl);
}

static int cpu_start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	struct cpu_machine *m = machine;

	m->begin_ns = from_ns;
	/* the threads that run before the first block are unknown */
	return cpu_timeline_boundary(m->tl, from_ns, runner_unknown, NULL);
}

static int cpu_event(void *machine, const struct event *ev)
{
	struct cpu_machine *m = machine;

	return cpu_timeline_switch(m->tl, ev);
}

static bool is_hole_behind(const struct cpu_machine *m, size_t block)
{
	return block + 1 == m->block_cnt ||
	       m->blocks[block + 1].from_ns > m->blocks[block].to_ns ||
	       trace_block_is_damaged(m->f.a->trace, block);
}

/* In a trace that was cut, the last block stores the thread that runs on each CPU at its end. */
static int finalize(struct cpu_machine *m, size_t block)
{
	const struct row_cpu_end *last;
	int ret = 0;

	for (unsigned int cpu = 0; ret >= 0 && cpu < trace_cpu_cnt(m->f.a->trace); cpu++) {
		last = trace_block_end(m->f.a->trace, block, cpu);
		ret = last ? cpu_timeline_finalize(m->tl, last) : 0;
	}
	return ret;
}

static int cpu_edge(void *machine, size_t block, bool is_end)
{
	struct cpu_machine *m = machine;
	const struct trace_block *b = &m->blocks[block];
	struct keyframe k = { m->f.a->trace, block };
	bool is_told;
	int ret = 0;

	if (is_end) {
		if (trace_block_is_damaged(m->f.a->trace, block))
			cpu_timeline_forget(m->tl);
		else
			ret = finalize(m, block);
		if (ret < 0)
			return ret;
		return cpu_timeline_boundary(m->tl, b->to_ns,
					     is_hole_behind(m, block) ? runner_unknown : NULL,
					     NULL);
	}
	/* the first block's keyframe is the state at the trace's start */
	is_told = !block || b->from_ns == m->begin_ns || m->f.a->block_is_clean[block] ||
		  is_hole_behind(m, block - 1);
	return cpu_timeline_boundary(m->tl, b->from_ns, is_told ? runner_of_keyframe : NULL, &k);
}

/* Reports all pieces before to_ns, which is an edge or the trace's end. */
static int cpu_until(void *machine, uint64_t to_ns)
{
	struct cpu_machine *m = machine;

	return cpu_timeline_boundary(m->tl, to_ns, NULL, NULL);
}

/* ---- sums ---- */

/*
 * Adds steal time. Time that exceeds the thread's stay was stolen before it, from an unknown
 * thread.
 */
static int add_stolen(struct fold_target *t, const struct cpu_piece *p)
{
	struct fold_key key = { dense_thread(t->ids, p->utid), p->cpu };
	uint64_t own_ns = cpu_piece_own_steal_ns(p);
	void *sum;
	int ret = fold_sum_add_time(t, &key, offsetof(struct cpu_sum, steal_ns),
				    p->to_ns - own_ns, p->to_ns);

	if (ret < 0 || p->steal_ns == own_ns)
		return ret;
	key.a = dense_thread(t->ids, EVENT_ID_UNKNOWN);
	ret = fold_sum_at(t, p->from_ns, &key, &sum);
	if (ret > 0)
		((struct cpu_sum *)sum)->steal_ns += p->steal_ns - own_ns;
	return ret;
}

static int cpu_add(void *ctx, const void *found)
{
	struct fold_target *t = ctx;
	const struct cpu_piece *p = found;
	const struct event *ev = p->end;
	struct fold_key key = { dense_thread(t->ids, p->utid), p->cpu };
	struct cpu_sum *x;
	void *sum;
	int ret = fold_sum_add_time(t, &key, offsetof(struct cpu_sum, oncpu_ns), p->from_ns,
				    p->to_ns);

	if (ret >= 0 && p->steal_ns)
		ret = add_stolen(t, p);
	if (ret < 0 || !ev)
		return ret;
	key.a = dense_thread(t->ids, ev->utid);
	ret = fold_sum_at(t, ev->ts_ns, &key, &sum);
	if (ret <= 0)
		return ret;
	x = sum;
	x->switches++;
	x->preempted += !!(ev->flags & EVENT_F_PREEMPT);
	return 0;
}

static void cpu_put_key(const struct dense_ids *d, const struct fold_key *key, struct buf *out)
{
	packed_put(out, dense_utid(d, (uint32_t)key->a));
	packed_put(out, key->a >> FOLD_KEY_RENAMES);
	packed_put(out, key->b);
}

static void cpu_get_key(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret)
{
	ret->a = dense_thread(d, (uint32_t)packed_get(in));
	ret->a |= packed_get(in) << FOLD_KEY_RENAMES;
	ret->b = (uint32_t)packed_get(in);
}

static const struct fold_sums_def cpu_sums = {
	.bytes = sizeof(struct cpu_sum), .count_cnt = 4, .add = cpu_add, .put_key = cpu_put_key,
	.get_key = cpu_get_key, .part = INDEX_CPU, .renames = &fold_thread_renames,
};

static const uint32_t cpu_columns[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = FOLD_CPU_COLUMNS | 1u << EV_SWITCH_STEAL_NS,
};

const struct fold_def fold_cpu = {
	.kinds = 1u << EVENT_SWITCH, .columns = cpu_columns, .begin = FOLD_FROM_EDGE,
	.sums = &cpu_sums, .bytes = sizeof(struct cpu_machine), .open = cpu_open,
	.close = cpu_close, .start = cpu_start, .event = cpu_event, .edge = cpu_edge,
	.until = cpu_until,
};

/* fold_irq: the machine is an irq_track and the times at which holes in the events begin. */

struct irq_machine {
	struct fold_machine f;
	struct irq_track *track;
	struct irq_holes holes;
};

static int on_run(void *ctx, const struct irq_run *r)
{
	return fold_found(ctx, &(struct irq_found){ r, false });
}

static int on_broken(void *ctx, const struct irq_run *r)
{
	return fold_found(ctx, &(struct irq_found){ r, true });
}

static int machine_open(void *machine)
{
	struct irq_machine *m = machine;
	const struct irq_sink to = { .ctx = m, .run = on_run, .broken = on_broken };
	int ret = irq_track_new(&m->track, trace_cpu_cnt(m->f.a->trace), &to);

	return ret < 0 ? ret : irq_holes_find(&m->holes, m->f.a->trace);
}

static void machine_close(void *machine)
{
	struct irq_machine *m = machine;

	irq_track_free(m->track);
	irq_holes_done(&m->holes);
}

/*
 * Handles the holes before to_ns; call before passing later events. An interrupt that is open at a
 * hole has an unknown end.
 */
static int until(void *machine, uint64_t to_ns)
{
	struct irq_machine *m = machine;

	return irq_holes_pass(&m->holes, to_ns) ? irq_track_hole(m->track) : 0;
}

static int on_event(void *machine, const struct event *ev)
{
	struct irq_machine *m = machine;
	int ret = until(m, ev->ts_ns + 1);

	return ret < 0 ? ret : irq_track_event(m->track, ev);
}

static int at_end(void *machine)
{
	struct irq_machine *m = machine;
	const struct trace *t = m->f.a->trace;
	int ret = until(m, UINT64_MAX);

	if (ret < 0)
		return ret;
	return trace_is_cut_short(t) ? irq_track_cut(m->track, trace_end_ns(t)) :
				       irq_track_hole(m->track);
}

static uint64_t undecided_ns(const void *machine)
{
	return irq_track_oldest_ns(((const struct irq_machine *)machine)->track);
}

/* ---- states ---- */

static void save(void *machine, uint64_t at_ns, struct buf *out)
{
	irq_track_save(((struct irq_machine *)machine)->track, at_ns, out);
}

static int load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	struct irq_machine *m = machine;

	(void)irq_holes_pass(&m->holes, at_ns);
	return irq_track_load(m->track, in, at_ns);
}

static const struct fold_state_def irq_state = {
	.part = INDEX_IRQ_STATE, .tail = INDEX_TAIL_IRQ, .save = save, .load = load,
};

static const uint32_t irq_columns[EVENT_KIND_CNT] = {
	[EVENT_IRQ] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_IRQ_ACTION | 1u << EV_IRQ_TYPE |
		      1u << EV_IRQ_VECTOR,
};

const struct fold_def fold_irq = {
	.kinds = 1u << EVENT_IRQ, .columns = irq_columns, .state = &irq_state,
	.bytes = sizeof(struct irq_machine), .open = machine_open, .close = machine_close,
	.event = on_event, .until = until, .end = at_end, .undecided_ns = undecided_ns,
};
