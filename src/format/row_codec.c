/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * row_codec: makes row_put_x() and row_get_x() from the field lists. A row's size precedes the row,
 * so the body is written behind a gap for the longest size and then moved.
 */
#include <errno.h>
#include <string.h>

#include "base/varint.h"
#include "format/row_codec.h"

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

/* Narrows r to the next row's body; the caller restores *ret_next. */
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

#define PUT_U(f) buf_add_varint(&w->out, row->f);
#define PUT_T(f) buf_add_varint(&w->out, zigzag_encode(row->f - w->base_ns));
#define PUT_S(f) row_add_string(&w->out, row->f);

/* A value too large for its field makes the row invalid; it must not become another number. */
#define GET_U(f)                                            \
	if (row_take(&b, &v) < 0)                           \
		return -EBADMSG;                            \
	row.f = (__typeof__(row.f))v;                       \
	if (row.f != v)                                     \
		return -EBADMSG;
#define GET_T(f)                                            \
	have = b.p != b.end;                                \
	if (row_take(&b, &v) < 0)                           \
		return -EBADMSG;                            \
	row.f = have ? zigzag_decode(v) + b.base_ns : 0;
#define GET_S(f)                                            \
	if (row_take_string(&b, &row.f) < 0)                \
		return -EBADMSG;

#define X(name, type, fields)                                          \
void row_put_##name(struct row_writer *w, const struct type *row)      \
{                                                                      \
	size_t at = row_begin(w);                                      \
	fields(PUT_U, PUT_T, PUT_S)                                    \
	row_end(w, at);                                                \
}                                                                      \
int row_get_##name(struct row_reader *r, struct type *ret)             \
{                                                                      \
	struct row_reader b;                                           \
	struct type row;                                               \
	uint64_t v;                                                    \
	int have;                                                      \
	int k = row_open(r, &b);                                       \
	if (k <= 0)                                                    \
		return k;                                              \
	memset(&row, 0, sizeof(row));                                  \
	fields(GET_U, GET_T, GET_S)                                    \
	(void)have;                                                    \
	*ret = row;                                                    \
	return 1;                                                      \
}
ROW_TYPES(X)
#undef X
