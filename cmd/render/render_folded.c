/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_folded: a line per stack, "comm;[source];outermost;...;innermost COUNT", as flame graph
 * tools read it. Sources overlap, so each gets a separate tower. Rows without a recorded stack form
 * a tower too, so that sums are right. Rows whose lines are equal are added up: lines are kept in
 * order of their first row, and written at the end.
 *
 * As HTML the lines are in a page whose script draws them (cmd/page/flame.html), the source first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "cmd/render/page.h"
#include "cmd/render/render_format.h"
#include "cmd/render/stack_columns.h"

struct folded {
	struct stack_columns cols;
	int count;	/* column */
	const char *rest; /* of the page; NULL: plain lines */
	struct buf line;	/* of the present row */
	struct strpool *texts;
	struct hash_map places;	/* text of the pool -> place in lines */
	struct folded_line {
		const char *text;
		int64_t count;
	} *lines;
	size_t cnt, cap;
};

static int folded_begin(void *state, const struct render_options *o, struct render_out *out,
			unsigned int cnt, const char *const *names)
{
	struct folded *f = state;
	int ret = stack_columns_find(&f->cols, cnt, names);

	f->count = o->folded_count ? f->cols.number : f->cols.amount;
	return ret ? ret : strpool_new(&f->texts);
}

static int folded_row(void *state, struct render_out *out, const struct value *values)
{
	struct folded *f = state;
	const char *text;
	uint32_t place;
	int ret;

	buf_reset(&f->line);
	stack_columns_line(&f->cols, &f->line, values, f->rest);
	buf_add(&f->line, "", 1);
	text = f->line.failed ? NULL : strpool_put(f->texts, (const char *)f->line.data);
	ret = text ? hash_map_intern(&f->places, (uintptr_t)text, 0, &place) : -ENOMEM;
	if (ret > 0) {
		if (array_reserve(&f->lines, &f->cap, f->cnt + 1) < 0)
			return -ENOMEM;
		f->lines[f->cnt++] = (struct folded_line){ .text = text };
	}
	if (ret >= 0)
		f->lines[place].count += values[f->count].i;
	return ret < 0 ? ret : 0;
}

static void folded_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct folded *f = state;

	for (size_t i = 0; i < f->cnt; i++) {
		render_out_text(out, f->lines[i].text);
		render_out_int(out, f->lines[i].count);
		render_out_text(out, "\n");
	}
}

static void folded_clear(void *state)
{
	struct folded *f = state;

	buf_done(&f->line);
	strpool_free(f->texts);
	hash_map_done(&f->places);
	free(f->lines);
}

const char *render_flame_begin(FILE *f, const char *title, const char *unit, const char *note)
{
	/* in the order of the page */
	const char *const marks[][2] = { { "@TITLE@", title }, { "@NOTE@", note },
					 { "@UNIT@", unit }, { "@STACKS@", "" } };
	const char *rest = page_flame;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *at = strstr(rest, marks[i][0]);

		fwrite(rest, 1, (size_t)(at - rest), f);
		render_html_text(f, marks[i][1]);
		rest = at + strlen(marks[i][0]);
	}
	return rest;
}

static int html_begin(void *state, const struct render_options *o, struct render_out *out,
		      unsigned int cnt, const char *const *names)
{
	struct folded *f = state;
	int ret = folded_begin(state, o, out, cnt, names) ?: render_out_flush(out);

	if (!ret)
		f->rest = render_flame_begin(out->f, o->title, column_find(names[f->count])->unit,
					     "");
	return ret;
}

static void html_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct folded *f = state;

	folded_end(state, out, left_out);
	render_out_text(out, f->rest);
}

const struct render_format_ops render_folded_ops = {
	.state_bytes = sizeof(struct folded),
	.begin = folded_begin,
	.row = folded_row,
	.end = folded_end,
	.clear = folded_clear,
};

const struct render_format_ops render_flame_ops = {
	.state_bytes = sizeof(struct folded),
	.begin = html_begin,
	.row = folded_row,
	.end = html_end,
	.clear = folded_clear,
};
