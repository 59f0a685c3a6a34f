/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_run: merges intervals one by one, or decodes a stretch of them, until the end of each bin.
 */
#include "analyze/fold/fold_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_sums.h"

/* Decoding this many events takes some tenths of a second, and makes order statistics exact. */
#define FEW_EVENTS 1000000

static bool has_few_events(const struct fold_run *r)
{
	const struct index *x = r->index;
	const struct window *w = r->c.window;

	return index_events(x, index_interval_at(x, w->from_ns),
			    index_interval_at(x, w->to_ns - 1) + 1, r->c.def->kinds) <= FEW_EVENTS;
}

static bool can_merge(const struct fold_run *r)
{
	return r->c.target ? r->c.sums->count_cnt != 0 : r->c.merge != NULL;
}

int fold_run_begin(struct fold_run *r, struct analysis *a, const struct fold_run_config *c,
		   struct err *e)
{
	int ret;

	*r = (struct fold_run){ .a = a, .c = *c, .at_ns = c->window->from_ns };
	ret = c->def->state || can_merge(r) ?
		      analysis_index_of(a, c->def->asks ? c->def->asks : c->def->kinds, &r->index,
					e) : 0;
	if (ret < 0)
		return ret;
	if (c->target) {
		r->c.sink = (struct fold_sink){ c->target, c->sums->add };
		r->ignored = calloc(1, c->sums->bytes);
		if (!r->ignored)
			return err_set(e, -ENOMEM, "out of memory");
	}
	r->decode_all = !r->index || !can_merge(r) ||
			(c->sums && c->sums->is_exact_decoded && !a->index_use.always &&
			 has_few_events(r));
	return 0;
}

void fold_run_done(struct fold_run *r)
{
	fold_reader_close(r->reader);
	if (r->ignored)
		fold_sum_done(r->c.sums, r->ignored);
	free(r->ignored);
	buf_done(&r->mem);
	r->reader = NULL;
	r->ignored = NULL;
}

/* ---- merging ---- */

/* Returns whether a task is renamed in an interval whose sums are not kept by name. */
static bool has_renames(const struct fold_run *r, size_t interval)
{
	const struct fold_target *t = r->c.target;
	size_t at;

	if (!t || !t->by_name || r->c.sums->is_of_threads)
		return false;
	at = task_renames_from(t->ids, index_interval_from(r->index, interval));
	return at < t->ids->names->rename_cnt &&
	       t->ids->names->renames[at].ts_ns < index_interval_to(r->index, interval);
}

/* Returns the interval that begins at ts, if it is inside one bin; else SIZE_MAX. */
static size_t whole_interval_at(const struct fold_run *r, uint64_t ts_ns)
{
	uint64_t bin_from, bin_to;
	size_t i;

	if (r->decode_all || ts_ns >= r->c.window->to_ns)
		return SIZE_MAX;
	i = index_interval_at(r->index, ts_ns);
	window_bin_span(r->c.window, window_bin(r->c.window, ts_ns), &bin_from, &bin_to);
	if (index_interval_from(r->index, i) != ts_ns || index_interval_to(r->index, i) > bin_to ||
	    has_renames(r, i))
		return SIZE_MAX;
	return i;
}

static int merge_sums(struct fold_run *r, size_t interval)
{
	const struct fold_sums_def *sums = r->c.sums;
	struct fold_target *t = r->c.target;
	struct fold_key key;
	struct packed_in in;
	uint64_t at_ns, end;
	void *sum;
	int ret = index_read(r->index, interval, sums->part, &r->mem, &in);

	while (!ret && in.p != in.end) {
		sums->get_key(t->ids, &in, &key);
		if (in.bad)
			return -EBADMSG;
		at_ns = r->at_ns;
		if (sums->is_of_threads && key.a >> FOLD_KEY_RENAMES) {
			at_ns = task_rename_instant(t->ids, (uint32_t)key.a, at_ns,
						    (uint32_t)(key.a >> FOLD_KEY_RENAMES));
			key.a = (uint32_t)key.a;
		}
		ret = t->sum(t, at_ns, &key, &sum, &end);
		if (ret >= 0)
			ret = fold_sum_merge(sums, ret ? sum : r->ignored, &in);
	}
	return ret;
}

/* 1: the interval was merged; 0: it has to be decoded. */
static int merge(struct fold_run *r, size_t interval, struct err *e)
{
	int ret;

	if (!r->c.target)
		return r->c.merge(r->c.ctx, r->index, interval, e);
	ret = merge_sums(r, interval);
	return ret < 0 ? index_fail(r->index, ret, e) : 1;
}

/* ---- decoding ---- */

/* Returns the end of the stretch that begins at at_ns: the next interval that can be merged. */
static uint64_t end_of_stretch(const struct fold_run *r)
{
	uint64_t to = r->c.window->to_ns, at = r->at_ns;

	if (r->decode_all)
		return to;
	do {
		at = index_interval_to(r->index, index_interval_at(r->index, at));
	} while (at < to && whole_interval_at(r, at) == SIZE_MAX);
	return at < to ? at : to;
}

static int open_stretch(struct fold_run *r, struct err *e)
{
	const struct fold_use use = { r->c.def, r->c.sink };
	struct fold_range range = { r->at_ns, 0, r->index, FOLD_READER_AT };
	int ret;

	r->stretch_to_ns = range.to_ns = end_of_stretch(r);
	r->decided_ns = r->at_ns;
	if (r->c.target) {
		r->c.target->from_ns = r->at_ns;
		r->c.target->to_ns = r->stretch_to_ns;
	}
	r->before = true;
	ret = fold_reader_open(&r->reader, r->a, &range, &use, 1, e);
	if (!ret && !r->c.def->edge)
		ret = fold_reader_run(r->reader, r->at_ns, SIZE_MAX, NULL, e);
	r->before = false;
	return ret;
}

int fold_run_enter(struct fold_run *r, struct err *e)
{
	bool is_at_edge =
		r->index &&
		index_interval_from(r->index, index_interval_at(r->index, r->at_ns)) == r->at_ns;

	return is_at_edge ? 0 : open_stretch(r, e);
}

static int decode_to(struct fold_run *r, uint64_t to_ns, struct err *e)
{
	int ret = r->reader ? 0 : open_stretch(r, e);

	if (ret < 0)
		return ret;
	if (to_ns > r->stretch_to_ns)
		to_ns = r->stretch_to_ns;
	if (to_ns > r->decided_ns)
		ret = fold_reader_run(r->reader, to_ns, SIZE_MAX, &r->decided_ns, e);
	ret = ret ?: fold_reader_run_on(r->reader, to_ns, e);
	if (ret < 0)
		return ret;
	if (r->decided_ns > r->stretch_to_ns)
		r->decided_ns = r->stretch_to_ns;
	r->at_ns = to_ns;
	if (to_ns == r->stretch_to_ns) {
		fold_reader_close(r->reader);
		r->reader = NULL;
	}
	return 0;
}

int fold_run_to(struct fold_run *r, uint64_t to_ns, uint64_t *ret_decided_ns, struct err *e)
{
	int ret = 0;

	while (r->at_ns < to_ns && ret >= 0) {
		size_t interval = r->reader ? SIZE_MAX : whole_interval_at(r, r->at_ns);

		if (*r->a->stop)
			return err_set(e, -EINTR, "given up");
		ret = interval == SIZE_MAX ? 0 : merge(r, interval, e);
		if (ret > 0)
			r->at_ns = index_interval_to(r->index, interval);
		else if (!ret)
			ret = decode_to(r, to_ns, e);
	}
	if (ret < 0)
		return ret;
	*ret_decided_ns = r->reader && r->decided_ns > to_ns ? r->decided_ns : to_ns;
	return 0;
}
