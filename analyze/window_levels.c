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

struct level {
	struct mem_process mem;
	uint64_t peak, low, peak_ns;	/* of the current bin */
	bool is_met;
};

struct level_scan {
	struct analysis *a;
	struct window w;
	uint64_t read_ns;		/* where reading begins */
	struct event_cursor *cursor;
	const struct event *next;
	struct level *levels;		/* by process, of those met so far */
	uint32_t *met;			/* by number, as far as they are sorted */
	size_t met_cnt, sorted_cnt;
	const struct trace_turn *turn;	/* the next one; NULL: that at turn_at */
	size_t turn_at;
	uint64_t bin, bin_from_ns;
};

/* Of a trace with many processes only those are looked at that keyframe, events or turns name. */
static struct level *level_of(struct level_scan *s, uint32_t process)
{
	struct level *l = &s->levels[process];

	if (!l->is_met) {
		mem_process_init(&l->mem,
				 ident_process_row(&s->a->ident, process)->start_ns >= s->read_ns);
		l->peak_ns = s->bin_from_ns;
		l->is_met = true;
		s->met[s->met_cnt++] = process;
	}
	return l;
}

static int load_keyframe(struct level_scan *s, size_t block, struct err *e)
{
	const struct trace_rss *rows;
	size_t cnt, i;
	int ret;

	if (block) {
		ret = trace_block_rss(s->a->trace, block, &rows, &cnt, e);
		if (ret < 0)
			return ret;
	} else {
		rows = trace_rss_baselines(s->a->trace, &cnt);
	}
	for (i = 0; i < cnt; i++) {
		uint32_t p = ident_process(&s->a->ident, rows[i].upid);
		struct level *l = p >= EVENT_ID_FIRST ? level_of(s, p) : NULL;

		/* of several baselines the first one counts */
		if (l && !l->mem.known)
			mem_process_baseline(&l->mem, &rows[i]);
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
	free(s->met);
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
	size_t block, cnt;
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->levels = calloc(a->ident.process_cnt, sizeof(*s->levels));
	s->met = malloc(a->ident.process_cnt * sizeof(*s->met));
	if (!s->levels || !s->met || trace_turns_prepare(a->trace) < 0)
		ret = err_set(e, -ENOMEM, "out of memory");
	else
		ret = window_init(&s->w, a, q, e);
	if (ret < 0 || s->w.from_ns == s->w.to_ns)
		goto out;
	block = first_block(s);
	s->read_ns = block ? trace_blocks(a->trace, &cnt)[block].from_ns : a->start_ns;
	s->turn_at = trace_turn_from(a->trace, s->read_ns);
	ret = load_keyframe(s, block, e);
	if (ret == 0)
		ret = event_cursor_open_columns(&s->cursor, a->trace,
						1u << EVENT_RSS | 1u << EVENT_VM, columns,
						s->read_ns, s->w.to_ns, e);
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

static void take_turn(struct level_scan *s, const struct trace_turn *t)
{
	uint32_t process = ident_process(&s->a->ident, t->upid);
	struct mem_step rss = { 0 }, vm = { 0 };
	struct level *l;

	if (process < EVENT_ID_FIRST)
		return;
	l = level_of(s, process);
	if (t->kind == TRACE_TURN_EXIT)
		mem_process_exit(&l->mem, &rss, &vm);
	else
		mem_process_exec(&l->mem, &rss);
	note_level(s, l, t->ts_ns);
}

static void take_event(struct level_scan *s, const struct event *ev)
{
	/* both kinds have the process at the same place */
	uint32_t process = ident_process(&s->a->ident, (uint32_t)ev->v[EV_RSS_UPID]);
	struct mem_step step;
	struct level *l;

	if (process < EVENT_ID_FIRST)
		return;
	l = level_of(s, process);
	mem_process_event(&l->mem, ev, &step);
	note_level(s, l, ev->ts_ns);
}

/* Takes in everything before to_ns. At one instant events come before turns. */
static int run_until(struct level_scan *s, uint64_t to_ns, struct err *e)
{
	uint64_t turn_ns;
	int ret;

	for (;;) {
		if (!s->next) {
			ret = event_cursor_next(s->cursor, &s->next, e);
			if (ret < 0)
				return ret;
			if (!ret)
				s->next = NULL;
		}
		if (!s->turn && s->turn_at < trace_turn_cnt(s->a->trace))
			s->turn = trace_turn_at(s->a->trace, s->turn_at++);
		turn_ns = s->turn ? s->turn->ts_ns : UINT64_MAX;
		if (s->next && s->next->ts_ns <= turn_ns && s->next->ts_ns < to_ns) {
			take_event(s, s->next);
			s->next = NULL;
		} else if (turn_ns < to_ns) {
			take_turn(s, s->turn);
			s->turn = NULL;
		} else {
			return 0;
		}
	}
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
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
	size_t i;
	int ret;

	if (s->w.from_ns == s->w.to_ns || s->bin >= s->w.end_bin)
		return 0;
	window_bin_span(&s->w, s->bin, &s->bin_from_ns, &to);
	ret = run_until(s, s->bin_from_ns, e);
	if (ret < 0)
		return ret;
	for (i = 0; i < s->met_cnt; i++) {
		struct level *l = &s->levels[s->met[i]];

		l->peak = l->low = mem_process_rss(&l->mem);
		l->peak_ns = s->bin_from_ns;
	}
	ret = run_until(s, to, e);
	if (s->sorted_cnt < s->met_cnt)
		qsort(s->met, s->met_cnt, sizeof(*s->met), by_number);
	s->sorted_cnt = s->met_cnt;
	for (i = 0; ret == 0 && i < s->met_cnt; i++) {
		uint32_t p = s->met[i];

		if (scope_has_process(&s->a->scope, p) && (s->levels[p].peak || s->levels[p].mem.vm_bytes))
			if (give_row(s, p, out) < 0)
				ret = err_set(e, -ENOMEM, "out of memory");
	}
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
