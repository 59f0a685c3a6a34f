/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render: takes the rows of a query, counts and limits them, and hands them to the format. Owns the
 * output buffer, so that a row costs no stdio call.
 */
#include "cmd/render/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/render/render_format.h"

#define OUT_BYTES (64 * 1024)

struct render {
	struct render_options options;
	const struct render_format_ops *ops;
	void *state;
	struct render_out out;
	struct row_sink sink;
	uint64_t row_cnt; /* of the query running */
	unsigned int section_cnt;
};

/* ---- the output buffer ---- */

int render_out_flush(struct render_out *o)
{
	if (!o->error && o->n && fwrite(o->buf, 1, o->n, o->f) != o->n)
		o->error = errno ? -errno : -EIO;
	o->n = 0;
	return o->error;
}

char *render_out_room(struct render_out *o, size_t max)
{
	if (o->n + max > o->cap) {
		render_out_flush(o);
		if (max > o->cap) {
			char *p = realloc(o->buf, max);

			if (!p) {
				o->error = o->error ? o->error : -ENOMEM;
				return NULL;
			}
			o->buf = p;
			o->cap = max;
		}
	}
	return o->buf + o->n;
}

void render_out_add(struct render_out *o, size_t n)
{
	o->n += n;
}

void render_out_text(struct render_out *o, const char *s)
{
	size_t n = strlen(s);
	char *p = render_out_room(o, n);

	if (p) {
		memcpy(p, s, n);
		o->n += n;
	}
}

void render_out_int(struct render_out *o, int64_t v)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char digits[24], *p = digits + sizeof(digits), *room;
	size_t n;

	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u);
	if (v < 0)
		*--p = '-';
	n = (size_t)(digits + sizeof(digits) - p);
	room = render_out_room(o, n);
	if (room) {
		memcpy(room, p, n);
		o->n += n;
	}
}

void render_out_real(struct render_out *o, double v)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	render_out_text(o, text);
}

/* ---- the sink ---- */

static int sink_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct render *r = ctx;
	int e;

	r->row_cnt = 0;
	e = r->ops->begin(r->state, &r->out, col_cnt, names);
	return e ? e : r->out.error;
}

/* Only for tables: the other formats stay one result, see struct row_sink. */
static int sink_section(void *ctx, const char *title)
{
	struct render *r = ctx;

	if (r->section_cnt++)
		render_out_text(&r->out, "\n");
	render_out_text(&r->out, title);
	render_out_text(&r->out, "\n");
	return r->out.error;
}

static int sink_row(void *ctx, const struct value *values)
{
	struct render *r = ctx;
	int e;

	if (r->options.limit && r->row_cnt >= r->options.limit) {
		r->row_cnt++;
		return 0;
	}
	r->row_cnt++;
	e = r->ops->row(r->state, &r->out, values);
	return e ? e : r->out.error;
}

static int sink_end(void *ctx)
{
	struct render *r = ctx;
	uint64_t limit = r->options.limit;
	uint64_t left_out = limit && r->row_cnt > limit ? r->row_cnt - limit : 0;
	int e = r->ops->end(r->state, &r->out, left_out);

	if (e)
		return e;
	return render_out_flush(&r->out);
}

const struct row_sink *render_sink(struct render *r)
{
	return &r->sink;
}

int render_new(struct render **ret, const struct render_options *o)
{
	static const struct render_format_ops *const formats[] = {
		[RENDER_TABLE] = &render_table_ops,
		[RENDER_CSV] = &render_csv_ops,
		[RENDER_JSON] = &render_json_ops,
		[RENDER_FOLDED] = &render_folded_ops,
	};
	struct render *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->options = *o;
	r->ops = formats[o->format];
	r->out.f = o->out;
	r->out.cap = OUT_BYTES;
	r->out.buf = malloc(OUT_BYTES);
	r->state = r->ops->new (&r->options);
	r->sink = (struct row_sink){
		.ctx = r, .begin = sink_begin, .row = sink_row, .end = sink_end
	};
	if (o->format == RENDER_TABLE)
		r->sink.section = sink_section;
	if (!r->out.buf || !r->state) {
		render_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void render_free(struct render *r)
{
	if (!r)
		return;
	if (r->state)
		r->ops->free(r->state);
	free(r->out.buf);
	free(r);
}

int render_parse_format(const char *name, enum render_format *ret)
{
	static const char *const names[] = { "table", "csv", "json" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i])) {
			*ret = (enum render_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

void render_wrap(FILE *f, const char *text, unsigned int width)
{
	size_t used = 0, len;

	for (;; text += len) {
		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (!len)
			break;
		if (used && width && used + 1 + len > width) {
			fputc('\n', f);
			used = 0;
		} else if (used) {
			fputc(' ', f);
			used++;
		}
		fwrite(text, 1, len, f);
		used += len;
	}
	fputc('\n', f);
}
