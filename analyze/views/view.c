/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What all views share: the window's bins one after another, and the sums of those that still
 * grow.
 */
#include "analyze/views/view.h"

#include <errno.h>
#include <stdlib.h>

static struct view *view_of(struct fold_target *t)
{
	return (struct view *)((char *)t - offsetof(struct view, target));
}

/* A fold_target's sum(): by bin and group. */
static int find_sum(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key,
		    void **ret_sum, uint64_t *ret_end_ns)
{
	struct view *v = view_of(t);
	struct view_place at = { 0 };
	uint64_t bin = v->bin;
	int ret;

	*ret_end_ns = v->bin_to_ns;
	if (ts_ns < v->bin_from_ns || ts_ns >= v->bin_to_ns) {
		uint64_t from;

		bin = window_bin(&v->w, ts_ns);
		window_bin_span(&v->w, bin, &from, ret_end_ns);
	}
	ret = v->def->place(v, key, &at);
	if (ret <= 0)
		return ret;
	if (at.group == GROUPING_FAILED)
		return -ENOMEM;
	*ret_sum = fold_sums_of(&v->sums, (bin - v->w.first_bin) << 32 | at.group, at.b);
	if (!*ret_sum)
		return -ENOMEM;
	if (v->def->found)
		v->def->found(v, key, *ret_sum);
	return 1;
}

static int begin_sums(struct view *v, struct err *e)
{
	const struct view_def *def = v->def;
	const struct fold_run_config c = { .def = def->fold, .window = &v->w,
					   .sums = def->sums ? def->sums : def->fold->sums,
					   .target = &v->target };

	v->target = (struct fold_target){ .ids = &v->a->ids, .sum = find_sum };
	fold_sums_init(&v->sums, c.sums);
	return fold_run_begin(&v->run, v->a, &c, e);
}

void view_close(void *state)
{
	struct view *v = state;

	fold_run_done(&v->run);
	if (v->sums.def)
		fold_sums_done(&v->sums);
	if (v->def->close)
		v->def->close(v);
	grouping_done(&v->groups);
	free(v);
}

int view_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
	      void **ret_state, struct err *e)
{
	const struct view_def *view = def->data;
	struct view *v = calloc(1, view->bytes);
	int ret;

	if (!v)
		return err_set(e, -ENOMEM, "out of memory");
	v->a = a;
	v->def = view;
	ret = window_init(&v->w, a, q, e);
	if (!ret && view->open)
		ret = view->open(v, q, e);
	else if (!ret && def->arg_cnt > 3)
		ret = window_grouping(&v->groups, a, &q->args[3], e);
	v->bin = v->w.first_bin;
	if (!ret && v->w.from_ns < v->w.to_ns && view->fold)
		ret = begin_sums(v, e);
	else if (!ret && v->w.from_ns < v->w.to_ns && view->begin)
		ret = view->begin(v, e);
	if (ret < 0) {
		view_close(v);
		return ret;
	}
	*ret_state = v;
	return 0;
}

struct cell *view_row(struct view *v)
{
	struct cell *c = rowbuf_add(v->out);

	if (c)
		window_cells(&v->w, v->row_bin, c);
	return c;
}

static int give_sum(void *ctx, struct fold_row *r)
{
	struct view *v = ctx;
	const struct view_place at = { (uint32_t)r->a, r->b };

	v->row_bin = v->w.first_bin + (r->a >> 32);
	return v->def->row(v, &at, r->sum);
}

/* Goes on to the end of the bin; then gives out all bins that are over, which may be more. */
static int run_sums(struct view *v, struct err *e)
{
	uint64_t decided, next;
	int ret = fold_run_to(&v->run, v->bin_to_ns, &decided, e);

	if (ret < 0)
		return ret;
	next = decided < v->w.to_ns ? window_bin(&v->w, decided) : v->w.end_bin;
	ret = fold_sums_take(&v->sums, (next - v->w.first_bin) << 32, v->def->is_sorted, give_sum,
			     v);
	if (ret < 0)
		return err_set(e, ret, "out of memory");
	if (v->def->bin_is_over)
		v->def->bin_is_over(v);
	v->bin = next;
	return 0;
}

int view_step(void *state, struct rowbuf *out, struct err *e)
{
	struct view *v = state;
	int ret;

	if (v->bin >= v->w.end_bin)
		return 0;
	v->out = out;
	window_bin_span(&v->w, v->bin, &v->bin_from_ns, &v->bin_to_ns);
	v->row_bin = v->bin;
	ret = v->def->fold ? run_sums(v, e) : v->def->run_bin(v, e);
	if (ret < 0)
		return ret;
	v->bin += !v->def->fold;
	return v->bin < v->w.end_bin;
}

void view_label_cells(const struct grouping *g, uint32_t group, struct cell *c)
{
	struct grouping_label label;

	grouping_label(g, group, &label);
	if (label.upid >= 0)
		cell_int(&c[0], label.upid);
	if (label.utid >= 0)
		cell_int(&c[1], label.utid);
	cell_text(&c[2], label.name);
}
