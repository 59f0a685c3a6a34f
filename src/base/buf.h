/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * buf: a growing byte buffer, and numbers of variable length in it. A failed allocation sets
 * `failed`, and further calls do nothing, so that a series of appends needs only one check at its
 * end. All zeros is an empty buffer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	bool failed;
};

void buf_done(struct buf *b);	/* frees the memory; b is empty and can be reused */
void buf_reset(struct buf *b);	/* empties b and clears failed; keeps the memory */

/*
 * Reserves at least bytes bytes after len without changing len. Returns their address, or NULL: out
 * of memory.
 */
uint8_t *buf_room(struct buf *b, size_t bytes);
void buf_add(struct buf *b, const void *data, size_t bytes);
void buf_add_varint(struct buf *b, uint64_t v);

/*
 * varint: unsigned LEB128 (7 bits a byte, lowest first, top bit = more follows, at most 10
 * bytes) and zigzag (0, -1, 1, -2, ... as 0, 1, 2, 3, ...).
 */

#define VARINT_MAX_BYTES 10

static inline uint64_t zigzag_encode(uint64_t delta)
{
	return (delta << 1) ^ -(delta >> 63);
}

static inline uint64_t zigzag_decode(uint64_t z)
{
	return (z >> 1) ^ -(z & 1);
}

/* Writes v at p, which has room for VARINT_MAX_BYTES. Returns the end of the varint. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Reads a varint from [p, end). Returns its end, or NULL if it is truncated or exceeds 64 bits. */
static inline const uint8_t *varint_get(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t b;

		if (p == end)
			return 0;
		b = *p++;
		if (shift == 63 && b > 1)
			return 0;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return p;
		}
	}
	return 0;
}

/*
 * packed: numbers as varints, the encoding of saved states and sums (schema/FORMAT.md, "The derived
 * file"). Inline functions; no state.
 */
/* Packed bytes to decode. A read past the end returns 0 and sets bad. */
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

/*
 * Reads a count of rows. A count above the number of bytes left is invalid: returns 0 and sets bad.
 */
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
