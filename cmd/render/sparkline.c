/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Groups are told apart by the text of their key columns; a report has few, so they are looked up
 * one by one from the last one used. Several bins to a character: the highest of them, since it is
 * peaks that are looked for. They are put together in two steps, as how long the labels are shows
 * at the end only.
 */
#include "cmd/render/sparkline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "cmd/render/render.h"
#include "base/textsafe.h"

#define LABEL_MAX 48
#define LINE_MIN 10
#define CELLS_MAX 400
#define GROUPS_MAX 4096 /* a report by thread of a large machine: the rest is not drawn */

struct group {
	char label[LABEL_MAX];
	double *cells;
	double sum;
};

struct sparkline {
	struct sparkline_options o;
	struct row_sink sink;
	unsigned int col_cnt, metric, t;
	bool drawn;
	uint8_t *is_key; /* by column */
	struct group *groups;
	size_t cnt, cap, last;
	uint64_t bin_cnt, bins_per_cell;
	size_t cell_cnt, left_out;
};

void sparkline_free(struct sparkline *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->cnt; i++)
		free(s->groups[i].cells);
	free(s->groups);
	free(s->is_key);
	free(s);
}

static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct sparkline *s = ctx;
	bool has_t = false, has_metric = false;

	s->is_key = calloc(col_cnt + 1, 1);
	if (!s->is_key)
		return -ENOMEM;
	s->col_cnt = col_cnt;
	for (unsigned int i = 0; i < col_cnt; i++) {
		if (!strcmp(names[i], "t_ns")) {
			s->t = i;
			has_t = true;
		} else if (!strcmp(names[i], s->o.metric)) {
			s->metric = i;
			has_metric = true;
		} else if (!has_metric) {
			s->is_key[i] = column_find(names[i])->is_key;
		}
	}
	s->drawn = has_t && has_metric;
	return 0;
}

static int end(void *ctx)
{
	return 0;
}

static void make_label(const struct sparkline *s, const struct value *v, char *buf)
{
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < s->col_cnt && at + 2 < LABEL_MAX; i++) {
		char text[LABEL_MAX];

		if (!s->is_key[i])
			continue;
		if (v[i].type == VALUE_TEXT)
			textsafe_escape(text, sizeof(text), v[i].text, v[i].text_bytes, NULL);
		else if (v[i].type == VALUE_INT)
			snprintf(text, sizeof(text), "%" PRId64, v[i].i);
		else
			strcpy(text, "-");
		at += (size_t)snprintf(buf + at, LABEL_MAX - at, "%s%s", at ? " " : "", text);
	}
	buf[LABEL_MAX - 1] = '\0';
}

/* NULL: out of memory, or too many of them (*ret_full). */
static struct group *group_of(struct sparkline *s, const char *label, bool *ret_full)
{
	struct group *g;

	for (size_t i = 0; i < s->cnt; i++) {
		g = &s->groups[(s->last + 1 + i) % s->cnt];
		if (!strcmp(g->label, label)) {
			s->last = (size_t)(g - s->groups);
			return g;
		}
	}
	*ret_full = s->cnt == GROUPS_MAX;
	if (*ret_full)
		return NULL;
	if (array_reserve(&s->groups, &s->cap, s->cnt + 1) < 0)
		return NULL;
	g = &s->groups[s->cnt];
	memset(g, 0, sizeof(*g));
	g->cells = calloc(s->cell_cnt + 1, sizeof(*g->cells));
	if (!g->cells)
		return NULL;
	strcpy(g->label, label);
	s->last = s->cnt++;
	return g;
}

static int row(void *ctx, const struct value *v)
{
	struct sparkline *s = ctx;
	const struct value *m = &v[s->metric];
	char label[LABEL_MAX];
	bool full = false;
	struct group *g;
	double value;
	uint64_t bin;

	if (!s->drawn || v[s->t].type != VALUE_INT ||
	    v[s->t].i < s->o.from_ns - (int64_t)s->o.every_ns)
		return 0;
	make_label(s, v, label);
	g = group_of(s, label, &full);
	if (!g) {
		s->left_out += full;
		return full ? 0 : -ENOMEM;
	}
	value = m->type == VALUE_INT ? (double)m->i : m->type == VALUE_REAL ? m->r : 0;
	/* the first bin may begin before the trace does */
	bin = v[s->t].i > s->o.from_ns ? (uint64_t)(v[s->t].i - s->o.from_ns) / s->o.every_ns : 0;
	if (bin < s->bin_cnt && value > 0) {
		double *cell = &g->cells[bin / s->bins_per_cell];

		*cell = fmax(*cell, value);
		g->sum += value;
	}
	return 0;
}

struct sparkline *sparkline_new(const struct sparkline_options *o)
{
	struct sparkline *s = calloc(1, sizeof(*s));

	if (s) {
		s->o = *o;
		s->sink = (struct row_sink){ .ctx = s, .begin = begin, .row = row,
					    .end = end };
		s->bin_cnt = ((uint64_t)(o->to_ns - o->from_ns) + o->every_ns - 1) / o->every_ns;
		s->bins_per_cell = (s->bin_cnt + CELLS_MAX - 1) / CELLS_MAX;
		s->cell_cnt = (size_t)((s->bin_cnt + s->bins_per_cell - 1) / s->bins_per_cell);
	}
	return s;
}

const struct row_sink *sparkline_sink(const struct sparkline *s)
{
	return &s->sink;
}

static int by_sum(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return compare_numbers(y->sum, x->sum);
}

/* CPUs, whose labels are numbers, come in order. */
static int by_number(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	long m = atol(x->label), n = atol(y->label);

	return compare_numbers(m, n);
}

static const char *level_text(const struct sparkline *s, double share)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	int level = share <= 0 ? 0 : (int)ceil(share * 8);

	level = level > 8 ? 8 : level;
	return s->o.utf8 ? blocks[level] : ascii[level];
}

static char *figure_text(char *buf, size_t size, const char *metric, double v)
{
	switch (column_find(metric)->kind) {
	case COLUMN_DURATION:
		return units_format_duration(buf, size, (uint64_t)v);
	case COLUMN_BYTES:
		return units_format_bytes(buf, size, (uint64_t)v);
	case COLUMN_BYTE_RATE:
		units_format_bytes(buf, size - 2, (uint64_t)v);
		return strcat(buf, "/s");
	case COLUMN_PERCENT:
		snprintf(buf, size, "%.1f %%", v);
		return buf;
	default: /* a count, or an average of one, with a digit as in the table */
		if (v < 1000 && v != floor(v)) {
			snprintf(buf, size, "%.1f", v);
			return buf;
		}
		return units_format_count(buf, size, (uint64_t)llround(v));
	}
}

static void print_group(const struct sparkline *s, const struct group *g, size_t chars,
			int label_width, FILE *out)
{
	char highest[UNITS_TEXT_MAX];
	double max = 0;
	size_t i, c;

	for (i = 0; i < s->cell_cnt; i++)
		max = fmax(max, g->cells[i]);
	fprintf(out, "%-*s  ", label_width, g->label);
	for (c = 0; c < chars; c++) {
		size_t from = c * s->cell_cnt / chars, to = (c + 1) * s->cell_cnt / chars;
		double v = 0;

		for (i = from; i < to; i++)
			v = fmax(v, g->cells[i]);
		fputs(level_text(s, max > 0 ? v / max : 0), out);
	}
	fprintf(out, "  %s\n", figure_text(highest, sizeof(highest), s->o.metric, max));
}

void sparkline_print(struct sparkline *s, FILE *out)
{
	size_t shown = s->o.limit && s->o.limit < s->cnt ? s->o.limit : s->cnt, chars, label = 0, i;
	char heading[64];

	if (!s->drawn || !shown)
		return;
	qsort(s->groups, s->cnt, sizeof(*s->groups), by_sum);
	for (i = 0; i < shown && !s->groups[i].label[strspn(s->groups[i].label, "0123456789")]; i++)
		;
	if (i == shown)
		qsort(s->groups, shown, sizeof(*s->groups), by_number);
	for (i = 0; i < shown; i++)
		label = strlen(s->groups[i].label) > label ? strlen(s->groups[i].label) : label;
	chars = s->o.width > label + 16 + LINE_MIN ? s->o.width - label - 16 : LINE_MIN;
	if (chars > s->cell_cnt)
		chars = s->cell_cnt;
	fprintf(out, "%s over time, each line from 0 to its own highest value:\n\n",
		column_heading(heading, sizeof(heading), s->o.metric));
	for (i = 0; i < shown; i++)
		print_group(s, &s->groups[i], chars, (int)label, out);
	if (shown < s->cnt || s->left_out)
		fprintf(out, "(%zu more; --limit 0 shows all)\n", s->cnt - shown + s->left_out);
}
