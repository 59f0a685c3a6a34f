/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rule: parses a rule, except for its options of report, which the parser of `ebpfrec report`
 * checks.
 */
#include "cmd/assert/rule.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

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
 * Parses the filters before the word `to`, from right to left. Returns the index of the first one,
 * or -errno.
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

/* Parses the words from `first` up to the column: the options for report, and all phases. */
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
	r.words = malloc(3 * n + 2); /* at most a word and its NUL per byte; then the limit */
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

bool rule_holds(const struct rule *r, double figure)
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

bool rule_is_worse(const struct rule *r, double a, double b)
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
