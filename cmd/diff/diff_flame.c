/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_flame: reads the rows of each trace into sums per stack; groups.c also gets them run by run.
 * A line of the page is "STACK B\tA\tCHANGE\tTEXT", where CHANGE is empty unless it is significant
 * (cmd/page/flame.js); a folded line is "STACK A B", as difffolded.pl makes them.
 */
#include "cmd/diff/diff_flame.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/groups.h"
#include "base/array.h"
#include "base/atomic_output.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "base/units.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "cmd/render/stack_columns.h"

#define ERRORS_MIN 4 /* standard errors of a change between two traces */
#define CHANGE_MIN 0.02

static const struct flame_view {
	const char *name, *figure; /* figure: the prefix for groups_put() */
	const char *what, *unit, *record;
} views[] = {
	{ "profile", "self_ns ", "CPU time", "ns", "--profile" },
	{ "offcpu", "offcpu_ns ", "waiting time", "ns", "--offcpu" },
	{ "stacks", "stack_bytes ", "allocated bytes", "bytes", "--stacks" },
};

struct flame_stack {
	const char *text;	/* with the figure's prefix; in texts */
	double amount[2], number[2]; /* sums of the runs */
	bool is_significant;
	double change;		/* relative; 1 if A has none of it */
	char says[80];
};

struct diff_flame {
	struct diff_flame_options o;
	const struct flame_view *view;
	struct groups *groups;	/* NULL: two traces */
	struct strpool *texts;
	struct hash_map places;	/* text -> place in stacks */
	struct flame_stack *stacks;
	size_t cnt, cap;
	unsigned int run_cnt[2];
	bool is_html;
	/* of the run that is being read */
	struct stack_columns cols;
	struct buf line;
	int side;
	double scale;
};

int diff_flame_new(struct diff_flame **ret, const struct diff_flame_options *o)
{
	struct diff_flame *f = calloc(1, sizeof(*f));
	size_t len = strlen(o->path), i = 0;
	int r;

	if (!f)
		return input_status(-ENOMEM, NULL);
	f->o = *o;
	while (i < 2 && o->view && strcmp(views[i].name, o->view) != 0)
		i++;
	f->view = &views[i];
	f->is_html = len > 5 && !strcmp(o->path + len - 5, ".html");
	if (!f->o.per)
		f->o.per = o->is_of_groups ? DIFF_FLAME_PER_RUN : DIFF_FLAME_PER_SECOND;
	r = strpool_new(&f->texts);
	if (!r && o->is_of_groups)
		r = groups_new(&f->groups, o->only_workload);
	if (r)
		diff_flame_free(f);
	else
		*ret = f;
	return input_status(r, NULL);
}

void diff_flame_free(struct diff_flame *f)
{
	if (!f)
		return;
	groups_free(f->groups);
	strpool_free(f->texts);
	hash_map_done(&f->places);
	buf_done(&f->line);
	free(f->stacks);
	free(f);
}

/* ---- reading ---- */

static int begin_rows(void *ctx, unsigned int cnt, const char *const *names)
{
	struct diff_flame *f = ctx;

	return stack_columns_find(&f->cols, cnt, names);
}

static int take_row(void *ctx, const struct value *v)
{
	struct diff_flame *f = ctx;
	double amount = (double)v[f->cols.amount].i * f->scale;
	const char *text;
	uint32_t place;
	int r;

	buf_reset(&f->line);
	buf_add(&f->line, f->view->figure, strlen(f->view->figure));
	stack_columns_line(&f->cols, &f->line, v, f->is_html);
	buf_add(&f->line, "", 1);
	text = f->line.failed ? NULL : strpool_put(f->texts, (const char *)f->line.data);
	r = text ? hash_map_intern(&f->places, (uintptr_t)text, 0, &place) : -ENOMEM;
	if (r > 0)
		r = array_add(&f->stacks, &f->cap, &f->cnt, (struct flame_stack){ .text = text });
	if (r < 0)
		return r;
	f->stacks[place].amount[f->side] += amount;
	f->stacks[place].number[f->side] += (double)v[f->cols.number].i;
	return f->groups ? groups_put(f->groups, text, amount) : 0;
}

static int take_count(void *ctx, const struct value *v)
{
	*(double *)ctx = v[0].type == VALUE_INT ? (double)v[0].i : 0;
	return 0;
}

static int find_scale(struct diff_flame *f, const struct input *in, const struct diff_side *of)
{
	const struct row_sink sink = { .ctx = &f->scale, .row = take_count };
	uint64_t start_ns = trace_start_ns(in->trace);
	struct err e = { "" };
	char sql[160];
	int r;

	f->scale = f->o.per == DIFF_FLAME_PER_SECOND ?
			   (double)UNITS_NS_PER_S / (double)(of->to_ns - of->from_ns) : 1;
	if (f->o.per != DIFF_FLAME_PER_REQUEST)
		return 0;
	snprintf(sql, sizeof(sql), "SELECT count(end_ns) FROM requests(%" PRIu64 ", %" PRIu64 ")",
		 of->from_ns - start_ns, of->to_ns - start_ns);
	r = analysis_sql(of->a, sql, &sink, &e);
	if (!r && f->scale < 1)
		return say_error("%s: no request of a program ended in the window",
				 input_path(in));
	f->scale = 1 / f->scale;
	return input_status(r, &e);
}

int diff_flame_add(struct diff_flame *f, int side, const struct input *in,
		   const struct diff_side *of)
{
	const struct report_request q = { .view = f->view->name, .from_ns = of->from_ns,
					  .to_ns = of->to_ns, .by = 1u << REPORT_BY_COMM,
					  .workload = f->o.only_workload, .stacks_apart = true };
	const struct row_sink sink = { .ctx = f, .begin = begin_rows, .row = take_row };
	struct err e = { "" };
	size_t cnt = f->cnt;
	int r = find_scale(f, in, of);

	if (r)
		return r;
	f->side = side;
	f->run_cnt[side]++;
	r = f->groups ? groups_begin(f->groups, side, of, &e) : 0;
	r = r ?: analysis_report(of->a, &q, &sink, &e);
	if (!r && f->cnt == cnt && !cnt)
		return say_error("%s: it has no stacks for the flame graph of %s; `ebpfrec record "
				 "%s -- COMMAND` records them", input_path(in), f->view->name,
				 f->view->record);
	return input_status(r, &e);
}

/* ---- comparing ---- */

static double mean(const struct diff_flame *f, const struct flame_stack *s, int side)
{
	return f->run_cnt[side] ? s->amount[side] / f->run_cnt[side] : 0;
}

/* With one trace per side, errors follow from the samples: the variance of n samples is n. */
static void judge_two(struct diff_flame *f)
{
	for (size_t i = 0; i < f->cnt; i++) {
		struct flame_stack *s = &f->stacks[i];
		double a = mean(f, s, 0), b = mean(f, s, 1), variance = 0;

		/* threads without a sample: known as well as by one */
		for (int side = 0; side < 2; side++)
			variance += pow(mean(f, s, side), 2) / fmax(s->number[side], 1);
		s->change = a > 0 ? (b - a) / a : 1;
		s->is_significant = fabs(b - a) > ERRORS_MIN * sqrt(variance) &&
				    fabs(b - a) > CHANGE_MIN * a;
		snprintf(s->says, sizeof(s->says), s->is_significant ? "%+.1f %%" :
			 "no change beyond the error of %.0f and %.0f samples",
			 s->is_significant ? 100 * s->change : s->number[0], s->number[1]);
	}
}

static int take_verdict(void *ctx, const struct groups_row *row)
{
	struct diff_flame *f = ctx;
	const char *text = strpool_put(f->texts, row->figure);
	struct flame_stack *s;
	uint32_t place;

	if (!text)
		return -ENOMEM;
	if (!hash_map_find(&f->places, (uintptr_t)text, 0, &place))
		return 0;
	s = &f->stacks[place];
	s->is_significant = row->verdict == GROUPS_WORSE || row->verdict == GROUPS_BETTER;
	s->change = row->has_change ? row->change_pct / 100 : 1;
	if (row->has_interval)
		snprintf(s->says, sizeof(s->says), "%s%+.1f %% (%+.1f .. %+.1f %%)",
			 s->is_significant ? "" : "no change told: ", row->change_pct,
			 row->low_pct, row->high_pct);
	else
		snprintf(s->says, sizeof(s->says), "%s", s->is_significant ? "new" :
							  groups_verdict_name(row->verdict));
	return 0;
}

static int judge(struct diff_flame *f, struct err *e)
{
	if (f->groups)
		return groups_compare(f->groups, take_verdict, f, e);
	judge_two(f);
	return 0;
}

/* ---- writing ---- */

int diff_flame_page(struct diff_flame *f, const char *const names[2], FILE *to, struct err *e)
{
	static const char *const per[] = { "", "per run", "per second", "per request" };
	const char *title, *note, *rest;
	int r = judge(f, e);

	if (r)
		return r;
	title = say_format("B against A: %s %s. A: %s. B: %s", f->view->what, per[f->o.per],
			   names[0], names[1]);
	note = say_format("Widths are those of B%s. A red frame has more %s of its own than in A, "
			  "a blue one less, without the functions that it calls. A grey frame has "
			  "no change %s. Stacks that B lacks are below. ",
			  f->groups ? ", the mean of its runs" : "", f->view->what,
			  f->groups ? "that exceeds how much runs differ: of the coloured frames, "
				      "at most 5 % are wrong" :
				      "beyond 4 standard errors of its samples; how much two runs "
				      "of the same differ, two traces do not tell");
	rest = render_flame_begin(to, title, f->view->unit, note);
	for (size_t i = 0; i < f->cnt; i++) {
		const struct flame_stack *s = &f->stacks[i];

		fprintf(to, "%s%.0f\t%.0f\t", s->text + strlen(f->view->figure), mean(f, s, 1),
			mean(f, s, 0));
		if (s->is_significant)
			fprintf(to, "%.3f", s->change);
		fprintf(to, "\t%s\n", s->says);
	}
	fputs(rest, to);
	return ferror(to) ? -EIO : 0;
}

struct flame_output {
	struct diff_flame *f;
	const char *const *names;
};

static int fill(void *ctx, FILE *to, struct err *e)
{
	const struct flame_output *x = ctx;
	struct diff_flame *f = x->f;

	if (f->is_html)
		return diff_flame_page(f, x->names, to, e);
	for (size_t i = 0; i < f->cnt; i++)
		fprintf(to, "%s%.0f %.0f\n", f->stacks[i].text + strlen(f->view->figure),
			mean(f, &f->stacks[i], 0), mean(f, &f->stacks[i], 1));
	return ferror(to) ? -EIO : 0;
}

int diff_flame_write(struct diff_flame *f, const char *const names[2])
{
	struct flame_output x = { f, names };
	struct err e = { "" };
	int r;

	atomic_output_catch_signals();
	r = atomic_output_file(f->o.path, f->o.force, fill, &x, &e);
	if (r)
		return input_status(r, &e);
	say_note("%s: %s, %s", f->o.path, say_counted(f->cnt, "stack"),
		 say_file_bytes(f->o.path));
	return 0;
}
