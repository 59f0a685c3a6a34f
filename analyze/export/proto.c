/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Fields of messages, appended to memory that grows. */
#include "analyze/export/proto.h"

#include <string.h>

#include "base/array.h"

enum { WIRE_VARINT = 0, WIRE_LEN = 2 };

/* The length of an inner message is written before it is known: a varint of always four bytes. */
enum { LEN_BYTES = 4, VARINT_BYTES = 10 };

static uint8_t *room(struct proto *p, size_t bytes)
{
	if (p->failed || array_reserve(&p->data, &p->cap, p->len + bytes) < 0) {
		p->failed = true;
		return NULL;
	}
	return p->data + p->len;
}

void proto_varint(struct proto *p, uint64_t v)
{
	uint8_t *to = room(p, VARINT_BYTES);

	if (!to)
		return;
	for (; v >= 0x80; v >>= 7, p->len++)
		*to++ = (uint8_t)(v | 0x80);
	*to = (uint8_t)v;
	p->len++;
}

static void tag(struct proto *p, unsigned int field, unsigned int wire)
{
	proto_varint(p, (uint64_t)field << 3 | wire);
}

void proto_uint(struct proto *p, unsigned int field, uint64_t v)
{
	tag(p, field, WIRE_VARINT);
	proto_varint(p, v);
}

void proto_int(struct proto *p, unsigned int field, int64_t v)
{
	proto_uint(p, field, (uint64_t)v);
}

void proto_bytes(struct proto *p, unsigned int field, const void *data, size_t bytes)
{
	uint8_t *to;

	tag(p, field, WIRE_LEN);
	proto_varint(p, bytes);
	to = room(p, bytes);
	if (!to || !bytes)
		return;
	memcpy(to, data, bytes);
	p->len += bytes;
}

void proto_text(struct proto *p, unsigned int field, const char *text)
{
	proto_bytes(p, field, text, strlen(text));
}

void proto_begin(struct proto *p, unsigned int field, size_t *ret_mark)
{
	tag(p, field, WIRE_LEN);
	if (room(p, LEN_BYTES))
		p->len += LEN_BYTES;
	*ret_mark = p->len;
}

void proto_end(struct proto *p, size_t mark)
{
	size_t bytes = p->len - mark;
	unsigned int i;

	if (!p->failed && bytes >> (7 * LEN_BYTES))
		p->failed = true;
	if (p->failed)
		return;
	for (i = 0; i < LEN_BYTES; i++, bytes >>= 7)
		p->data[mark - LEN_BYTES + i] =
			(uint8_t)((bytes & 0x7f) | (i + 1 < LEN_BYTES ? 0x80 : 0));
}
