/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A cell is merged when all of it lies before the instant that is asked for, and nothing is open. */
#include "analyze/walk.h"

#include <errno.h>
#include <string.h>

/* So many events are decoded in some tenths of a second: then order statistics are exact. */
#define WALK_FEW_EVENTS 1000000

static int open_at(struct walk *w, size_t cell, struct err *e)
{
	int ret = w->ops->open(w->ctx, cell, e);

	w->is_open = ret >= 0;
	return ret < 0 ? ret : 0;
}

static bool has_few(const struct walk *w, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(w->a->trace, &cnt);
	uint64_t events = 0;
	unsigned int k;

	for (i = index_cell_at(w->index, from_ns); i < cnt && b[i].from_ns < to_ns; i++)
		for (k = 0; k < EVENT_KIND_CNT; k++)
			if (w->decode_kinds & 1u << k)
				events += b[i].kind_cnt[k];
	return events <= WALK_FEW_EVENTS;
}

int walk_begin(struct walk *w, struct analysis *a, const struct walk_ops *ops, void *ctx,
	       uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	int ret;

	w->a = a;
	w->ops = ops;
	w->ctx = ctx;
	w->at_ns = from_ns;
	w->before = true;
	ret = analysis_index(a, &w->index, e);
	if (ret < 0)
		return ret;
	if (!w->index) {
		ret = open_at(w, WALK_START, e);
		if (!ret)
			ret = ops->run(ctx, from_ns, e);
	} else {
		w->decode = w->decode_kinds && !a->index_use.always && has_few(w, from_ns, to_ns);
		w->cell = index_cell_at(w->index, from_ns);
		if (index_cell_from(w->index, w->cell) != from_ns) {
			ret = open_at(w, w->cell, e);
			if (!ret)
				ret = ops->run(ctx, from_ns, e);
		}
	}
	w->before = false;
	return ret < 0 ? ret : 0;
}

static void leave_cell(struct walk *w)
{
	if (w->is_open)
		w->ops->close(w->ctx);
	w->is_open = false;
	w->at_ns = index_cell_to(w->index, w->cell++);
}

int walk_to(struct walk *w, uint64_t to_ns, struct err *e)
{
	int ret;

	if (!w->index)
		return w->ops->run(w->ctx, to_ns, e);
	while (w->at_ns < to_ns && w->cell < index_cell_cnt(w->index)) {
		uint64_t end = index_cell_to(w->index, w->cell);

		if (!w->is_open && end <= to_ns && !w->decode) {
			ret = w->ops->merge(w->ctx, w->cell, e);
			if (ret < 0)
				return ret;
			if (ret) {
				leave_cell(w);
				continue;
			}
		}
		if (!w->is_open) {
			ret = open_at(w, w->cell, e);
			if (ret < 0)
				return ret;
		}
		ret = w->ops->run(w->ctx, end < to_ns ? end : to_ns, e);
		if (ret < 0)
			return ret;
		if (end <= to_ns)
			leave_cell(w);
		else
			w->at_ns = to_ns;
	}
	return 0;
}

void walk_end(struct walk *w)
{
	if (w->is_open)
		w->ops->close(w->ctx);
	w->is_open = false;
}
