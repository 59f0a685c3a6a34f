/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_folded: a line per stack, "comm;[source];outermost;...;innermost COUNT", what flame graph
 * tools read. Sources overlap, so each gets a separate tower. What no stack was recorded of is a
 * tower too, so that sums are right. Lines of the same text are for those tools to add up.
 *
 * As HTML the lines are in a page whose script draws them (cmd/page/flame.html), the source first.
 */
#include <string.h>

#include "base/textsafe.h"
#include "cmd/render/page.h"
#include "cmd/render/render_format.h"
#include "cmd/render/stack_columns.h"

struct folded {
	struct stack_columns cols;
	int count;	/* column */
	const char *rest; /* of the page; NULL: plain lines */
};

static int folded_begin(void *state, const struct render_options *o, struct render_out *out,
			unsigned int cnt, const char *const *names)
{
	struct folded *f = state;
	int ret = stack_columns_find(&f->cols, cnt, names);

	f->count = o->folded_count ? f->cols.number : f->cols.amount;
	return ret;
}

static void put_text(const struct folded *f, struct render_out *out, const char *text, size_t n)
{
	size_t room = (f->rest ? TEXTSAFE_HTML_MAX(n) : n * TEXTSAFE_GROWTH) + 1;
	char *p = render_out_room(out, room);

	if (p)
		out->n += f->rest ? textsafe_html(p, text, n) :
				    textsafe_escape(p, room, text, n, NULL);
}

static void put_value(const struct folded *f, struct render_out *out, const struct value *v)
{
	if (v->type == VALUE_TEXT)
		put_text(f, out, v->text, v->text_bytes);
}

static void put_comm(const struct folded *f, struct render_out *out, const struct value *values)
{
	if (f->cols.comm < 0)
		return;
	put_value(f, out, &values[f->cols.comm]);
	render_out_text(out, ";");
}

static int folded_row(void *state, struct render_out *out, const struct value *values)
{
	const struct folded *f = state;
	bool any = false;

	if (!f->rest)
		put_comm(f, out, values);
	if (f->cols.source >= 0) {
		render_out_text(out, "[");
		put_value(f, out, &values[f->cols.source]);
		render_out_text(out, "];");
	}
	if (f->rest)
		put_comm(f, out, values);
	for (int i = 0; i < 2; i++) {
		if (f->cols.stacks[i] < 0 || values[f->cols.stacks[i]].type != VALUE_TEXT)
			continue;
		if (any)
			render_out_text(out, ";");
		put_value(f, out, &values[f->cols.stacks[i]]);
		any = true;
	}
	render_out_text(out, any ? " " : STACK_COLUMNS_NONE " ");
	render_out_int(out, values[f->count].i);
	render_out_text(out, "\n");
	return 0;
}

/* The page up to a mark, and a text in the place of the mark. */
static void put_page(struct folded *f, struct render_out *out, const char *mark, const char *text)
{
	const char *at = strstr(f->rest, mark);

	render_out_bytes(out, f->rest, (size_t)(at - f->rest));
	put_text(f, out, text, strlen(text));
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
	put_page(f, out, "@UNIT@", names[f->count]);
	put_page(f, out, "@STACKS@", "");
	return 0;
}

static void html_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct folded *f = state;

	render_out_text(out, f->rest);
}

const struct render_format_ops render_folded_ops = {
	.state_bytes = sizeof(struct folded),
	.begin = folded_begin,
	.row = folded_row,
};

const struct render_format_ops render_flame_ops = {
	.state_bytes = sizeof(struct folded),
	.begin = html_begin,
	.row = folded_row,
	.end = html_end,
};
