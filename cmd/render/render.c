/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* render: receives the rows of a query, counts and limits them, and passes them to the format. */
#include "cmd/render/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "cmd/render/render_format.h"

#define OUT_BYTES (64 * 1024)

struct render {
	struct render_options options;
	const struct render_format_ops *ops;
	void *state;
	struct render_out out;
	struct row_sink sink;
	uint64_t row_cnt; /* rows of all results */
	/* cnt: rows so far of the result or the current bin; left_out: rows beyond the limit */
	uint64_t cnt, left_out;
	struct value first; /* first value of the last row */
	unsigned int section_cnt;
	bool has_heading;
};

/* ---- the sink ---- */

/* Stores the first error. Returns the stored error. */
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
	r->cnt = r->left_out = 0;
	r->first = value_null();
	clear(r);
	return done(r, r->ops->begin(r->state, &r->options, &r->out, col_cnt, names));
}

/*
 * Begins a section in a table or json; other formats have no sections (see struct row_sink). In
 * json, sections are members of an object, which render_free() ends.
 */
static int render_section(void *render, const char *title)
{
	struct render *r = render;
	size_t n = strlen(title);
	char *p;

	print_heading(r);
	if (r->options.format == RENDER_TABLE) {
		render_out_text(&r->out, r->section_cnt++ && !r->options.markdown ? "\n" : "");
		render_out_text(&r->out, r->options.markdown ? "### " : "");
		render_out_text(&r->out, title);
		render_out_text(&r->out, r->options.markdown ? "\n\n" : "\n");
		return r->out.error;
	}
	render_out_text(&r->out, r->section_cnt++ ? "," : "{\n");
	p = render_out_room(&r->out, TEXTSAFE_JSON_MAX(n));
	if (p)
		r->out.n += textsafe_json(p, title, n);
	render_out_text(&r->out, ":");
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
	if (o->per_first && (values[0].type != r->first.type || values[0].i != r->first.i ||
			     values[0].text != r->first.text)) {
		r->first = values[0];
		r->cnt = 0;
	}
	if (o->limit && r->cnt++ >= o->limit) {
		r->left_out++;
		return 0;
	}
	return done(r, r->ops->row(r->state, &r->out, values));
}

static void leave_out(void *render, uint64_t cnt, const char *command)
{
	struct render *r = render;

	r->left_out = cnt;
	r->out.more = command;
}

int render_end(void *render)
{
	struct render *r = render;

	if (r->ops->end && !r->out.error)
		r->ops->end(r->state, &r->out, r->left_out);
	r->out.more = NULL;
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
	const char *name;
	enum render_use use;
	const struct render_format_ops *ops;
} formats[] = {
	[RENDER_TABLE] = { "table", RENDER_OF_ROWS, &render_table_ops },
	[RENDER_CSV] = { "csv", RENDER_OF_ROWS, &render_lines_ops },
	[RENDER_JSON] = { "json", RENDER_OF_ROWS, &render_lines_ops },
	[RENDER_JSONL] = { "jsonl", RENDER_OF_ROWS, &render_lines_ops },
	[RENDER_FOLDED] = { "folded", RENDER_OF_STACKS, &render_folded_ops },
	[RENDER_FLAME] = { "html", RENDER_OF_STACKS, &render_flame_ops },
	[RENDER_PPROF] = { "pprof", RENDER_OF_STACKS, &render_pprof_ops },
	[RENDER_PARQUET] = { "parquet", RENDER_OF_VIEWS, &render_parquet_ops },
	[RENDER_VERTICAL] = { "vertical", RENDER_OF_SQL, &render_lines_ops },
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
	if (o->format == RENDER_TABLE || o->format == RENDER_JSON)
		r->sink.section = render_section;
	if (o->format == RENDER_TABLE)
		r->sink.more = leave_out;
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
	if (r->section_cnt && r->options.format == RENDER_JSON) {
		render_out_text(&r->out, "}\n");
		render_out_flush(&r->out);
	}
	if (r->state)
		clear(r);
	free(r->state);
	free(r->out.buf);
	free(r);
}

int render_parse_format(const char *name, unsigned int uses, enum render_format *ret)
{
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].use & uses && !strcmp(name, formats[i].name)) {
			*ret = (enum render_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

/*
 * row_prefix: copies each row after the prefix columns. Joined results get the heading of the first
 * result, and must have its number of columns.
 */

static void prefix_clear(struct row_prefix *p)
{
	free(p->row);
	free(p->picked);
	p->row = NULL;
	p->picked = NULL;
	p->col_cnt = 0;
}

static int prefix_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct row_prefix *p = ctx;
	unsigned int cnt = col_cnt + p->cnt;
	const char **all;
	int r;

	if (p->joins && p->col_cnt)
		return cnt == p->col_cnt ? 0 : -EPROTO;
	prefix_clear(p);
	p->row = calloc(cnt, sizeof(*p->row));
	p->picked = calloc(cnt, sizeof(*p->picked));
	all = calloc(cnt, sizeof(*all));
	if (!p->row || !p->picked || !all) {
		free(all);
		return -ENOMEM;
	}
	p->col_cnt = cnt;
	memcpy(all, p->names, p->cnt * sizeof(*all));
	for (unsigned int i = p->cnt; i < cnt; i++) {
		all[i] = names[i - p->cnt];
		p->picked[i] = p->picks && p->picks(all[i]);
	}
	r = p->next->begin(p->next->ctx, cnt, all);
	free(all);
	return r;
}

static int prefix_row(void *ctx, const struct value *values)
{
	const struct row_prefix *p = ctx;

	memcpy(p->row, p->before, p->cnt * sizeof(*values));
	memcpy(p->row + p->cnt, values, (p->col_cnt - p->cnt) * sizeof(*values));
	if (p->change)
		p->change(p, p->row);
	return p->next->row(p->next->ctx, p->row);
}

static int prefix_end(void *ctx)
{
	const struct row_prefix *p = ctx;

	return p->joins ? 0 : p->next->end(p->next->ctx);
}

static void prefix_more(void *ctx, uint64_t cnt, const char *command)
{
	const struct row_prefix *p = ctx;

	p->next->more(p->next->ctx, cnt, command);
}

void row_prefix_init(struct row_prefix *p)
{
	p->sink = (struct row_sink){
		.ctx = p, .begin = prefix_begin, .row = prefix_row, .end = prefix_end,
		.more = p->next->more ? prefix_more : NULL
	};
}

int row_prefix_end(struct row_prefix *p, int r)
{
	if (!r && p->joins && p->col_cnt)
		r = p->next->end(p->next->ctx);
	prefix_clear(p);
	return r;
}
