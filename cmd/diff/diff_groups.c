/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* diff_groups: opens one trace after the other, and prints the results of analyze/diff/groups.h. */
#include "cmd/diff/diff_groups.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/groups.h"
#include "base/units.h"
#include "cmd/diff/diff_page.h"
#include "cmd/render/say.h"

#define COLUMN_CNT 13
#define TABLE_COLUMN_CNT 6
#define SIDE_BYTES 1100 /* "base.1 and on, 8 runs" */

struct printing {
	const struct diff_groups *d;
	const struct groups *groups;
	struct render *render;
	double *room[2]; /* for the page: values of a figure by run; NULL otherwise */
	uint64_t worse, better, unknown;
	bool has_few, has_noise, has_digits;
};

static void format_figure(char *buf, size_t size, const char *figure, double v)
{
	uint64_t n = (uint64_t)llround(fmax(v, 0));

	/* "self_ns main" */
	if (strstr(figure, "_ns"))
		units_format_duration(buf, size, n);
	else if (strstr(figure, "bytes"))
		units_format_bytes(buf, size, n);
	else
		units_format_count(buf, size, n);
}

/* Digits after the point: the whole interval fits into a terminal of 80 columns. */
static int decimals(double pct)
{
	return fabs(pct) < 9.95;
}

/* "+5.2 (+4.1..+12)" */
static const char *change_of(const struct groups_row *r)
{
	if (!r->has_change)
		return "-";
	if (!r->has_interval)
		return say_format("%+.*f", decimals(r->change_pct), r->change_pct);
	return say_format("%+.*f (%+.*f..%+.*f)", decimals(r->change_pct), r->change_pct,
			  decimals(r->low_pct), r->low_pct, decimals(r->high_pct), r->high_pct);
}

static const char *reason_of(const struct groups_row *r)
{
	static const char *const reasons[] = { "", "few runs", "incomplete", "noise" };

	return reasons[r->reason];
}

static void put_in_page(const struct printing *p, const struct groups_row *r,
			struct diff_page_row *row)
{
	for (int i = 0; i < 2; i++) {
		row->values[i] = p->room[i];
		row->cnt[i] = groups_values(p->groups, r, i, p->room[i]);
	}
	diff_page_row(stdout, row, format_figure);
}

static int put_row(void *ctx, const struct groups_row *r)
{
	struct printing *p = ctx;
	bool is_change = r->verdict == GROUPS_WORSE || r->verdict == GROUPS_BETTER;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	const char *verdict = groups_verdict_name(r->verdict);

	p->worse += r->verdict == GROUPS_WORSE;
	p->better += r->verdict == GROUPS_BETTER;
	p->unknown += r->verdict == GROUPS_CANNOT_TELL;
	if (p->d->only_changed && !is_change && strcmp(r->figure, "wall_ns"))
		return 0;
	if (p->d->like->format == RENDER_TABLE && r->is_tiny && !is_change)
		return 0;
	p->has_few |= r->reason == GROUPS_FEW;
	p->has_noise |= r->reason == GROUPS_NOISE;
	p->has_digits |= strchr(r->role, '#') != NULL;
	if (p->d->like->format != RENDER_TABLE)
		return render_put(p->render, (struct value[]){
			value_text(r->role), value_text(r->parent), value_text(r->figure),
			value_real(r->median[0]), value_real(r->median[1]),
			r->has_change ? value_real(r->change_pct) : value_null(),
			r->has_interval ? value_real(r->low_pct) : value_null(),
			r->has_interval ? value_real(r->high_pct) : value_null(),
			value_text(verdict), value_text(*reason_of(r) ? reason_of(r) : NULL),
			value_real(r->p), value_int(r->runs[0]), value_int(r->runs[1]) });
	format_figure(a, sizeof(a), r->figure, r->median[0]);
	format_figure(b, sizeof(b), r->figure, r->median[1]);
	if (r->verdict == GROUPS_CANNOT_TELL)
		verdict = say_format("? %s", reason_of(r));
	if (p->d->html) {
		put_in_page(p, r, &(struct diff_page_row){
			.role = r->role, .figure = r->figure, .text = { a, b },
			.change = change_of(r), .verdict = verdict,
			.is_worse = r->verdict == GROUPS_WORSE,
			.is_better = r->verdict == GROUPS_BETTER });
		return 0;
	}
	return render_put(p->render, (struct value[]){
		value_text(r->role), value_text(r->figure), value_text(a), value_text(b),
		value_text(change_of(r)), value_text(verdict) });
}

/* A warm-up run is left out. 1: it is one. */
static int add_trace(const struct diff_groups *d, struct groups *g, int group, const char *path,
		     unsigned int *ret_cnt)
{
	struct input in = { .path = path, .from = d->like->from, .to = d->like->to,
			    .during = d->like->during, .symbols = d->like->symbols,
			    .raw_frames = d->like->raw_frames,
			    .quick = true };
	struct diff_side side;
	struct err e = { "" };
	uint64_t start_ns, end_ns;
	int c = input_open(&in, true);

	if (!c && input_is_warm_up(&in)) {
		input_close(&in);
		return 0;
	}
	c = c ?: input_window(&in, &side.from_ns, &side.to_ns) ?: input_analysis(&in);
	if (!c) {
		start_ns = trace_start_ns(in.trace);
		end_ns = trace_end_ns(in.trace);
		side.from_ns = side.from_ns < start_ns ? start_ns : side.from_ns;
		side.to_ns = side.to_ns > end_ns ? end_ns : side.to_ns;
		side.a = in.analysis;
		input_verify(&in, true, side.from_ns, side.to_ns);
		c = input_status(groups_add(g, group, &side, &e), &e);
		if (!c && d->flame)
			c = diff_flame_add(d->flame, group, &in, &side);
		*ret_cnt += !c;
	}
	input_close(&in);
	return c;
}

static const char *legend_of(const struct printing *p)
{
	return say_format(
		"%s worse, %s better. A and B are the medians of the runs; the change is in "
		"percent of A, with its 90 %% interval. Of all figures called worse or better, at "
		"most 5 %% are so by chance. A change called small is too small to matter.%s%s%s",
		say_counted(p->worse, "figure"), say_count(p->better),
		p->has_few ? " ? few runs: more runs would tell." : "",
		p->has_noise ? " ? noise: runs differ too much to say that nothing changed." : "",
		p->has_digits ? " A # in a role stands for digits that differ." : "");
}

static void print_legend(const struct printing *p)
{
	printf(p->d->like->markdown ? "" : "\n");
	render_paragraph(stdout, legend_of(p), input_terminal_width(), p->d->like->markdown);
}

static int print_page(struct groups *g, struct printing *p, char sides[2][SIDE_BYTES])
{
	struct err e = { "" };
	int c;

	for (int i = 0; i < 2; i++)
		p->room[i] = calloc(1 + p->d->paths[0].cnt + p->d->paths[1].cnt, sizeof(double));
	if (p->room[0] && p->room[1]) {
		diff_page_begin(stdout, sides[0], sides[1]);
		c = groups_compare(g, put_row, p, &e);
		diff_page_end(stdout, legend_of(p));
	} else {
		c = -ENOMEM;
	}
	free(p->room[0]);
	free(p->room[1]);
	return input_status(c, &e);
}

static int print_rows(struct groups *g, struct printing *p, char sides[2][SIDE_BYTES])
{
	static const char *const columns[COLUMN_CNT] = {
		"role", "parent", "metric", "a", "b", "change_pct", "low_pct", "high_pct",
		"verdict", "reason", "p_value", "runs_a", "runs_b" };
	static const char *const table[TABLE_COLUMN_CNT] = { "role", "metric", "a", "b",
							     "change %", "verdict" };
	const struct diff_groups *d = p->d;
	bool is_table = d->like->format == RENDER_TABLE;
	struct err e = { "" };
	int c;

	p->render = input_render(d->like, d->limit, true, NULL);
	if (!p->render)
		return EXIT_FAILED;
	if (is_table)
		printf("A: %s\nB: %s\n\n", sides[0], sides[1]);
	render_begin(p->render, is_table ? TABLE_COLUMN_CNT : COLUMN_CNT,
		     is_table ? table : columns);
	c = input_render_end(p->render, groups_compare(g, put_row, p, &e), &e);
	if (!c && is_table)
		print_legend(p);
	return c;
}

int diff_groups(const struct diff_groups *d)
{
	struct printing p = { .d = d };
	unsigned int cnt[2] = { 0 };
	char sides[2][SIDE_BYTES];
	struct groups *g;
	int c = groups_new(&g, d->only_workload);

	if (c)
		return input_status(c, NULL);
	p.groups = g;
	for (int group = 0; group < 2; group++)
		for (unsigned int i = 0; i < d->paths[group].cnt && !c; i++)
			c = add_trace(d, g, group, d->paths[group].v[i], &cnt[group]);
	if (!c && (!cnt[0] || !cnt[1]))
		c = say_error("there are %u and %u runs to compare", cnt[0], cnt[1]);
	for (int i = 0; i < 2; i++)
		snprintf(sides[i], SIDE_BYTES, "%s and on, %s", say_text(d->paths[i].v[0]),
			 say_counted(cnt[i], "run"));
	c = c ?: d->html ? print_page(g, &p, sides) : print_rows(g, &p, sides);
	groups_free(g);
	if (!c && d->flame)
		c = diff_flame_write(d->flame, (const char *const[]){ sides[0], sides[1] });
	return c ? c : d->exit_code && p.worse ? EXIT_FAILED : 0;
}
