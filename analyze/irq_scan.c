/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A cursor, a tracker, and the instants from which on events are missing. */
#include "analyze/irq_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/index.h"

struct irq_scan {
	const struct trace *trace;
	struct irq_track *track;
	struct event_cursor *cursor;
	const struct event *next;	/* read, not yet used */
	struct irq_holes holes;
	bool at_end;
};

static int open_at(struct irq_scan **ret, struct analysis *a, uint64_t from_ns,
		   struct index_in *state, const struct irq_sink *sink, struct err *e)
{
	static const uint32_t columns[EVENT_KIND_CNT] = {
		[EVENT_IRQ] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_IRQ_ACTION | 1u << EV_IRQ_TYPE |
			      1u << EV_IRQ_VECTOR,
	};
	struct irq_scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->trace = a->trace;
	r = irq_track_new(&s->track, trace_cpu_cnt(a->trace), sink);
	if (!r && state)
		r = irq_track_load(s->track, state, from_ns);
	if (!r)
		r = irq_holes_find(&s->holes, a->trace);
	if (r < 0)
		err_set(e, r, "%s", err_text(NULL, r));
	else
		r = event_cursor_open_columns(&s->cursor, a->trace, 1u << EVENT_IRQ, columns,
					      from_ns, UINT64_MAX, e);
	if (r < 0) {
		irq_scan_close(s);
		return r;
	}
	(void)irq_holes_pass(&s->holes, from_ns);
	*ret = s;
	return 0;
}

int irq_scan_open_state(struct irq_scan **ret, struct analysis *a, uint64_t from_ns,
			struct index_in *state, const struct irq_sink *sink, struct err *e)
{
	return open_at(ret, a, from_ns, state, sink, e);
}

int irq_scan_open(struct irq_scan **ret, struct analysis *a, const struct index *index,
		  uint64_t from_ns, const struct irq_sink *sink, struct err *e)
{
	struct buf mem = { 0 };
	struct index_in in;
	size_t cell;
	int r;

	if (!index)
		return open_at(ret, a, 0, NULL, sink, e);
	cell = index_cell_at(index, from_ns);
	r = index_read(index, cell, INDEX_IRQ_STATE, &mem, &in);
	if (!r)
		r = open_at(ret, a, index_cell_from(index, cell), &in, sink, e);
	buf_done(&mem);
	return r;
}

void irq_scan_close(struct irq_scan *s)
{
	if (!s)
		return;
	event_cursor_close(s->cursor);
	irq_track_free(s->track);
	irq_holes_done(&s->holes);
	free(s);
}

/* What is being served at a hole has no end that can be told. */
static int pass_holes(struct irq_scan *s, uint64_t below_ns)
{
	return irq_holes_pass(&s->holes, below_ns) ? irq_track_hole(s->track) : 0;
}

static int read_next(struct irq_scan *s, struct err *e)
{
	int r;

	if (s->next || s->at_end)
		return 0;
	r = event_cursor_next(s->cursor, &s->next, e);
	if (r <= 0)
		s->next = NULL;
	s->at_end = !r;
	return r < 0 ? r : 0;
}

int irq_scan_next(struct irq_scan *s, uint64_t to_ns, struct err *e)
{
	const struct event *ev;
	int r = read_next(s, e);

	if (r < 0)
		return r;
	ev = s->next;
	if (!ev || ev->ts_ns >= to_ns) {
		r = pass_holes(s, to_ns);
		if (r >= 0 && !ev && to_ns == UINT64_MAX)
			r = trace_is_cut_short(s->trace) ? irq_track_cut(s->track, trace_end_ns(s->trace)) :
							   irq_track_hole(s->track);
		return r < 0 ? err_set(e, r, "out of memory") : 0;
	}
	r = pass_holes(s, ev->ts_ns + 1);
	if (r >= 0)
		r = irq_track_event(s->track, ev);
	s->next = NULL;
	return r < 0 ? err_set(e, r, "out of memory") : 1;
}

const struct irq_track *irq_scan_track(const struct irq_scan *s)
{
	return s->track;
}
