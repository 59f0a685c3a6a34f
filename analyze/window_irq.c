/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq_usage(from_ns, to_ns, every_ns, by): interrupts per bin, group and vector.
 *
 * A run belongs to the instant it ends, with its own length (without what interrupted it); its time lies
 * where it lies: the part of it inside each bin. So the time of neighbouring windows adds up, and the rows of
 * a CPU's bin never add up to more than the bin. What lost its entry or exit is counted, and has no time.
 *
 * by: none (per vector), cpu, or whose time it took: process, thread, comm, cgroup.
 *
 * A bin is given out once nothing that began in it is still being served, for which the trace is read on
 * behind the window's end as far as need be.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/irq_name.h"
#include "analyze/irq_scan.h"
#include "analyze/quantile.h"
#include "analyze/table.h"
#include "analyze/window.h"
#include "event/keymap.h"

static const struct table_column irq_usage_cols[] = {
	WINDOW_COLUMNS,
	{ "cpu", COLUMN_INT }, { "upid", COLUMN_INT }, { "utid", COLUMN_INT },
	{ "name", COLUMN_TEXT }, { "type", COLUMN_TEXT }, { "vector", COLUMN_INT },
	{ "runs", COLUMN_INT }, { "run_ns", COLUMN_INT }, { "run_p50_ns", COLUMN_INT },
	{ "run_p99_ns", COLUMN_INT }, { "run_max_ns", COLUMN_INT }, { "broken", COLUMN_INT },
	WINDOW_ARGS, { "by", COLUMN_TEXT },
};

enum { IRQ_USAGE_COLS = WINDOW_COLS + 12 };

struct irq_sum {
	uint64_t bin;
	uint32_t group, type, vector;
	uint64_t run_ns, broken;
	struct quantile runs;
};

struct usage_scan {
	struct analysis *a;
	struct window w;
	struct grouping groups;
	bool by_cpu;
	const struct index *index;	/* NULL: none */
	struct irq_scan *scan;		/* NULL: the window is empty */
	struct keymap map;		/* (bin and group, type and vector) -> sums */
	struct irq_sum *sums;
	size_t cap;
	uint64_t bin;			/* the next to give out */
};

/* ---- adding up ---- */

static struct irq_sum *sum_of(struct usage_scan *s, uint64_t ts_ns, const struct irq_run *r)
{
	uint64_t bin = window_bin(&s->w, ts_ns);
	uint32_t i, thread = ident_thread(&s->a->ident, r->utid);
	uint32_t group = s->by_cpu ? r->cpu : grouping_of_thread(&s->groups, thread);
	int ret = keymap_intern(&s->map, (bin - s->w.first_bin) << 32 | group,
				(uint64_t)r->type << 32 | r->vector, &i);

	if (ret < 0 || group == GROUPING_FAILED)
		return NULL;
	if (i >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		struct irq_sum *sums = realloc(s->sums, cap * sizeof(*sums));

		if (!sums)
			return NULL;
		s->sums = sums;
		s->cap = cap;
	}
	if (ret)
		s->sums[i] = (struct irq_sum){ .bin = bin, .group = group, .type = r->type,
					       .vector = r->vector };
	return &s->sums[i];
}

static bool in_window(const struct usage_scan *s, uint64_t ts_ns)
{
	return ts_ns >= s->w.from_ns && ts_ns < s->w.to_ns;
}

static bool in_scope(const struct usage_scan *s, const struct irq_run *r)
{
	return scope_has_thread(&s->a->scope, ident_thread(&s->a->ident, r->utid));
}

/* A stretch of a run's own time, to the bins it lies in. */
static int add_time(struct usage_scan *s, const struct irq_run *r, uint64_t from, uint64_t to)
{
	if (from < s->w.from_ns)
		from = s->w.from_ns;
	if (to > s->w.to_ns)
		to = s->w.to_ns;
	while (from < to) {
		struct irq_sum *sum = sum_of(s, from, r);
		uint64_t bin_from, bin_to;

		if (!sum)
			return -ENOMEM;
		window_bin_span(&s->w, sum->bin, &bin_from, &bin_to);
		if (bin_to > to)
			bin_to = to;
		sum->run_ns += bin_to - from;
		from = bin_to;
	}
	return 0;
}

static int on_run(void *ctx, const struct irq_run *r)
{
	struct usage_scan *s = ctx;
	uint64_t at = r->from_ns;
	struct irq_sum *sum;
	size_t i;
	int ret = 0;

	if (r->to_ns < s->w.from_ns || !in_scope(s, r))
		return 0;
	for (i = 0; i < r->cut_cnt && !ret; i++) {
		ret = add_time(s, r, at, r->cuts[i].from_ns);
		at = r->cuts[i].to_ns;
	}
	if (!ret)
		ret = add_time(s, r, at, r->to_ns);
	if (ret < 0 || !in_window(s, r->to_ns))
		return ret;
	sum = sum_of(s, r->to_ns, r);
	return sum ? quantile_add(&sum->runs, r->own_ns) : -ENOMEM;
}

static int on_broken(void *ctx, const struct irq_run *r)
{
	struct usage_scan *s = ctx;
	struct irq_sum *sum;

	if (!in_window(s, r->from_ns) || !in_scope(s, r))
		return 0;
	sum = sum_of(s, r->from_ns, r);
	if (!sum)
		return -ENOMEM;
	sum->broken++;
	return 0;
}

/* ---- opening and closing ---- */

static void usage_close(void *state)
{
	struct usage_scan *s = state;
	size_t i;

	irq_scan_close(s->scan);
	for (i = 0; i < s->map.cnt; i++)
		quantile_done(&s->sums[i].runs);
	free(s->sums);
	keymap_done(&s->map);
	grouping_done(&s->groups);
	free(s);
}

static int find_grouping(struct usage_scan *s, const struct cell *by, struct err *e)
{
	const struct cell none = { .type = VALUE_TEXT, .s = "none" };
	int ret;

	s->by_cpu = by->type == VALUE_TEXT && !strcmp(by->s, "cpu");
	ret = window_grouping(&s->groups, s->a, by->type == VALUE_NULL ? &none : by, e);

	/* rows are given out in the order of groups' numbers */
	if (!ret && grouping_number_all(&s->groups) < 0)
		ret = err_set(e, -ENOMEM, "out of memory");
	return ret;
}

static int usage_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		      void **ret_state, struct err *e)
{
	struct usage_scan *s = calloc(1, sizeof(*s));
	const struct irq_sink sink = { .ctx = s, .run = on_run, .broken = on_broken };
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	ret = window_init(&s->w, a, q, e);
	if (!ret)
		ret = find_grouping(s, &q->args[3], e);
	if (!ret && s->w.from_ns < s->w.to_ns) {
		ret = analysis_index(a, &s->index, e);
		if (!ret) {
			ret = irq_scan_open(&s->scan, a, s->index, s->w.from_ns, &sink, e);
			if (ret < 0 && s->index)
				ret = index_fail(s->index, ret, e);
		}
	}
	if (ret < 0) {
		usage_close(s);
		return ret;
	}
	s->bin = s->w.first_bin;
	*ret_state = s;
	return 0;
}

/* ---- giving out ---- */

static int compare_sums(const void *pa, const void *pb)
{
	const struct irq_sum *a = pa, *b = pb;

	if (a->bin != b->bin)
		return a->bin < b->bin ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return a->vector < b->vector ? -1 : a->vector > b->vector;
}

static int give_row(const struct usage_scan *s, struct irq_sum *x, struct rowbuf *out)
{
	struct cell *c = rowbuf_add(out);
	struct grouping_label label = { -1, -1, NULL };

	if (!c)
		return -ENOMEM;
	window_cells(&s->w, x->bin, c);
	if (s->by_cpu)
		cell_int(&c[3], x->group);
	else if (s->groups.by != GROUPING_NONE)
		grouping_label(&s->groups, x->group, &label);
	if (label.upid >= 0)
		cell_int(&c[4], label.upid);
	if (label.utid >= 0)
		cell_int(&c[5], label.utid);
	cell_text(&c[6], label.name);
	cell_text(&c[7], irq_type_name(x->type));
	cell_int(&c[8], x->vector);
	cell_int(&c[9], (int64_t)x->runs.cnt);
	cell_int(&c[10], (int64_t)x->run_ns);
	if (x->runs.cnt) {
		cell_int(&c[11], (int64_t)quantile_get(&x->runs, 50));
		cell_int(&c[12], (int64_t)quantile_get(&x->runs, 99));
		cell_int(&c[13], (int64_t)x->runs.max);
	}
	cell_int(&c[14], (int64_t)x->broken);
	return 0;
}

/* Gives out the sums of this bin, and keeps those of later ones. */
static int flush(struct usage_scan *s, struct rowbuf *out)
{
	size_t cnt = s->map.cnt, ready = 0, i;
	uint32_t k;
	int ret = 0;

	if (!cnt)
		return 0;
	qsort(s->sums, cnt, sizeof(*s->sums), compare_sums);
	while (ready < cnt && s->sums[ready].bin <= s->bin && !ret)
		ret = give_row(s, &s->sums[ready++], out);
	for (i = 0; i < ready; i++)
		quantile_done(&s->sums[i].runs);
	memmove(s->sums, s->sums + ready, (cnt - ready) * sizeof(*s->sums));
	keymap_clear(&s->map);
	for (i = 0; i < cnt - ready; i++) {
		const struct irq_sum *x = &s->sums[i];
		int r = keymap_intern(&s->map, (x->bin - s->w.first_bin) << 32 | x->group,
				      (uint64_t)x->type << 32 | x->vector, &k);

		if (r < 0)	/* what has no number is lost to close() */
			quantile_done(&s->sums[i].runs);
		ret = r < 0 ? r : ret;
	}
	return ret;
}

static int usage_step(void *state, struct rowbuf *out, struct err *e)
{
	struct usage_scan *s = state;
	uint64_t from, to;
	int ret;

	if (!s->scan || s->bin >= s->w.end_bin)
		return 0;
	window_bin_span(&s->w, s->bin, &from, &to);
	while ((ret = irq_scan_next(s->scan, to, e)) > 0)
		;
	while (ret >= 0 && irq_track_oldest_ns(irq_scan_track(s->scan)) < to) {
		ret = irq_scan_next(s->scan, UINT64_MAX, e);
		if (!ret)
			break;
	}
	if (ret < 0)
		return ret;
	if (flush(s, out) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	return ++s->bin < s->w.end_bin;
}

const struct table_def tables_of_irqs[] = {
	{
		.name = "irq_usage", .doc = "interrupts per bin, group and vector",
		.cols = irq_usage_cols, .col_cnt = IRQ_USAGE_COLS, .arg_cnt = 4,
		.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
		.open = usage_open, .step = usage_step, .close = usage_close,
	},
	{ .name = NULL },
};
