/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_csv: the csv and json formats, for programs. Both write numbers raw and text through
 * textsafe; the only state is the column names and whether a row went before.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/render/render_format.h"
#include "base/textsafe.h"

struct columns {
	unsigned int cnt;
	uint64_t row_cnt;
	char **keys; /* json: "name": ready to copy */
};

static void *columns_new(const struct render_options *o)
{
	return calloc(1, sizeof(struct columns));
}

static void columns_clear(struct columns *c)
{
	for (unsigned int i = 0; c->keys && i < c->cnt; i++)
		free(c->keys[i]);
	free(c->keys);
	*c = (struct columns){ 0 };
}

static void columns_free(void *state)
{
	columns_clear(state);
	free(state);
}

/* ---- csv ---- */

static void csv_text(struct render_out *out, const char *s, size_t n)
{
	char *p = render_out_room(out, TEXTSAFE_CSV_MAX(n));

	if (p)
		render_out_add(out, textsafe_csv(p, s, n));
}

static int csv_begin(void *state, struct render_out *out, unsigned int cnt,
		     const char *const *names)
{
	struct columns *c = state;

	columns_clear(c);
	c->cnt = cnt;
	for (unsigned int i = 0; i < cnt; i++) {
		if (i)
			render_out_text(out, ",");
		csv_text(out, names[i], strlen(names[i]));
	}
	render_out_text(out, "\n");
	return 0;
}

static int csv_row(void *state, struct render_out *out, const struct value *v)
{
	const struct columns *c = state;

	for (unsigned int i = 0; i < c->cnt; i++) {
		if (i)
			render_out_text(out, ",");
		switch (v[i].type) {
		case VALUE_INT:
			render_out_int(out, v[i].i);
			break;
		case VALUE_REAL:
			if (isfinite(v[i].r))
				render_out_real(out, v[i].r);
			break;
		case VALUE_TEXT:
			csv_text(out, v[i].text, v[i].text_bytes);
			break;
		case VALUE_NULL:
			break;
		}
	}
	render_out_text(out, "\n");
	return 0;
}

static int csv_end(void *state, struct render_out *out, uint64_t left_out)
{
	return 0;
}

const struct render_format_ops render_csv_ops = {
	.new = columns_new,
	.free = columns_free,
	.begin = csv_begin,
	.row = csv_row,
	.end = csv_end,
};

/* ---- json ---- */

static void json_text(struct render_out *out, const char *s, size_t n)
{
	char *p = render_out_room(out, TEXTSAFE_JSON_MAX(n));

	if (p)
		render_out_add(out, textsafe_json(p, s, n));
}

static int json_begin(void *state, struct render_out *out, unsigned int cnt,
		      const char *const *names)
{
	struct columns *c = state;

	columns_clear(c);
	c->keys = calloc(cnt ? cnt : 1, sizeof(*c->keys));
	if (!c->keys)
		return -ENOMEM;
	c->cnt = cnt;
	for (unsigned int i = 0; i < cnt; i++) {
		size_t n = strlen(names[i]), w;

		c->keys[i] = malloc(TEXTSAFE_JSON_MAX(n) + 2);
		if (!c->keys[i])
			return -ENOMEM;
		w = textsafe_json(c->keys[i], names[i], n);
		memcpy(c->keys[i] + w, ":", 2);
	}
	render_out_text(out, "[");
	return 0;
}

static int json_row(void *state, struct render_out *out, const struct value *v)
{
	struct columns *c = state;

	render_out_text(out, c->row_cnt++ ? ",\n{" : "\n{");
	for (unsigned int i = 0; i < c->cnt; i++) {
		if (i)
			render_out_text(out, ",");
		render_out_text(out, c->keys[i]);
		if (v[i].type == VALUE_INT)
			render_out_int(out, v[i].i);
		else if (v[i].type == VALUE_REAL && isfinite(v[i].r))
			render_out_real(out, v[i].r);
		else if (v[i].type == VALUE_TEXT)
			json_text(out, v[i].text, v[i].text_bytes);
		else
			render_out_text(out, "null");
	}
	render_out_text(out, "}");
	return 0;
}

static int json_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct columns *c = state;

	render_out_text(out, c->row_cnt ? "\n]\n" : "]\n");
	return 0;
}

const struct render_format_ops render_json_ops = {
	.new = columns_new,
	.free = columns_free,
	.begin = json_begin,
	.row = json_row,
	.end = json_end,
};
