/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* verdict: finds a rule's figure among the rows of a report, and judges it. */
#include "cmd/assert/verdict.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "cmd/input/opts.h"

#define UNKNOWN "[unknown]" /* key of rows without a known owner */

/* ---- rows ---- */

static int find_column(const struct finding *f, const char *name)
{
	for (unsigned int i = 0; i < f->col_cnt; i++)
		if (!strcmp(f->names[i], name))
			return (int)i;
	return -1;
}

static int no_column(struct finding *f, const char *name)
{
	int near = nearest_find(name, (const char *const *)f->names, f->col_cnt);
	size_t n = (size_t)snprintf(f->error, sizeof(f->error), "the view '%s' has no column '%s'",
				    f->rule->argv[1], name);

	if (near >= 0)
		snprintf(f->error + n, sizeof(f->error) - n, "; did you mean '%s'?",
			 f->names[near]);
	else
		snprintf(f->error + n, sizeof(f->error) - n,
			 "; `ebpfrec report %s --format csv` begins with their names",
			 f->rule->argv[1]);
	return -EPIPE;
}

static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct finding *f = ctx;
	const struct rule *r = f->rule;

	if (r->sql || f->col_cnt)
		return 0;
	for (; f->col_cnt < col_cnt && f->col_cnt < FINDING_COLUMNS_MAX; f->col_cnt++) {
		f->names[f->col_cnt] = strdup(names[f->col_cnt]);
		if (!f->names[f->col_cnt])
			return -ENOMEM;
	}
	f->complete = find_column(f, "complete");
	f->unowned = find_column(f, "unowned_ios");
	for (unsigned int i = 0; i < r->filter_cnt; i++) {
		f->filters[i] = find_column(f, r->filters[i].column);
		if (f->filters[i] < 0)
			return no_column(f, r->filters[i].column);
	}
	f->scale = 1;
	f->col = find_column(f, r->column);
	f->of_rows = f->col < 0 && !strcmp(r->column, "rows");
	if (f->col < 0 && *r->base) {
		f->col = find_column(f, r->base);
		f->scale = r->scale;
	}
	if (f->col < 0 && !f->of_rows)
		return no_column(f, r->column);
	f->is_floor &= !f->of_rows && column_find(names[f->col])->is_floor;
	return 0;
}

static void value_to_text(char *buf, size_t size, const struct value *v)
{
	if (v->type == VALUE_TEXT)
		snprintf(buf, size, "%.*s", (int)v->text_bytes, v->text);
	else if (v->type == VALUE_INT)
		snprintf(buf, size, "%lld", (long long)v->i);
	else if (v->type == VALUE_REAL)
		snprintf(buf, size, "%.15g", v->r);
	else
		*buf = 0;
}

static bool is_matched(const struct finding *f, const struct value *v)
{
	char text[512];

	for (unsigned int i = 0; i < f->rule->filter_cnt; i++) {
		const char *pattern = f->rule->filters[i].pattern;

		value_to_text(text, sizeof(text), &v[f->filters[i]]);
		if (strcmp(pattern, text) && fnmatch(pattern, text, 0))
			return false;
	}
	return true;
}

/* Writes the keys of a row. Returns false if the row has no known owner. */
static bool name_row(const struct finding *f, const struct value *v, char *buf, size_t size)
{
	bool is_known = true;
	char text[64];
	size_t n = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < f->col_cnt && (int)i != f->col; i++) {
		if (!column_find(f->names[i])->is_key)
			continue;
		value_to_text(text, sizeof(text), &v[i]);
		is_known &= strcmp(text, UNKNOWN) != 0;
		if (*text && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s=%s", n ? " " : "",
					      f->names[i], text);
	}
	return is_known;
}

static int end(void *ctx)
{
	return 0;
}

static int row(void *ctx, const struct value *v)
{
	struct finding *f = ctx;
	const struct value *figure;
	char which[sizeof(f->which)];
	double x;

	if (f->rule->sql || f->of_rows) {
		f->rows += f->rule->sql || is_matched(f, v);
		return 0;
	}
	if (!is_matched(f, v))
		return 0;
	f->rows++;
	figure = &v[f->col];
	if (figure->type == VALUE_TEXT) {
		snprintf(f->error, sizeof(f->error), "%s is a text: write %s=VALUE rows > 0",
			 f->names[f->col], f->names[f->col]);
		return -EPIPE;
	}
	f->is_floor &= name_row(f, v, which, sizeof(which));
	if (f->complete >= 0 && !v[f->complete].i)
		f->is_complete = false;
	if (f->unowned >= 0 && v[f->unowned].i)
		f->is_complete = false;	/* the row of somebody, who may have more */
	/* no event, no longest one: such a row keeps to any limit */
	if (figure->type == VALUE_NULL && column_find(f->names[f->col])->is_single)
		return 0;
	if (figure->type == VALUE_NULL) {
		f->is_complete = false;
		snprintf(f->why, sizeof(f->why), "%s was not measured", f->names[f->col]);
		return 0;
	}
	x = (figure->type == VALUE_INT ? (double)figure->i : figure->r) / f->scale;
	if (f->rule->is_sum) {
		f->figure += x;
	} else if (!f->has || rule_is_worse(f->rule, x, f->figure)) {
		f->figure = x;
		snprintf(f->which, sizeof(f->which), "%s", which);
	}
	f->has = true;
	return 0;
}

void finding_init(struct finding *f, const struct rule *rule)
{
	*f = (struct finding){ .rule = rule, .is_complete = true, .is_floor = true, .col = -1,
			       .complete = -1, .unowned = -1 };
}

struct row_sink finding_sink(struct finding *f)
{
	return (struct row_sink){ .ctx = f, .begin = begin, .row = row, .end = end };
}

void finding_end(struct finding *f, const char *missing)
{
	/* if every row has its completeness, that of the window does not matter */
	bool is_told = f->complete >= 0 && f->rows && !f->of_rows && !f->rule->is_sum;

	if (f->of_rows || f->rule->sql) {
		f->figure = (double)f->rows;
		f->has = true;
		f->is_floor = false;
	}
	if (*missing && !is_told)
		f->is_complete = false;
	if (!f->is_complete && !*f->why)
		snprintf(f->why, sizeof(f->why), "%s",
			 *missing ? missing : "the row says that it is not complete");
	while (f->col_cnt)
		free(f->names[--f->col_cnt]);
}

/* ---- the verdict ---- */

static enum verdict judge(const struct finding *f)
{
	const struct rule *r = f->rule;
	bool is_upper = r->op == RULE_LESS || r->op == RULE_AT_MOST || r->op == RULE_EQUAL;

	if (!f->has)
		return f->is_complete && r->if_any ? VERDICT_PASS : VERDICT_INDETERMINATE;
	if (f->is_complete)
		return rule_holds(r, f->figure) ? VERDICT_PASS : VERDICT_FAIL;
	return f->is_floor && is_upper && f->figure > r->limit && !rule_holds(r, f->figure) ?
		       VERDICT_FAIL : VERDICT_INDETERMINATE;
}

static double median_of(double *v, unsigned int cnt)
{
	qsort(v, cnt, sizeof(*v), compare_double);
	return cnt % 2 ? v[cnt / 2] : (v[cnt / 2 - 1] + v[cnt / 2]) / 2;
}

static const char *reason_of(const struct finding *f)
{
	return *f->why	 ? f->why :
	       f->has || f->rule->if_any ? "" :
	       f->rows	 ? "no row has a value" : "no row matches";
}

static struct verdict_result result_of(const struct finding *f, unsigned int trace)
{
	return (struct verdict_result){ .verdict = judge(f), .has = f->has, .figure = f->figure,
					.trace = trace, .why = reason_of(f), .which = f->which };
}

static struct verdict_result verdict_of_each(const struct finding *f, unsigned int cnt)
{
	struct verdict_result worst = result_of(&f[0], 0), one;

	for (unsigned int i = 1; i < cnt; i++) {
		one = result_of(&f[i], i);
		if (one.verdict > worst.verdict ||
		    (one.verdict == worst.verdict && one.has &&
		     (!worst.has || rule_is_worse(f->rule, one.figure, worst.figure))))
			worst = one;
	}
	return worst;
}

/*
 * Missing events may move the median in either direction. The rule fails only if the median of the
 * known figures, with the lowest possible values for unknown ones, already breaks the limit.
 */
static struct verdict_result verdict_of_median(const struct finding *f, unsigned int cnt,
					       double *room)
{
	struct finding median = { .rule = f->rule, .is_complete = true, .is_floor = true };
	unsigned int n = 0, lacking = cnt;

	for (unsigned int i = 0; i < cnt; i++) {
		bool is_known = f[i].has && (f[i].is_complete || f[i].is_floor);

		if (!f[i].has && f[i].is_complete && f->rule->if_any)
			continue;
		if ((!f[i].has || !f[i].is_complete) && lacking == cnt)
			lacking = i;
		room[n++] = is_known ? f[i].figure : -INFINITY;
	}
	median.is_complete = lacking == cnt;
	median.figure = n ? median_of(room, n) : 0;
	median.has = n && isfinite(median.figure);
	if (lacking < cnt)
		snprintf(median.why, sizeof(median.why), "%s", reason_of(&f[lacking]));
	return (struct verdict_result){ .verdict = judge(&median), .has = median.has,
					.figure = median.figure, .of_median = true,
					.trace = lacking < cnt ? lacking : 0,
					.why = lacking < cnt ? reason_of(&f[lacking]) : "",
					.which = "" };
}

struct verdict_result verdict_of(const struct finding *f, unsigned int cnt, double *room)
{
	return cnt == 1 || f->rule->of_every ? verdict_of_each(f, cnt) :
					       verdict_of_median(f, cnt, room);
}

/* ---- texts ---- */

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = { "PASS", "INDETERMINATE", "FAIL" };

	return names[v];
}

void verdict_format(char *buf, size_t size, const struct rule *r, double v)
{
	char text[UNITS_TEXT_MAX];
	uint64_t n = (uint64_t)llround(fmin(fabs(v), 9e18));
	const char *sign = v < 0 ? "-" : "";

	if (r->kind == COLUMN_DURATION || r->kind == COLUMN_INSTANT)
		snprintf(buf, size, "%s%s", sign, units_format_duration(text, sizeof(text), n));
	else if (r->kind == COLUMN_BYTES || r->kind == COLUMN_BYTE_RATE)
		snprintf(buf, size, "%s%s%s", sign, units_format_bytes(text, sizeof(text), n),
			 r->kind == COLUMN_BYTE_RATE ? "/s" : "");
	else if (r->kind == COLUMN_PERCENT || r->kind == COLUMN_SHARE)
		snprintf(buf, size, "%.1f %%", v);
	else if (v == round(v) && fabs(v) < 9e18)
		snprintf(buf, size, "%s%s", sign, units_format_count(text, sizeof(text), n));
	else
		snprintf(buf, size, "%.3f", v);
}

const char *verdict_limit(const struct rule *r)
{
	static char limit[48];
	char text[40];

	verdict_format(text, sizeof(text), r, r->limit);
	snprintf(limit, sizeof(limit), "%s %s", rule_op_text(r->op), text);
	return limit;
}
