/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * proto: writes messages in the wire format of Protocol Buffers.
 *
 *     proto_begin(p, 11, &m);  proto_uint(p, 9, 1);  proto_text(p, 23, "name");  proto_end(p, m);
 *
 * A message grows in memory until its owner writes p->data and sets p->len to 0. Lack of memory is
 * kept in p->failed, which the owner checks when it writes. Threads: one.
 * https://protobuf.dev/programming-guides/encoding/
 */
#ifndef PROTO_H
#define PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
	uint8_t *data;		/* free() it at the end */
	size_t len, cap;
	bool failed;
};

/* A bare number, for packed fields. */
void proto_varint(struct proto *p, uint64_t v);

/* uint32, uint64, bool, enum; int32, int64 */
void proto_uint(struct proto *p, unsigned int field, uint64_t v);
void proto_int(struct proto *p, unsigned int field, int64_t v);
void proto_bytes(struct proto *p, unsigned int field, const void *data, size_t bytes);
void proto_text(struct proto *p, unsigned int field, const char *text);

/* A message inside a message: what is written until proto_end(p, *ret_mark) is its content. */
void proto_begin(struct proto *p, unsigned int field, size_t *ret_mark);
void proto_end(struct proto *p, size_t mark);

#endif /* PROTO_H */
