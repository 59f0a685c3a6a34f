/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_csv: the csv, json and jsonl formats, for programs, with a line per row; and vertical, a
 * line per value, for rows that are wider than a terminal. All write numbers raw and text through
 * textsafe.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/render/render_format.h"
#include "base/textsafe.h"

struct lines {
	bool json, jsonl, vertical; /* jsonl: json is set, too */
	unsigned int col_cnt;
	uint64_t row_cnt;
	char **before; /* prefix of each value: a comma, and in json its name; "   name  " */
};

static void put_text(const struct lines *l, struct render_out *out, const char *s, size_t n)
{
	char *p = render_out_room(out, l->json ? TEXTSAFE_JSON_MAX(n) : TEXTSAFE_CSV_MAX(n));

	if (p)
		out->n += l->json     ? textsafe_json(p, s, n) :
			  l->vertical ? textsafe_escape(p, TEXTSAFE_CSV_MAX(n), s, n, NULL) :
					textsafe_csv(p, s, n);
}

static void lines_clear(void *state)
{
	const struct lines *l = state;

	for (unsigned int i = 0; i < l->col_cnt; i++)
		free(l->before[i]);
	free(l->before);
}

/* Names to the right, as wide as the widest of them. */
static int make_heads(struct lines *l, const char *const *names)
{
	unsigned int width = 0, cells;

	for (unsigned int k = 0; k < 2 * l->col_cnt; k++) {
		unsigned int i = k % l->col_cnt;
		size_t n = strlen(names[i]), size = n * TEXTSAFE_GROWTH + 1;
		char *safe = malloc(size);

		if (!safe)
			return -ENOMEM;
		textsafe_escape(safe, size, names[i], n, &cells);
		width = cells > width ? cells : width;
		if (k >= l->col_cnt &&
		    asprintf(&l->before[i], "%*s%s  ", (int)(width - cells), "", safe) < 0)
			l->before[i] = NULL;
		free(safe);
		if (k >= l->col_cnt && !l->before[i])
			return -ENOMEM;
	}
	return 0;
}

static int lines_begin(void *state, const struct render_options *o, struct render_out *out,
		       unsigned int cnt, const char *const *names)
{
	struct lines *l = state;

	l->jsonl = o->format == RENDER_JSONL;
	l->json = o->format == RENDER_JSON || l->jsonl;
	l->vertical = o->format == RENDER_VERTICAL;
	l->before = calloc(cnt ? cnt : 1, sizeof(*l->before));
	if (!l->before)
		return -ENOMEM;
	l->col_cnt = cnt;
	if (l->vertical)
		return make_heads(l, names);
	for (unsigned int i = 0; i < cnt; i++) {
		size_t n = strlen(names[i]);
		char *p = calloc(1, TEXTSAFE_JSON_MAX(n) + 3);

		l->before[i] = p;
		if (!p)
			return -ENOMEM;
		if (i)
			*p++ = ',';
		if (l->json) {
			p += textsafe_json(p, names[i], n);
			*p = ':';
		} else {
			render_out_text(out, l->before[i]);
			put_text(l, out, names[i], n);
		}
	}
	if (!l->jsonl)
		render_out_text(out, l->json ? "[" : "\n");
	return 0;
}

static bool is_null(const struct value *v)
{
	return v->type == VALUE_NULL || (v->type == VALUE_REAL && !isfinite(v->r));
}

static int lines_row(void *state, struct render_out *out, const struct value *v)
{
	struct lines *l = state;
	unsigned int skip = !l->vertical; /* the comma, if columns before were left out */

	if (l->vertical) {
		render_out_text(out, l->row_cnt ? "\nrow " : "row ");
		render_out_int(out, (int64_t)++l->row_cnt);
		render_out_text(out, "\n");
	}
	if (l->json)
		render_out_text(out, l->jsonl ? "{" : l->row_cnt++ ? ",\n{" : "\n{");
	for (unsigned int i = 0; i < l->col_cnt; i++) {
		if (l->jsonl && is_null(&v[i]))
			continue;
		render_out_text(out, l->before[i] + (i ? skip : 0));
		skip = 0;
		if (v[i].type == VALUE_INT)
			render_out_int(out, v[i].i);
		else if (v[i].type == VALUE_REAL && (isfinite(v[i].r) || l->vertical))
			render_out_real(out, v[i].r);
		else if (v[i].type == VALUE_TEXT)
			put_text(l, out, v[i].text, v[i].text_bytes);
		else if (l->json || l->vertical)
			render_out_text(out, l->json ? "null" : "NULL");
		if (l->vertical)
			render_out_text(out, "\n");
	}
	if (!l->vertical)
		render_out_text(out, l->jsonl ? "}\n" : l->json ? "}" : "\n");
	return 0;
}

static void lines_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct lines *l = state;

	if (l->vertical && !l->row_cnt)
		render_out_text(out, "(nothing)\n");
	if (l->json && !l->jsonl)
		render_out_text(out, l->row_cnt ? "\n]\n" : "]\n");
}

const struct render_format_ops render_lines_ops = {
	.state_bytes = sizeof(struct lines),
	.begin = lines_begin,
	.row = lines_row,
	.end = lines_end,
	.clear = lines_clear,
};
