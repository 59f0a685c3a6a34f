/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "analyze/parquet/parquet_encode.h"

#include <string.h>

#include "base/varint.h"

/* ---- bits ---- */

/* Numbers one after the other, without gaps; the lowest bit comes first. */
struct bits {
	uint8_t *at;
	uint64_t word;		/* the bits that are not written yet */
	unsigned int cnt;	/* of these; below 64 */
};

static inline void put_bits(struct bits *p, uint64_t v, unsigned int width)
{
	p->word |= v << p->cnt;
	if (p->cnt + width < 64) {
		p->cnt += width;
		return;
	}
	memcpy(p->at, &p->word, 8);
	p->at += 8;
	p->word = p->cnt ? v >> (64 - p->cnt) : 0;
	p->cnt = p->cnt + width - 64;
}

/* Room for groups of eight numbers. False: out of memory. */
static bool begin_bits(struct bits *p, struct buf *b, size_t groups, unsigned int width)
{
	*p = (struct bits){ .at = buf_room(b, groups * width + 8) };
	return p->at;
}

static void end_bits(struct bits *p, struct buf *b)
{
	memcpy(p->at, &p->word, 8);
	b->len = (size_t)(p->at - b->data) + (p->cnt + 7) / 8;
}

unsigned int parquet_width(uint64_t max)
{
	return max ? 64 - (unsigned int)__builtin_clzll(max) : 0;
}

/* ---- runs and groups ---- */

void parquet_put_run(struct buf *b, uint32_t v, size_t cnt, unsigned int width)
{
	buf_add_varint(b, (uint64_t)cnt << 1);
	buf_add(b, &v, (width + 7) / 8);
}

static size_t run_length(const uint32_t *v, size_t cnt)
{
	size_t n = 1;

	while (n < cnt && v[n] == v[0])
		n++;
	return n;
}

/* Groups of eight up to the next run that is worth one. Returns the numbers written. */
static size_t put_groups(struct buf *b, const uint32_t *v, size_t cnt, unsigned int width)
{
	struct bits bits;
	size_t n = 0, groups;

	while (n < cnt && run_length(v + n, cnt - n < 8 ? cnt - n : 8) < 8)
		n += 8;
	groups = n / 8;
	n = n < cnt ? n : cnt;
	buf_add_varint(b, groups << 1 | 1);
	if (!begin_bits(&bits, b, groups, width))
		return cnt;
	for (size_t i = 0; i < groups * 8; i++)
		put_bits(&bits, i < n ? v[i] : 0, width);
	end_bits(&bits, b);
	return n;
}

void parquet_put_hybrid(struct buf *b, const uint32_t *v, size_t cnt, unsigned int width)
{
	for (size_t i = 0; i < cnt;) {
		size_t n = run_length(v + i, cnt - i);

		if (n >= 8)
			parquet_put_run(b, v[i], n, width);
		else
			n = put_groups(b, v + i, cnt - i, width);
		i += n;
	}
}

/* ---- differences ---- */

#define BLOCK	128	/* differences */
#define QUARTER (BLOCK / 4)

/* Up to BLOCK differences; quarters without one have no bytes. */
static void put_block(struct buf *b, const int64_t *deltas, size_t cnt)
{
	uint8_t widths[4] = { 0 };
	uint64_t v[BLOCK] = { 0 };
	int64_t min = deltas[0];
	struct bits bits;
	size_t i, last = (cnt + QUARTER - 1) / QUARTER * QUARTER;

	for (i = 1; i < cnt; i++)
		min = deltas[i] < min ? deltas[i] : min;
	for (i = 0; i < cnt; i++) {
		uint8_t width;

		v[i] = (uint64_t)deltas[i] - (uint64_t)min;
		/* whole bytes pack better than fewer bits */
		width = (uint8_t)((parquet_width(v[i]) + 7) / 8 * 8);
		if (width > widths[i / QUARTER])
			widths[i / QUARTER] = width;
	}
	buf_add_varint(b, zigzag_encode((uint64_t)min));
	buf_add(b, widths, sizeof(widths));
	for (i = 0; i < last; i += QUARTER) {
		unsigned int width = widths[i / QUARTER];

		if (!begin_bits(&bits, b, QUARTER / 8, width))
			return;
		for (unsigned int k = 0; width && k < QUARTER; k++)
			put_bits(&bits, v[i + k], width);
		end_bits(&bits, b);
	}
}

void parquet_put_delta(struct buf *b, const int64_t *v, size_t cnt)
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
			put_block(b, deltas, n);
			n = 0;
		}
	}
}
