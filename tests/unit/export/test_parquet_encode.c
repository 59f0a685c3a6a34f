/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Parquet's encodings, read by a few lines that follow its specification bit by bit. Whole files
 * are read by three other programs (tests/engines).
 */
#include "analyze/parquet/parquet.h"
#include "base/buf.h"
#include "tests/unit/unit_test.h"

#define CNT_MAX 1000

static uint64_t get_varint(const struct buf *b, size_t *at)
{
	uint64_t v = 0;
	const uint8_t *end = varint_get(b->data + *at, b->data + b->len, &v);

	assert_non_null(end);
	*at = (size_t)(end - b->data);
	return v;
}

static int64_t get_signed(const struct buf *b, size_t *at)
{
	return (int64_t)zigzag_decode(get_varint(b, at));
}

/* The nth number of width bits; the lowest bit comes first. */
static uint64_t get_bits(const struct buf *b, size_t at, size_t nth, unsigned int width)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < width; i++) {
		size_t bit = nth * width + i;

		assert_true(at + bit / 8 < b->len);
		v |= (uint64_t)(b->data[at + bit / 8] >> bit % 8 & 1) << i;
	}
	return v;
}

static void check_hybrid(const uint64_t *v, size_t cnt, unsigned int width)
{
	struct buf b = { 0 };
	size_t at = 0, n = 0;

	parquet_put_hybrid(&b, v, cnt, width);
	while (n < cnt) {
		uint64_t head = get_varint(&b, &at), i;
		uint64_t same = 0;

		if (head & 1) {
			for (i = 0; i < head / 2 * 8 && n < cnt; i++)
				assert_int_equal(get_bits(&b, at, i, width), v[n++]);
			at += head / 2 * width;
			continue;
		}
		memcpy(&same, b.data + at, (width + 7) / 8);
		at += (width + 7) / 8;
		assert_in_range(head / 2, 1, cnt - n);
		for (i = 0; i < head / 2; i++)
			assert_int_equal(same, v[n++]);
	}
	assert_int_equal(at, b.len);
	buf_done(&b);
}

static void check_delta(const int64_t *v, size_t cnt, unsigned int unit)
{
	struct buf b = { 0 };
	size_t at = 0, n = 1;
	int64_t last;

	parquet_put_delta(&b, v, cnt, unit);
	assert_int_equal(get_varint(&b, &at), 128);
	assert_int_equal(get_varint(&b, &at), 4);
	assert_int_equal(get_varint(&b, &at), cnt);
	last = get_signed(&b, &at);
	assert_int_equal(last, cnt ? v[0] : 0);
	while (n < cnt) {
		uint64_t min = (uint64_t)get_signed(&b, &at);
		const uint8_t *widths = b.data + at;

		at += 4;
		for (unsigned int part = 0; part < 4 && n < cnt; part++) {
			assert_int_equal(widths[part] % unit, 0);
			for (unsigned int i = 0; i < 32 && n < cnt; i++) {
				last = (int64_t)((uint64_t)last + min +
						 get_bits(&b, at, i, widths[part]));
				assert_int_equal(last, v[n++]);
			}
			at += 4 * widths[part];
		}
	}
	assert_int_equal(at, b.len);
	buf_done(&b);
}

UNIT_TEST(widths)
{
	assert_int_equal(parquet_width(0), 0);
	assert_int_equal(parquet_width(1), 1);
	assert_int_equal(parquet_width(255), 8);
	assert_int_equal(parquet_width(256), 9);
	assert_int_equal(parquet_width(UINT64_MAX), 64);
}

UNIT_TEST(hybrid)
{
	static const unsigned int all[] = { 1, 3, 8, 11, 16, 24, 32 };
	uint64_t v[CNT_MAX] = { 0 };

	check_hybrid(v, 0, 8);
	for (unsigned int w = 0; w < sizeof(all) / sizeof(all[0]); w++)
		for (unsigned int try = 0; try < 40; try++) {
			size_t cnt = 1 + (size_t)rand() % CNT_MAX;
			uint32_t mask = (uint32_t)((UINT64_C(1) << all[w]) - 1);

			/* runs of 1 to 40 */
			for (size_t i = 0, left = 0; i < cnt; i++, left--) {
				left = left ? left : 1 + (size_t)rand() % (try + 1);
				v[i] = i && left > 1 ? v[i - 1] : (uint32_t)rand() * 7u & mask;
			}
			check_hybrid(v, cnt, all[w]);
		}
}

UNIT_TEST(delta)
{
	static const int64_t ends[] = { INT64_MIN, INT64_MAX, 0, -1, INT64_MIN, 1, INT64_MAX };
	static const size_t cnts[] = { 0, 1, 2, 32, 33, 128, 129, 130, 257, CNT_MAX };
	int64_t v[CNT_MAX];

	check_delta(ends, sizeof(ends) / sizeof(ends[0]), 1);
	check_delta(ends, sizeof(ends) / sizeof(ends[0]), 8);
	for (unsigned int c = 0; c < sizeof(cnts) / sizeof(cnts[0]); c++)
		for (unsigned int bits = 0; bits <= 60; bits += 6) {
			for (size_t i = 0; i < cnts[c]; i++)
				v[i] = (int64_t)(((uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^
						  (uint64_t)rand()) & ((UINT64_C(1) << bits) - 1));
			check_delta(v, cnts[c], 1);
			check_delta(v, cnts[c], 8);
		}
}

UNIT_TESTS
