/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_block: one block of a cut trace. A block that loses nothing is copied byte for byte; one that loses whole sources
 * keeps the columns of the others as they are stored, and gets new GAPS and SUMMARY sections; one that the window
 * cuts, or that has late records from before it, is decoded, and what stays is encoded anew.
 *
 * Rows of losses, cost and clocks, late marks and task events may stand in blocks beside the window's: the first and
 * the last block take those in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/block_copy.h"
#include "chunk/block_events.h"
#include "event/cpu_owner.h"
#include "event/cut_state.h"
#include "event/summary_count.h"
#include "event/trace_copy.h"

static const struct trace_block *block_at(const struct cut *c, size_t i)
{
	return (const struct trace_block *)c->t->blocks.v + i;
}

/* ---- sources left out ---- */

/* Gaps there were, but for those of sources that now have one all along. */
static int put_gaps(struct cut *c, struct block_front *f, const struct disk_block *head)
{
	struct trace_gap row;
	struct row_reader rows;
	unsigned int i;
	int r = block_front_rows(f, c->t->reader.zunpack, CHUNK_GAPS, &rows);

	cut_begin_rows(c, head->from_ns);
	while (r == 0 && (r = row_get_gap(&rows, &row)) > 0) {
		r = 0;
		if (row.from_ns < head->from_ns)
			row.from_ns = head->from_ns;
		if (row.to_ns > head->to_ns)
			row.to_ns = head->to_ns;
		if (row.from_ns < row.to_ns && !cut_leaves_out(c, row.source))
			row_put_gap(&c->rows, &row);
	}
	for (i = 0; r == 0 && trace_cut_source(i); i++) {
		row = (struct trace_gap){ .from_ns = head->from_ns,
					  .to_ns = head->to_ns,
					  .source = trace_cut_source(i),
					  .reason = c->q->reason };
		if (c->left_out & 1u << i)
			row_put_gap(&c->rows, &row);
	}
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_GAPS, &c->rows);
	return r;
}

/* What the events that stay add up to. Without switches, nobody is known to have run. */
static int put_summary_left(struct cut *c, struct block_front *f)
{
	bool switches = c->kinds_left & 1u << EVENT_SWITCH;
	struct trace_summary row, unknown = { .utid = EVENT_ID_UNKNOWN };
	struct row_reader rows;
	int r = block_front_rows(f, c->t->reader.zunpack, CHUNK_SUMMARY, &rows);

	cut_begin_rows(c, f->head.from_ns);
	if (!switches)
		unknown.oncpu_ns = f->head.cpu_cnt * (f->head.to_ns - f->head.from_ns);
	while (r == 0 && (r = row_get_summary(&rows, &row)) > 0) {
		uint32_t utid = row.utid;

		r = 0;
		if (!switches)
			row.oncpu_ns = row.switches = row.preempted = 0;
		if (!(c->kinds_left & 1u << EVENT_WAKEUP))
			row.wakeups = 0;
		if (!(c->kinds_left & 1u << EVENT_SLAB_ALLOC))
			row.slab_allocs = row.slab_bytes = 0;
		if (!(c->kinds_left & 1u << EVENT_PAGE_ALLOC))
			row.page_allocs = row.page_bytes = 0;
		if (utid >= unknown.utid && unknown.oncpu_ns) {
			if (utid == unknown.utid)
				row.oncpu_ns = unknown.oncpu_ns;
			else
				row_put_summary(&c->rows, &unknown);
			unknown.oncpu_ns = 0;
		}
		if (!(row.oncpu_ns || row.switches || row.preempted || row.wakeups ||
		      row.slab_allocs || row.slab_bytes || row.page_allocs || row.page_bytes))
			continue;
		row_put_summary(&c->rows, &row);
	}
	if (unknown.oncpu_ns)
		row_put_summary(&c->rows, &unknown);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_SUMMARY, &c->rows);
	return r;
}

/* Sections that are made anew where sources are left out; others are copied. */
static bool is_made(const struct cut *c, unsigned int type)
{
	switch (type) {
	case CHUNK_GAPS:
	case CHUNK_SUMMARY:
		return true;
	case CHUNK_CPU_STATE:
	case CHUNK_CPU_END:
		return !(c->kinds_left & 1u << EVENT_SWITCH);
	case CHUNK_SITES:
		return !(c->kinds_left & (1u << EVENT_HEAP_ALLOC | 1u << EVENT_STACK));
	case CHUNK_FRAMES:
		return !(c->kinds_left & 1u << EVENT_STACK);
	default:
		return type >= CHUNK_SMALL_END;
	}
}

static int append(struct cut *c, const struct disk_block *head, struct err *e)
{
	const void *bytes;
	size_t cnt;
	int r = block_out_seal(&c->out, head, &bytes, &cnt);

	if (r < 0)
		return err_set(e, r, "'%s': a block cannot be made: %s", c->t->path,
			       err_text(NULL, r));
	c->res.bytes += cnt;
	return store_writer_append(c->w, bytes, cnt, 0, e);
}

static int put_less(struct cut *c, struct trace_block_open *o, struct err *e)
{
	struct block_io io = { chunk_io_read, &o->io };
	struct disk_block head = o->front->head;
	uint32_t i;
	int r;

	block_out_begin(&c->out);
	for (i = 0; i < head.section_cnt; i++) {
		unsigned int type = o->front->sections[i].type;

		if (!is_made(c, type))
			block_copy_small(&c->out, o->front, type);
	}
	r = put_gaps(c, o->front, &head);
	if (r == 0)
		r = put_summary_left(c, o->front);
	if (r == 0)
		r = block_copy_events(&c->out, o->front, &io, c->kinds_left, &head);
	if (r < 0)
		return err_set(e, r, "'%s': a block cannot be copied: %s", c->t->path,
			       err_text(NULL, r));
	return append(c, &head, e);
}

/* ---- rows that stay ---- */

static bool is_inside(const struct cut *c, uint64_t ts_ns)
{
	return ts_ns >= c->from_ns && ts_ns < c->to_ns;
}

static bool keeps(const struct cut *c, uint32_t upid)
{
	return !c->filter || cut_filter_has_process(c->filter, upid);
}

/* An interval without length is an instant. */
static bool overlaps(const struct cut *c, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns < c->to_ns && (to_ns > from_ns ? to_ns : from_ns + 1) > c->from_ns;
}

/* A row without length is one of those that put_hook_means() makes. */
static bool hook_stat_stays(const struct cut *c, const struct trace_hook_stat *row)
{
	return row->to_ns > row->from_ns && overlaps(c, row->from_ns, row->to_ns);
}

/* What the slice's block took on disk was not in its row: a reader took it from the block, which is gone. */
static bool edit_cost(struct cut *c, const struct disk_block *old, struct trace_cost *row)
{
	if (!(old->flags & CHUNK_BLOCK_REMADE) && row->from_ns == old->from_ns &&
	    row->to_ns == old->to_ns)
		row->bytes_written = old->block_bytes;
	return overlaps(c, row->from_ns, row->to_ns);
}

#define KEEP_ROWS_AS(as, name, type, section, cond)                                                       \
	static int keep_##as(struct cut *c, struct block_front *f)                               \
	{                                                                                          \
		struct row_reader rows;                                                            \
		struct type row;                                                                   \
		int r = block_front_rows(f, c->t->reader.zunpack, section, &rows);                 \
                                                                                                   \
		while (r == 0 && (r = row_get_##name(&rows, &row)) > 0) {                          \
			r = 0;                                                                     \
			if (cond)                                                                  \
				row_put_##name(&c->rows, &row);                                    \
		}                                                                                  \
		return r;                                                                          \
	}
#define KEEP_ROWS(name, type, section, cond) KEEP_ROWS_AS(name, name, type, section, cond)
KEEP_ROWS(task_event, trace_task_event, CHUNK_TASK_EVENTS, is_inside(c, row.ts_ns) && keeps(c, row.upid))
KEEP_ROWS(rss, trace_rss, CHUNK_RSS_SNAPS, is_inside(c, row.ts_ns) && keeps(c, row.upid))
KEEP_ROWS_AS(rss_state, rss, trace_rss, CHUNK_RSS_STATE, keeps(c, row.upid))
KEEP_ROWS(mark, trace_mark, CHUNK_MARKS, is_inside(c, row.ts_ns))
KEEP_ROWS(loss, trace_loss, CHUNK_LOSS, overlaps(c, row.from_ns, row.to_ns))
KEEP_ROWS(hook_stat, trace_hook_stat, CHUNK_HOOK_STATS, hook_stat_stays(c, &row))
KEEP_ROWS(clock, trace_clock, CHUNK_CLOCKS, true)
KEEP_ROWS(cost, trace_cost, CHUNK_COST, edit_cost(c, &f->head, &row))

static const struct {
	enum chunk_section_type type;
	int (*keep)(struct cut *c, struct block_front *f);
} kept_sections[] = {
	{ CHUNK_TASK_EVENTS, keep_task_event },
	{ CHUNK_RSS_SNAPS, keep_rss },
	{ CHUNK_MARKS, keep_mark },
	{ CHUNK_LOSS, keep_loss },
	{ CHUNK_COST, keep_cost },
	{ CHUNK_HOOK_STATS, keep_hook_stat },
	{ CHUNK_CLOCKS, keep_clock },
};

#define KEPT_SECTIONS (sizeof(kept_sections) / sizeof(kept_sections[0]))

static int keep_of_block(struct cut *c, unsigned int section, size_t i)
{
	struct trace_block_open o = { 0 };
	int r;

	if (trace_block_is_damaged(c->t, i))
		return 0;
	r = trace_block_open(c->t, &c->t->reader, i, &o, NULL);
	if (r == 0) {
		r = kept_sections[section].keep(c, o.front);
		block_front_free(o.front);
	}
	return r;
}

/*
 * How far from its block a row may speak of: intervals of rows have this length at most, and records
 * come late by less than a slice.
 */
static uint64_t reach_ns(const struct cut *c)
{
	const struct trace_loss *l = c->t->losses.v;
	const struct trace_cost *k = c->t->costs.v;
	const struct trace_hook_stat *h = c->t->hook_stats.v;
	uint64_t max = 0;
	size_t i;

#define LONGEST(rows, n)                                                                           \
	for (i = 0; i < (n); i++)                                                                  \
		if ((rows)[i].to_ns - (rows)[i].from_ns > max)                                     \
			max = (rows)[i].to_ns - (rows)[i].from_ns;
	LONGEST(l, c->t->losses.cnt)
	LONGEST(k, c->t->costs.cnt)
	LONGEST(h, c->t->hook_stats.cnt)
	LONGEST(block_at(c, 0), c->t->blocks.cnt)
#undef LONGEST
	return max;
}

static int keep_around(struct cut *c, unsigned int section, size_t i)
{
	uint64_t reach = reach_ns(c), from_ns = c->from_ns > reach ? c->from_ns - reach : 0;
	size_t k;
	int r = 0;

	for (k = i; i == c->first && k-- > 0 && r == 0 && block_at(c, k)->to_ns >= from_ns;)
		r = keep_of_block(c, section, k);
	if (r == 0)
		r = keep_of_block(c, section, i);
	for (k = i + 1; i + 1 == c->end && k < c->t->blocks.cnt && r == 0 &&
			block_at(c, k)->from_ns <= c->to_ns + reach;
	     k++)
		r = keep_of_block(c, section, k);
	return r;
}

static int put_kept(struct cut *c, size_t i, uint64_t base_ns)
{
	unsigned int k;
	int r = 0;

	for (k = 0; k < KEPT_SECTIONS && r == 0; k++) {
		cut_begin_rows(c, base_ns);
		r = keep_around(c, k, i);
		if (r == 0)
			block_out_add_rows(&c->out, kept_sections[k].type, &c->rows);
	}
	return r;
}

/* ---- state ---- */

/* No thread is on two CPUs at a time. */
static bool is_earlier(const struct cut *c, unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < cpu && c->runners[cpu] >= EVENT_ID_FIRST; i++)
		if (c->runners[i] == c->runners[cpu])
			return true;
	return false;
}

/* Whoever runs and is not kept. */
static int runners_at(struct cut *c, uint64_t ts_ns, struct err *e)
{
	unsigned int cpu;
	int r = cpu_owners_at(c->t, ts_ns, c->runners, e);

	for (cpu = 0; c->filter && cpu < c->t->cpu_cnt; cpu++)
		if (c->runners[cpu] != EVENT_ID_UNKNOWN && !cut_filter_has_thread(c->filter, c->runners[cpu]))
			c->runners[cpu] = EVENT_ID_FILTERED;
	return r;
}

static void put_runners(struct cut *c, enum chunk_section_type type, const struct disk_block *head)
{
	unsigned int cpu;

	cut_begin_rows(c, head->from_ns);
	for (cpu = 0; cpu < head->cpu_cnt; cpu++) {
		bool twice = type == CHUNK_CPU_STATE && is_earlier(c, cpu);
		struct row_cpu_state row = { cpu, twice ? EVENT_ID_UNKNOWN : c->runners[cpu] };

		row_put_cpu_state(&c->rows, &row);
	}
	block_out_add_rows(&c->out, type, &c->rows);
}

static void put_memory(struct cut *c, uint64_t base_ns)
{
	size_t i;

	cut_begin_rows(c, base_ns);
	for (i = 0; i < c->carry.memory_cnt; i++)
		if (keeps(c, c->carry.memory[i].upid))
			row_put_rss(&c->rows, &c->carry.memory[i]);
	block_out_add_rows(&c->out, CHUNK_RSS_STATE, &c->rows);
}

static uint32_t runner(void *ctx, unsigned int cpu)
{
	const struct cut *c = ctx;

	return c->runners[cpu];
}

/* Counted from the events that are left; ends: who has each CPU in the end, or NULL. */
static int put_summary(struct cut *c, const struct disk_block *head, const uint32_t *ends)
{
	const struct trace_summary *rows;
	struct summary_count *n;
	size_t cnt, i;
	int r = summary_count_new(&n, head->cpu_cnt, trace_page_bytes(c->t));

	if (r < 0)
		return r;
	r = summary_count_begin(n, head->from_ns, runner, c);
	for (i = 0; i < c->event_cnt && r >= 0; i++)
		if (c->events[i].ts_ns >= head->from_ns)
			r = summary_count_event(n, &c->events[i]);
	if (r >= 0)
		r = summary_count_end(n, head->to_ns, ends, &rows, &cnt);
	if (r >= 0) {
		cut_begin_rows(c, head->from_ns);
		for (i = 0; i < cnt; i++)
			row_put_summary(&c->rows, &rows[i]);
		block_out_add_rows(&c->out, CHUNK_SUMMARY, &c->rows);
	}
	summary_count_free(n);
	return r < 0 ? r : 0;
}

/* CPU_STATE, CPU_END and SUMMARY. Without switches, nobody is known to have run. */
static int put_cpus(struct cut *c, size_t i, const struct disk_block *head)
{
	bool known = c->kinds_left & 1u << EVENT_SWITCH,
	     cut_end = i + 1 == c->end && c->to_ns < trace_end_ns(c->t);
	uint32_t *ends = NULL;
	unsigned int cpu;
	struct err e = { "" };
	int r = 0;

	for (cpu = 0; cpu < c->t->cpu_cnt; cpu++)
		c->runners[cpu] = EVENT_ID_UNKNOWN;
	if (known && cut_end) {
		r = runners_at(c, head->to_ns - 1, &e);
		if (r == 0)
			put_runners(c, CHUNK_CPU_END, head);
		ends = malloc((c->t->cpu_cnt + 1) * sizeof(*ends));
		if (!ends)
			return -ENOMEM;
		memcpy(ends, c->runners, c->t->cpu_cnt * sizeof(*ends));
	}
	if (known && r == 0)
		r = runners_at(c, head->from_ns, &e);
	if (known && r == 0)
		put_runners(c, CHUNK_CPU_STATE, head);
	if (r == 0)
		r = put_summary(c, head, ends);
	free(ends);
	return r;
}

/* ---- making a block anew ---- */

static int keep_event(struct cut *c, const struct event *ev)
{
	if (c->event_cnt == c->event_cap) {
		size_t cap = c->event_cap ? c->event_cap * 2 : 4096;
		void *p = realloc(c->events, cap * sizeof(*c->events));

		if (!p)
			return -ENOMEM;
		c->events = p;
		c->event_cap = cap;
	}
	c->events[c->event_cnt] = *ev;
	cut_mark_broken(c, &c->events[c->event_cnt++]);
	return 0;
}

/* By time: what came late finds its place. */
static int collect_kept(struct cut *c, uint64_t to_ns, struct err *e)
{
	const struct event *ev;
	int r = 0;

	c->event_cnt = 0;
	cut_filter_begin_block(c->filter);
	while (r >= 0) {
		if (!c->next.kind) {
			r = event_cursor_next(c->cursor, &ev, e);
			if (r <= 0)
				return r;
			c->next = *ev;
		}
		if (c->next.ts_ns >= to_ns)
			return 0;
		r = cut_filter_event(c->filter, &c->next);
		if (r > 0)
			r = keep_event(c, &c->next);
		c->next.kind = 0;
	}
	return r;
}

/* The block's own events inside the window; the last one gets those that came too late for it. */
static int collect(struct cut *c, size_t i, struct err *e)
{
	struct event_cursor *cur;
	const struct event *ev;
	int r;

	c->event_cnt = 0;
	r = event_cursor_open(&cur, c->t, c->kinds_left, c->from_ns, c->to_ns, e);
	if (r < 0)
		return r;
	event_cursor_blocks(cur, i, i + 1 == c->end ? SIZE_MAX : i + 1);
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		r = keep_event(c, ev);
		if (r < 0)
			break;
	}
	event_cursor_close(cur);
	return r;
}

static int put_anew(struct cut *c, size_t i, struct trace_block_open *o, struct err *e)
{
	struct disk_block head = o->front->head;
	bool edge = i == c->first || i + 1 == c->end;
	int r;

	if (head.from_ns < c->from_ns)
		head.from_ns = c->from_ns;
	if (head.to_ns > c->to_ns)
		head.to_ns = c->to_ns;
	head.flags = (head.flags & ~CHUNK_BLOCK_TRIMMED) | CHUNK_BLOCK_REMADE;
	if (c->to_ns < trace_end_ns(c->t) && i + 1 == c->end)
		head.flags |= CHUNK_BLOCK_CUT;
	r = c->filter ? collect_kept(c, i + 1 == c->end ? UINT64_MAX : head.to_ns, e) : collect(c, i, e);
	block_out_begin(&c->out);
	if (r == 0)
		r = put_kept(c, i, head.from_ns);
	if (r == 0)
		r = put_gaps(c, o->front, &head);
	if (r == 0)
		r = put_cpus(c, i, &head);
	if (i == c->first) {
		put_memory(c, head.from_ns);
	} else if (r == 0) {
		cut_begin_rows(c, head.from_ns);
		r = keep_rss_state(c, o->front);
		block_out_add_rows(&c->out, CHUNK_RSS_STATE, &c->rows);
	}
	if (r == 0)
		r = cut_put_tasks(c, c->events, c->event_cnt, edge, head.from_ns);
	if (r == 0)
		r = block_events_add(&c->out, c->events, c->event_cnt, &head);
	if (r < 0)
		return err_set(e, r, "'%s': a block cannot be made anew: %s", c->t->path,
			       err_text(e, r));
	return append(c, &head, e);
}

/* Something in the section is from before the window: it came late. */
#define CAME_LATE(name, type, section)                                                             \
	static bool name##_came_late(struct cut *c, struct block_front *f)                         \
	{                                                                                          \
		struct row_reader rows;                                                            \
		struct type row;                                                                   \
		bool late = false;                                                                 \
		int r = block_front_rows(f, c->t->reader.zunpack, section, &rows);                 \
                                                                                                   \
		while (r >= 0 && (r = row_get_##name(&rows, &row)) > 0)                            \
			late |= row.ts_ns < c->from_ns;                                            \
		return late;                                                                       \
	}
CAME_LATE(task_event, trace_task_event, CHUNK_TASK_EVENTS)
CAME_LATE(rss, trace_rss, CHUNK_RSS_SNAPS)
CAME_LATE(mark, trace_mark, CHUNK_MARKS)

/* Of all blocks but the first and the last. */
static bool has_late_rows(struct cut *c, struct block_front *f)
{
	return task_event_came_late(c, f) || rss_came_late(c, f) || mark_came_late(c, f);
}

int cut_put_block(struct cut *c, size_t i, struct err *e)
{
	const struct trace_block *b = block_at(c, i);
	bool part = cut_is_part(c);
	struct trace_block_open o = { 0 };
	bool anew = part && (i == c->first || i + 1 == c->end);
	int r;

	c->res.block_cnt++;
	r = trace_block_open(c->t, &c->t->reader, i, &o, e);
	if (r < 0)
		return r;
	/* what came late from before the window is carried over, or gone */
	anew |= c->filter != NULL;
	if (!anew && part)
		anew = b->first_ns < c->from_ns || cut_has_broken(c, b) || has_late_rows(c, o.front);
	if (anew)
		r = put_anew(c, i, &o, e);
	else if (c->left_out)
		r = put_less(c, &o, e);
	block_front_free(o.front);
	if (r == 0 && !anew && !c->left_out) {
		c->res.bytes += b->bytes;
		r = trace_copy_block(c->t, i, c->w, e);
	}
	return r;
}

/* ---- what was before ---- */

/* Where nobody is known to run, but there is a CPU, is where somebody ran at some time. */
static void find_cpus(struct cut *c)
{
	unsigned int cpu;
	size_t i;

	for (cpu = 0; cpu < c->t->cpu_cnt; cpu++)
		for (i = 0; i < c->t->blocks.cnt && c->runners[cpu] == EVENT_ID_UNKNOWN; i++)
			if (trace_block_running(c->t, i, cpu) != EVENT_ID_UNKNOWN)
				c->runners[cpu] = EVENT_ID_IDLE;
}

/* What a hook's run costs is estimated from all of a trace: a row for each with what was measured elsewhere. */
static void put_hook_means(struct cut *c)
{
	const struct trace_hook_stat *h = c->t->hook_stats.v;
	struct trace_hook_stat sums[256] = { { 0 } }; /* by hook, a byte */
	unsigned int hook;
	size_t i;

	for (i = 0; i < c->t->hook_stats.cnt; i++) {
		if (hook_stat_stays(c, &h[i]))
			continue;
		sums[h[i].hook].run_time_ns += h[i].run_time_ns;
		sums[h[i].hook].sampled_cnt += h[i].sampled_cnt;
	}
	cut_begin_rows(c, c->from_ns);
	for (hook = 0; hook < 256; hook++) {
		sums[hook].hook = (uint8_t)hook;
		sums[hook].from_ns = sums[hook].to_ns = c->from_ns;
		if (sums[hook].run_time_ns || sums[hook].sampled_cnt)
			row_put_hook_stat(&c->rows, &sums[hook]);
	}
	block_out_add_rows(&c->out, CHUNK_HOOK_STATS, &c->rows);
}

/* Of what is carried over, what concerns the processes that stay. */
static int filter_carried(struct cut *c, struct err *e)
{
	struct event *ev = c->carry.events;
	size_t i, cnt = 0;
	int r = cut_filter_new(&c->filter, c->t, c->q->upids, c->q->upid_cnt, &c->carry, c->from_ns, c->to_ns, e);

	for (i = 0; i < c->carry.event_cnt && r >= 0; i++) {
		r = cut_filter_event(c->filter, &ev[i]);
		if (r > 0)
			ev[cnt++] = ev[i];
	}
	c->carry.event_cnt = cnt;
	return r < 0 ? r : 0;
}

int cut_put_carried(struct cut *c, struct err *e)
{
	const struct trace_carry_request q = { .kind_mask = c->kinds_left,
					       .no_points = c->q->no_points,
					       .point_events = c->q->point_events };
	struct trace_block_open o = { 0 };
	struct disk_block head;
	size_t i;
	int r;

	r = trace_carry(c->t, c->from_ns, &q, &c->carry, e);
	if (r == 0 && c->q->upids)
		r = filter_carried(c, e);
	if (r == 0)
		r = cut_find_broken(c, e);
	for (i = 0; i < c->carry.event_cnt && r == 0; i++)
		cut_mark_broken(c, &c->carry.events[i]);
	if (r == 0)
		r = runners_at(c, c->from_ns, e);
	if (r == 0)
		r = trace_block_open(c->t, &c->t->reader, c->first, &o, e);
	if (r < 0)
		return r;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an opened block has its front */
	head = o.front->head;
	block_front_free(o.front);
	head.number -= head.number > 0;
	head.from_ns = head.to_ns = c->from_ns;
	head.flags = CHUNK_BLOCK_CARRIED;
	block_out_begin(&c->out);
	find_cpus(c);
	if (c->kinds_left & 1u << EVENT_SWITCH)
		put_runners(c, CHUNK_CPU_STATE, &head);
	put_memory(c, head.from_ns);
	put_hook_means(c);
	r = cut_put_tasks(c, c->carry.events, c->carry.event_cnt, true, head.from_ns);
	if (r == 0)
		r = block_events_add(&c->out, c->carry.events, c->carry.event_cnt, &head);
	if (r < 0)
		return err_set(e, r,
			       "'%s': what began before the window cannot be carried over: %s",
			       c->t->path, err_text(NULL, r));
	return append(c, &head, e);
}
