/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_folded: a line per stack, "comm;[source];outermost;...;innermost COUNT", what flame graph
 * tools read. For views that have columns comm, source, stack (or user_stack and kernel_stack),
 * bytes and samples (or objects); sources overlap, so each gets a separate tower. What no
 * stack was recorded of is a tower too, so that sums are right. Lines of the same text are for
 * those tools to add up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "cmd/render/render_format.h"

struct folded {
	bool by_count; /* samples or objects, in place of bytes */
	int comm, source, count, stacks[2]; /* column numbers; -1: none */
};

static bool is_count(const struct folded *f, const char *name)
{
	return f->by_count ? !strcmp(name, "samples") || !strcmp(name, "objects")
			   : !strcmp(name, "bytes");
}

static int folded_begin(void *state, const struct render_options *o, struct render_out *out,
			unsigned int cnt, const char *const *names)
{
	struct folded *f = state;
	unsigned int i;

	f->by_count = o->folded_count;
	f->comm = f->source = f->count = f->stacks[0] = f->stacks[1] = -1;
	for (i = 0; i < cnt; i++) {
		if (!strcmp(names[i], "comm"))
			f->comm = (int)i;
		else if (!strcmp(names[i], "source"))
			f->source = (int)i;
		else if (!strcmp(names[i], "stack") || !strcmp(names[i], "user_stack"))
			f->stacks[0] = (int)i;
		else if (!strcmp(names[i], "kernel_stack"))
			f->stacks[1] = (int)i;
		else if (is_count(f, names[i]))
			f->count = (int)i;
	}
	return f->stacks[0] < 0 || f->count < 0 ? -EINVAL : 0;
}

static void put_text(struct render_out *out, const struct value *v)
{
	size_t room = v->text_bytes * TEXTSAFE_GROWTH + 1;
	char *p = v->type == VALUE_TEXT ? render_out_room(out, room) : NULL;

	if (p)
		out->n += textsafe_escape(p, room, v->text, v->text_bytes, NULL);
}

static int folded_row(void *state, struct render_out *out, const struct value *values)
{
	const struct folded *f = state;
	bool any = false;
	int i;

	if (f->comm >= 0) {
		put_text(out, &values[f->comm]);
		render_out_text(out, ";");
	}
	if (f->source >= 0) {
		render_out_text(out, "[");
		put_text(out, &values[f->source]);
		render_out_text(out, "];");
	}
	for (i = 0; i < 2; i++) {
		if (f->stacks[i] < 0 || values[f->stacks[i]].type != VALUE_TEXT)
			continue;
		if (any)
			render_out_text(out, ";");
		put_text(out, &values[f->stacks[i]]);
		any = true;
	}
	render_out_text(out, any ? " " : "[not recorded] ");
	render_out_int(out, values[f->count].i);
	render_out_text(out, "\n");
	return 0;
}

const struct render_format_ops render_folded_ops = {
	.state_bytes = sizeof(struct folded),
	.begin = folded_begin,
	.row = folded_row,
};
