/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * packed: numbers as varints, the form in which states and sums are saved (schema/FORMAT.md, "The
 * derived file"). Inline functions; no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/varint.h"

/* Bytes being read. Reading past the end returns zeros, and sets bad. */
struct packed_in {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t packed_get(struct packed_in *in)
{
	uint64_t v = 0;
	const uint8_t *p = in->p;

	if (p != in->end && *p < 0x80) {
		in->p++;
		return *p;
	}
	p = varint_get(p, in->end, &v);
	if (!p) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	in->p = p;
	return v;
}

static inline int64_t packed_get_signed(struct packed_in *in)
{
	return (int64_t)zigzag_decode(packed_get(in));
}

static inline void packed_put(struct buf *b, uint64_t v)
{
	buf_add_varint(b, v);
}

static inline void packed_put_signed(struct buf *b, int64_t v)
{
	buf_add_varint(b, zigzag_encode((uint64_t)v));
}

/* Reads a count of rows, which cannot exceed the bytes left; if it does, bad is set. */
static inline size_t packed_get_cnt(struct packed_in *in)
{
	uint64_t v = packed_get(in);

	if (v > (uint64_t)(in->end - in->p)) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	return (size_t)v;
}
