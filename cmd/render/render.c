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
	uint64_t cnt, left_out; /* rows of it, or of its bin, until now; rows beyond the limit */
	int64_t bin;
	unsigned int section_cnt;
	bool has_heading;
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

void render_out_bytes(struct render_out *o, const char *s, size_t n)
{
	char *p = render_out_room(o, n);

	if (p) {
		memcpy(p, s, n);
		o->n += n;
	}
}

void render_out_text(struct render_out *o, const char *s)
{
	render_out_bytes(o, s, strlen(s));
}

void render_out_int(struct render_out *o, int64_t v)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char digits[24], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u);
	if (v < 0)
		*--p = '-';
	render_out_bytes(o, p, (size_t)(digits + sizeof(digits) - p));
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

/* The first error stays: it is the result of all that follows. */
static int done(struct render *r, int e)
{
	if (e && !r->out.error)
		r->out.error = e;
	return r->out.error;
}

static void print_heading(struct render *r)
{
	if (r->options.heading && !r->has_heading)
		r->options.heading(r->options.ctx);
	r->has_heading = true;
}

static void clear(struct render *r)
{
	if (r->ops->clear)
		r->ops->clear(r->state);
	memset(r->state, 0, r->ops->state_bytes);
}

int render_begin(void *render, unsigned int col_cnt, const char *const *names)
{
	struct render *r = render;
	const struct row_sink *also = r->options.also;

	if (r->out.error)
		return r->out.error;
	print_heading(r);
	if (also && done(r, also->begin(also->ctx, col_cnt, names)))
		return r->out.error;
	r->row_cnt = r->cnt = r->left_out = 0;
	r->bin = INT64_MIN;
	clear(r);
	return done(r, r->ops->begin(r->state, &r->options, &r->out, col_cnt, names));
}

/* Only for tables: the other formats stay one result, see struct row_sink. */
static int render_section(void *render, const char *title)
{
	struct render *r = render;

	print_heading(r);
	if (r->section_cnt++)
		render_out_text(&r->out, "\n");
	render_out_text(&r->out, title);
	render_out_text(&r->out, "\n");
	return r->out.error;
}

int render_put(void *render, const struct value *values)
{
	struct render *r = render;
	const struct render_options *o = &r->options;

	if (r->out.error || (o->also && done(r, o->also->row(o->also->ctx, values))))
		return r->out.error;
	if (++r->row_cnt % RENDER_PROGRESS_ROWS == 0 && o->progress)
		o->progress(o->ctx, r->row_cnt);
	if (o->of_bins && values[0].i != r->bin) {
		r->bin = values[0].i;
		r->cnt = 0;
	}
	if (o->limit && r->cnt++ >= o->limit) {
		r->left_out++;
		return 0;
	}
	return done(r, r->ops->row(r->state, &r->out, values));
}

int render_end(void *render)
{
	struct render *r = render;

	if (r->ops->end && !r->out.error)
		r->ops->end(r->state, &r->out, r->left_out);
	return render_out_flush(&r->out);
}

const struct row_sink *render_sink(struct render *r)
{
	return &r->sink;
}

uint64_t render_row_cnt(const struct render *r)
{
	return r->row_cnt;
}

static const struct {
	const char *name; /* NULL: only one command has it */
	const struct render_format_ops *ops;
} formats[] = {
	[RENDER_TABLE] = { "table", &render_table_ops },
	[RENDER_CSV] = { "csv", &render_lines_ops },
	[RENDER_JSON] = { "json", &render_lines_ops },
	[RENDER_JSONL] = { "jsonl", &render_lines_ops },
	[RENDER_FOLDED] = { NULL, &render_folded_ops },
	[RENDER_FLAME] = { NULL, &render_flame_ops },
	[RENDER_PPROF] = { NULL, &render_pprof_ops },
	[RENDER_VERTICAL] = { NULL, &render_vertical_ops },
};

int render_new(struct render **ret, const struct render_options *o)
{
	struct render *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->options = *o;
	r->ops = formats[o->format].ops;
	r->out.f = o->out;
	r->out.cap = OUT_BYTES;
	r->out.buf = malloc(OUT_BYTES);
	r->state = calloc(1, r->ops->state_bytes);
	r->sink = (struct row_sink){
		.ctx = r, .begin = render_begin, .row = render_put, .end = render_end
	};
	if (o->format == RENDER_TABLE)
		r->sink.section = render_section;
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
		clear(r);
	free(r->state);
	free(r->out.buf);
	free(r);
}

int render_parse_format(const char *name, enum render_format *ret)
{
	for (unsigned int i = 0; formats[i].name; i++) {
		if (!strcmp(name, formats[i].name)) {
			*ret = (enum render_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Bytes of the next word; a command in backquotes is one, so that it can be pasted. */
static size_t word_len(const char *text)
{
	size_t len = 0;

	while (text[len] && text[len] != ' ') {
		if (text[len] == '`' && strchr(text + len + 1, '`'))
			len += strcspn(text + len + 1, "`") + 1;
		len++;
	}
	return len;
}

void render_wrap(FILE *f, const char *text, unsigned int width)
{
	size_t used = 0, len;

	for (;; text += len) {
		text += strspn(text, " ");
		len = word_len(text);
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
