/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_events: the events that a cut keeps, block by block, and the thread on each CPU at both ends
 * of a block.
 *
 * One cursor reads the window in order of time. A late event therefore goes into the block of its
 * own slice. The cursor begins where the old trace's state of the CPUs is certain
 * (trace_block_running()), which may be some blocks before the window.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "edit/cut_state.h"
#include "model/cpu_timeline.h"

#define NOBODY UINT32_MAX	/* the slice has no piece yet */

struct cut_events {
	struct event_cursor *cursor;
	const struct event *next;	/* returned by the cursor, but not used yet; or NULL */
	struct cpu_timeline *timeline;
	size_t block;			/* the next block of the old trace */
	uint64_t from_ns, to_ns;	/* the part of this block's slice that is in the window */
	struct cut *cut;
};

static uint32_t keyframe(void *ctx, unsigned int cpu)
{
	const struct cut_events *x = ctx;

	return trace_block_running(x->cut->t, x->block, cpu);
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	const struct cut_events *x = ctx;
	struct cut *c = x->cut;
	uint32_t owner = p->utid;
	uint64_t own_ns = cpu_piece_own_steal_ns(p);

	if (c->filter && owner != EVENT_ID_UNKNOWN && !cut_filter_has_thread(c->filter, owner))
		owner = EVENT_ID_FILTERED;
	/*
	 * a switch at the slice's first instant belongs to the slice: the leaving thread had the
	 * CPU
	 */
	if (c->cpu_first[p->cpu] == NOBODY &&
	    (p->to_ns > x->from_ns || (p->to_ns == x->from_ns && p->end))) {
		/* the switch that ends a restored stay of the slice restores it in the cut, too */
		c->cpu_first[p->cpu] = p->is_restored && p->from_ns >= x->from_ns ?
					       EVENT_ID_UNKNOWN : owner;
		c->cpu_since[p->cpu] = p->from_ns < x->from_ns ? p->from_ns : 0;
	}
	if (p->from_ns < x->to_ns && p->to_ns >= x->to_ns) {
		c->cpu_last[p->cpu] = (struct row_cpu_end){ .cpu = p->cpu, .utid = owner };
		if (p->is_restored && p->from_ns > x->from_ns)
			c->cpu_last[p->cpu].since_ns = p->from_ns;
		if (own_ns > p->to_ns - x->to_ns)
			c->cpu_last[p->cpu].steal_ns = own_ns - (p->to_ns - x->to_ns);
	}
	return 0;
}

/* Returns whether the block's keyframe is certain: this and later blocks have no earlier event. */
static bool is_keyframe_sure(const struct trace *t, size_t i)
{
	const struct trace_block *b = trace_block_at(t, i);
	const struct trace_block_more *m = trace_more_at(t, i);

	return !i || m->late_ns >= b->from_ns || b[-1].to_ns < b->from_ns || m[-1].damaged;
}

int cut_events_new(struct cut *c, struct err *e)
{
	const struct trace_block *b = trace_block_at(c->t, 0);
	struct cut_events *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	c->source = x;
	x->cut = c;
	for (x->block = c->first; !is_keyframe_sure(c->t, x->block); x->block--)
		;
	if (cpu_timeline_new(&x->timeline, trace_cpu_cnt(c->t), on_piece, x) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	return event_cursor_open(&x->cursor, c->t, c->kinds_left, b[x->block].from_ns,
				 b[c->end - 1].to_ns, e);
}

void cut_events_free(struct cut_events *x)
{
	if (!x)
		return;
	event_cursor_close(x->cursor);
	cpu_timeline_free(x->timeline);
	free(x);
}

static int keep_event(struct cut *c, const struct event *ev)
{
	struct event mine = *ev;
	int r = c->filter ? cut_filter_event(c->filter, &mine) : 1;

	if (r <= 0)
		return r;
	cut_mark_broken(c, &mine);
	return array_add(&c->events, &c->event_cap, &c->event_cnt, mine);
}

static int take_until(struct cut_events *x, uint64_t to_ns, struct err *e)
{
	struct cut *c = x->cut;
	int r = 0;

	while (r >= 0) {
		if (!x->next) {
			r = event_cursor_next(x->cursor, &x->next, e);
			if (r <= 0) {
				x->next = NULL;
				return r;
			}
		}
		if (x->next->ts_ns >= to_ns)
			return 0;
		r = x->next->kind == EVENT_SWITCH ? cpu_timeline_switch(x->timeline, x->next) : 0;
		if (r >= 0 && x->next->ts_ns >= c->from_ns && x->next->ts_ns < c->to_ns)
			r = keep_event(c, x->next);
		x->next = NULL;
	}
	return r;
}

static int next_block(struct cut_events *x, struct err *e)
{
	struct cut *c = x->cut;
	const struct trace_block *b = trace_block_at(c->t, x->block);
	const struct row_cpu_end *last;
	int r;

	x->from_ns = b->from_ns > c->from_ns ? b->from_ns : c->from_ns;
	x->to_ns = b->to_ns < c->to_ns ? b->to_ns : c->to_ns;
	for (unsigned int cpu = 0; cpu < trace_cpu_cnt(c->t); cpu++) {
		c->cpu_first[cpu] = NOBODY;
		c->cpu_since[cpu] = 0;
		c->cpu_last[cpu] = (struct row_cpu_end){ .cpu = cpu, .utid = EVENT_ID_UNKNOWN };
	}
	if (c->filter)
		cut_filter_begin_block(c->filter);
	r = cpu_timeline_boundary(x->timeline, b->from_ns,
				  is_keyframe_sure(c->t, x->block) ? keyframe : NULL, x);
	if (r >= 0)
		r = take_until(x, b->to_ns, e);
	if (trace_block_is_damaged(c->t, x->block))
		cpu_timeline_forget(x->timeline);
	for (unsigned int cpu = 0; r >= 0 && cpu < trace_cpu_cnt(c->t); cpu++) {
		last = trace_block_end(c->t, x->block, cpu);
		r = last ? cpu_timeline_finalize(x->timeline, last) : 0;
	}
	if (r >= 0)
		r = cpu_timeline_boundary(x->timeline, b->to_ns, NULL, NULL);
	for (unsigned int cpu = 0; cpu < trace_cpu_cnt(c->t); cpu++)
		if (c->cpu_first[cpu] == NOBODY)
			c->cpu_first[cpu] = EVENT_ID_UNKNOWN;
	x->block++;
	return r;
}

int cut_events_until(struct cut *c, size_t block, struct err *e)
{
	int r = 0;

	while (r >= 0 && c->source->block <= block)
		r = next_block(c->source, e);
	return r < 0 ? err_set(e, r, "%s", err_text(e, r)) : 0;
}
