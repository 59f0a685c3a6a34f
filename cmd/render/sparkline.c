/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sparkline: a character that represents several bins shows the highest of them, so that peaks stay
 * visible. Bins are combined in two steps, because the length of the labels is known only at the
 * end.
 */
#include "cmd/render/sparkline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/textsafe.h"
#include "base/units.h"
#include "base/words.h"

/*
 * bin_groups: keeps all figures until the last row, since a group may begin in any bin. Groups are
 * identified by the text of their key columns.
 */

#define LABEL_MAX 128

void bin_groups_done(struct bin_groups *g)
{
	for (size_t i = 0; i < g->cnt; i++)
		free(g->v[i].cells);
	free(g->v);
	hash_map_done(&g->map);
	strpool_free(g->labels);
}

/* ---- columns ---- */

/* Finds a column. Returns false with an error if the view does not have it. */
static bool find(struct bin_groups *g, struct word name, unsigned int cnt,
		 const char *const *names, unsigned int *ret)
{
	for (*ret = 0; *ret < cnt; (*ret)++)
		if (word_is(name, names[*ret]))
			return true;
	snprintf(g->error, sizeof(g->error), "the view has no column '%.*s'",
		 name.len < 60 ? name.len : 60, name.s);
	return false;
}

/*
 * bin_groups_begin() and bin_groups_row() are functions of a sink whose ctx begins with a struct
 * bin_groups. After an error of begin(), rows are ignored. Errors: -ENOMEM; -EINVAL, with the
 * reason in error.
 */
static int bin_groups_begin(void *groups, unsigned int col_cnt, const char *const *names)
{
	struct bin_groups *g = groups;

	if (!find(g, word_of("t_ns"), col_cnt, names, &g->t) ||
	    !find(g, word_of(g->o.figure), col_cnt, names, &g->figure))
		return -EINVAL;
	for (unsigned int i = 0; i < col_cnt; i++) {
		if (!column_find(names[i])->is_key)
			continue;
		if (strlen(g->keys_there) + strlen(names[i]) + 2 < sizeof(g->keys_there))
			strcat(strcat(g->keys_there, *g->keys_there ? "," : ""), names[i]);
		if (!g->o.by && i < g->figure && g->key_cnt < BIN_GROUPS_KEYS_MAX)
			g->keys[g->key_cnt++] = i;
	}
	for (const char *s = g->o.by ? g->o.by : ""; *s;)
		if (g->key_cnt == BIN_GROUPS_KEYS_MAX ||
		    !find(g, word_next(&s), col_cnt, names, &g->keys[g->key_cnt++]))
			return -EINVAL;
	return strpool_new(&g->labels);
}

/* ---- rows ---- */

static void make_label(const struct bin_groups *g, const struct value *v, char *buf)
{
	size_t size = g->o.label_bytes, at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < g->key_cnt && at + 1 < size; i++) {
		const struct value *x = &v[g->keys[i]];

		if (i)
			buf[at++] = ' ';
		if (x->type == VALUE_INT)
			at += (size_t)snprintf(buf + at, size - at, "%" PRId64, x->i);
		else if (x->type != VALUE_TEXT)
			at += (size_t)snprintf(buf + at, size - at, "-");
		else if (g->o.is_safe)
			at += textsafe_escape(buf + at, size - at, x->text, x->text_bytes, NULL);
		else
			at += (size_t)snprintf(buf + at, size - at, "%.*s", (int)x->text_bytes,
					       x->text);
	}
}

/* Finds or adds a group. 0 or -ENOMEM; *ret NULL: there are too many groups. */
static int group_of(struct bin_groups *g, const char *text, struct bin_group **ret)
{
	const char *label = strpool_put(g->labels, text);
	size_t cells = bin_groups_cells(g);
	uint32_t nr;

	if (!label || hash_map_intern(&g->map, (uintptr_t)label, 0, &nr) < 0 ||
	    array_reserve(&g->v, &g->cap, g->cnt + 1) < 0)
		return -ENOMEM;
	if (nr == g->cnt && nr < g->o.groups_max) {
		double *cell = malloc(cells * sizeof(*cell));

		if (!cell)
			return -ENOMEM;
		for (size_t i = 0; i < cells; i++)
			cell[i] = NAN;
		g->v[g->cnt++] = (struct bin_group){ .label = label, .cells = cell };
	}
	*ret = nr < g->cnt ? &g->v[nr] : NULL;
	return 0;
}

static int bin_groups_row(void *groups, const struct value *v)
{
	struct bin_groups *g = groups;
	const struct value *x = &v[g->figure];
	double figure = x->type == VALUE_INT ? (double)x->i : x->type == VALUE_REAL ? x->r : 0;
	int64_t after_ns = v[g->t].i - g->o.from_ns;
	/* from_ns may be inside the first bin, so the bin's t_ns may precede it */
	uint64_t bin = after_ns > 0 ? (uint64_t)after_ns / g->o.every_ns : 0;
	struct bin_group *group;
	char label[LABEL_MAX];
	double *cell;
	int r;

	if (!g->labels || after_ns < -(int64_t)g->o.every_ns || bin >= g->o.bin_cnt)
		return 0;
	make_label(g, v, label);
	r = group_of(g, label, &group);
	if (r || !group) {
		g->left_out++;
		return r;
	}
	cell = &group->cells[bin / g->o.bins_per_cell];
	if (g->o.is_single && !isnan(*cell)) {
		snprintf(g->error, sizeof(g->error),
			 "a bin has several rows with %s '%s'; name more columns, of %s, or "
			 "choose another --by",
			 g->o.by, label, g->keys_there);
		return -EINVAL;
	}
	*cell = fmax(*cell, figure);
	group->sum += figure;
	return 0;
}

/* ---- order ---- */

static int by_sum(const void *a, const void *b)
{
	const struct bin_group *x = a, *y = b;

	return compare_numbers(y->sum, x->sum) ?: strcmp(x->label, y->label);
}

static int by_number(const void *a, const void *b)
{
	const struct bin_group *x = a, *y = b;
	long long m = atoll(x->label), n = atoll(y->label);

	return compare_numbers(m, n);
}

/*
 * Sorts the groups by descending sums; then sorts the first cnt groups by number, if their labels
 * are numbers (CPUs). Afterwards, g->map is invalid.
 */
static void bin_groups_sort(struct bin_groups *g, size_t cnt)
{
	size_t i = 0;

	if (!g->cnt)
		return;
	qsort(g->v, g->cnt, sizeof(*g->v), by_sum);
	while (i < cnt && !g->v[i].label[strspn(g->v[i].label, "0123456789")])
		i++;
	if (i == cnt)
		qsort(g->v, cnt, sizeof(*g->v), by_number);
}

/* pivot: refuses two rows for the same bin and group, since not all figures can be added. */

#define TIME_NAME "t_ns" /* a group of this name is written in brackets */
#define REST_NAME "[others]"
#define CELLS_MAX (64u << 20) /* limit of the figures of all groups: half a GiB */

static double sum_of_rest(const struct bin_groups *g, size_t from, uint64_t bin)
{
	double sum = 0;

	for (size_t i = from; i < g->cnt; i++)
		sum += isnan(g->v[i].cells[bin]) ? 0 : g->v[i].cells[bin];
	return sum;
}

static int pivot_end(void *ctx)
{
	struct pivot *p = ctx;
	struct bin_groups *g = &p->groups;
	size_t cnt = p->limit && p->limit < g->cnt ? p->limit : g->cnt;
	size_t col_cnt = 1 + cnt + (p->has_rest && cnt < g->cnt);
	const char **names = calloc(col_cnt, sizeof(*names));
	struct value *values = calloc(col_cnt, sizeof(*values));
	int r = names && values ? 0 : -ENOMEM;

	if (g->left_out) {
		snprintf(g->error, sizeof(g->error),
			 "too many bins and groups for columns; make --every longer, or the window "
			 "shorter");
		r = -EINVAL;
	}
	bin_groups_sort(g, cnt);
	if (!r) {
		names[0] = TIME_NAME;
		for (size_t i = 0; i < cnt; i++)
			names[i + 1] = strcmp(g->v[i].label, TIME_NAME) ? g->v[i].label :
									  "[" TIME_NAME "]";
		if (col_cnt > cnt + 1)
			names[cnt + 1] = REST_NAME;
		r = p->next->begin(p->next->ctx, (unsigned int)col_cnt, names);
	}
	for (uint64_t bin = 0; bin < g->o.bin_cnt && r >= 0; bin++) {
		values[0] = value_int((uint64_t)g->o.from_ns + bin * g->o.every_ns);
		for (size_t i = 0; i < cnt; i++) {
			double v = g->v[i].cells[bin];

			values[i + 1] = value_real(isnan(v) ? 0 : v);
		}
		if (col_cnt > cnt + 1)
			values[cnt + 1] = value_real(sum_of_rest(g, cnt, bin));
		r = p->next->row(p->next->ctx, values);
	}
	if (r >= 0)
		r = p->next->end(p->next->ctx);
	free(names);
	free(values);
	return r;
}

struct row_sink pivot_sink(struct pivot *p)
{
	struct bin_groups_options *o = &p->groups.o;

	o->bins_per_cell = 1;
	o->label_bytes = LABEL_MAX;
	o->is_single = true;
	o->groups_max = CELLS_MAX / (o->bin_cnt ?: 1);
	return (struct row_sink){
		.ctx = p, .begin = bin_groups_begin, .row = bin_groups_row, .end = pivot_end
	};
}

#define LABEL_BYTES 48
#define LINE_MIN 10
#define LINE_MAX 400
#define GROUPS_MAX 4096 /* further groups are not drawn */

struct sparkline {
	/* must be the first member, since it is the ctx of bin_groups_row() */
	struct bin_groups groups;
	struct sparkline_options o;
	struct row_sink sink;
};

void sparkline_free(struct sparkline *s)
{
	if (!s)
		return;
	bin_groups_done(&s->groups);
	free(s);
}

/* Begins a result. If columns are missing, nothing is drawn; this is not an error. */
static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	int r = bin_groups_begin(ctx, col_cnt, names);

	return r == -EINVAL ? 0 : r;
}

static int end(void *ctx)
{
	return 0;
}

struct sparkline *sparkline_new(const struct sparkline_options *o)
{
	struct sparkline *s = calloc(1, sizeof(*s));
	uint64_t bin_cnt = ((uint64_t)(o->to_ns - o->from_ns) + o->every_ns - 1) / o->every_ns;

	if (!s)
		return NULL;
	s->o = *o;
	s->sink = (struct row_sink){ .ctx = s, .begin = begin, .row = bin_groups_row, .end = end };
	s->groups.o = (struct bin_groups_options){
		.figure = o->metric, .from_ns = o->from_ns, .every_ns = o->every_ns,
		.bin_cnt = bin_cnt, .bins_per_cell = (bin_cnt + LINE_MAX - 1) / LINE_MAX,
		.label_bytes = LABEL_BYTES, .is_safe = true, .groups_max = GROUPS_MAX,
	};
	return s;
}

const struct row_sink *sparkline_sink(const struct sparkline *s)
{
	return &s->sink;
}

static const char *level_text(const struct sparkline *s, double share)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄",
					      "▅", "▆", "▇", "█" };
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
	default: /* a count, or an average of counts, with one decimal as in tables */
		if (v < 1000 && v != floor(v)) {
			snprintf(buf, size, "%.1f", v);
			return buf;
		}
		return units_format_count(buf, size, (uint64_t)llround(v));
	}
}

static void print_group(const struct sparkline *s, const struct bin_group *g, size_t chars,
			int label_width, FILE *out)
{
	size_t cell_cnt = bin_groups_cells(&s->groups), i, c;
	char highest[UNITS_TEXT_MAX];
	double max = 0;

	for (i = 0; i < cell_cnt; i++)
		max = fmax(max, g->cells[i]);
	fprintf(out, "%-*s  ", label_width, g->label);
	for (c = 0; c < chars; c++) {
		size_t from = c * cell_cnt / chars, to = (c + 1) * cell_cnt / chars;
		double v = 0;

		for (i = from; i < to; i++)
			v = fmax(v, g->cells[i]);
		fputs(level_text(s, max > 0 ? v / max : 0), out);
	}
	fprintf(out, "  %s\n", figure_text(highest, sizeof(highest), s->o.metric, max));
}

void sparkline_print(struct sparkline *s, FILE *out)
{
	struct bin_groups *g = &s->groups;
	size_t shown = s->o.limit && s->o.limit < g->cnt ? s->o.limit : g->cnt;
	size_t chars, label = 0, i;
	char heading[64];

	if (!shown)
		return;
	bin_groups_sort(g, shown);
	for (i = 0; i < shown; i++)
		label = strlen(g->v[i].label) > label ? strlen(g->v[i].label) : label;
	chars = s->o.width > label + 16 + LINE_MIN ? s->o.width - label - 16 : LINE_MIN;
	if (chars > bin_groups_cells(g))
		chars = bin_groups_cells(g);
	fprintf(out, "%s over time, each line from 0 to its own highest value:\n\n",
		column_heading(heading, sizeof(heading), s->o.metric));
	for (i = 0; i < shown; i++)
		print_group(s, &g->v[i], chars, (int)label, out);
	if (shown < g->cnt || g->left_out)
		render_more(out, g->cnt - shown + g->left_out, NULL, NULL);
}
