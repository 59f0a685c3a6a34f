/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * memory_levels(from_ns, to_ns, every_ns): what each process had resident and mapped at the end of each bin,
 * counter by counter, and the highest and lowest resident size inside it.
 *
 * Reading begins at the last block before the window whose keyframe tells every process's counters, so
 * a window costs what it covers. A process has a row in a bin when it had anything at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/table.h"
#include "analyze/window.h"
#include "event/mem_levels.h"

static const struct table_column level_cols[] = {
	WINDOW_COLUMNS,
	{ "upid", COLUMN_INT },
	{ "anon_bytes", COLUMN_INT },
	{ "file_bytes", COLUMN_INT },
	{ "shmem_bytes", COLUMN_INT },
	{ "swap_bytes", COLUMN_INT },
	{ "rss_bytes", COLUMN_INT },
	{ "vm_bytes", COLUMN_INT },
	{ "rss_peak_bytes", COLUMN_INT },
	{ "rss_peak_ns", COLUMN_INT },
	{ "rss_low_bytes", COLUMN_INT },
	WINDOW_ARGS,
};

enum { LEVEL_COLS = WINDOW_COLS + 10 };

/* A process calls exec, or ends. */
struct turn {
	uint64_t ts_ns;
	uint32_t process;
	bool is_exit;
};

struct level {
	struct mem_process mem;
	uint64_t peak, low, peak_ns;	/* of the current bin */
};

struct level_scan {
	struct analysis *a;
	struct window w;
	struct event_cursor *cursor;
	const struct event *next;
	struct level *levels;		/* by process */
	struct turn *turns;
	size_t turn_cnt, turn_at;
	uint64_t bin, bin_from_ns;
};

static int by_time(const void *pa, const void *pb)
{
	const struct turn *a = pa, *b = pb;

	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return (int)a->is_exit - (int)b->is_exit;
}

static int collect_turns(struct level_scan *s, uint64_t from_ns)
{
	const struct ident *d = &s->a->ident;
	const struct trace_task_event *events;
	size_t cnt, i;

	events = trace_task_events(s->a->trace, &cnt);
	s->turns = malloc((cnt + d->process_cnt + 1) * sizeof(*s->turns));
	if (!s->turns)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		if (events[i].type == TRACE_TASK_EXEC && events[i].ts_ns >= from_ns)
			s->turns[s->turn_cnt++] = (struct turn){
				events[i].ts_ns, ident_process(d, events[i].upid), false };
	for (i = EVENT_ID_FIRST; i < d->process_cnt; i++) {
		uint64_t end_ns = ident_process_row(d, (uint32_t)i)->end_ns;

		if (end_ns && end_ns >= from_ns)
			s->turns[s->turn_cnt++] = (struct turn){ end_ns, (uint32_t)i, true };
	}
	qsort(s->turns, s->turn_cnt, sizeof(*s->turns), by_time);
	return 0;
}

static int load_keyframe(struct level_scan *s, size_t block, uint64_t from_ns, struct err *e)
{
	const struct ident *d = &s->a->ident;
	const struct trace_rss *rows;
	size_t cnt, i;
	uint32_t p;
	int ret;

	if (block) {
		ret = trace_block_rss(s->a->trace, block, &rows, &cnt, e);
		if (ret < 0)
			return ret;
	} else {
		rows = trace_rss_baselines(s->a->trace, &cnt);
	}
	for (i = EVENT_ID_FIRST; i < d->process_cnt; i++)
		mem_process_init(&s->levels[i].mem, ident_process_row(d, (uint32_t)i)->start_ns >= from_ns);
	for (i = 0; i < cnt; i++) {
		p = ident_process(d, rows[i].upid);
		/* of several baselines the first one counts */
		if (p >= EVENT_ID_FIRST && !s->levels[p].mem.known)
			mem_process_baseline(&s->levels[p].mem, &rows[i]);
	}
	return 0;
}

/* The last block that begins before the window and whose keyframe says all. */
static size_t first_block(const struct level_scan *s)
{
	const struct trace_block *b;
	size_t cnt, i, at = 0;

	b = trace_blocks(s->a->trace, &cnt);
	for (i = 0; i < cnt && b[i].from_ns <= s->w.from_ns; i++)
		if (s->a->block_is_clean[i])
			at = i;
	return at;
}

static void levels_close(void *state)
{
	struct level_scan *s = state;

	event_cursor_close(s->cursor);
	free(s->levels);
	free(s->turns);
	free(s);
}

static int levels_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void **ret_state, struct err *e)
{
	const uint32_t columns[EVENT_KIND_CNT] = {
		[EVENT_RSS] = 1u << EV_RSS_UPID | 1u << EV_RSS_MEMBER | 1u << EV_RSS_BYTES,
		[EVENT_VM] = 1u << EV_VM_UPID | 1u << EV_VM_TOTAL,
	};
	struct level_scan *s = calloc(1, sizeof(*s));
	uint64_t from_ns;
	size_t block, cnt;
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->levels = calloc(a->ident.process_cnt + 1, sizeof(*s->levels));
	ret = s->levels ? window_init(&s->w, a, q, e) : err_set(e, -ENOMEM, "out of memory");
	if (ret < 0 || s->w.from_ns == s->w.to_ns)
		goto out;
	block = first_block(s);
	from_ns = block ? trace_blocks(a->trace, &cnt)[block].from_ns : a->start_ns;
	ret = load_keyframe(s, block, from_ns, e);
	if (ret == 0 && collect_turns(s, from_ns) < 0)
		ret = err_set(e, -ENOMEM, "out of memory");
	if (ret == 0)
		ret = event_cursor_open_columns(&s->cursor, a->trace, 1u << EVENT_RSS | 1u << EVENT_VM, columns,
						from_ns, s->w.to_ns, e);
	s->bin = s->w.first_bin;
out:
	if (ret < 0) {
		levels_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

static void note_level(struct level_scan *s, struct level *l, uint64_t ts_ns)
{
	uint64_t rss = mem_process_rss(&l->mem);

	if (rss > l->peak) {
		l->peak = rss;
		l->peak_ns = ts_ns > s->bin_from_ns ? ts_ns : s->bin_from_ns;
	}
	if (rss < l->low)
		l->low = rss;
}

static void take_turn(struct level_scan *s, const struct turn *t)
{
	struct level *l = &s->levels[t->process];
	struct mem_step rss = { 0 }, vm = { 0 };

	if (t->is_exit)
		mem_process_exit(&l->mem, &rss, &vm);
	else
		mem_process_exec(&l->mem, &rss);
	note_level(s, l, t->ts_ns);
}

/* Takes in everything before to_ns. At one instant events come before turns. */
static int run_until(struct level_scan *s, uint64_t to_ns, struct err *e)
{
	struct mem_step step;
	uint64_t turn_ns;
	uint32_t p;
	int ret;

	for (;;) {
		if (!s->next) {
			ret = event_cursor_next(s->cursor, &s->next, e);
			if (ret < 0)
				return ret;
			if (!ret)
				s->next = NULL;
		}
		turn_ns = s->turn_at < s->turn_cnt ? s->turns[s->turn_at].ts_ns : UINT64_MAX;
		if (s->next && s->next->ts_ns <= turn_ns && s->next->ts_ns < to_ns) {
			/* both kinds have the process at the same place */
			p = ident_process(&s->a->ident, (uint32_t)s->next->v[EV_RSS_UPID]);
			if (p >= EVENT_ID_FIRST) {
				mem_process_event(&s->levels[p].mem, s->next, &step);
				note_level(s, &s->levels[p], s->next->ts_ns);
			}
			s->next = NULL;
		} else if (turn_ns < to_ns) {
			take_turn(s, &s->turns[s->turn_at++]);
		} else {
			return 0;
		}
	}
}

static int give_row(struct level_scan *s, uint32_t process, struct rowbuf *out)
{
	const struct level *l = &s->levels[process];
	struct cell *c = rowbuf_add(out);

	if (!c)
		return -ENOMEM;
	window_cells(&s->w, s->bin, c);
	cell_int(&c[3], ident_upid(&s->a->ident, process));
	cell_int(&c[4], (int64_t)l->mem.bytes[MEM_ANON]);
	cell_int(&c[5], (int64_t)l->mem.bytes[MEM_FILE]);
	cell_int(&c[6], (int64_t)l->mem.bytes[MEM_SHMEM]);
	cell_int(&c[7], (int64_t)l->mem.bytes[MEM_SWAP]);
	cell_int(&c[8], (int64_t)mem_process_rss(&l->mem));
	cell_int(&c[9], (int64_t)l->mem.vm_bytes);
	cell_int(&c[10], (int64_t)l->peak);
	cell_int(&c[11], context_rel(s->a, l->peak_ns));
	cell_int(&c[12], (int64_t)l->low);
	return 0;
}

static int levels_step(void *state, struct rowbuf *out, struct err *e)
{
	struct level_scan *s = state;
	uint64_t to;
	uint32_t p;
	int ret;

	if (s->w.from_ns == s->w.to_ns || s->bin >= s->w.end_bin)
		return 0;
	window_bin_span(&s->w, s->bin, &s->bin_from_ns, &to);
	ret = run_until(s, s->bin_from_ns, e);
	if (ret < 0)
		return ret;
	for (p = EVENT_ID_FIRST; p < s->a->ident.process_cnt; p++) {
		struct level *l = &s->levels[p];

		l->peak = l->low = mem_process_rss(&l->mem);
		l->peak_ns = s->bin_from_ns;
	}
	ret = run_until(s, to, e);
	for (p = EVENT_ID_FIRST; ret == 0 && p < s->a->ident.process_cnt; p++)
		if (scope_has_process(&s->a->scope, p) && (s->levels[p].peak || s->levels[p].mem.vm_bytes))
			if (give_row(s, p, out) < 0)
				ret = err_set(e, -ENOMEM, "out of memory");
	if (ret < 0)
		return ret;
	return ++s->bin < s->w.end_bin;
}

const struct table_def tables_of_levels[] = {
	{
		.name = "memory_levels",
		.doc = "resident and mapped memory of each process at the end of each bin",
		.cols = level_cols,
		.col_cnt = LEVEL_COLS,
		.arg_cnt = 3,
		.time_col = -1,
		.cpu_col = -1,
		.utid_col = -1,
		.key_col = -1,
		.open = levels_open,
		.step = levels_step,
		.close = levels_close,
	},
	{ .name = NULL },
};
