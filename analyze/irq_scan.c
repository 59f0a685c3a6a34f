/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A cursor, a tracker, and the instants from which on events are missing. */
#include "analyze/irq_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct irq_scan {
	struct irq_track *track;
	struct event_cursor *cursor;
	const struct event *next;	/* read, not yet used */
	uint64_t *holes;		/* ascending */
	size_t hole_cnt, hole_at;
	bool at_end;
};

static int compare_instants(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

static int find_holes(struct irq_scan *s, const struct trace *t)
{
	size_t block_cnt, gap_cnt, i;
	const struct trace_block *b = trace_blocks(t, &block_cnt);
	const struct trace_gap *g = trace_gaps(t, &gap_cnt);

	s->holes = calloc(block_cnt + gap_cnt + 1, sizeof(*s->holes));
	if (!s->holes)
		return -ENOMEM;
	for (i = 0; i < gap_cnt; i++)
		if (!strcmp(g[i].source, "sched.irq"))
			s->holes[s->hole_cnt++] = g[i].from_ns;
	for (i = 0; i < block_cnt; i++)
		if (trace_block_is_damaged(t, i) || (i && b[i].from_ns > b[i - 1].to_ns))
			s->holes[s->hole_cnt++] =
				i && b[i].from_ns > b[i - 1].to_ns ? b[i - 1].to_ns : b[i].from_ns;
	qsort(s->holes, s->hole_cnt, sizeof(*s->holes), compare_instants);
	return 0;
}

static int open_at(struct irq_scan **ret, struct analysis *a, uint64_t from_ns,
		   struct index_in *state, const struct irq_sink *sink, struct err *e)
{
	static const uint32_t columns[EVENT_KIND_CNT] = {
		[EVENT_IRQ] = EVENT_COL_UTID | 1u << EV_IRQ_ACTION | 1u << EV_IRQ_TYPE |
			      1u << EV_IRQ_VECTOR,
	};
	struct irq_scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	r = irq_track_new(&s->track, trace_cpu_cnt(a->trace), sink);
	if (!r && state)
		r = irq_track_load(s->track, state, from_ns);
	if (!r)
		r = find_holes(s, a->trace);
	if (r < 0)
		err_set(e, r, "%s", err_text(NULL, r));
	else
		r = event_cursor_open_columns(&s->cursor, a->trace, 1u << EVENT_IRQ, columns,
					      from_ns, UINT64_MAX, e);
	if (r < 0) {
		irq_scan_close(s);
		return r;
	}
	while (s->hole_at < s->hole_cnt && s->holes[s->hole_at] < from_ns)
		s->hole_at++;
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
	free(s->holes);
	free(s);
}

/* What is being served at a hole has no end that can be told. */
static int pass_holes(struct irq_scan *s, uint64_t below_ns)
{
	int r = 0;

	for (; s->hole_at < s->hole_cnt && s->holes[s->hole_at] < below_ns && r >= 0; s->hole_at++)
		r = irq_track_hole(s->track);
	return r;
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
			r = irq_track_hole(s->track);
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
