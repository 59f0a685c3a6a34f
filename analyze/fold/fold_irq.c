/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fold_irq: the machine is a tracker, with the times at which holes in the events begin. */
#include "analyze/fold/folds.h"

#include "trace/trace_read.h"

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
 * Handles holes before to_ns; called before the events before to_ns. If an interrupt is open when a
 * hole begins, its end is unknown.
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
