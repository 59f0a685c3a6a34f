/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Arithmetic of windows and bins; unsigned differences so that a "from" before time 0 works too. */
#include "analyze/context/window.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

#define BIN_MAX 2000000

void context_clip(const struct analysis *a, uint64_t *from_ns, uint64_t *to_ns)
{
	if (*from_ns < a->start_ns)
		*from_ns = a->start_ns;
	if (*to_ns > a->end_ns)
		*to_ns = a->end_ns;
	if (*from_ns > *to_ns)
		*from_ns = *to_ns = a->start_ns;
}

int window_arg_ns(const struct table_query *q, unsigned int i, const char *name, int64_t *v,
		  struct err *e)
{
	const struct cell *c = &q->args[i];

	if (c->type == VALUE_NULL)
		return 0;
	if (c->type == VALUE_REAL && c->r > -9.2e18 && c->r < 9.2e18)
		*v = (int64_t)c->r;
	else if (c->type == VALUE_INT)
		*v = c->i;
	else
		return err_set(e, -EINVAL, "argument %s: a number of nanoseconds is expected",
			       name);
	return 0;
}

int window_init(struct window *w, const struct analysis *a, const struct table_query *q,
		struct err *e)
{
	int64_t every = 0;
	int ret;

	memset(w, 0, sizeof(*w));
	w->to = context_rel(a, a->end_ns);
	ret = window_arg_ns(q, 0, "from_ns", &w->from, e);
	if (!ret)
		ret = window_arg_ns(q, 1, "to_ns", &w->to, e);
	if (!ret)
		ret = window_arg_ns(q, 2, "every_ns", &every, e);
	if (ret < 0)
		return ret;
	if (every < 0)
		return err_set(e, -EINVAL, "argument every_ns: must not be negative");
	if (w->to < w->from)
		w->to = w->from;
	w->every_ns = (uint64_t)every;
	if (every == WINDOW_OWN_BINS && a->bin_cnt) {
		w->edges = a->bin_edges;
		w->edge_cnt = a->bin_cnt + 1;
	}
	w->start_ns = a->start_ns;
	w->span_end_ns = a->end_ns;
	w->base_ns = a->start_ns + (uint64_t)w->from;
	w->from_ns = context_abs(a, w->from);
	w->to_ns = context_abs(a, w->to);
	context_clip(a, &w->from_ns, &w->to_ns);
	if (w->from_ns == w->to_ns)
		return 0;
	w->first_bin = window_bin(w, w->from_ns);
	w->end_bin = window_bin(w, w->to_ns - 1) + 1;
	if (w->end_bin - w->first_bin > BIN_MAX)
		return err_set(
			e, -E2BIG,
			"%llu bins are more than %d: choose a longer bin or a shorter window",
			(unsigned long long)(w->end_bin - w->first_bin), BIN_MAX);
	return 0;
}

uint64_t window_bin_of_edges(const struct window *w, uint64_t ts_ns)
{
	size_t i = lower_bound_plain(w->edges, w->edge_cnt, ts_ns);

	i -= i == w->edge_cnt || w->edges[i] != ts_ns;
	return i == SIZE_MAX ? 0 : i + 1 < w->edge_cnt ? i : w->edge_cnt - 2;
}

/* Where a bin would begin if the window did not end. */
static uint64_t bin_begin(const struct window *w, uint64_t bin)
{
	return w->edges ? w->edges[bin] : w->base_ns + bin * w->every_ns;
}

void window_bin_span(const struct window *w, uint64_t bin, uint64_t *ret_from_ns,
		     uint64_t *ret_to_ns)
{
	uint64_t from = w->from_ns, to = w->to_ns;

	if (w->every_ns && bin > w->first_bin)
		from = bin_begin(w, bin);
	if (w->every_ns && bin + 1 < w->end_bin)
		to = bin_begin(w, bin + 1);
	*ret_from_ns = from;
	*ret_to_ns = to;
}

void window_cells(const struct window *w, uint64_t bin, struct cell *c)
{
	uint64_t from, to;
	int64_t t = w->from, end = w->to;

	window_bin_span(w, bin, &from, &to);
	if (w->edges) {
		t = (int64_t)(from - w->start_ns);
		end = (int64_t)(to - w->start_ns);
	} else if (w->every_ns) {
		t = (int64_t)((uint64_t)w->from + bin * w->every_ns);
		if ((uint64_t)w->to - (uint64_t)t > w->every_ns)
			end = (int64_t)((uint64_t)t + w->every_ns);
	}
	cell_int(&c[0], t);
	cell_int(&c[1], end);
	cell_int(&c[2], (int64_t)(to - from));
}

int window_grouping(struct grouping *g, const struct analysis *a, const struct cell *arg,
		    struct err *e)
{
	unsigned int by = KEY(PROCESS);
	int ret;

	if (arg->type != VALUE_NULL && (arg->type != VALUE_TEXT || !keys_parse(arg->s, &by)))
		return err_set(e, -EINVAL,
			       "argument by: keys such as 'process', 'comm,container' or 'none' "
			       "are expected");
	ret = grouping_init(g, &a->ids, by);
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}
