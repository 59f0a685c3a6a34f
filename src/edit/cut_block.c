/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cut_block: writes one block of a cut trace: the remaining events, encoded again, and the rows of
 * the trace's lists that belong to the block's slice.
 *
 * A row belongs to the block whose slice contains the row's first instant; rows between two slices
 * go to the later one. The first block also has the rows that begin before the window and reach
 * into it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "edit/cut_state.h"
#include "format/block_events.h"
#include "model/object_pairs.h"

/* ---- rows of the trace's lists ---- */

static bool is_inside(const struct cut *c, uint64_t ts_ns)
{
	return ts_ns >= c->from_ns && ts_ns < c->to_ns;
}

static bool keeps(const struct cut *c, uint32_t upid)
{
	return !c->filter || cut_filter_has_process(c->filter, upid);
}

/* An interval with equal ends counts as an instant. */
static bool overlaps(const struct cut *c, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns < c->to_ns && (to_ns > from_ns ? to_ns : from_ns + 1) > c->from_ns;
}

/* A row with equal ends comes from put_hook_means(). */
static bool hook_stat_stays(const struct cut *c, const struct trace_hook_stat *row)
{
	return row->to_ns > row->from_ns && overlaps(c, row->from_ns, row->to_ns);
}

/* Keeps the clock readings of the window, and the nearest one on each side of it. */
static bool clock_stays(const struct cut *c, const struct trace_clock *all, size_t i, size_t cnt)
{
	return (i + 1 == cnt || all[i + 1].mono_ns >= c->from_ns) &&
	       (!i || all[i - 1].mono_ns < c->to_ns);
}

/* Lists whose rows begin with the timestamp that assigns them to a block. */
static const uint8_t cut_lists[] = {
	CHUNK_TASK_EVENTS, CHUNK_RSS_SNAPS, CHUNK_MARKS, CHUNK_LOSS,
	CHUNK_COST, CHUNK_HOOK_STATS, CHUNK_CLOCKS,
};
_Static_assert(sizeof(cut_lists) == CUT_LIST_CNT, "a place in every list");

static bool row_stays(const struct cut *c, unsigned int list, const union row *row, size_t i,
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

/* Writes the rows from *at on whose timestamp is before to_ns. */
static void put_list(struct cut *c, unsigned int list, size_t *at, uint64_t base_ns, uint64_t to_ns)
{
	const struct row_type *of = trace_list_type(list);
	const union row *row;
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

/* Writes the rows of a block; the last block gets all remaining rows. */
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

/* Clips an interval to the slice. Returns whether any of it is left. */
static bool clip(const struct disk_block *slice, uint64_t *from_ns, uint64_t *to_ns)
{
	if (*from_ns < slice->from_ns)
		*from_ns = slice->from_ns;
	if (*to_ns > slice->to_ns)
		*to_ns = slice->to_ns;
	return *from_ns < *to_ns;
}

/* Writes the gaps of the slice; a source that is left out has a gap over the whole slice. */
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

/* Writes the quotas of the slice. */
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

/* Returns whether a CPU with a lower number has the same thread: a thread is on only one CPU. */
static bool is_repeated(const uint32_t *owners, unsigned int cpu)
{
	for (unsigned int i = 0; i < cpu && owners[cpu] >= EVENT_ID_FIRST; i++)
		if (owners[i] == owners[cpu])
			return true;
	return false;
}

/* Without switches, the thread on a CPU is unknown. */
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
	/* the old trace continues, or has the thread on each CPU at the block's end (CPU_END) */
	if ((i + 1 == c->end && c->to_ns < trace_end_ns(c->t)) || trace_block_end(c->t, i, 0))
		put_last(c, head);
	if (i > c->first || !c->is_part)
		r = trace_block_rss(c->t, i, &memory, &cnt, e);
	if (r == 0)
		put_memory(c, memory, cnt, head->from_ns);
	return r;
}

/* ---- blocks ---- */

/* Writes the block with its events; raises head's cpu_cnt if an event has a higher CPU. */
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

int cut_put_block(struct cut *c, size_t i, struct err *e)
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

/* Finds the owner of each CPU. A CPU without a known thread exists if a thread ever ran there. */
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
 * The cost of a hook's run is estimated from the whole trace: each hook gets a row with the
 * measurements outside the window.
 */
static void put_hook_means(struct cut *c)
{
	size_t cnt, i;
	const struct trace_hook_stat *h = trace_hook_stats(c->t, &cnt);
	struct trace_hook_stat sums[256] = { { 0 } }; /* by hook, a byte */

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

/* Returns whether the last switch that involves the thread goes to it. */
static bool is_switched_to(const struct checkpoint *before, uint32_t utid)
{
	const struct event *ev = before->events, *end = ev + before->event_cnt;
	bool ret = false;

	/* live objects come last, and are many */
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
 * Adds the missing switch to each thread that has had a CPU since before the window although no
 * switch to it was seen: when the window begins, such a thread does not wait any longer.
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
 * Writes a snapshot row for each thread that is renamed later in the trace, with its name when the
 * window begins.
 */
static int put_names(struct cut *c)
{
	size_t cnt, i;
	const struct trace_task_event *ev = trace_task_events(c->t, &cnt);
	struct hash_map last = { 0 };	/* by utid: 1 + the last earlier event with a name */
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
		/* write each thread's name only once */
		r = hash_map_put(&last, ev[i].utid, (void *)(cnt + 1));
	}
	hash_map_done(&last);
	block_out_add_rows(&c->out, CHUNK_TASK_EVENTS, &c->rows);
	return r < 0 ? -ENOMEM : 0;
}

int cut_put_before(struct cut *c, struct err *e)
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
