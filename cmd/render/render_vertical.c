/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* render_vertical: a line per value, for rows that are wider than a terminal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "cmd/render/render_format.h"

struct vertical {
	unsigned int col_cnt;
	uint64_t row_cnt;
	char **heads; /* "   name  " */
};

static void vertical_clear(void *state)
{
	const struct vertical *v = state;

	for (unsigned int i = 0; i < v->col_cnt; i++)
		free(v->heads[i]);
	free(v->heads);
}

static int vertical_begin(void *state, const struct render_options *o, struct render_out *out,
			  unsigned int cnt, const char *const *names)
{
	struct vertical *v = state;
	unsigned int width = 0;

	v->heads = calloc(cnt ? cnt : 1, sizeof(*v->heads));
	if (!v->heads)
		return -ENOMEM;
	v->col_cnt = cnt;
	for (unsigned int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < cnt; i++) {
			size_t size = strlen(names[i]) * TEXTSAFE_GROWTH + 1;
			unsigned int cells;
			char *safe = malloc(size + width + 4);

			if (!safe)
				return -ENOMEM;
			textsafe_escape(safe, size, names[i], strlen(names[i]), &cells);
			width = cells > width ? cells : width;
			if (pass) {
				memmove(safe + (width - cells), safe, strlen(safe) + 1);
				memset(safe, ' ', width - cells);
				strcat(safe, "  ");
				v->heads[i] = safe;
			} else {
				free(safe);
			}
		}
	}
	return 0;
}

static int vertical_row(void *state, struct render_out *out, const struct value *values)
{
	struct vertical *v = state;

	render_out_text(out, v->row_cnt ? "\nrow " : "row ");
	render_out_int(out, (int64_t)++v->row_cnt);
	render_out_text(out, "\n");
	for (unsigned int i = 0; i < v->col_cnt; i++) {
		const struct value *x = &values[i];
		size_t room = x->text_bytes * TEXTSAFE_GROWTH + 1;
		char *p;

		render_out_text(out, v->heads[i]);
		if (x->type == VALUE_INT)
			render_out_int(out, x->i);
		else if (x->type == VALUE_REAL)
			render_out_real(out, x->r);
		else if (x->type == VALUE_NULL)
			render_out_text(out, "NULL");
		else if ((p = render_out_room(out, room)))
			out->n += textsafe_escape(p, room, x->text, x->text_bytes, NULL);
		render_out_text(out, "\n");
	}
	return 0;
}

static void vertical_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct vertical *v = state;

	if (!v->row_cnt)
		render_out_text(out, "(nothing)\n");
}

const struct render_format_ops render_vertical_ops = {
	.state_bytes = sizeof(struct vertical),
	.begin = vertical_begin,
	.row = vertical_row,
	.end = vertical_end,
	.clear = vertical_clear,
};
