/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* verdict: parses a rule, finds its figure among the rows of a report, and judges it. */
#include "cmd/assert/verdict.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/input/opts.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "store/manifest.h"

/*
 * rule: parses a rule. The parser of `ebpfrec report` checks the options for report in it.
 */

struct word {
	char *text;
	bool is_op;
};

struct words {
	struct word v[RULE_WORDS_MAX];
	unsigned int cnt;
};

static const char *const op_texts[] = { "<", "<=", ">", ">=", "==", "!=" };

const char *rule_op_text(enum rule_op op)
{
	return op_texts[op];
}

/*
 * Returns the length of the operator at the beginning of text; 0: none. A single "=" belongs to a
 * filter.
 */
static size_t op_len(const char *text)
{
	if (*text == '<' || *text == '>')
		return text[1] == '=' ? 2 : 1;
	return (*text == '=' || *text == '!') && text[1] == '=' ? 2 : 0;
}

/* Splits text into words, which are stored in room: 2 * strlen(text) + 1 bytes. */
static int divide(struct words *w, const char *text, char *room, struct err *e)
{
	char quote = 0;
	bool open = false;

	for (;; text++) {
		size_t len = quote ? 0 : op_len(text);

		if (!quote && (len || !*text || isspace((unsigned char)*text))) {
			if (open)
				*room++ = '\0';
			open = false;
		}
		if (!*text)
			break;
		if (!quote && !len && isspace((unsigned char)*text))
			continue;
		if (!open && w->cnt == RULE_WORDS_MAX)
			return err_set(e, -EINVAL, "a rule has at most %d words", RULE_WORDS_MAX);
		if (!open)
			w->v[w->cnt++] = (struct word){ room, len > 0 };
		open = !len;
		if (len) {
			room = stpncpy(room, text, len);
			*room++ = '\0';
			text += len - 1;
		} else if (quote ? *text == quote : *text == '"' || *text == '\'') {
			quote = quote ? 0 : *text;
		} else {
			*room++ = *text;
		}
	}
	return quote ? err_set(e, -EINVAL, "a quote is not closed") : 0;
}

/* ---- the limit ---- */

static int no_limit(const char *text, const char *what, struct err *e)
{
	return err_set(e, -EINVAL, "'%s' is no limit; it must be %s", text, what);
}

static int parse_limit(struct rule *r, struct err *e)
{
	const char *text = r->limit_text + (*r->limit_text == '-');
	double sign = *r->limit_text == '-' ? -1 : 1;
	size_t n = strlen(text);
	uint64_t v = 0;
	char *end, size[64];

	switch (r->kind) {
	case COLUMN_DURATION:
	case COLUMN_INSTANT:
		if (!text[strspn(text, "0123456789.")] && strspn(text, "0.") < n)
			return no_limit(r->limit_text, "a time with its unit: 5ms, 1.5s", e);
		if (units_parse_duration(text, &v, NULL))
			return no_limit(r->limit_text, "a time: 5ms, 1.5s", e);
		break;
	case COLUMN_BYTES:
	case COLUMN_BYTE_RATE:
		n -= n > 2 && !strcmp(text + n - 2, "/s") && r->kind == COLUMN_BYTE_RATE ? 2 : 0;
		snprintf(size, sizeof(size), "%.*s", (int)n, text);
		if (units_parse_size(size, &v, NULL))
			return no_limit(r->limit_text, "a size: 64MiB, 1GB, or a number of bytes",
					e);
		break;
	default:
		r->limit = strtod(text, &end) * sign;
		end += *end == '%' && (r->kind == COLUMN_PERCENT || r->kind == COLUMN_SHARE);
		return *end || end == text || !isfinite(r->limit) || isalpha((unsigned char)*text) ?
			       no_limit(r->limit_text, r->kind == COLUMN_PERCENT ?
						"a number of percent: 60, 60%" : "a number", e) : 0;
	}
	r->limit = sign * (double)v;
	return 0;
}

/*
 * Sets the base column and scale of a column with a unit: "wait_ms" is wait_ns divided by a
 * million.
 */
static void find_base(struct rule *r)
{
	static const struct {
		const char *unit, *base;
		double scale;
	} units[] = {
		{ "_us", "_ns", 1e3 },	     { "_ms", "_ns", 1e6 },
		{ "_s", "_ns", 1e9 },	     { "_kib", "_bytes", 1024 },
		{ "_mib", "_bytes", 1 << 20 }, { "_gib", "_bytes", 1 << 30 },
	};
	size_t n = strlen(r->column), len;

	r->scale = 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		len = strlen(units[i].unit);
		if (n <= len || strcmp(r->column + n - len, units[i].unit))
			continue;
		snprintf(r->base, sizeof(r->base), "%.*s%s", (int)(n - len), r->column,
			 units[i].base);
		r->scale = units[i].scale;
	}
}

/* ---- a rule ---- */

static bool is_name(const char *text, size_t n)
{
	return n && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

static int add_filter(struct rule *r, const char *column, const char *pattern, struct err *e)
{
	if (r->filter_cnt == RULE_FILTERS_MAX)
		return err_set(e, -EINVAL, "a rule picks rows by at most %d columns",
			       RULE_FILTERS_MAX);
	r->filters[r->filter_cnt++] = (struct rule_filter){ column, pattern };
	return 0;
}

/* Returns whether the word is a mark (a phase), not the value of an option. */
static bool is_phase(const struct word *w)
{
	return !strncmp(w->text, "mark:", 5) && *w[-1].text != '-';
}

/*
 * Parses the filters before the word `to`, from right to left. Returns the index of the first
 * filter, or -errno.
 */
static int take_filters(struct rule *r, struct words *w, int to, struct err *e)
{
	int c = 0;

	for (; to > 1 && !c; to--) {
		char *text = w->v[to - 1].text, *eq = strchr(text, '=');

		if (is_phase(&w->v[to - 1]))
			continue;
		if (!eq || !is_name(text, (size_t)(eq - text)))
			break;
		*eq = '\0';
		c = add_filter(r, text, eq + 1, e);
	}
	return c ? c : to;
}

/*
 * Parses the words [first, column): the arguments of report, which end before `end`, and phases,
 * which may be anywhere.
 */
static int take_report(struct rule *r, struct words *w, unsigned int first, unsigned int end,
		       unsigned int column, struct err *e)
{
	unsigned int argc = 1;
	bool of_phases = false;
	int c = 0;

	r->argv[0] = (char *)"report";
	for (unsigned int i = first; i < column && !c; i++) {
		if (i > first && is_phase(&w->v[i])) {
			c = add_filter(r, "phase", w->v[i].text + strlen("mark:"), e);
			of_phases = true;
		} else if (i < end) {
			r->argv[argc++] = w->v[i].text;
		}
	}
	if (of_phases)
		r->argv[argc++] = (char *)"--phases";
	return c;
}

static int take_words(struct rule *r, struct words *w, char *limit, struct err *e)
{
	unsigned int first = 0;
	int op = -1, end;
	size_t n = 0;

	for (; first < w->cnt; first++)
		if (!strcmp(w->v[first].text, "every:"))
			r->of_every = true;
		else if (!strcmp(w->v[first].text, "if-any:"))
			r->if_any = true;
		else
			break;
	for (unsigned int i = first; i < w->cnt; i++)
		op = w->v[i].is_op ? (int)i : op;
	if (op < (int)first + 2 || op + 1 >= (int)w->cnt)
		return err_set(e, -EINVAL, "a rule is 'VIEW [OPTIONS] [COLUMN=VALUE...] COLUMN < "
					   "LIMIT', or 'sql: SELECT ...'");
	for (unsigned int i = (unsigned int)op + 1; i < w->cnt; i++)
		n += (size_t)sprintf(limit + n, "%s", w->v[i].text);
	r->limit_text = limit;
	while (strcmp(w->v[op].text, op_texts[r->op]))
		r->op++;
	r->column = w->v[op - 1].text;
	r->is_sum = !strncmp(r->column, "sum:", 4);
	r->column += r->is_sum ? 4 : 0;
	if (!is_name(r->column, strlen(r->column)))
		return err_set(e, -EINVAL, "'%s' is no column", r->column);
	r->kind = column_find(r->column)->kind;
	find_base(r);
	end = take_filters(r, w, op - 1, e);
	if (end < 0)
		return end;
	end = take_report(r, w, first, (unsigned int)end, (unsigned int)op - 1, e);
	return end ? end : parse_limit(r, e);
}

int rule_parse(struct rule *ret, const char *text, unsigned int line, struct err *e)
{
	struct rule r = { .text = text, .line = line };
	struct words w = { .cnt = 0 };
	size_t n = strlen(text);
	const char *rest = text;
	int c;

	if (!strncmp(rest, "every:", 6))
		rest += 6 + strspn(rest + 6, " \t");
	if (!strncmp(rest, "sql:", 4)) {
		r.of_every = true;
		r.sql = rest + 4 + strspn(rest + 4, " \t");
		r.op = RULE_EQUAL;
		r.limit_text = "0";
		r.kind = COLUMN_COUNT;
		*ret = r;
		return *r.sql ? 0 : err_set(e, -EINVAL, "sql: what?");
	}
	r.words = malloc(3 * n + 2); /* 2 n + 1 bytes for the words, n + 1 for the limit */
	if (!r.words)
		return -ENOMEM;
	c = divide(&w, text, r.words, e) ?: take_words(&r, &w, r.words + 2 * n + 1, e);
	if (c)
		free(r.words);
	else
		*ret = r;
	return c;
}

void rule_free(struct rule *r)
{
	free(r->words);
}

static bool rule_holds(const struct rule *r, double figure)
{
	switch (r->op) {
	case RULE_LESS:
		return figure < r->limit;
	case RULE_AT_MOST:
		return figure <= r->limit;
	case RULE_MORE:
		return figure > r->limit;
	case RULE_AT_LEAST:
		return figure >= r->limit;
	case RULE_EQUAL:
		return figure == r->limit;
	default:
		return figure != r->limit;
	}
}

/* Returns whether figure a breaks the rule more than b. */
static bool rule_is_worse(const struct rule *r, double a, double b)
{
	switch (r->op) {
	case RULE_LESS:
	case RULE_AT_MOST:
		return a > b;
	case RULE_MORE:
	case RULE_AT_LEAST:
		return a < b;
	case RULE_EQUAL:
		return fabs(a - r->limit) > fabs(b - r->limit);
	default:
		return fabs(a - r->limit) < fabs(b - r->limit);
	}
}

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
		f->is_complete = false;	/* events without a known owner may belong to this row */
	/*
	 * the figure of a single event, such as the longest wait, is NULL without events, and then
	 * meets any limit
	 */
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
	/* if every row states its completeness, the window's completeness does not matter */
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
 * Missing events may move the median in either direction. The rule fails only if the median breaks
 * the limit even with the lowest possible value for each unknown figure.
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

/* verdict_file: text is first made printable (\xNN), then escaped for the format. */

static void put_case(FILE *f, const struct verdict_line *v)
{
	const char *element = v->verdict == VERDICT_FAIL ? "failure" : "error";

	fprintf(f, "<testcase classname=\"ebpfrec assert\" line=\"%u\" name=\"", v->rule->line);
	render_html_text(f, v->rule->text);
	fprintf(f, "\" time=\"%.3f\"", (double)v->rule->took_ns / 1e9);
	if (v->verdict == VERDICT_PASS) {
		fprintf(f, "/>\n");
		return;
	}
	fprintf(f, ">\n<%s type=\"%s\" message=\"", element, verdict_name(v->verdict));
	render_html_text(f, v->text);
	fprintf(f, "\">");
	render_html_text(f, v->command);
	fprintf(f, "</%s>\n</testcase>\n", element);
}

void verdict_write_junit(FILE *f, const char *file, const struct verdict_line *v, unsigned int cnt)
{
	unsigned int fails = 0, errors = 0;
	uint64_t took_ns = 0;

	for (unsigned int i = 0; i < cnt; i++) {
		fails += v[i].verdict == VERDICT_FAIL;
		errors += v[i].verdict == VERDICT_INDETERMINATE;
		took_ns += v[i].rule->took_ns;
	}
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"");
	render_html_text(f, file);
	fprintf(f, "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n", cnt, fails,
		errors, (double)took_ns / 1e9);
	for (unsigned int i = 0; i < cnt; i++)
		put_case(f, &v[i]);
	fprintf(f, "</testsuite>\n</testsuites>\n");
}

/* Writes text for the runner of GitHub: escapes "%", and in a property also ":" and ",". */
static void put_github(FILE *f, const char *text, bool is_property)
{
	size_t n = strlen(text), size = n * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(size);

	if (!safe)
		return;
	textsafe_escape(safe, size, text, n, NULL);
	for (const char *c = safe; *c; c++)
		if (*c == '%' || (is_property && (*c == ':' || *c == ',')))
			fprintf(f, "%%%02X", (unsigned int)*c);
		else
			fputc(*c, f);
	free(safe);
}

void verdict_write_github(FILE *f, const struct verdict_line *v, unsigned int cnt)
{
	for (; cnt--; v++) {
		if (v->verdict == VERDICT_PASS)
			continue;
		fprintf(f, "::%s file=", v->verdict == VERDICT_FAIL ? "error" : "warning");
		put_github(f, v->file, true);
		fprintf(f, ",line=%u,title=", v->rule->line);
		put_github(f, verdict_name(v->verdict), true);
		put_github(f, ": ", true);
		put_github(f, v->rule->text, true);
		fprintf(f, "::");
		put_github(f, v->text, false);
		put_github(f, "; ", false);
		put_github(f, v->command, false);
		fputc('\n', f);
	}
}

/*
 * verdict_note: writes a new manifest, which gets the owner of the old manifest, and renames it
 * over the old one.
 */

#define NOTE "note.assert"

/*
 * Sets the note assert: "2026-03-01T12:00:00Z, rules.txt: 8 pass, 1 fail, 0 indeterminate; FAIL:
 * cpu util_pct < 60".
 */
static int set_note(struct manifest *m, const char *judged, const struct verdict_line *v,
		    unsigned int cnt)
{
	unsigned int cnts[3] = { 0 };
	char text[2048];
	size_t n;

	for (unsigned int i = 0; i < cnt; i++)
		cnts[v[i].verdict]++;
	n = (size_t)snprintf(text, sizeof(text), "%s, %s: %u pass, %u fail, %u indeterminate",
			     judged, v->file, cnts[VERDICT_PASS], cnts[VERDICT_FAIL],
			     cnts[VERDICT_INDETERMINATE]);
	for (unsigned int i = 0; i < cnt && n < sizeof(text); i++)
		if (v[i].verdict != VERDICT_PASS)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "; %s: %s",
					      verdict_name(v[i].verdict), v[i].rule->text);
	return manifest_set(m, NOTE, text);
}

/*
 * Returns the origin of a figure from several traces: "median of 3 traces"; NULL: one trace. The
 * text is valid as long as a text of say_format().
 */
static const char *name_traces(const struct verdict_line *v)
{
	const char *traces = say_counted(v->traces, "trace");

	return v->traces == 1	     ? NULL :
	       v->result->of_median ? say_format("median of %s", traces) :
	       say_format("%s, of %s", v->paths[v->result->trace], traces);
}

/*
 * Returns the JSON object of a rule; the object contains the window of the figure's trace.
 * malloc'ed; NULL: out of memory.
 */
static char *write_rule(unsigned int trace, const char *judged, const struct verdict_line *v)
{
	static const char *const names[] = { "verdict", "rule", "figure", "limit", "window",
					     "started", "judged", "traces", "why" };
	const struct verdict_result *res = v->result;
	const struct finding *found = &v->findings[res->of_median ? trace : res->trace];
	char *text = NULL, figure[40] = "";
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	const struct render_options o = { .format = RENDER_JSONL, .out = f };
	struct render *out = NULL;
	int r = f ? render_new(&out, &o) : -ENOMEM;

	if (res->has)
		verdict_format(figure, sizeof(figure), v->rule, res->figure);
	if (!r) {
		render_begin(out, sizeof(names) / sizeof(names[0]), names);
		r = render_put(out, (struct value[]){
			value_text(verdict_name(v->verdict)), value_text(v->rule->text),
			value_text(*figure ? figure : "-"), value_text(verdict_limit(v->rule)),
			value_text(found->window), value_text(found->started),
			value_text(judged), value_text(name_traces(v)),
			value_text(*res->why ? res->why : NULL) }) ?: render_end(out);
	}
	render_free(out);
	if (f && fclose(f))
		r = -ENOMEM;
	if (!r)
		text[strcspn(text, "\n")] = '\0';
	else
		free(text);
	return r ? NULL : text;
}

/* Copies all keys except earlier verdicts, and adds the new verdicts. */
static int set_all(struct manifest *m, const struct manifest *old, unsigned int trace,
		   const struct verdict_line *v, unsigned int cnt)
{
	size_t len = strlen(NOTE);
	char key[32], judged[32], *text;
	int r = 0;

	for (size_t i = 0; i < old->cnt && !r; i++) {
		const struct manifest_entry *o = &old->entries[i];

		if (strncmp(o->key, NOTE, len) || (o->key[len] && o->key[len] != '.'))
			r = manifest_set(m, o->key, o->value);
	}
	/* omit the fraction of the second */
	snprintf(judged, sizeof(judged), "%.19sZ", say_wall(clock_real_ns(), false));
	r = r ?: set_note(m, judged, v, cnt);
	for (unsigned int i = 0; i < cnt && i < VERDICT_NOTES_MAX && !r; i++) {
		snprintf(key, sizeof(key), NOTE ".%02u", i + 1);
		text = write_rule(trace, judged, &v[i]);
		r = text ? manifest_set(m, key, text) : -ENOMEM;
		free(text);
	}
	return r;
}

static int keep(int dir_fd, unsigned int trace, const struct verdict_line *v, unsigned int cnt,
		struct err *e)
{
	struct manifest_place place = { .files = &files_kernel, .dir_fd = dir_fd };
	struct manifest old = { 0 }, m = { 0 };
	const char *state;
	struct stat st;
	size_t bytes;
	char *all;
	int r = manifest_read(&old, dir_fd, e);

	if (r)
		return r;
	state = manifest_get(&old, "state");
	if (manifest_get(&old, MANIFEST_LOST))
		r = err_set(e, -EINVAL, "its manifest is damaged");
	else if (!state || strcmp(state, "finished"))
		r = err_set(e, -EBUSY, "its recording has not ended");
	else if (fstatat(dir_fd, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW))
		r = -errno;
	if (!r) {
		place.uid = st.st_uid == geteuid() ? (uid_t)-1 : st.st_uid;
		place.gid = st.st_uid == geteuid() ? (gid_t)-1 : st.st_gid;
		r = set_all(&m, &old, trace, v, cnt);
	}
	if (!r)
		r = manifest_format(&m, &all, &bytes);
	if (!r) {
		r = manifest_replace(&place, all, bytes);
		free(all);
	}
	manifest_done(&m);
	manifest_done(&old);
	return r;
}

int verdict_keep(unsigned int trace, const struct verdict_line *v, unsigned int cnt, struct err *e)
{
	int dir_fd = open(v->paths[trace], O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (dir_fd < 0)
		return errno == ENOTDIR ? err_set(e, -ENOTDIR, "a bundle cannot be changed") :
					  -errno;
	r = keep(dir_fd, trace, v, cnt, e);
	close(dir_fd);
	return r;
}
