/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * varint: unsigned LEB128 (7 bits a byte, lowest first, top bit = more follows, at most 10
 * bytes) and zigzag (0, -1, 1, -2, ... as 0, 1, 2, 3, ...).
 */
#pragma once

#include <stdint.h>

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
