/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A field begins with a byte: how far its number is from the one before, and its type. */
#include "analyze/parquet/thrift.h"

#include <string.h>

#include "base/varint.h"

static void put_byte(struct thrift *t, unsigned int v)
{
	const uint8_t byte = (uint8_t)v;

	buf_add(t->out, &byte, 1);
}

void thrift_element_int(struct thrift *t, int64_t v)
{
	buf_add_varint(t->out, zigzag_encode((uint64_t)v));
}

static void put_field(struct thrift *t, int id, enum thrift_type type)
{
	int *last = &t->last[t->depth - 1];

	/* numbers of Parquet's structs are never 16 apart */
	put_byte(t, (unsigned int)(id - *last) << 4 | type);
	*last = id;
}

void thrift_begin(struct thrift *t)
{
	t->last[t->depth++] = 0;
}

void thrift_ends(struct thrift *t, unsigned int cnt)
{
	for (; cnt; cnt--, t->depth--)
		put_byte(t, 0);
}

void thrift_bool(struct thrift *t, int id, bool v)
{
	put_field(t, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_i32(struct thrift *t, int id, int v)
{
	put_field(t, id, THRIFT_I32);
	thrift_element_int(t, v);
}

void thrift_i64(struct thrift *t, int id, int64_t v)
{
	put_field(t, id, THRIFT_I64);
	thrift_element_int(t, v);
}

void thrift_bytes(struct thrift *t, int id, const void *data, size_t bytes)
{
	put_field(t, id, THRIFT_BYTES);
	buf_add_varint(t->out, bytes);
	buf_add(t->out, data, bytes);
}

void thrift_text(struct thrift *t, int id, const char *text)
{
	thrift_bytes(t, id, text, strlen(text));
}

void thrift_struct(struct thrift *t, int id)
{
	put_field(t, id, THRIFT_STRUCT);
	thrift_begin(t);
}

void thrift_list(struct thrift *t, int id, enum thrift_type of, size_t cnt)
{
	put_field(t, id, THRIFT_LIST);
	put_byte(t, (unsigned int)(cnt < 15 ? cnt : 15) << 4 | of);
	if (cnt >= 15)
		buf_add_varint(t->out, cnt);
}

void thrift_element_text(struct thrift *t, const char *text)
{
	buf_add_varint(t->out, strlen(text));
	buf_add(t->out, text, strlen(text));
}
