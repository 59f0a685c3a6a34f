/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * token: encodes 64-bit numbers as one token byte each, plus extra bits in a bit stream.
 *
 * v < 16: token v, no extra bits. Otherwise, with e = floor(log2 v) (4..63): token 16 + (e - 4) * 4
 * + (the two bits below the highest), and the lower e - 2 bits of v as extra bits. The token has
 * the predictable part of v, and packs well; the extra bits are nearly random, and are not packed.
 *
 * The bit stream begins with the lowest bit of each byte, and with the lowest bit of each value.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Readers may read this many bytes after the end of a bit stream. */
#define TOKEN_SLACK 16

struct token_writer {
	uint8_t *token;		/* next token; the caller provides 1 byte per value */
	uint8_t *bits;		/* next byte; the caller provides 8 bytes per value + TOKEN_SLACK */
	uint64_t acc;
	unsigned int used;	/* number of bits in acc; 0..7 between calls */
};

static inline unsigned int token_extra_bits(uint8_t token)
{
	/* without a branch, because the tokens of a column are unpredictable */
	return ((token >> 2) - 2u) & -(unsigned int)(token >= 16);
}

static inline void token_put_bits(struct token_writer *w, uint64_t v, unsigned int n)
{
	/* n <= 56: fits with up to 7 unwritten bits */
	w->acc |= v << w->used;
	w->used += n;
	memcpy(w->bits, &w->acc, 8);
	w->bits += w->used >> 3;
	w->acc >>= w->used & 56;
	w->used &= 7;
}

static inline void token_put(struct token_writer *w, uint64_t v)
{
	unsigned int e, n;
	uint64_t top;

	if (v < 16) {
		*w->token++ = (uint8_t)v;
		return;
	}
	e = 63 - (unsigned int)__builtin_clzll(v);
	n = e - 2;
	top = v >> n;	/* 4..7: the three highest bits */
	*w->token++ = (uint8_t)(e * 4 - 4 + top);
	v -= top << n;
	if (n > 56) {
		token_put_bits(w, v & 0xffffffff, 32);
		v >>= 32;
		n -= 32;
	}
	token_put_bits(w, v, n);
}

/* Pads the bit stream with zero bits to a whole byte. Returns a pointer after this byte. */
static inline uint8_t *token_finish(struct token_writer *w)
{
	if (w->used) {
		*w->bits++ = (uint8_t)w->acc;
		w->acc = 0;
		w->used = 0;
	}
	return w->bits;
}

struct token_reader {
	const uint8_t *token;
	const uint8_t *bits; /* start of the stream; TOKEN_SLACK bytes after its end are readable */
	uint64_t at;		/* index of the next bit */
};

/*
 * Returns the bytes of bit stream that cnt tokens need: a reader checks the length once, not per
 * token.
 */
static inline uint64_t token_bits_bytes(const uint8_t *tokens, size_t cnt)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t bits = 0;
	size_t i;

	/*
	 * eight tokens at once: each byte of x becomes a result of token_extra_bits(), at most 61
	 */
	for (i = 0; i + 8 <= cnt; i += 8) {
		uint64_t x, has_extra;

		memcpy(&x, tokens + i, 8);
		has_extra = ((x >> 4 & ones * 15) + ones * 15) >> 4 & ones;
		x = (x >> 2 & ones * 63 & has_extra * 255) - 2 * has_extra;
		x = (x & 0x00ff00ff00ff00ff) + (x >> 8 & 0x00ff00ff00ff00ff);
		bits += x * 0x0001000100010001 >> 48;
	}
	for (; i < cnt; i++)
		bits += token_extra_bits(tokens[i]);
	return (bits + 7) / 8;
}

static inline uint64_t token_get(struct token_reader *r)
{
	uint8_t t = *r->token++;
	unsigned int n, s;
	uint64_t v, next;

	if (t < 16)
		return t;
	n = token_extra_bits(t);
	s = (unsigned int)(r->at & 7);
	/* r->bits is not NULL if a token has extra bits */
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	memcpy(&v, r->bits + (r->at >> 3), 8);
	v >>= s;
	if (n + s > 64) {
		memcpy(&next, r->bits + (r->at >> 3) + 8, 8);
		v |= next << (64 - s);
	}
	r->at += n;
	v &= ((uint64_t)1 << n) - 1;
	return v | (uint64_t)(4 | (t & 3)) << n;
}
