/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "analyze/parquet/parquet_encode.h"

#include "base/varint.h"
#include "format/token.h"

/* ---- bits ---- */

/* Groups of eight, without gaps, the last one filled with zeros; the lowest bit comes first. */
static void put_bits(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width)
{
	size_t room = (cnt + 7) / 8 * 8;
	uint8_t *at = buf_room(b, room / 8 * width + TOKEN_SLACK);
	struct token_writer w = { .bits = at };

	for (size_t i = 0; at && i < room; i++) {
		uint64_t x = i < cnt ? v[i] : 0;

		token_put_bits(&w, x & UINT32_MAX, width < 32 ? width : 32);
		if (width > 32)
			token_put_bits(&w, x >> 32, width - 32);
	}
	b->len += at ? room / 8 * width : 0;
}

unsigned int parquet_width(uint64_t max)
{
	return max ? 64 - (unsigned int)__builtin_clzll(max) : 0;
}

/* ---- runs and groups ---- */

void parquet_put_run(struct buf *b, uint64_t v, size_t cnt, unsigned int width)
{
	buf_add_varint(b, (uint64_t)cnt << 1);
	buf_add(b, &v, (width + 7) / 8);
}

static size_t run_length(const uint64_t *v, size_t cnt)
{
	size_t n = 1;

	while (n < cnt && v[n] == v[0])
		n++;
	return n;
}

/* Groups of eight up to the next run that is worth one. Returns the numbers written. */
static size_t put_groups(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width,
			 size_t least)
{
	size_t n = 0;

	while (n < cnt && run_length(v + n, cnt - n < least ? cnt - n : least) < least)
		n += 8;
	buf_add_varint(b, n / 8 << 1 | 1);
	n = n < cnt ? n : cnt;
	put_bits(b, v, n, width);
	return n;
}

void parquet_put_hybrid(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width)
{
	size_t least = width < 4 ? 32 / width : 8;	/* a run is worth its bytes */

	for (size_t i = 0; i < cnt;) {
		size_t n = run_length(v + i, cnt - i);

		if (n >= least)
			parquet_put_run(b, v[i], n, width);
		else
			n = put_groups(b, v + i, cnt - i, width, least);
		i += n;
	}
}

/* ---- differences ---- */

#define BLOCK	128	/* differences */
#define QUARTER (BLOCK / 4)

/* Up to BLOCK differences; quarters without one have no bytes. */
static void put_block(struct buf *b, const int64_t *deltas, size_t cnt, unsigned int unit)
{
	uint8_t widths[4] = { 0 }, width;
	uint64_t v[BLOCK] = { 0 };
	int64_t min = deltas[0];
	size_t i, last = (cnt + QUARTER - 1) / QUARTER * QUARTER;

	for (i = 1; i < cnt; i++)
		min = deltas[i] < min ? deltas[i] : min;
	for (i = 0; i < cnt; i++) {
		v[i] = (uint64_t)deltas[i] - (uint64_t)min;
		width = (uint8_t)((parquet_width(v[i]) + unit - 1) / unit * unit);
		if (width > widths[i / QUARTER])
			widths[i / QUARTER] = width;
	}
	buf_add_varint(b, zigzag_encode((uint64_t)min));
	buf_add(b, widths, sizeof(widths));
	for (i = 0; i < last; i += QUARTER)
		put_bits(b, v + i, QUARTER, widths[i / QUARTER]);
}

void parquet_put_delta(struct buf *b, const int64_t *v, size_t cnt, unsigned int unit)
{
	int64_t deltas[BLOCK];
	size_t n = 0;

	buf_add_varint(b, BLOCK);
	buf_add_varint(b, BLOCK / QUARTER);
	buf_add_varint(b, cnt);
	buf_add_varint(b, zigzag_encode(cnt ? (uint64_t)v[0] : 0));
	for (size_t i = 1; i < cnt; i++) {
		deltas[n++] = (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]);
		if (n == BLOCK || i + 1 == cnt) {
			put_block(b, deltas, n, unit);
			n = 0;
		}
	}
}
