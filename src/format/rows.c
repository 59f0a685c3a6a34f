/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rows: encodes and decodes the fields of a row from its list of fields. A row begins with its
 * size: the encoder writes the fields after room for the longest size, then moves them.
 */
#include "format/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "format/chunk.h"

#define ROW_SIZE_GAP 5

static void row_add_string(struct buf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	buf_add_varint(b, n);
	buf_add(b, n ? s : "", n + 1);
}

static size_t row_begin(struct row_writer *w)
{
	size_t at = w->out.len;

	if (buf_room(&w->out, ROW_SIZE_GAP))
		w->out.len += ROW_SIZE_GAP;
	return at;
}

static void row_end(struct row_writer *w, size_t at)
{
	uint8_t *p = w->out.data + at;
	size_t body, gap;

	if (w->out.failed)
		return;
	body = w->out.len - at - ROW_SIZE_GAP;
	gap = (size_t)(varint_put(p, body) - p);
	memmove(p + gap, p + ROW_SIZE_GAP, body);
	w->out.len = at + gap + body;
	w->cnt++;
}

/* Sets *ret_body to the next row's fields, and r to the byte after the row. */
static int row_open(struct row_reader *r, struct row_reader *ret_body)
{
	const uint8_t *p;
	uint64_t n;

	if (r->p == r->end)
		return 0;
	p = varint_get(r->p, r->end, &n);
	if (!p || n > (uint64_t)(r->end - p))
		return -EBADMSG;
	ret_body->p = p;
	ret_body->end = p + n;
	ret_body->base_ns = r->base_ns;
	r->p = p + n;
	return 1;
}

static int row_take(struct row_reader *r, uint64_t *ret)
{
	*ret = 0;
	if (r->p == r->end)
		return 0;
	r->p = varint_get(r->p, r->end, ret);
	return r->p ? 0 : -EBADMSG;
}

static int row_take_string(struct row_reader *r, const char **ret)
{
	uint64_t n;

	*ret = "";
	if (r->p == r->end)
		return 0;
	r->p = varint_get(r->p, r->end, &n);
	if (!r->p || n >= (uint64_t)(r->end - r->p) || r->p[n])
		return -EBADMSG;
	*ret = (const char *)r->p;
	r->p += n + 1;
	return 0;
}

static uint64_t field_get(const struct row_field *f, const void *row)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)row + f->at, f->bytes);
	return v;
}

void row_put(struct row_writer *w, const struct row_type *of, const void *row)
{
	size_t at = row_begin(w);
	const struct row_field *f;
	uint64_t v;

	for (f = of->fields; f < of->fields + of->field_cnt; f++) {
		v = field_get(f, row);
		if (f->type == 'S')
			row_add_string(&w->out, (const char *)(uintptr_t)v);
		else
			buf_add_varint(&w->out, f->type == 'T' ? zigzag_encode(v - w->base_ns) : v);
	}
	row_end(w, at);
}

/* Reads a field. A value that is too large for its field makes the row invalid. */
static int field_take(struct row_reader *body, const struct row_field *f, void *row)
{
	bool has = body->p != body->end;
	const char *text;
	uint64_t v;

	if (f->type == 'S') {
		if (row_take_string(body, &text) < 0)
			return -EBADMSG;
		v = (uintptr_t)text;
	} else if (row_take(body, &v) < 0) {
		return -EBADMSG;
	}
	if (f->type == 'T')
		v = has ? zigzag_decode(v) + body->base_ns : 0;
	memcpy((char *)row + f->at, &v, f->bytes);
	return field_get(f, row) == v ? 0 : -EBADMSG;
}

int row_get(struct row_reader *r, const struct row_type *of, void *ret)
{
	const struct row_field *f;
	struct row_reader body;
	int k = row_open(r, &body);

	if (k <= 0)
		return k;
	memset(ret, 0, of->bytes);
	for (f = of->fields; f < of->fields + of->field_cnt; f++)
		if (field_take(&body, f, ret) < 0)
			return -EBADMSG;
	return 1;
}

const char **row_string(const struct row_type *of, void *row, unsigned int nth)
{
	const struct row_field *f;

	for (f = of->fields; f < of->fields + of->field_cnt; f++)
		if (f->type == 'S' && !nth--)
			return (const char **)(void *)((char *)row + f->at);
	return NULL;
}

/* ---- types of rows ---- */

#define FIELD(f, letter) { offsetof(row_struct, f), sizeof(((row_struct *)0)->f), letter },
#define FIELD_U(f) FIELD(f, 'U')
#define FIELD_T(f) FIELD(f, 'T')
#define FIELD_S(f) FIELD(f, 'S')

const struct row_type *row_type(enum row_type_id id)
{
	switch (id) {
#define X(name, type, list)                                                             \
	case ROW_TYPE_##name: {                                                         \
		typedef struct type row_struct;                                         \
		static const struct row_field fields[] = { list(FIELD_U, FIELD_T, FIELD_S) }; \
		static const struct row_type of = { fields, sizeof(fields) / sizeof(*fields), \
						    sizeof(row_struct) };               \
		return &of;                                                             \
	}
		ROW_TYPES(X)
#undef X
	default:
		return NULL;
	}
}

const struct row_type *row_type_of(unsigned int section)
{
	switch (section) {
#define X(name, number, text, row) case CHUNK_##name: return row_type(ROW_TYPE_##row);
		CHUNK_SECTIONS(X)
#undef X
	default:
		return NULL;
	}
}
