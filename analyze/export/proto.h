/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * proto: writes messages in the wire format of Protocol Buffers.
 *
 *     proto_begin(p, 11);  proto_uint(p, 9, 1);  proto_text(p, 23, "name");  proto_end(p);
 *
 * A message grows in a buffer until its owner writes it. The numbers of a packed field are appended
 * with buf_add_varint(). Threads: one. https://protobuf.dev/programming-guides/encoding/
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct proto {
	struct buf buf;
	size_t marks[8];	/* starts of the open messages, outermost first */
	unsigned int depth;
};

/* Appends uint32, uint64, bool, enum, or int32 and int64 converted to uint64_t. */
void proto_uint(struct proto *p, unsigned int field, uint64_t v);
void proto_bytes(struct proto *p, unsigned int field, const void *data, size_t bytes);
void proto_text(struct proto *p, unsigned int field, const char *text);

/* Begins a nested message; fields up to the matching proto_end() are its content. */
void proto_begin(struct proto *p, unsigned int field);
void proto_end(struct proto *p);
