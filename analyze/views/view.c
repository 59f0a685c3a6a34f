/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view: the parts common to all views: the loop over the window's bins, the sums of unfinished
 * bins, and the cells of a row.
 */
#include "analyze/views/view.h"

#include <errno.h>

#include "model/quantile.h"

static struct view *view_of(struct fold_target *t)
{
	return (struct view *)((char *)t - offsetof(struct view, target));
}

/* Implements fold_target.sum(): looks up the sum of a bin and group. */
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
	v->at_ns = ts_ns;
	v->at_end_ns = UINT64_MAX;
	ret = v->def->place(v, key, &at);
	if (ret <= 0 || v->at_end_ns < *ret_end_ns)
		*ret_end_ns = v->at_end_ns;
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

/* ---- rows that are carried from bin to bin ---- */

void *view_carry(struct view *v, uint64_t a, uint64_t b)
{
	return fold_sums_of(&v->sums, a, b);
}

void view_enter(struct view *v, void *row)
{
	struct view_carried *c = row;

	if (c->entered == v->bin + 1)
		return;
	c->entered = v->bin + 1;
	if (v->def->enter)
		v->def->enter(v, row);
}

int view_place_thread(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	if (!scope_has_thread_at(v->scope, (uint32_t)key->a, v->at_ns, &v->at_end_ns))
		return 0;
	ret->group = grouping_of_thread(&v->groups, (uint32_t)key->a, v->at_ns, &v->at_end_ns);
	return 1;
}

/* ---- opening and closing ---- */

/*
 * Returns whether a column with a quantile other than the maximum is used. Totals are sufficient
 * for the maximum.
 */
static bool has_quantile_columns(const struct view *v)
{
	for (unsigned int i = 0; i < v->table->col_cnt; i++) {
		unsigned int take = v->table->cols[i].take;

		if (v->cols_used >> i & 1 && take >= VIEW_TAKES_QUANTILE &&
		    take < VIEW_TAKES_QUANTILE + 1000)
			return true;
	}
	return false;
}

static int begin(struct view *v, struct err *e)
{
	const struct view_def *def = v->def;
	struct fold_run_config c = { .def = def->fold, .window = &v->w };

	if (v->w.from_ns == v->w.to_ns)
		return 0;
	if (def->sums || def->fold) {
		v->sums_def = v->own_sums ? *v->own_sums :
			      def->sums	  ? *def->sums :
					    *def->fold->sums;
		if (def->sum_bytes)
			v->sums_def.bytes = def->sum_bytes;
		v->sums_def.is_exact_decoded &= has_quantile_columns(v);
		v->sums_def.totals_only =
			!has_quantile_columns(v) && !def->reads_quantiles;
		fold_sums_init(&v->sums, &v->sums_def);
	}
	if (!def->fold)
		return def->begin ? def->begin(v, e) : 0;
	if (def->carry) {
		c.sink = (struct fold_sink){ v, def->carry };
	} else {
		v->target = (struct fold_target){ .ids = &v->a->ids, .sum = find_sum };
		v->target.by_name = grouping_is_by_name(&v->groups) || v->scope->names;
		c.sums = v->sums.def;
		c.target = &v->target;
	}
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
}

int view_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
	      void *state, struct err *e)
{
	const struct view_def *view = def->data;
	struct view *v = state;
	struct table_query window = *q;
	int ret;

	v->a = a;
	v->scope = &a->question->scope;
	v->table = def;
	v->def = view;
	v->cols_used = q->cols_used;
	if (view->is_one_bin)
		window.args[2] = (struct cell){ 0 };
	ret = window_init(&v->w, a, &window, e);
	if (!ret && view->open)
		ret = view->open(v, q, e);
	else if (!ret && def->arg_cnt > 3)
		ret = window_grouping(&v->groups, a, &q->args[3], e);
	v->groups.merge = q->merge;
	v->is_of_activity = q->is_of_activity;
	v->bin = v->w.first_bin;
	/*
	 * Label groups with the names at the window's end: the last names of tasks may be of a
	 * later time.
	 */
	if (!ret && v->groups.by && (v->w.to_ns < a->end_ns || trace_is_cut_short(a->trace))) {
		v->groups.label_ns = v->w.to_ns - 1;
		ret = task_names_prepare(&a->ids);
	}
	return ret ?: begin(v, e);
}

/* ---- rows ---- */

void view_label_cells(struct grouping *g, uint32_t group, struct cell *c)
{
	struct grouping_label label;

	grouping_label(g, group, &label);
	if (label.upid >= 0)
		cell_int(&c[0], label.upid);
	if (label.utid >= 0)
		cell_int(&c[1], label.utid);
	cell_text(&c[2], label.name);
	if (label.member_upid >= 0)
		cell_int(&c[3], label.member_upid);
	cell_text(&c[4], label.comm);
	cell_text(&c[5], label.thread_name);
}

static void take(struct view *v, const struct table_column *col, uint32_t group, char *sum,
		 struct cell *c)
{
	void *from = sum ? sum + col->offset : NULL;

	switch (col->take) {
	case VIEW_TAKES_NOTHING:
		break;
	case VIEW_TAKES_WINDOW:
		window_cells(&v->w, v->row_bin, c);
		break;
	case VIEW_TAKES_NUMBER:
		cell_int(c, (int64_t)*(uint64_t *)from);
		break;
	case VIEW_TAKES_LEVEL:
		cell_int(c, *(int64_t *)from > 0 ? *(int64_t *)from : 0);
		break;
	case VIEW_TAKES_INSTANT:
		cell_int(c, context_rel(v->a, *(uint64_t *)from));
		break;
	case VIEW_TAKES_TEXT:
		cell_text(c, *(const char **)from);
		break;
	case VIEW_TAKES_LABELS:
		view_label_cells(&v->groups, group, c);
		break;
	default:
		if (((struct quantile *)from)->cnt)
			cell_int(c, (int64_t)quantile_get(
					    from, (col->take - VIEW_TAKES_QUANTILE) / 10.0));
	}
}

struct cell *view_row(struct view *v, uint32_t group, void *sum)
{
	struct cell *c = rowbuf_add(v->out);

	/* Quantiles are slow to compute: skip unused columns. */
	for (unsigned int i = 0; i < v->table->col_cnt; i++)
		if (v->table->cols[i].take < VIEW_TAKES_QUANTILE || v->cols_used >> i & 1)
			take(v, &v->table->cols[i], group, sum, &c[i]);
	return c;
}

void view_text(struct view *v, struct cell *c, const char *kept)
{
	cell_text(c, kept);
	v->out->failed |= !kept;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	if (v->def->row)
		v->def->row(v, at, sum);
	else
		view_row(v, at->group, sum);
}

static void give_sum(struct view *v, struct fold_row *r)
{
	v->row_bin = v->w.first_bin + (r->a >> 32);
	give_row(v, &(struct view_place){ (uint32_t)r->a, r->b }, r->sum);
}

static int give_carried(void *ctx, struct fold_row *r)
{
	struct view *v = ctx;

	view_enter(v, r->sum);
	give_row(v, &(struct view_place){ (uint32_t)r->a, r->b }, r->sum);
	return 0;
}

/* ---- bins ---- */

/* Reads up to the end of the bin, and begins to return the rows of all bins that are complete. */
static int find_sums(struct view *v, struct err *e)
{
	uint64_t decided;
	int ret = fold_run_to(&v->run, v->bin_to_ns, &decided, e);

	if (ret < 0)
		return ret;
	v->next_bin = decided < v->w.to_ns ? window_bin(&v->w, decided) : v->w.end_bin;
	v->is_giving = true;
	return fold_sums_order(&v->sums, (v->next_bin - v->w.first_bin) << 32,
			       v->def->is_sorted);
}

/* Returns one batch of rows: a bin may have many. */
static int run_sums(struct view *v, struct err *e)
{
	struct fold_row *r = NULL;
	int ret = v->is_giving ? 0 : find_sums(v, e);

	for (unsigned int n = 0; ret >= 0 && n < TABLE_BATCH_ROWS && (r = fold_sums_next(&v->sums));
	     n++)
		give_sum(v, r);
	if (ret < 0 || r)
		return ret;
	v->is_giving = false;
	ret = fold_sums_drop(&v->sums, (v->next_bin - v->w.first_bin) << 32);
	v->bin = v->next_bin;
	return ret;
}

static int run_bin(struct view *v, struct err *e)
{
	uint64_t decided;
	int ret = v->def->fold ? fold_run_to(&v->run, v->bin_to_ns, &decided, e) :
				 v->def->run_bin(v, e);

	if (!ret && v->def->finish)
		ret = v->def->finish(v);
	if (!ret && v->sums.def)
		ret = fold_sums_each(&v->sums, v->def->is_sorted, give_carried, v);
	v->bin++;
	return ret;
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
	ret = v->target.sum ? run_sums(v, e) : run_bin(v, e);
	return ret < 0 ? ret : v->bin < v->w.end_bin;
}
