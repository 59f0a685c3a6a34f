/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_waits(from_ns, to_ns, every_ns, by): how long threads waited for a CPU, per bin and group.
 *
 * A wait belongs to the instant it ends (the switch-in), with its whole length. It may have begun any
 * time before the window: the index says who was waiting since when, or else the trace is read from
 * its start.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/index_sched.h"
#include "event/keymap.h"
#include "analyze/quantile.h"
#include "analyze/run_queue.h"
#include "analyze/table.h"
#include "analyze/walk.h"
#include "analyze/window.h"

static const struct table_column wait_cols[] = {
	WINDOW_COLUMNS,
	{ "upid", COLUMN_INT }, { "utid", COLUMN_INT }, { "name", COLUMN_TEXT },
	{ "waits", COLUMN_INT }, { "wait_ns", COLUMN_INT }, { "wait_p50_ns", COLUMN_INT },
	{ "wait_p99_ns", COLUMN_INT }, { "wait_max_ns", COLUMN_INT }, { "wakeups", COLUMN_INT },
	{ "preempts", COLUMN_INT }, { "unknown_waits", COLUMN_INT }, { "migrations", COLUMN_INT },
	WINDOW_ARGS, { "by", COLUMN_TEXT },
};

enum { WAIT_COLS = WINDOW_COLS + 12 };

struct wait_sum {
	uint32_t group;
	struct quantile waits;
	uint64_t by_reason[3];
	uint64_t migrations;
};

struct wait_scan {
	struct analysis *a;
	struct window w;
	struct grouping groups;
	struct run_queue *queue;
	struct event_cursor *cursor;
	const struct event *next;
	struct walk walk;
	struct buf mem;
	struct keymap map;		/* group -> sums, of this bin */
	struct wait_sum *sums;
	size_t cap, cnt; /* cnt: sums that were ever used in a bin, with memory in them */
	uint64_t bin;
	bool open;			/* there is a bin to do */
};

static struct wait_sum *sum_of(struct wait_scan *s, uint32_t thread)
{
	uint32_t i, group = grouping_of_thread(&s->groups, thread);
	struct wait_sum *x;
	int ret = keymap_intern(&s->map, group, 0, &i);

	if (ret < 0 || group == GROUPING_FAILED)
		return NULL;
	if (i >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;

		x = realloc(s->sums, cap * sizeof(*x));
		if (!x)
			return NULL;
		s->sums = x;
		s->cap = cap;
	}
	x = &s->sums[i];
	if (i >= s->cnt) {
		memset(x, 0, sizeof(*x));
		s->cnt = i + 1;
	}
	if (ret) {
		quantile_reset(&x->waits);
		memset(x->by_reason, 0, sizeof(x->by_reason));
		x->migrations = 0;
		x->group = group;
	}
	return x;
}

static int add_wait(struct wait_scan *s, const struct run_queue_wait *w)
{
	struct wait_sum *x;

	if (s->walk.before || !scope_has_thread(&s->a->scope, w->thread))
		return 0;
	x = sum_of(s, w->thread);
	if (!x)
		return -ENOMEM;
	x->by_reason[w->reason]++;
	x->migrations += w->migrated;
	return w->reason ? quantile_add(&x->waits, w->to_ns - w->from_ns) : 0;
}

/* ---- walking ---- */

static int merge_cell(void *ctx, size_t cell, struct err *e)
{
	struct wait_scan *s = ctx;
	struct quantile ignored = { 0 };
	struct index_wait_row row;
	struct wait_sum *x;
	struct index_in in;
	unsigned int i;
	int ret = index_read(s->walk.index, cell, INDEX_WAITS, &s->mem, &in);

	while (!ret && (ret = index_wait_next(&in, &row)) > 0) {
		uint32_t thread = ident_thread(&s->a->ident, row.utid);

		if (!scope_has_thread(&s->a->scope, thread)) {
			ret = quantile_merge(&ignored, &in);
			continue;
		}
		x = sum_of(s, thread);
		if (!x) {
			ret = -ENOMEM;
			break;
		}
		for (i = 0; i < 3; i++)
			x->by_reason[i] += row.by_reason[i];
		x->migrations += row.migrations;
		ret = quantile_merge(&x->waits, &in);
	}
	quantile_done(&ignored);
	return ret < 0 ? index_fail(s->walk.index, ret, e) : 1;
}

static int open_cell(void *ctx, size_t cell, struct err *e)
{
	static const uint32_t columns[EVENT_KIND_CNT] = {
		[EVENT_SWITCH] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT |
				 1u << EV_SWITCH_PREV_STATE,
		[EVENT_WAKEUP] = 1u << EV_WAKEUP_TARGET,
	};
	struct wait_scan *s = ctx;
	uint64_t from_ns = 0;
	struct index_in in;
	int ret = run_queue_new(&s->queue, &s->a->ident);

	s->next = NULL;
	if (!ret && cell != WALK_START) {
		from_ns = index_cell_from(s->walk.index, cell);
		ret = index_read(s->walk.index, cell, INDEX_WAIT_STATE, &s->mem, &in);
		if (!ret)
			ret = run_queue_load(s->queue, &in, from_ns);
	}
	if (ret < 0)
		return cell == WALK_START ? err_set(e, ret, "out of memory")
					  : index_fail(s->walk.index, ret, e);
	return event_cursor_open_columns(&s->cursor, s->a->trace,
					 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP, columns, from_ns,
					 s->w.to_ns, e);
}

static int run_to(void *ctx, uint64_t to_ns, struct err *e)
{
	struct wait_scan *s = ctx;
	struct run_queue_wait w;
	int ret;

	for (;;) {
		if (!s->next) {
			ret = event_cursor_next(s->cursor, &s->next, e);
			if (ret <= 0) {
				s->next = NULL;
				return ret;
			}
		}
		if (s->next->ts_ns >= to_ns)
			return 0;
		ret = run_queue_event(s->queue, s->next, &w);
		s->next = NULL;
		if (ret > 0 && add_wait(s, &w) < 0)
			return err_set(e, -ENOMEM, "out of memory");
	}
}

static void close_cell(void *ctx)
{
	struct wait_scan *s = ctx;

	event_cursor_close(s->cursor);
	run_queue_free(s->queue);
	s->cursor = NULL;
	s->queue = NULL;
}

static const struct walk_ops waits_walk = { merge_cell, open_cell, run_to, close_cell };

static void waits_close(void *state)
{
	struct wait_scan *s = state;
	size_t i;

	walk_end(&s->walk);
	close_cell(s);
	for (i = 0; i < s->cnt; i++)
		quantile_done(&s->sums[i].waits);
	free(s->sums);
	grouping_done(&s->groups);
	keymap_done(&s->map);
	buf_done(&s->mem);
	free(s);
}

static int waits_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		      void **ret_state, struct err *e)
{
	struct wait_scan *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->walk.decode_kinds = 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP;
	ret = window_init(&s->w, a, q, e);
	if (!ret)
		ret = window_grouping(&s->groups, a, &q->args[3], e);
	if (!ret && s->w.from_ns < s->w.to_ns) {
		ret = walk_begin(&s->walk, a, &waits_walk, s, s->w.from_ns, s->w.to_ns, e);
		s->bin = s->w.first_bin;
		s->open = true;
	}
	if (ret < 0) {
		waits_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

static int give_rows(struct wait_scan *s, struct rowbuf *out)
{
	struct grouping_label label;
	struct wait_sum *x;
	struct cell *c;
	size_t i;

	for (i = 0; i < s->map.cnt; i++) {
		x = &s->sums[i];
		c = rowbuf_add(out);
		if (!c)
			return -ENOMEM;
		window_cells(&s->w, s->bin, c);
		grouping_label(&s->groups, x->group, &label);
		if (label.upid >= 0)
			cell_int(&c[3], label.upid);
		if (label.utid >= 0)
			cell_int(&c[4], label.utid);
		cell_text(&c[5], label.name);
		cell_int(&c[6], (int64_t)x->waits.cnt);
		cell_int(&c[7], (int64_t)x->waits.sum);
		if (x->waits.cnt) {
			cell_int(&c[8], (int64_t)quantile_get(&x->waits, 50));
			cell_int(&c[9], (int64_t)quantile_get(&x->waits, 99));
			cell_int(&c[10], (int64_t)x->waits.max);
		}
		cell_int(&c[11], (int64_t)x->by_reason[RUN_QUEUE_WAKEUP]);
		cell_int(&c[12], (int64_t)x->by_reason[RUN_QUEUE_PREEMPT]);
		cell_int(&c[13], (int64_t)x->by_reason[RUN_QUEUE_UNKNOWN]);
		cell_int(&c[14], (int64_t)x->migrations);
	}
	keymap_clear(&s->map);
	return 0;
}

static int waits_step(void *state, struct rowbuf *out, struct err *e)
{
	struct wait_scan *s = state;
	uint64_t from, to;
	int ret;

	if (!s->open)
		return 0;
	window_bin_span(&s->w, s->bin, &from, &to);
	ret = walk_to(&s->walk, to, e);
	if (ret < 0)
		return ret;
	if (give_rows(s, out) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	s->open = ++s->bin < s->w.end_bin;
	return s->open;
}

const struct table_def tables_of_waits[] = {
	{
		.name = "sched_waits", .doc = "waits for a CPU per bin and group",
		.cols = wait_cols, .col_cnt = WAIT_COLS, .arg_cnt = 4,
		.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
		.open = waits_open, .step = waits_step, .close = waits_close,
	},
	{ .name = NULL },
};
