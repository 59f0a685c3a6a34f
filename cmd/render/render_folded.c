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
#include "base/textsafe.h"
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

static void put_text(struct folded *f, const char *text, size_t n)
{
	size_t room = (f->rest ? TEXTSAFE_HTML_MAX(n) : n * TEXTSAFE_GROWTH) + 1;
	char *p = (char *)buf_room(&f->line, room);

	if (p)
		f->line.len += f->rest ? textsafe_html(p, text, n) :
					 textsafe_escape(p, room, text, n, NULL);
}

static void put_value(struct folded *f, const struct value *v)
{
	if (v->type == VALUE_TEXT)
		put_text(f, v->text, v->text_bytes);
}

static void put(struct folded *f, const char *text)
{
	buf_add(&f->line, text, strlen(text));
}

static void put_comm(struct folded *f, const struct value *values)
{
	if (f->cols.comm < 0)
		return;
	put_value(f, &values[f->cols.comm]);
	put(f, ";");
}

static void put_line(struct folded *f, const struct value *values)
{
	bool any = false;

	if (!f->rest)
		put_comm(f, values);
	if (f->cols.source >= 0) {
		put(f, "[");
		put_value(f, &values[f->cols.source]);
		put(f, "];");
	}
	if (f->rest)
		put_comm(f, values);
	for (int i = 0; i < 2; i++) {
		if (f->cols.stacks[i] < 0 || values[f->cols.stacks[i]].type != VALUE_TEXT)
			continue;
		if (any)
			put(f, ";");
		put_value(f, &values[f->cols.stacks[i]]);
		any = true;
	}
	put(f, any ? " " : STACK_COLUMNS_NONE " ");
	buf_add(&f->line, "", 1);
}

static int folded_row(void *state, struct render_out *out, const struct value *values)
{
	struct folded *f = state;
	const char *text;
	uint32_t place;
	int ret;

	buf_reset(&f->line);
	put_line(f, values);
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

/* The page up to a mark, and a text in the place of the mark. */
static void put_page(struct folded *f, struct render_out *out, const char *mark, const char *text)
{
	const char *at = strstr(f->rest, mark);

	render_out_bytes(out, f->rest, (size_t)(at - f->rest));
	buf_reset(&f->line);
	put_text(f, text, strlen(text));
	render_out_bytes(out, (const char *)f->line.data, f->line.len);
	f->rest = at + strlen(mark);
}

static int html_begin(void *state, const struct render_options *o, struct render_out *out,
		      unsigned int cnt, const char *const *names)
{
	struct folded *f = state;
	int ret = folded_begin(state, o, out, cnt, names);

	if (ret)
		return ret;
	f->rest = page_flame;
	put_page(f, out, "@TITLE@", o->title);
	put_page(f, out, "@UNIT@", column_find(names[f->count])->unit);
	put_page(f, out, "@STACKS@", "");
	return 0;
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
