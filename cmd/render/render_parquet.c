/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_parquet: writes the rows of a view as an Apache Parquet file, for DuckDB, pandas and
 * others.
 *
 *     rows --> a temporary file, until the types of all columns are known --[parquet]--> out
 *
 * A view does not declare the types of its columns, but Parquet needs them before the first row. A
 * column of integers is INT64, or a TIMESTAMP in UTC if the integers are instants. A column with
 * other numbers is DOUBLE. A column with a text is a STRING, in which numbers are digits. A column
 * of NULLs is INT64. NaN and infinities become NULL, as in json. Texts are escaped by
 * textsafe_escape().
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parquet/parquet.h"
#include "base/array.h"
#include "base/textsafe.h"
#include "cmd/render/render_format.h"

struct rows {
	const struct render_options *o;
	unsigned int col_cnt;
	struct parquet_column *cols;
	struct value *row;
	/*
	 * temporary file with the type of each value and, unless it is NULL, 8 bytes with the
	 * number, or with the length of the text that follows
	 */
	FILE *held;
	uint64_t row_cnt;
	char *texts; /* escaped texts of a row */
	size_t texts_cap;
};

static void rows_clear(void *state)
{
	struct rows *s = state;

	for (unsigned int i = 0; s->cols && i < s->col_cnt; i++)
		free((char *)s->cols[i].name);
	free(s->cols);
	free(s->row);
	free(s->texts);
	if (s->held)
		fclose(s->held);
}

static int rows_begin(void *state, const struct render_options *o, struct render_out *out,
		      unsigned int cnt, const char *const *names)
{
	struct rows *s = state;

	s->o = o;
	s->held = tmpfile();
	if (!s->held)
		return -errno;
	s->cols = calloc(cnt, sizeof(*s->cols));
	s->row = calloc(cnt, sizeof(*s->row));
	if (!s->cols || !s->row)
		return -ENOMEM;
	s->col_cnt = cnt;
	for (unsigned int i = 0; i < cnt; i++) {
		s->cols[i].name = strdup(names[i]);
		if (!s->cols[i].name)
			return -ENOMEM;
		s->cols[i].type = column_is_instant(names[i]) ? PARQUET_TIME : PARQUET_INT;
	}
	return 0;
}

static void widen(struct rows *s, unsigned int col, const struct value *v)
{
	struct parquet_column *c = &s->cols[col];

	if (v->type == VALUE_TEXT)
		c->type = PARQUET_TEXT;
	else if (v->type == VALUE_REAL && c->type != PARQUET_TEXT)
		c->type = PARQUET_REAL;
}

static int rows_row(void *state, struct render_out *out, const struct value *values)
{
	struct rows *s = state;

	for (unsigned int i = 0; i < s->col_cnt; i++) {
		struct value v = values[i];
		uint64_t bytes = v.text_bytes;

		if (v.type == VALUE_REAL && !isfinite(v.r))
			v = value_null();
		widen(s, i, &v);
		fputc((int)v.type, s->held);
		if (v.type == VALUE_INT)
			fwrite(&v.i, sizeof(v.i), 1, s->held);
		else if (v.type == VALUE_REAL)
			fwrite(&v.r, sizeof(v.r), 1, s->held);
		else if (v.type == VALUE_TEXT && fwrite(&bytes, sizeof(bytes), 1, s->held) == 1)
			fwrite(v.text, 1, bytes, s->held);
	}
	s->row_cnt++;
	return ferror(s->held) ? -(errno ?: EIO) : 0;
}

/* ---- the file ---- */

/*
 * Reads a text of `bytes` bytes, and appends it, escaped, to the row's texts, of which *used bytes
 * are in use. *ret: offset of the text.
 */
static int read_text(struct rows *s, size_t *used, uint64_t bytes, size_t *ret)
{
	size_t room = bytes * TEXTSAFE_GROWTH + 1;
	char *raw = malloc(bytes + 1);
	int r = raw ? array_reserve(&s->texts, &s->texts_cap, *used + room) : -ENOMEM;

	if (!r && fread(raw, 1, bytes, s->held) != bytes)
		r = -EIO;
	if (!r) {
		*ret = *used;
		*used += textsafe_escape(s->texts + *used, room, raw, bytes, NULL) + 1;
	}
	free(raw);
	return r;
}

static int write_digits(struct rows *s, size_t *used, const struct value *v, size_t *ret)
{
	size_t room = 40;
	int r = array_reserve(&s->texts, &s->texts_cap, *used + room);

	if (r)
		return r;
	*ret = *used;
	if (v->type == VALUE_INT)
		snprintf(s->texts + *used, room, "%" PRId64, v->i);
	else
		render_format_real(s->texts + *used, room, v->r);
	*used += strlen(s->texts + *used) + 1;
	return 0;
}

/*
 * Reads a value from s->held, and converts it to the type of its column. A text is returned as its
 * offset in text_bytes, since the memory of texts may move.
 */
static int read_value(struct rows *s, unsigned int col, size_t *used, struct value *v)
{
	enum parquet_type type = s->cols[col].type;
	int kind = fgetc(s->held);
	uint64_t bits = 0;

	*v = value_null();
	if (kind == EOF || (kind != VALUE_NULL && fread(&bits, sizeof(bits), 1, s->held) != 1))
		return -EIO;
	v->type = (enum value_type)kind;
	if (kind == VALUE_TEXT)
		return read_text(s, used, bits, &v->text_bytes);
	if (kind == VALUE_INT)
		v->i = (int64_t)bits;
	else if (kind == VALUE_REAL)
		memcpy(&v->r, &bits, sizeof(v->r));
	if (kind == VALUE_NULL)
		return 0;
	if (type == PARQUET_TEXT) {
		int r = write_digits(s, used, v, &v->text_bytes);

		v->type = VALUE_TEXT;
		return r;
	}
	if (type == PARQUET_REAL && kind == VALUE_INT)
		*v = value_real((double)v->i);
	else if (type == PARQUET_TIME && s->o->wall_ns)
		v->i = s->o->wall_ns(s->o->ctx, v->i);
	return 0;
}

static int write_rows(struct rows *s, struct parquet *p, struct err *e)
{
	int r = 0;

	for (uint64_t n = 0; !r && n < s->row_cnt; n++) {
		size_t used = 0;

		for (unsigned int i = 0; !r && i < s->col_cnt; i++)
			r = read_value(s, i, &used, &s->row[i]);
		for (unsigned int i = 0; !r && i < s->col_cnt; i++)
			if (s->row[i].type == VALUE_TEXT)
				s->row[i] = value_text(s->texts + s->row[i].text_bytes);
		r = r ?: parquet_row(p, s->row, e);
	}
	return r;
}

static void rows_end(void *state, struct render_out *out, uint64_t left_out)
{
	static const char *const no_meta[] = { NULL };
	struct rows *s = state;
	struct parquet *p = NULL;
	struct err e = { "" };
	int r;

	rewind(s->held);
	r = parquet_new(&p, s->o->out, s->cols, s->col_cnt, s->o->meta ?: no_meta, &e);
	r = r ?: write_rows(s, p, &e) ?: parquet_finish(p, &e);
	parquet_free(p);
	out->error = out->error ?: r;
}

const struct render_format_ops render_parquet_ops = {
	.state_bytes = sizeof(struct rows),
	.begin = rows_begin,
	.row = rows_row,
	.end = rows_end,
	.clear = rows_clear,
};
