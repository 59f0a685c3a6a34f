/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_folded: a line per stack, "comm;[source];outermost;...;innermost COUNT", what flame graph tools read. For views that
 * have columns comm, source, stack, bytes and samples; sources overlap, so that each gets a tower of its own. Lines of the
 * same text are for those tools to add up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "cmd/render_format.h"

struct folded {
	const char *count_name;
	int comm, source, stack, count;	/* column numbers; -1: none */
};

static void *folded_new(const struct render_options *o)
{
	struct folded *f = calloc(1, sizeof(*f));

	if (f)
		f->count_name = o->folded_samples ? "samples" : "bytes";
	return f;
}

static int folded_begin(void *state, struct render_out *out, unsigned int cnt,
			const char *const *names)
{
	struct folded *f = state;
	unsigned int i;

	f->comm = f->source = f->stack = f->count = -1;
	for (i = 0; i < cnt; i++) {
		if (!strcmp(names[i], "comm"))
			f->comm = (int)i;
		else if (!strcmp(names[i], "source"))
			f->source = (int)i;
		else if (!strcmp(names[i], "stack"))
			f->stack = (int)i;
		else if (!strcmp(names[i], f->count_name))
			f->count = (int)i;
	}
	return f->stack < 0 || f->count < 0 ? -EINVAL : 0;
}

static void put_text(struct render_out *out, const struct value *v)
{
	unsigned int cells;
	char *p;

	if (v->type != VALUE_TEXT)
		return;
	p = render_out_room(out, v->text_bytes * TEXTSAFE_GROWTH + 1);
	if (p)
		render_out_add(out, textsafe_escape(p, v->text_bytes * TEXTSAFE_GROWTH + 1, v->text,
						    v->text_bytes, &cells));
}

static int folded_row(void *state, struct render_out *out, const struct value *values)
{
	const struct folded *f = state;

	if (f->comm >= 0) {
		put_text(out, &values[f->comm]);
		render_out_text(out, ";");
	}
	if (f->source >= 0) {
		render_out_text(out, "[");
		put_text(out, &values[f->source]);
		render_out_text(out, "];");
	}
	put_text(out, &values[f->stack]);
	render_out_text(out, " ");
	render_out_int(out, values[f->count].i);
	render_out_text(out, "\n");
	return 0;
}

static int folded_end(void *state, struct render_out *out, uint64_t left_out)
{
	return 0;
}

const struct render_format_ops render_folded_ops = {
	.new = folded_new, .free = free, .begin = folded_begin, .row = folded_row, .end = folded_end,
};
