/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* buf: grows by doubling. */
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

void buf_done(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

uint8_t *buf_room(struct buf *b, size_t bytes)
{
	size_t cap = b->cap;
	uint8_t *p;

	if (b->failed)
		return NULL;
	if (b->cap - b->len >= bytes && b->data)
		return b->data + b->len;
	if (bytes > SIZE_MAX / 4 - b->len) {
		b->failed = true;
		return NULL;
	}
	if (cap < 256)
		cap = 256;
	while (cap - b->len < bytes)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return NULL;
	}
	b->data = p;
	b->cap = cap;
	return p + b->len;
}

void buf_add(struct buf *b, const void *data, size_t bytes)
{
	uint8_t *p = buf_room(b, bytes);

	if (!p || !bytes)
		return;
	memcpy(p, data, bytes);
	b->len += bytes;
}

void buf_add_varint(struct buf *b, uint64_t v)
{
	uint8_t *p = buf_room(b, VARINT_MAX_BYTES);

	if (p)
		b->len += (size_t)(varint_put(p, v) - p);
}
