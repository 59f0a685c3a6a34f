/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* diff_groups: opens one trace at a time, and prints the results of analyze/diff/groups.h. */
#include "cmd/diff/diff_groups.h"

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
#include "cmd/render/page.h"
#include "cmd/render/say.h"

/*
 * diff_page: the scale of each plot extends from the lowest to the highest run of both groups; the
 * lowest and the highest value are written below the plot. quantile_of() computes quartiles.
 */

/* layout of a plot, px: the box of A, below it the box of B and the numbers */
#define PLOT_WIDTH 300
#define MARGIN 6
#define BOX_HEIGHT 12
#define ROW_HEIGHT 18
#define BOX_RUNS 5

static const char style[] =
	"svg{display:block}svg text{font-size:10px;fill:var(--soft)}"
	".a{fill:#0072b2;stroke:#0072b2}.b{fill:#e69f00;stroke:#e69f00}"
	".box{fill-opacity:.3}.dot{fill-opacity:.8;stroke:none}.middle{stroke:var(--fg);"
	"stroke-width:2}.key{display:inline-block;width:10px;height:10px;border-radius:2px}"
	".worse{color:var(--bad);font-weight:600}.better{color:#2e8b57;font-weight:600}"
	"td{vertical-align:middle}p{max-width:72em}";

/* Writes the beginning of the page. a, b: names of the groups, "base.1 and on, 8 runs". */
static void diff_page_begin(FILE *f, const char *a, const char *b)
{
	static const char *const key[2] = { "#0072b2", "#e69f00" };

	fprintf(f, "<!DOCTYPE html>\n<!-- made by ebpfrec -->\n<html lang=\"en\">\n<head>\n"
		   "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
		   "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		   "<title>ebpfrec: diff</title>\n<style>%s%s</style>\n</head>\n<body>\n<header>"
		   "<h1>What differs between two groups of runs</h1>\n", page_css, style);
	for (int i = 0; i < 2; i++) {
		fprintf(f, "<p><i class=\"key\" style=\"background:%s\"></i> %c: ", key[i],
			"AB"[i]);
		render_html_text(f, i ? b : a);
		fprintf(f, "</p>\n");
	}
	fprintf(f, "</header>\n<div class=\"table\"><table><thead><tr>");
	for (int i = 0; i < 7; i++)
		fprintf(f, "<th scope=\"col\"%s>%s</th>", i == 2 || i == 3 ? "" : " class=\"text\"",
			(const char *const[]){ "Role", "Figure", "A", "B", "Change %", "Verdict",
					       "Runs" }[i]);
	fprintf(f, "</tr></thead><tbody>\n");
}

/*
 * Returns a quantile, interpolated between neighbouring values (type 7 of Hyndman and Fan). v is
 * sorted; cnt > 0.
 */
static double quantile_of(const double *v, size_t cnt, double share)
{
	double at = share * (double)(cnt - 1);
	size_t below = (size_t)at;

	return below + 1 < cnt ? v[below] + (at - (double)below) * (v[below + 1] - v[below]) :
				 v[below];
}

struct scale {
	double least, most;
};

static double place(const struct scale *s, double v)
{
	double wide = s->most - s->least;

	return MARGIN + (PLOT_WIDTH - 2 * MARGIN) * (wide > 0 ? (v - s->least) / wide : 0.5);
}

static void put_box(FILE *f, const struct scale *s, const double *v, size_t cnt, int side)
{
	double low = place(s, quantile_of(v, cnt, 0.25)),
	       high = place(s, quantile_of(v, cnt, 0.75)),
	       middle = place(s, quantile_of(v, cnt, 0.5));
	int top = 2 + side * ROW_HEIGHT, y = top + BOX_HEIGHT / 2;
	char class = "ab"[side];
	bool has_box = cnt >= BOX_RUNS;	/* quartiles of fewer runs are meaningless */

	if (has_box)
		fprintf(f, "<line class=\"%c\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
			   "<rect class=\"%c box\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
			   "height=\"%d\"/>",
			class, place(s, v[0]), place(s, v[cnt - 1]), y, y, class, low, top,
			fmax(high - low, 1), BOX_HEIGHT);
	for (size_t i = 0; i < cnt; i++)
		fprintf(f, "<circle class=\"%c dot\" cx=\"%.1f\" cy=\"%d\" r=\"2.5\"/>", class,
			place(s, v[i]), y);
	fprintf(f, "<line class=\"middle\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", middle,
		middle, top, top + BOX_HEIGHT);
}

static void put_plot(FILE *f, const struct diff_page_row *r,
		     void (*format)(char *buf, size_t size, const char *figure, double v))
{
	struct scale s = { INFINITY, -INFINITY };
	char least[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX];
	int height = 2 * ROW_HEIGHT + 12;

	for (int i = 0; i < 2; i++)
		if (r->cnt[i])
			s = (struct scale){ fmin(s.least, r->values[i][0]),
					    fmax(s.most, r->values[i][r->cnt[i] - 1]) };
	if (!r->cnt[0] && !r->cnt[1])
		return;
	format(least, sizeof(least), r->figure, s.least);
	format(most, sizeof(most), r->figure, s.most);
	fprintf(f, "<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"runs of A and B, "
		   "from %s to %s\">", PLOT_WIDTH, height, least, most);
	for (int i = 0; i < 2; i++)
		if (r->cnt[i])
			put_box(f, &s, r->values[i], r->cnt[i], i);
	if (s.most > s.least)
		fprintf(f, "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\" "
			   "text-anchor=\"end\">%s</text>", MARGIN, height - 2, least,
			PLOT_WIDTH - MARGIN, height - 2, most);
	else
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>",
			PLOT_WIDTH / 2, height - 2, least);
	fprintf(f, "</svg>");
}

static void put_cell(FILE *f, const char *class, const char *text)
{
	fprintf(f, "<td class=\"%s\">", class);
	render_html_text(f, text);
	fprintf(f, "</td>");
}

/* Writes a row. format() formats a value of the figure. */
static void diff_page_row(FILE *f, const struct diff_page_row *r,
			  void (*format)(char *buf, size_t size, const char *figure, double v))
{
	fprintf(f, "<tr>");
	put_cell(f, "text", r->role);
	put_cell(f, "text", r->figure);
	put_cell(f, "", r->text[0]);
	put_cell(f, "", r->text[1]);
	put_cell(f, "text", r->change);
	put_cell(f, r->is_worse ? "text worse" : r->is_better ? "text better" : "text", r->verdict);
	fprintf(f, "<td class=\"text\">");
	put_plot(f, r, format);
	fprintf(f, "</td></tr>\n");
}

static void diff_page_end(FILE *f, const char *legend)
{
	fprintf(f, "</tbody></table></div>\n<p>");
	render_html_text(f, legend);
	fprintf(f, "</p>\n<p class=\"note\">A dot is a run, and the line across the median. With "
		   "five runs or more, a box holds the middle half of a group's runs, and a thin "
		   "line reaches from the least to the largest. Each figure has a scale of its "
		   "own, which does not begin at 0.</p>\n</body>\n</html>\n");
}

#define COLUMN_CNT 13
#define TABLE_COLUMN_CNT 6
#define SIDE_BYTES 1100 /* name of a group: "base.1 and on, 8 runs" */

struct printing {
	const struct diff_groups *d;
	const struct groups *groups;
	struct render *render;
	double *room[2]; /* page: memory for the values of a figure; otherwise NULL */
	uint64_t worse, better, unknown;
	bool has_few, has_noise, has_digits;
};

static void format_figure(char *buf, size_t size, const char *figure, double v)
{
	uint64_t n = (uint64_t)llround(fmax(v, 0));

	/* figure begins with a column's name: "self_ns main" */
	if (strstr(figure, "_ns"))
		units_format_duration(buf, size, n);
	else if (strstr(figure, "bytes"))
		units_format_bytes(buf, size, n);
	else
		units_format_count(buf, size, n);
}

/* Returns the number of decimals of a percentage, so that the interval fits into 80 columns. */
static int decimals(double pct)
{
	return fabs(pct) < 9.95;
}

/* Returns the change in percent with its confidence interval: "+5.2 (+4.1..+12)". */
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

/* Adds a trace to a group, unless it is a warm-up run. 0 or an exit status. */
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
	if (!c && is_table) {
		printf(p->d->like->markdown ? "" : "\n");
		render_paragraph(stdout, legend_of(p), input_terminal_width(),
				 p->d->like->markdown);
	}
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

/*
 * diff_flame: sums the rows of all traces per stack, and passes the values of each run to groups.c.
 * A line of the page is "STACK B\tA\tCHANGE\tTEXT", where CHANGE is empty unless it is significant
 * (cmd/page/flame.js); a folded line is "STACK A B", the format of difffolded.pl.
 */

#define ERRORS_MIN 4 /* smallest significant change between two traces, in standard errors */
#define CHANGE_MIN 0.02

static const struct flame_view {
	const char *name, *figure; /* figure: prefix of the figures passed to groups_put() */
	const char *what, *unit, *record;
} views[] = {
	{ "profile", "self_ns ", "CPU time", "ns", "--profile" },
	{ "offcpu", "offcpu_ns ", "waiting time", "ns", "--offcpu" },
	{ "stacks", "stack_bytes ", "allocated bytes", "bytes", "--stacks" },
};

struct flame_stack {
	const char *text;	/* owned by texts; begins with the figure's prefix */
	double amount[2], number[2]; /* sums over the runs of each side */
	bool is_significant;
	double change;		/* relative to A; 1 if the stack does not occur in A */
	char says[80];
};

struct diff_flame {
	struct diff_flame_options o;
	const struct flame_view *view;
	struct groups *groups;	/* NULL: compare two traces */
	struct strpool *texts;
	struct hash_map places;	/* text -> index in stacks */
	struct flame_stack *stacks;
	size_t cnt, cap;
	unsigned int run_cnt[2];
	bool is_html;
	/* the run being read */
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

/*
 * Sets the changes between two traces. The error of a stack is estimated from its n samples, whose
 * variance is n.
 */
static void judge_two(struct diff_flame *f)
{
	for (size_t i = 0; i < f->cnt; i++) {
		struct flame_stack *s = &f->stacks[i];
		double a = mean(f, s, 0), b = mean(f, s, 1), variance = 0;

		/* without samples, assume the error of one sample */
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

/* ---- diff rows ---- */

#define ROW_COLUMN_CNT 12
#define COLUMN_REASON 7 /* omitted in tables, where the verdict contains it */

static const char *const columns[ROW_COLUMN_CNT] = { "role",    "parent",  "metric",     "a",
						 "b",	    "change_pct", "verdict", "reason",
						 "p_value", "procs_a", "procs_b",    "complete" };

/* Names and formats of metrics in tables. */
static const struct {
	const char *name;
	char *(*format)(char *buf, size_t size, uint64_t v);
} metrics[] = {
	[DIFF_ONCPU] = { "CPU time", units_format_duration },
	[DIFF_RSS_PEAK] = { "largest RSS", units_format_bytes },
	[DIFF_IOS] = { "I/Os", units_format_count },
	[DIFF_IO_BYTES] = { "I/O bytes", units_format_bytes },
	[DIFF_LAT_P50] = { "I/O lat p50", units_format_duration },
	[DIFF_LAT_P99] = { "I/O lat p99", units_format_duration },
	[DIFF_REQUESTS] = { "requests", units_format_count },
	[DIFF_REQUESTS_PER_S] = { "requests/s", units_format_count },
	[DIFF_REQUEST_P50] = { "request p50", units_format_duration },
	[DIFF_REQUEST_P90] = { "request p90", units_format_duration },
	[DIFF_REQUEST_P99] = { "request p99", units_format_duration },
	[DIFF_REQUEST_MAX] = { "request max", units_format_duration },
	[DIFF_REQUEST_PART ... DIFF_METRIC_CNT - 1] = { NULL, units_format_duration },
	[DIFF_WALL] = { "wall time", units_format_duration },
};

static const char *metric_name(enum render_format format, enum diff_metric m, char *buf,
			       size_t size)
{
	const char *part = diff_part_name(m);

	if (!part)
		return format == RENDER_TABLE ? metrics[m].name : diff_metric_name(m);
	snprintf(buf, size, format == RENDER_TABLE ? "request %s" : "request_%s_ns", part);
	return buf;
}

/* Returns the value of one side: text with the metric's unit in a table, else a number. */
static struct value amount(enum render_format format, const struct diff_row *r, int side, char *buf)
{
	uint64_t n = (uint64_t)llround(r->value[side]);

	if (!r->has[side])
		return value_null();
	return format != RENDER_TABLE ?
		       value_int(n) :
		       value_text(metrics[r->metric].format(buf, UNITS_TEXT_MAX, n));
}

static struct value chance(enum render_format format, const struct diff_row *r, char *buf,
			   size_t size)
{
	if ((r->verdict != DIFF_SAME && r->verdict != DIFF_CHANGED) || r->metric == DIFF_WALL)
		return value_null();
	if (format != RENDER_TABLE)
		return value_real(r->p);
	if (r->p >= 1)
		return value_text("-");
	if (r->p < 0.001)
		return value_text("<0.001");
	snprintf(buf, size, "%.3f", r->p);
	return value_text(buf);
}

static struct value change(enum render_format format, const struct diff_row *r, char *buf,
			   size_t size)
{
	double pct;

	if (!r->has[0] || !r->has[1] || !(r->value[0] > 0))
		return value_null();
	pct = 100 * (r->value[1] - r->value[0]) / r->value[0];
	if (format != RENDER_TABLE)
		return value_real(round(pct * 1000) / 1000);
	snprintf(buf, size, "%+.1f", pct);
	return value_text(buf);
}

static const char *few_of(const struct diff_row *r)
{
	return r->metric < DIFF_REQUESTS ? "few I/Os" : "few requests";
}

/* Returns the reason why a change has the verdict "same"; NULL: it has another verdict. */
static struct value reason(const struct diff_row *r)
{
	const char *const names[] = { [DIFF_TOO_SMALL] = "small", [DIFF_TOO_FEW] = few_of(r),
				      [DIFF_NOISE] = "noise" };

	return value_text(r->verdict == DIFF_SAME ? names[r->reason] : NULL);
}

static struct value verdict(enum render_format format, const struct diff_row *r, char *buf,
			    size_t size)
{
	char n[UNITS_TEXT_MAX];

	if (format == RENDER_TABLE && r->metric == DIFF_WALL && r->verdict == DIFF_UNKNOWN)
		return value_text("one run each");
	if (format != RENDER_TABLE || r->verdict != DIFF_SAME || !r->reason)
		return value_text(diff_verdict_name(r->verdict));
	metrics[r->metric].format(n, sizeof(n), (uint64_t)llround(fabs(r->value[1] - r->value[0])));
	if (r->reason == DIFF_TOO_SMALL)
		snprintf(buf, size, "small: %s", n);
	else
		snprintf(buf, size, "same: %s", r->reason == DIFF_TOO_FEW ? few_of(r) : "noise");
	return value_text(buf);
}

int diff_rows_put(void *ctx, const struct diff_row *r)
{
	struct diff_rows *d = ctx;
	enum render_format format = d->format;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], pct[32], p[32];
	char why[UNITS_TEXT_MAX + 16], name[32];
	struct value row[ROW_COLUMN_CNT] = {
		value_text(r->role),
		value_text(r->parent),
		value_text(metric_name(format, r->metric, name, sizeof(name))),
		amount(format, r, 0, a),
		amount(format, r, 1, b),
		change(format, r, pct, sizeof(pct)),
		verdict(format, r, why, sizeof(why)),
		reason(r),
		chance(format, r, p, sizeof(p)),
		value_int(r->processes[0]),
		value_int(r->processes[1]),
		value_int(r->complete),
	};

	/* a table always contains the wall time */
	if (d->only_changed && !diff_is_change(r->verdict) &&
	    !(r->metric == DIFF_WALL && format == RENDER_TABLE))
		return 0;
	d->has_small |= r->verdict == DIFF_SAME && r->reason == DIFF_TOO_SMALL;
	d->has_few |= r->verdict == DIFF_SAME && r->reason == DIFF_TOO_FEW;
	d->has_digits |= strchr(r->role, '#') != NULL;
	if (format == RENDER_TABLE)
		memmove(&row[COLUMN_REASON], &row[COLUMN_REASON + 1],
			(ROW_COLUMN_CNT - COLUMN_REASON - 1) * sizeof(*row));
	return d->out->row(d->out->ctx, row);
}

int diff_rows_begin(const struct diff_rows *d)
{
	const char *shown[ROW_COLUMN_CNT];
	unsigned int cnt = 0;

	for (unsigned int i = 0; i < ROW_COLUMN_CNT; i++)
		if (d->format != RENDER_TABLE || i != COLUMN_REASON)
			shown[cnt++] = columns[i];
	return d->out->begin(d->out->ctx, cnt, shown);
}
