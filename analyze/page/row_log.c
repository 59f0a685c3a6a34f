/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A record is a letter and its values; numbers are packed, texts end with a NUL. */
#include "analyze/page/row_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/packed.h"

enum { RECORD_SECTION = 'S', RECORD_BEGIN = 'B', RECORD_ROW = 'R', RECORD_END = 'E' };

/* ---- keeping ---- */

static void put_text(struct buf *b, const char *text, size_t bytes)
{
	packed_put(b, bytes);
	buf_add(b, text, bytes);
	buf_add(b, "", 1);
}

static int kept(const struct row_log *l)
{
	return l->bytes.failed ? -ENOMEM : 0;
}

static int keep_section(void *ctx, const char *title)
{
	struct row_log *l = ctx;
	int ret;

	packed_put(&l->bytes, RECORD_SECTION);
	put_text(&l->bytes, title, strlen(title));
	ret = kept(l);
	return ret ? ret : l->without && !strcmp(l->without, title);
}

static int keep_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct row_log *l = ctx;

	l->col_cnt = col_cnt;
	packed_put(&l->bytes, RECORD_BEGIN);
	packed_put(&l->bytes, col_cnt);
	for (unsigned int i = 0; i < col_cnt; i++)
		put_text(&l->bytes, names[i], strlen(names[i]));
	return kept(l);
}

static int keep_row(void *ctx, const struct value *values)
{
	struct row_log *l = ctx;

	packed_put(&l->bytes, RECORD_ROW);
	for (unsigned int i = 0; i < l->col_cnt; i++) {
		const struct value *v = &values[i];

		packed_put(&l->bytes, v->type);
		if (v->type == VALUE_INT)
			packed_put_signed(&l->bytes, v->i);
		else if (v->type == VALUE_REAL)
			buf_add(&l->bytes, &v->r, sizeof(v->r));
		else if (v->type == VALUE_TEXT)
			put_text(&l->bytes, v->text, v->text_bytes);
	}
	return kept(l);
}

static int keep_end(void *ctx)
{
	struct row_log *l = ctx;

	packed_put(&l->bytes, RECORD_END);
	return kept(l);
}

/* The page is for people, who see no section without rows where the report says so. */
static void keep_more(void *ctx, uint64_t cnt, const char *command)
{
}

void row_log_init(struct row_log *l)
{
	buf_reset(&l->bytes);
	l->sink = (struct row_sink){ l, keep_begin, keep_row, keep_end, keep_section,
				     keep_more };
}

void row_log_done(struct row_log *l)
{
	buf_done(&l->bytes);
}

/* ---- giving ---- */

static const char *get_text(struct packed_in *in, size_t *ret_bytes)
{
	const char *text;

	*ret_bytes = packed_get_cnt(in);
	text = (const char *)in->p;
	in->p += *ret_bytes + 1;
	return text;
}

static int give_begin(struct packed_in *in, const char **names, unsigned int col_cnt,
		      const struct row_sink *to)
{
	size_t bytes;

	for (unsigned int i = 0; i < col_cnt; i++)
		names[i] = get_text(in, &bytes);
	return to->begin ? to->begin(to->ctx, col_cnt, names) : 0;
}

static int give_row(struct packed_in *in, struct value *values, unsigned int col_cnt,
		    const struct row_sink *to)
{
	for (unsigned int i = 0; i < col_cnt; i++) {
		struct value *v = &values[i];

		*v = (struct value){ .type = (enum value_type)packed_get(in) };
		if (v->type == VALUE_INT) {
			v->i = packed_get_signed(in);
		} else if (v->type == VALUE_REAL) {
			memcpy(&v->r, in->p, sizeof(v->r));
			in->p += sizeof(v->r);
		} else if (v->type == VALUE_TEXT) {
			v->text = get_text(in, &v->text_bytes);
		}
	}
	return to->row(to->ctx, values);
}

int row_log_replay(const struct row_log *l, const struct row_sink *to)
{
	struct packed_in in = { .p = l->bytes.data, .end = l->bytes.data + l->bytes.len };
	const char **names = NULL;
	struct value *values = NULL;
	unsigned int col_cnt = 0;
	int ret = 0;

	while (in.p != in.end && ret >= 0) {
		uint64_t record = packed_get(&in);
		size_t bytes;

		if (record == RECORD_SECTION) {
			const char *title = get_text(&in, &bytes);

			ret = to->section ? to->section(to->ctx, title) : 0;
		} else if (record == RECORD_BEGIN) {
			col_cnt = (unsigned int)packed_get(&in);
			free(names);
			free(values);
			names = calloc(col_cnt + 1, sizeof(*names));
			values = calloc(col_cnt + 1, sizeof(*values));
			ret = names && values ? give_begin(&in, names, col_cnt, to) : -ENOMEM;
		} else if (record == RECORD_ROW) {
			ret = give_row(&in, values, col_cnt, to);
		} else {
			ret = to->end ? to->end(to->ctx) : 0;
		}
	}
	free(names);
	free(values);
	return ret < 0 ? ret : 0;
}
