/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_cut: selects the blocks of a cut, and writes blocks and manifest through the store writer
 * that recordings use.
 */
#include "edit/trace_cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "edit/cut_state.h"
#include "format/columns.h"
#include "format/event.h"
#include "model/cpu_timeline.h"
#include "model/irq_track.h"
#include "model/live_objects.h"
#include "trace/trace_read.h"

/*
 * cut_irq: finds interrupts that are being served at the end of the window and whose exit was lost,
 * as later events of the old trace show. The cut marks their entries (EVENT_F_BROKEN), since
 * readers of the cut assume that interrupts without an exit continue.
 */

struct look {
	struct cut *c;
	bool beyond;	/* events are now after the end of the window */
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

/* Reads events from the window's start until all interrupts open at the window's end have ended. */
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

/*
 * Finds interrupts that are open at the window's end and whose exit was lost. c->before must be
 * complete.
 */
static int cut_find_broken(struct cut *c, struct err *e)
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

/* Marks ev if it is the entry of an interrupt in c->broken. */
static void cut_mark_broken(const struct cut *c, struct event *ev)
{
	if (ev->kind != EVENT_IRQ || ev->v[EV_IRQ_ACTION] != EVENT_IRQ_ENTRY)
		return;
	for (size_t i = 0; i < c->broken_cnt; i++)
		if (is_same(&c->broken[i], ev))
			ev->flags |= EVENT_F_BROKEN;
}

/*
 * cut_events: reads the events that a cut keeps, block by block, and finds the thread on each CPU
 * at both ends of a block.
 *
 * One cursor reads the window in order of time. A late event is therefore added to the block whose
 * slice contains it. The cursor begins at a block whose keyframe is certain (is_keyframe_sure()),
 * which may be some blocks before the window.
 */

#define NOBODY UINT32_MAX	/* cpu_first: not determined yet */

struct cut_events {
	struct event_cursor *cursor;
	const struct event *next;	/* event returned by the cursor but not used yet; or NULL */
	struct cpu_timeline *timeline;
	size_t block;			/* next block of the old trace */
	uint64_t from_ns, to_ns;	/* part of this block's slice within the window */
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
	 * A switch at the slice's first instant belongs to the slice: the leaving thread had the
	 * CPU when the slice began.
	 */
	if (c->cpu_first[p->cpu] == NOBODY &&
	    (p->to_ns > x->from_ns || (p->to_ns == x->from_ns && p->end))) {
		/*
		 * If the switch to the thread is missing, the CPU's thread at the slice's start is
		 * unknown; readers of the cut restore the thread's time from the switch away from
		 * it.
		 */
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

/*
 * Returns true if the block's keyframe is certain: neither this block nor a later one has events
 * from before this block's slice.
 */
static bool is_keyframe_sure(const struct trace *t, size_t i)
{
	const struct trace_block *b = trace_block_at(t, i);
	const struct trace_block_more *m = trace_more_at(t, i);

	return !i || m->late_ns >= b->from_ns || b[-1].to_ns < b->from_ns || m[-1].damaged;
}

static int cut_events_new(struct cut *c, struct err *e)
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

static void cut_events_free(struct cut_events *x)
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

/*
 * Reads all blocks up to `block`: appends kept events to c->events; sets c->cpu_first and
 * c->cpu_last.
 */
static int cut_events_until(struct cut *c, size_t block, struct err *e)
{
	int r = 0;

	while (r >= 0 && c->source->block <= block)
		r = next_block(c->source, e);
	return r < 0 ? err_set(e, r, "%s", err_text(e, r)) : 0;
}

/*
 * cut_block: writes one block of a cut trace: the kept events, encoded again, and the rows of the
 * trace's lists that belong to the block's slice.
 *
 * A row belongs to the block whose slice contains the row's first instant; rows between two slices
 * belong to the later one. The first block also has rows that begin before the window and overlap
 * it.
 */

/* ---- rows of the trace's lists ---- */

static bool is_inside(const struct cut *c, uint64_t ts_ns)
{
	return ts_ns >= c->from_ns && ts_ns < c->to_ns;
}

static bool keeps(const struct cut *c, uint32_t upid)
{
	return !c->filter || cut_filter_has_process(c->filter, upid);
}

/* Returns true if the interval overlaps the window. An interval with equal ends is an instant. */
static bool overlaps(const struct cut *c, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns < c->to_ns && (to_ns > from_ns ? to_ns : from_ns + 1) > c->from_ns;
}

/* Drops rows with equal ends, which an earlier cut added (put_hook_means()). */
static bool hook_stat_stays(const struct cut *c, const struct trace_hook_stat *row)
{
	return row->to_ns > row->from_ns && overlaps(c, row->from_ns, row->to_ns);
}

/* Keeps the clock readings of the window, and the nearest reading on each side of the window. */
static bool clock_stays(const struct cut *c, const struct trace_clock *all, size_t i, size_t cnt)
{
	return (i + 1 == cnt || all[i + 1].mono_ns >= c->from_ns) &&
	       (!i || all[i - 1].mono_ns < c->to_ns);
}

/* Lists whose rows begin with a timestamp. The timestamp assigns the row to a block. */
static const uint8_t cut_lists[] = {
	CHUNK_TASK_EVENTS, CHUNK_RSS_SNAPS, CHUNK_MARKS, CHUNK_LOSS,
	CHUNK_COST, CHUNK_HOOK_STATS, CHUNK_CLOCKS,
};
_Static_assert(sizeof(cut_lists) == CUT_LIST_CNT, "a place in every list");

static bool row_stays(const struct cut *c, unsigned int list, const union any_row *row, size_t i,
		      size_t cnt)
{
	switch (list) {
	case CHUNK_TASK_EVENTS:
		return is_inside(c, row->task_event.ts_ns) && keeps(c, row->task_event.upid);
	case CHUNK_RSS_SNAPS:
		return is_inside(c, row->rss.ts_ns) && keeps(c, row->rss.upid);
	case CHUNK_MARKS:
		return is_inside(c, row->mark.ts_ns);
	case CHUNK_LOSS:
		return overlaps(c, row->loss.from_ns, row->loss.to_ns);
	case CHUNK_COST:
		return overlaps(c, row->cost.from_ns, row->cost.to_ns);
	case CHUNK_HOOK_STATS:
		return hook_stat_stays(c, &row->hook_stat);
	default:
		return clock_stays(c, &row->clock - i, i, cnt);
	}
}

/* Writes the rows from index *at whose timestamp is before to_ns. Advances *at. */
static void put_list(struct cut *c, unsigned int list, size_t *at, uint64_t base_ns, uint64_t to_ns)
{
	const struct row_type *of = trace_list_type(list);
	const union any_row *row;
	size_t cnt;

	cut_begin_rows(c, base_ns);
	for (trace_rows(c->t, list, &cnt); *at < cnt; ++*at) {
		row = trace_row_at(c->t, list, *at);
		if (row->clock.mono_ns >= to_ns)
			break;
		if (row_stays(c, list, row, *at, cnt))
			row_put(&c->rows, of, row);
	}
	block_out_add_rows(&c->out, list, &c->rows);
}

/* Writes the rows of a block; the last block has all remaining rows. */
static void put_lists(struct cut *c, const struct disk_block *head, bool is_last)
{
	uint64_t to_ns = is_last ? UINT64_MAX : head->to_ns;

	for (size_t i = 0; i < CUT_LIST_CNT; i++)
		put_list(c, cut_lists[i], &c->list_at[i], head->from_ns, to_ns);
}

static bool leaves_out(const struct cut *c, const char *source)
{
	for (unsigned int i = 0; i < c->left_out_cnt; i++)
		if (!strcmp(c->left_out[i], source))
			return true;
	return false;
}

/* Clips an interval to the slice. False: nothing remains. */
static bool clip(const struct disk_block *slice, uint64_t *from_ns, uint64_t *to_ns)
{
	if (*from_ns < slice->from_ns)
		*from_ns = slice->from_ns;
	if (*to_ns > slice->to_ns)
		*to_ns = slice->to_ns;
	return *from_ns < *to_ns;
}

/* Writes the gaps of the slice, and a gap over the whole slice for each source left out. */
static void put_gaps(struct cut *c, const struct disk_block *head)
{
	size_t cnt, i;
	const struct trace_gap *gap = trace_gaps(c->t, &cnt);
	struct trace_gap row;

	cut_begin_rows(c, head->from_ns);
	for (i = 0; i < cnt && gap[i].from_ns < head->to_ns; i++) {
		row = gap[i];
		if (clip(head, &row.from_ns, &row.to_ns) && !leaves_out(c, row.source))
			row_put_gap(&c->rows, &row);
	}
	for (i = 0; i < c->left_out_cnt; i++) {
		row = (struct trace_gap){ .from_ns = head->from_ns,
					  .to_ns = head->to_ns,
					  .source = c->left_out[i],
					  .reason = c->q->reason };
		row_put_gap(&c->rows, &row);
	}
	block_out_add_rows(&c->out, CHUNK_GAPS, &c->rows);
}

static void put_quotas(struct cut *c, const struct disk_block *head)
{
	size_t cnt, i;
	const struct trace_quota *quota = trace_quotas(c->t, &cnt);
	struct trace_quota row;

	cut_begin_rows(c, head->from_ns);
	for (i = 0; i < cnt && quota[i].from_ns < head->to_ns; i++) {
		row = quota[i];
		if (clip(head, &row.from_ns, &row.to_ns) && cut_has_quota(c, &row))
			row_put_quota(&c->rows, &row);
	}
	block_out_add_rows(&c->out, CHUNK_QUOTAS, &c->rows);
}

/* ---- state ---- */

/* Returns true if a lower CPU has the same thread. A thread runs on one CPU at a time. */
static bool is_repeated(const uint32_t *owners, unsigned int cpu)
{
	for (unsigned int i = 0; i < cpu && owners[cpu] >= EVENT_ID_FIRST; i++)
		if (owners[i] == owners[cpu])
			return true;
	return false;
}

/* Returns whether the threads on CPUs are known, which requires that switches are kept. */
static bool has_runners(const struct cut *c)
{
	return c->kinds_left & 1u << EVENT_SWITCH;
}

static void put_first(struct cut *c, const uint32_t *owners, const struct disk_block *head)
{
	if (!has_runners(c))
		return;
	cut_begin_rows(c, head->from_ns);
	for (unsigned int cpu = 0; cpu < head->cpu_cnt; cpu++) {
		struct row_cpu_state row = { cpu, is_repeated(owners, cpu) ? EVENT_ID_UNKNOWN :
								     owners[cpu] };

		row_put_cpu_state(&c->rows, &row);
	}
	block_out_add_rows(&c->out, CHUNK_CPU_STATE, &c->rows);
}

static void put_last(struct cut *c, const struct disk_block *head)
{
	if (!has_runners(c))
		return;
	cut_begin_rows(c, head->from_ns);
	for (unsigned int cpu = 0; cpu < head->cpu_cnt; cpu++)
		row_put_cpu_end(&c->rows, &c->cpu_last[cpu]);
	block_out_add_rows(&c->out, CHUNK_CPU_END, &c->rows);
}

static void put_memory(struct cut *c, const struct trace_rss *rows, size_t cnt, uint64_t base_ns)
{
	cut_begin_rows(c, base_ns);
	for (size_t i = 0; i < cnt; i++)
		if (keeps(c, rows[i].upid))
			row_put_rss(&c->rows, &rows[i]);
	block_out_add_rows(&c->out, CHUNK_RSS_STATE, &c->rows);
}

static int put_state(struct cut *c, size_t i, const struct disk_block *head, struct err *e)
{
	const struct trace_rss *memory = c->before.memory;
	size_t cnt = c->before.memory_cnt;
	int r = 0;

	put_first(c, c->cpu_first, head);
	/* the old trace continues after this block, or has CPU_END for this block */
	if ((i + 1 == c->end && c->to_ns < trace_end_ns(c->t)) || trace_block_end(c->t, i, 0))
		put_last(c, head);
	if (i > c->first || !c->is_part)
		r = trace_block_rss(c->t, i, &memory, &cnt, e);
	if (r == 0)
		put_memory(c, memory, cnt, head->from_ns);
	return r;
}

/* ---- blocks ---- */

/* Writes the block with the events. Raises head's cpu_cnt if an event has a higher CPU. */
static int append(struct cut *c, struct disk_block *head, const struct event *events, size_t cnt,
		  struct err *e)
{
	const void *bytes;
	size_t byte_cnt, i;
	int r;

	for (i = 0; i < cnt; i++)
		if (events[i].cpu >= head->cpu_cnt)
			head->cpu_cnt = events[i].cpu + 1u;
	r = block_events_add(&c->out, events, cnt, head);
	r = r ?: block_out_seal(&c->out, head, &bytes, &byte_cnt);
	if (r < 0)
		return err_set(e, r, "'%s': a block cannot be written again: %s", trace_path(c->t),
			       err_text(NULL, r));
	c->res.bytes += byte_cnt;
	return store_writer_append(c->w, bytes, byte_cnt, 0, e);
}

/* Writes block i with c->events, then clears c->events. */
static int cut_put_block(struct cut *c, size_t i, struct err *e)
{
	const struct trace_block *b = trace_block_at(c->t, i);
	const struct trace_block_more *m = trace_more_at(c->t, i);
	struct disk_block head = { .number = m->head.number, .cpu_cnt = m->head.cpu_cnt };
	bool is_last = i + 1 == c->end;
	int r;

	head.from_ns = b->from_ns > c->from_ns ? b->from_ns : c->from_ns;
	head.to_ns = b->to_ns < c->to_ns ? b->to_ns : c->to_ns;
	head.flags = CHUNK_BLOCK_REWRITTEN;
	if (is_last && (c->to_ns < trace_end_ns(c->t) || m->head.flags & CHUNK_BLOCK_CUT))
		head.flags |= CHUNK_BLOCK_CUT;
	block_out_begin(&c->out);
	put_lists(c, &head, is_last);
	put_gaps(c, &head);
	put_quotas(c, &head);
	r = put_state(c, i, &head, e);
	r = r ?: cut_put_tasks(c, c->events, c->event_cnt, !c->is_part && i == c->first,
			       head.from_ns);
	if (r < 0)
		return err_set(e, r, "'%s': a block cannot be written again: %s", trace_path(c->t),
			       err_text(e, r));
	r = append(c, &head, c->events, c->event_cnt, e);
	c->event_cnt = 0;
	c->res.block_cnt++;
	return r;
}

/* ---- state before the window ---- */

/*
 * Finds the thread on each CPU. If the thread is unknown, but any block has a known thread on the
 * CPU, uses idle.
 */
static void find_cpus(const struct cut *c, uint32_t *owners)
{
	size_t i;

	for (unsigned int cpu = 0; cpu < trace_cpu_cnt(c->t); cpu++) {
		owners[cpu] = c->cpu_first[cpu];
		for (i = 0; i < trace_block_cnt(c->t) && owners[cpu] == EVENT_ID_UNKNOWN; i++)
			if (trace_block_running(c->t, i, cpu) != EVENT_ID_UNKNOWN)
				owners[cpu] = EVENT_ID_IDLE;
	}
}

/*
 * Writes a row for each hook with its measurements outside the window, because reports estimate the
 * cost of a hook's run from the whole trace.
 */
static void put_hook_means(struct cut *c)
{
	size_t cnt, i;
	const struct trace_hook_stat *h = trace_hook_stats(c->t, &cnt);
	struct trace_hook_stat sums[256] = { { 0 } }; /* by hook, which is a byte */

	for (i = 0; i < cnt; i++) {
		if (hook_stat_stays(c, &h[i]))
			continue;
		sums[h[i].hook].run_cnt += h[i].run_cnt;
		sums[h[i].hook].run_time_ns += h[i].run_time_ns;
		sums[h[i].hook].sampled_cnt += h[i].sampled_cnt;
		sums[h[i].hook].sampled_ns += h[i].sampled_ns;
	}
	cut_begin_rows(c, c->from_ns);
	for (i = 0; i < 256; i++) {
		sums[i].hook = (uint8_t)i;
		sums[i].from_ns = sums[i].to_ns = c->from_ns;
		if (sums[i].run_time_ns || sums[i].sampled_cnt)
			row_put_hook_stat(&c->rows, &sums[i]);
	}
	block_out_add_rows(&c->out, CHUNK_HOOK_STATS, &c->rows);
}

/* Returns true if the last switch from or to the thread is a switch to it. */
static bool is_switched_to(const struct checkpoint *before, uint32_t utid)
{
	const struct event *ev = before->events, *end = ev + before->event_cnt;
	bool ret = false;

	/* the many live objects are last */
	for (; ev < end && object_family_of(ev->kind) < 0; ev++) {
		if (ev->kind != EVENT_SWITCH)
			continue;
		if (ev->v[EV_SWITCH_NEXT_UTID] == utid && !(ev->flags & EVENT_F_NEXT_OUT))
			ret = true;
		else if (ev->utid == utid)
			ret = false;
	}
	return ret;
}

/*
 * For each thread that got its CPU before the window without a recorded switch, adds this
 * switch. Without the switch, the thread would seem to wait when the window begins.
 */
static int add_switches(struct cut *c)
{
	struct checkpoint *before = &c->before;
	size_t at;

	for (unsigned int cpu = 0; has_runners(c) && cpu < trace_cpu_cnt(c->t); cpu++) {
		struct event ev = { .ts_ns = c->cpu_since[cpu], .kind = EVENT_SWITCH,
				    .cpu = (uint16_t)cpu, .utid = EVENT_ID_UNKNOWN };

		if (!ev.ts_ns || c->cpu_first[cpu] < EVENT_ID_FIRST ||
		    is_repeated(c->cpu_first, cpu) || is_switched_to(before, c->cpu_first[cpu]))
			continue;
		ev.v[EV_SWITCH_NEXT_UTID] = c->cpu_first[cpu];
		if (checkpoint_add_event(before, &ev) < 0)
			return -ENOMEM;
		for (at = before->event_cnt - 1;
		     at && before->events[at - 1].ts_ns > ev.ts_ns; at--)
			before->events[at] = before->events[at - 1];
		before->events[at] = ev;
	}
	return 0;
}

/*
 * Writes the name that a thread has when the window begins, as a snapshot row, for each thread that
 * is renamed later.
 */
static int put_names(struct cut *c)
{
	size_t cnt, i;
	const struct trace_task_event *ev = trace_task_events(c->t, &cnt);
	struct hash_map last = { 0 };	/* by utid: 1 + index of the last event with a name */
	struct trace_task_event row;
	uint64_t at;
	int r = 0;

	cut_begin_rows(c, c->from_ns);
	for (i = 0; i < cnt && ev[i].ts_ns < c->from_ns && r >= 0; i++)
		if (*ev[i].comm)
			r = hash_map_put(&last, ev[i].utid, (void *)(i + 1));
	for (; i < cnt && r >= 0; i++) {
		at = *ev[i].comm ? (uintptr_t)hash_map_get(&last, ev[i].utid) : 0;
		if (!at || at > i || !keeps(c, ev[i].upid))
			continue;
		row = ev[at - 1];
		row.ts_ns = c->from_ns;
		row.type = TRACE_TASK_SNAP;
		row.exe = row.cmdline = "";
		row_put_task_event(&c->rows, &row);
		/* skip later events of this thread */
		r = hash_map_put(&last, ev[i].utid, (void *)(cnt + 1));
	}
	hash_map_done(&last);
	block_out_add_rows(&c->out, CHUNK_TASK_EVENTS, &c->rows);
	return r < 0 ? -ENOMEM : 0;
}

/*
 * Writes the block with the state before the window. cut_events_until() of the first block must
 * have been called.
 */
static int cut_put_before(struct cut *c, struct err *e)
{
	const struct trace_block_more *m = trace_more_at(c->t, c->first);
	const struct checkpoint *before = &c->before;
	struct disk_block head = { .cpu_cnt = m->head.cpu_cnt,
				   .flags = CHUNK_BLOCK_CARRIED };
	uint32_t *owners = malloc((trace_cpu_cnt(c->t) + 1) * sizeof(*owners));

	if (!owners)
		return err_set(e, -ENOMEM, "out of memory");
	head.number = m->head.number ? m->head.number - 1 : 0;
	head.from_ns = head.to_ns = c->from_ns;
	block_out_begin(&c->out);
	find_cpus(c, owners);
	put_first(c, owners, &head);
	free(owners);
	put_memory(c, before->memory, before->memory_cnt, c->from_ns);
	put_hook_means(c);
	if (put_names(c) < 0 || add_switches(c) < 0 ||
	    cut_put_tasks(c, before->events, before->event_cnt, true, head.from_ns) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	return append(c, &head, before->events, before->event_cnt, e);
}

/*
 * Sources that can be left out. Allocations and frees are one source, since they refer to each
 * other.
 */
static const struct cut_source {
	const char *name;
	uint32_t kinds;
} cut_sources[] = {
#define X(name, kinds) { name, kinds },
	EVENT_SOURCE_KINDS(X)
#undef X
};

#define CUT_SOURCE_CNT (sizeof(cut_sources) / sizeof(cut_sources[0]))
_Static_assert(CUT_SOURCE_CNT <= TRACE_CUT_SOURCE_MAX, "a source is a bit of left_out");

const char *trace_cut_source(unsigned int source)
{
	return source < CUT_SOURCE_CNT ? cut_sources[source].name : NULL;
}

/* Clips the window to its valid blocks. */
static void clip_slice(struct cut *c)
{
	const struct trace_block *b = trace_block_at(c->t, 0);

	c->from_ns = c->q->from_ns > b[c->first].from_ns ? c->q->from_ns : b[c->first].from_ns;
	c->to_ns = c->q->to_ns < b[c->end - 1].to_ns ? c->q->to_ns : b[c->end - 1].to_ns;
	c->res.from_ns = c->from_ns;
	c->res.to_ns = c->to_ns;
}

/* Drops events of the checkpoint that do not concern the kept processes. */
static int filter_before(struct cut *c)
{
	struct event *ev = c->before.events;
	size_t i, cnt = 0;
	int r = 0;

	for (i = 0; i < c->before.event_cnt && r >= 0; i++) {
		r = cut_filter_event(c->filter, &ev[i]);
		if (r > 0)
			ev[cnt++] = ev[i];
	}
	c->before.event_cnt = cnt;
	return r < 0 ? r : 0;
}

/* Prepares the state before the window's first event, and the filter of processes. */
static int prepare(struct cut *c, struct err *e)
{
	int r = 0;

	if (c->is_part)
		r = c->q->before(c->q->before_ctx, c->from_ns, c->kinds_left, &c->before, e);
	if (r == 0 && c->q->upids)
		r = cut_filter_new(&c->filter, c->t, c->q->upids, c->q->upid_cnt, &c->before,
				   c->from_ns, c->to_ns, e);
	if (r == 0 && c->filter)
		r = filter_before(c);
	r = r ?: cut_find_broken(c, e);
	for (size_t i = 0; i < c->before.event_cnt && r == 0; i++)
		cut_mark_broken(c, &c->before.events[i]);
	return r == 0 ? cut_events_new(c, e) : r;
}

static int write_blocks(struct cut *c, struct err *e)
{
	int r = prepare(c, e);

	for (size_t i = c->first; r == 0 && i < c->end; i++) {
		r = cut_events_until(c, i, e);
		if (r == 0 && i == c->first && c->is_part)
			r = cut_put_before(c, e);
		/* events of a damaged block's slice are late events, which the next block keeps */
		if (r == 0 && !trace_block_is_damaged(c->t, i))
			r = cut_put_block(c, i, e);
	}
	return r;
}

/*
 * Copies all blocks unchanged; called if nothing is left out. If the old trace is itself a cut, the
 * block with the state before its window is copied, too.
 */
static int copy_blocks(struct cut *c, struct err *e)
{
	const struct trace_block *b = trace_block_at(c->t, 0);
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->end; i++) {
		if (trace_block_is_damaged(c->t, i))
			continue;
		r = trace_copy_block(c->t, i, c->w, e);
		c->res.block_cnt += i >= c->first;
		c->res.bytes += b[i].bytes;
	}
	return r;
}

static int put_blocks(struct cut *c, struct err *e)
{
	/* skip damaged blocks at both ends */
	for (size_t i = c->first; i < c->end; i++)
		(void)trace_block_verify(c->t, i, NULL);
	while (c->first < c->end && trace_block_is_damaged(c->t, c->first))
		c->first++;
	while (c->first < c->end && trace_block_is_damaged(c->t, c->end - 1))
		c->end--;
	if (c->first == c->end)
		return err_set(e, -ENODATA,
			       "'%s' has no valid block in that window: there is nothing to "
			       "cut out",
			       trace_path(c->t));
	clip_slice(c);
	/*
	 * If the old trace is itself a cut, its block 0 has the state before its window, and
	 * c->first is not 0. If sources are left out, this state must be written again.
	 */
	c->is_part = c->q->upids || c->from_ns > trace_start_ns(c->t) ||
		     c->to_ns < trace_end_ns(c->t) || (c->first && c->left_out_cnt);
	return c->is_part || c->left_out_cnt ? write_blocks(c, e) : copy_blocks(c, e);
}

/*
 * Writes the number of events lost before the window, by source, and the length of the holes before
 * the window: both may have made the state at the window's start wrong. If the old trace is itself
 * a cut, adds the numbers in its manifest.
 */
static int put_lost_before(struct cut *c)
{
	uint64_t sums[UINT8_MAX + 1] = { 0 };	/* by hook; added up per source below */
	uint64_t missing_ns = trace_get_number(c->t, "cut.missing_before_ns");
	size_t cnt;
	const struct trace_loss *l = trace_losses(c->t, &cnt);
	struct trace_hole h = { 0 };
	int r = 0;

	for (size_t i = 0; i < cnt; i++)
		if (l[i].from_ns < c->from_ns && l[i].to_ns <= c->from_ns)
			sums[l[i].hook] += trace_loss_lasting(&l[i]);
	for (unsigned int i = 0; i <= UINT8_MAX && r == 0; i++) {
		const struct hook_name *hook = sums[i] ? hook_name_find(i) : NULL, *other;
		uint64_t lost = 0;
		char key[64];

		if (!hook)
			continue;
		for (unsigned int k = i; k <= UINT8_MAX; k++) {
			other = sums[k] ? hook_name_find(k) : NULL;
			if (other && !strcmp(other->source, hook->source)) {
				lost += sums[k];
				sums[k] = 0;
			}
		}
		snprintf(key, sizeof(key), "cut.lost_before.%s", hook->source);
		r = store_writer_set_number(c->w, key, lost + trace_get_number(c->t, key));
	}
	while (trace_hole_next(c->t, &h))
		if (h.from_ns < c->from_ns)
			missing_ns += (h.to_ns < c->from_ns ? h.to_ns : c->from_ns) - h.from_ns;
	return r == 0 && missing_ns ?
		       store_writer_set_number(c->w, "cut.missing_before_ns", missing_ns) : r;
}

static int copy_manifest(struct cut *c)
{
	const struct manifest *m = trace_stored_manifest(c->t);
	/* nonzero if the trace was cut before */
	uint64_t offset_ns = trace_get_number(c->t, "cut.offset_ns");
	bool is_new = c->is_part || c->left_out_cnt || trace_is_damaged(c->t);
	char left_out[256] = "";
	int r = 0;

	for (size_t i = 0; i < m->cnt && r == 0; i++)
		if (strcmp(m->entries[i].key, "state") &&
		    (!is_new || !trace_copy_key_is_of_whole(m->entries[i].key)))
			r = store_writer_set(c->w, m->entries[i].key, m->entries[i].value);
	for (unsigned int s = 0; s < c->left_out_cnt; s++) {
		if (s)
			strcat(left_out, ",");
		strcat(left_out, c->left_out[s]);
	}
	if (r == 0 && !c->is_same)
		r = store_writer_set(c->w, "trace.origin", trace_uuid(c->t));
	r = r ?: store_writer_set(c->w, "cut", "1");
	if (r == 0 && c->is_part) {
		r = store_writer_set_number(c->w, "cut.from_ns", c->from_ns);
		r = r ?: store_writer_set_number(c->w, "cut.to_ns", c->to_ns);
		offset_ns += c->from_ns - trace_start_ns(c->t);
		r = r ?: store_writer_set_number(c->w, "cut.offset_ns", offset_ns);
		r = r ?: put_lost_before(c);
	}
	if (r == 0 && c->q->processes)
		r = store_writer_set(c->w, "cut.processes", c->q->processes);
	if (r == 0 && c->q->unowned_ios) {
		r = store_writer_set_number(c->w, "cut.unowned_ios", c->q->unowned_ios);
		r = r ?: store_writer_set_number(c->w, "cut.unowned_bytes", c->q->unowned_bytes);
	}
	if (r == 0 && *left_out)
		r = store_writer_set(c->w, "cut.left_out", left_out);
	return r == 0 && is_new ? trace_copy_declare_gaps(c->t, c->q->from_ns, c->q->to_ns, c->w,
							  &c->res.gaps)
				: r;
}

void trace_cut_blocks(const struct trace *t, uint64_t from_ns, uint64_t to_ns, size_t *ret_first,
		      size_t *ret_end, uint64_t *ret_bytes)
{
	const struct trace_block *b = trace_block_at(t, 0);
	size_t i, first = 0, end, cnt = trace_block_cnt(t);

	*ret_bytes = 0;
	while (first < cnt && b[first].to_ns <= from_ns)
		first++;
	for (end = first; end < cnt && b[end].from_ns < to_ns; end++)
		;
	for (i = first; i < end; i++)
		*ret_bytes += b[i].bytes;
	*ret_first = first;
	*ret_end = end;
}

static void cut_done(struct cut *c)
{
	block_out_done(&c->out);
	buf_done(&c->rows.out);
	checkpoint_done(&c->before);
	cut_filter_free(c->filter);
	cut_events_free(c->source);
	free(c->events);
	free(c->cpu_first);
	free(c->cpu_since);
	free(c->cpu_last);
	free(c->broken);
}

static int write_cut(void *ctx, struct store_writer *w, struct err *e)
{
	struct cut *c = ctx;
	int r = 0;

	c->w = w;
	c->cpu_first = calloc(trace_cpu_cnt(c->t) + 1, sizeof(*c->cpu_first));
	c->cpu_since = calloc(trace_cpu_cnt(c->t) + 1, sizeof(*c->cpu_since));
	c->cpu_last = calloc(trace_cpu_cnt(c->t) + 1, sizeof(*c->cpu_last));
	if (!c->cpu_first || !c->cpu_since || !c->cpu_last || block_out_init(&c->out, 0) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	r = put_blocks(c, e);
	if (r == 0 && copy_manifest(c) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

/* Skips sources that were not recorded: the manifest has another reason for their absence. */
static void leave_out(struct cut *c)
{
	for (unsigned int s = 0; s < CUT_SOURCE_CNT; s++) {
		if (!(c->q->left_out & 1u << s) || !trace_was_recorded(c->t, cut_sources[s].name))
			continue;
		c->left_out[c->left_out_cnt++] = cut_sources[s].name;
		c->kinds_left &= ~cut_sources[s].kinds;
	}
}

int trace_cut(struct trace *t, const struct trace_cut_request *q, const char *path,
	      struct trace_cut_result *ret, struct err *e)
{
	struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct cut c = { .t = t, .q = q, .kinds_left = UINT32_MAX };
	uint64_t bytes;
	int r;

	leave_out(&c);
	trace_cut_blocks(t, q->from_ns, q->to_ns, &c.first, &c.end, &bytes);
	/* a copy of the whole trace keeps the trace's id */
	if (!q->upids && !c.left_out_cnt && !trace_is_damaged(t) &&
	    q->from_ns <= trace_start_ns(t) && q->to_ns >= trace_end_ns(t))
		config.trace_id = trace_id(t);
	c.is_same = config.trace_id != 0;
	r = trace_copy_make(t, path, &config, write_cut, &c, e);
	cut_done(&c);
	if (r == 0)
		*ret = c.res;
	return r;
}

int trace_cut_saved(struct trace *t, size_t block, uint64_t *saved, struct err *e)
{
	struct trace_block_open o;
	int r;

	if (trace_block_is_damaged(t, block))
		return 0;
	r = trace_block_open(t, trace_own_reader(t), block, &o, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < o.meta->head.section_cnt; i++) {
		const struct disk_section *s = &o.meta->sections[i];

		for (unsigned int source = 0; source < CUT_SOURCE_CNT; source++)
			if (s->type >= CHUNK_SMALL_END && s->kind < 32 &&
			    cut_sources[source].kinds & 1u << s->kind)
				saved[source] += s->stored_bytes;
	}
	block_meta_free(o.meta);
	return 0;
}
