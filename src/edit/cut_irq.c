/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_irq: interrupts that are being served when the window ends. Readers of the cut assume that
 * they go on. If the larger trace shows later that their exit was lost, the cut marks their entry
 * (EVENT_F_BROKEN).
 */
#include <errno.h>

#include "base/array.h"
#include "edit/cut_state.h"
#include "model/irq_track.h"
#include "trace/irq_holes.h"

struct look {
	struct cut *c;
	bool beyond;	/* the end of the window has passed */
};

static int on_broken(void *ctx, const struct irq_run *r)
{
	const struct look *l = ctx;
	struct cut *c = l->c;
	struct event ev = { .ts_ns = r->from_ns, .cpu = (uint16_t)r->cpu };

	if (!l->beyond || r->from_ns >= c->to_ns)
		return 0;
	ev.v[EV_IRQ_TYPE] = r->type;
	ev.v[EV_IRQ_VECTOR] = r->vector;
	return array_add(&c->broken, &c->broken_cap, &c->broken_cnt, ev);
}

static int take(struct irq_track *track, struct irq_holes *holes, struct look *l,
		const struct event *ev)
{
	int r = 0;

	l->beyond = ev->ts_ns >= l->c->to_ns;
	if (irq_holes_pass(holes, ev->ts_ns + 1))
		r = irq_track_hole(track);
	return r < 0 ? r : irq_track_event(track, ev);
}

/* Reads events from the window's start until the interrupts served at its end have ended. */
static int look_on(struct cut *c, struct irq_track *track, struct irq_holes *holes, struct look *l,
		   struct err *e)
{
	struct event_cursor *cur;
	const struct event *ev;
	int r = event_cursor_open(&cur, c->t, 1u << EVENT_IRQ, c->from_ns, UINT64_MAX, e);

	if (r < 0)
		return r;
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		r = take(track, holes, l, ev);
		if (r < 0 || (l->beyond && irq_track_oldest_ns(track) >= c->to_ns))
			break;
	}
	event_cursor_close(cur);
	if (r != 0)
		return r;
	l->beyond = true;
	return trace_is_cut_short(c->t) ? irq_track_cut(track, trace_end_ns(c->t))
					: irq_track_hole(track);
}

int cut_find_broken(struct cut *c, struct err *e)
{
	struct look l = { .c = c };
	const struct irq_sink sink = { .ctx = &l, .broken = on_broken };
	struct irq_track *track = NULL;
	struct irq_holes holes = { 0 };
	int r;

	if (!(c->kinds_left & 1u << EVENT_IRQ) || c->to_ns >= trace_end_ns(c->t))
		return 0;
	r = irq_track_new(&track, trace_cpu_cnt(c->t), &sink) ?: irq_holes_find(&holes, c->t);
	if (r == 0)
		(void)irq_holes_pass(&holes, c->from_ns);
	for (size_t i = 0; i < c->before.event_cnt && r >= 0; i++)
		r = irq_track_event(track, &c->before.events[i]);
	if (r >= 0)
		r = look_on(c, track, &holes, &l, e);
	irq_track_free(track);
	irq_holes_done(&holes);
	return r < 0 ? r : 0;
}

static bool is_same(const struct event *a, const struct event *b)
{
	return a->ts_ns == b->ts_ns && a->cpu == b->cpu && a->v[EV_IRQ_TYPE] == b->v[EV_IRQ_TYPE] &&
	       a->v[EV_IRQ_VECTOR] == b->v[EV_IRQ_VECTOR];
}

void cut_mark_broken(const struct cut *c, struct event *ev)
{
	if (ev->kind != EVENT_IRQ || ev->v[EV_IRQ_ACTION] != EVENT_IRQ_ENTRY)
		return;
	for (size_t i = 0; i < c->broken_cnt; i++)
		if (is_same(&c->broken[i], ev))
			ev->flags |= EVENT_F_BROKEN;
}
