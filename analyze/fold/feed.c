/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A merge of three streams. Events are by far the most: feed_run() finds out up to where nothing
 * else happens, and hands out events up to there without looking at the other streams again.
 */
#include "analyze/fold/feed.h"

#include <errno.h>
#include <stdlib.h>

#define ALL_COLUMNS (EVENT_COL_FLAGS * 2 - 1)

struct feed {
	struct analysis *a;
	struct event_cursor *cursor;
	const struct event *next;	/* read, not yet handed out */
	bool at_end;
	struct feed_listener listeners[FEED_LISTENERS_MAX];
	unsigned int listener_cnt;
	const struct trace_block *blocks;
	size_t edge, edge_cnt;		/* 2 * block, + 1 for its end */
	const struct trace_mm_reset *reset;	/* the next one; NULL: the one at reset_at */
	size_t reset_at, reset_cnt;
};

static int open_cursor(struct feed *f, const struct feed_range *r, struct err *e)
{
	uint32_t columns[EVENT_KIND_CNT] = { 0 }, kinds = 0, k;
	unsigned int i;

	for (i = 0; i < f->listener_cnt; i++) {
		const struct feed_listener *l = &f->listeners[i];

		kinds |= l->kinds;
		for (k = 0; k < EVENT_KIND_CNT; k++)
			if (l->kinds & 1u << k)
				columns[k] |= l->columns ? l->columns[k] : ALL_COLUMNS;
	}
	return event_cursor_open_columns(&f->cursor, f->a->trace, kinds, columns, r->from_ns,
					 r->to_ns, e);
}

static int begin_resets(struct feed *f, uint64_t from_ns)
{
	int ret = trace_mm_resets_prepare(f->a->trace);

	if (ret < 0)
		return ret;
	f->reset_cnt = trace_mm_reset_cnt(f->a->trace);
	f->reset_at = from_ns && f->reset_cnt ? trace_mm_reset_from(f->a->trace, from_ns) : 0;
	return 0;
}

int feed_open(struct feed **ret, struct analysis *a, const struct feed_range *r,
	      const struct feed_listener *listeners, unsigned int cnt, struct err *e)
{
	struct feed *f = calloc(1, sizeof(*f));
	unsigned int i;
	int err = 0;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->a = a;
	f->listener_cnt = cnt;
	for (i = 0; i < cnt && !err; i++) {
		f->listeners[i] = listeners[i];
		if (listeners[i].edge) {
			f->blocks = trace_blocks(a->trace, &f->edge_cnt);
			f->edge_cnt *= 2;
			f->edge = 2 * r->first_block;
		}
		if (listeners[i].reset)
			err = begin_resets(f, r->from_ns);
	}
	if (err < 0)
		err_set(e, err, "out of memory");
	else
		err = open_cursor(f, r, e);
	if (err < 0) {
		feed_close(f);
		return err;
	}
	*ret = f;
	return 0;
}

void feed_close(struct feed *f)
{
	if (f)
		event_cursor_close(f->cursor);
	free(f);
}

bool feed_is_over(const struct feed *f)
{
	return f->at_end;
}

static int read_event(struct feed *f, struct err *e)
{
	int ret;

	if (f->next || f->at_end)
		return 0;
	ret = event_cursor_next(f->cursor, &f->next, e);
	if (ret <= 0)
		f->next = NULL;
	f->at_end = !ret;
	return ret < 0 ? ret : 0;
}

static uint64_t edge_ns(const struct feed *f)
{
	const struct trace_block *b;

	if (f->edge == f->edge_cnt)
		return UINT64_MAX;
	b = &f->blocks[f->edge / 2];
	return f->edge % 2 ? b->to_ns : b->from_ns;
}

static uint64_t reset_ns(struct feed *f)
{
	if (!f->reset && f->reset_at < f->reset_cnt)
		f->reset = trace_mm_reset_at(f->a->trace, f->reset_at++);
	return f->reset ? f->reset->ts_ns : UINT64_MAX;
}

static int hand_out_event(struct feed *f)
{
	const struct event *ev = f->next;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < f->listener_cnt && ret >= 0; i++) {
		const struct feed_listener *l = &f->listeners[i];

		if (l->kinds >> ev->kind & 1 && ev->ts_ns >= l->from_ns)
			ret = l->event(l->ctx, ev);
	}
	f->next = NULL;
	return ret;
}

static int hand_out_edge(struct feed *f)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < f->listener_cnt && ret >= 0; i++)
		if (f->listeners[i].edge)
			ret = f->listeners[i].edge(f->listeners[i].ctx, f->edge / 2, f->edge % 2);
	f->edge++;
	return ret;
}

static int hand_out_reset(struct feed *f)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < f->listener_cnt && ret >= 0; i++)
		if (f->listeners[i].reset)
			ret = f->listeners[i].reset(f->listeners[i].ctx, f->reset);
	f->reset = NULL;
	return ret;
}

/* Hands out events before to_ns and up to last_ns, at most *max of them. */
static int run_events(struct feed *f, uint64_t to_ns, uint64_t last_ns, size_t *max, struct err *e)
{
	int ret = 0;

	for (; ret >= 0 && *max; --*max) {
		ret = read_event(f, e);
		if (ret < 0 || !f->next || f->next->ts_ns >= to_ns || f->next->ts_ns > last_ns)
			return ret;
		ret = hand_out_event(f);
		if (ret < 0)
			err_set(e, ret, "out of memory");
	}
	return ret < 0 ? ret : 0;
}

int feed_run(struct feed *f, uint64_t to_ns, size_t max, struct err *e)
{
	while (max) {
		uint64_t edge = edge_ns(f), reset = reset_ns(f);
		int ret = run_events(f, edge < to_ns ? edge : to_ns, reset, &max, e);

		if (ret < 0)
			return ret;
		if (!max)
			break;
		if (edge <= to_ns && edge <= reset && f->edge < f->edge_cnt)
			ret = hand_out_edge(f);
		else if (reset < to_ns)
			ret = hand_out_reset(f);
		else
			return 0;
		if (ret < 0)
			return err_set(e, ret, "out of memory");
		max--;
	}
	return 1;
}
