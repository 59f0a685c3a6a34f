/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * If a character stands for several bins, it shows the highest of them, since the reader looks for
 * peaks. Bins are combined in two steps, because the length of the labels is known only at the end.
 */
#include "cmd/render/sparkline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/render/bin_groups.h"
#include "cmd/render/render.h"

#define LABEL_MAX 48
#define LINE_MIN 10
#define CELLS_MAX 400
#define GROUPS_MAX 4096 /* a report by thread of a large machine: the rest is not drawn */

struct sparkline {
	struct bin_groups groups; /* first member: it receives the rows */
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

/* Draws nothing if its columns are missing. That is not an error of the report. */
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
		.bin_cnt = bin_cnt, .bins_per_cell = (bin_cnt + CELLS_MAX - 1) / CELLS_MAX,
		.label_bytes = LABEL_MAX, .is_safe = true, .groups_max = GROUPS_MAX,
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
	default: /* a count, or an average of one, with a digit as in the table */
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
