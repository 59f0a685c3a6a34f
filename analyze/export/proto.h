/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * proto: writes messages in the wire format of Protocol Buffers.
 *
 *     proto_begin(p, 11, &m);  proto_uint(p, 9, 1);  proto_text(p, 23, "name");  proto_end(p, m);
 *
 * A message grows in a buffer until its owner writes it. Bare numbers of packed fields are
 * buf_add_varint(). Threads: one. https://protobuf.dev/programming-guides/encoding/
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* uint32, uint64, bool, enum; int32 and int64 as a uint64_t */
void proto_uint(struct buf *p, unsigned int field, uint64_t v);
void proto_bytes(struct buf *p, unsigned int field, const void *data, size_t bytes);
void proto_text(struct buf *p, unsigned int field, const char *text);

/* A message inside a message: what is written until proto_end(p, *ret_mark) is its content. */
void proto_begin(struct buf *p, unsigned int field, size_t *ret_mark);
void proto_end(struct buf *p, size_t mark);
