/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Fields of messages, appended to memory that grows. */
#include "analyze/export/proto.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_LEN = 2 };

/* The length of an inner message is written before it is known: a varint of always four bytes. */
enum { LEN_BYTES = 4 };

static void tag(struct proto *p, unsigned int field, unsigned int wire)
{
	buf_add_varint(&p->buf, (uint64_t)field << 3 | wire);
}

void proto_uint(struct proto *p, unsigned int field, uint64_t v)
{
	tag(p, field, WIRE_VARINT);
	buf_add_varint(&p->buf, v);
}

void proto_bytes(struct proto *p, unsigned int field, const void *data, size_t bytes)
{
	tag(p, field, WIRE_LEN);
	buf_add_varint(&p->buf, bytes);
	buf_add(&p->buf, data, bytes);
}

void proto_text(struct proto *p, unsigned int field, const char *text)
{
	proto_bytes(p, field, text, strlen(text));
}

void proto_begin(struct proto *p, unsigned int field)
{
	tag(p, field, WIRE_LEN);
	if (buf_room(&p->buf, LEN_BYTES))
		p->buf.len += LEN_BYTES;
	p->marks[p->depth++] = p->buf.len;
}

void proto_end(struct proto *p)
{
	size_t mark = p->marks[--p->depth], bytes = p->buf.len - mark;

	if (!p->buf.failed && bytes >> (7 * LEN_BYTES))
		p->buf.failed = true;
	if (p->buf.failed)
		return;
	for (unsigned int i = 0; i < LEN_BYTES; i++, bytes >>= 7)
		p->buf.data[mark - LEN_BYTES + i] =
			(uint8_t)((bytes & 0x7f) | (i + 1 < LEN_BYTES ? 0x80 : 0));
}
