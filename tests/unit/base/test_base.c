/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The small helpers of src/base. */
#include "base/array.h"
#include "base/buf.h"
#include "base/crc32c.h"
#include "base/err.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/unit_test.h"

UNIT_TEST(test_err_keeps_the_first_message)
{
	struct err e = { 0 };

	assert_int_equal(err_set(&e, -ENOENT, "no file %d", 7), -ENOENT);
	assert_int_equal(err_set(&e, -EINVAL, "another"), -EINVAL);
	assert_string_equal(e.text, "no file 7");
	assert_int_equal(err_prefix(&e, -ENOENT, "trace '%s'", "x"), -ENOENT);
	assert_string_equal(e.text, "trace 'x': no file 7");
	assert_string_equal(err_text(&e, -ENOENT), "trace 'x': no file 7");
}

UNIT_TEST(test_err_without_text_names_the_errno)
{
	struct err e = { 0 };

	assert_string_equal(err_text(NULL, -ENOSPC), strerror(ENOSPC));
	assert_string_equal(err_text(&e, ENOSPC), strerror(ENOSPC));
	assert_string_equal(err_text(&e, -99999), "unknown error");
	err_prefix(&e, -ENOSPC, "file");
	assert_non_null(strstr(e.text, strerror(ENOSPC)));
	assert_int_equal(err_set(NULL, -1, "x"), -1);
	assert_int_equal(err_prefix(NULL, -1, "x"), -1);
}

UNIT_TEST(test_err_prefix_never_overflows)
{
	struct err e = { 0 };

	for (int i = 0; i < 200; i++)
		err_prefix(&e, -EINVAL, "prefix number %d", i);
	assert_true(strlen(e.text) < sizeof(e.text));
}

UNIT_TEST(test_varint_round_trip)
{
	uint64_t seed = 1, v, got;
	uint8_t b[VARINT_MAX_BYTES];

	for (int i = 0; i < 200000; i++) {
		uint8_t *end;

		v = i < 64     ? (uint64_t)1 << i
		    : i < 128  ? ((uint64_t)1 << (i - 64)) - 1
		    : i == 128 ? UINT64_MAX
			       : gen_random(&seed) >> (gen_random(&seed) & 63);
		end = varint_put(b, v);
		assert_true(end <= b + sizeof(b));
		assert_ptr_equal(varint_get(b, end, &got), end);
		assert_int_equal(got, v);
		assert_int_equal(zigzag_decode(zigzag_encode(v)), v);
		if (end - b > 1)
			assert_null(varint_get(b, end - 1, &got));
	}
	assert_int_equal(zigzag_encode((uint64_t)-1), 1);
	assert_int_equal(zigzag_encode(1), 2);
}

UNIT_TEST(test_varint_rejects_more_than_64_bits)
{
	uint8_t b[12];
	uint64_t v;

	memset(b, 0xff, sizeof(b));
	assert_null(varint_get(b, b + sizeof(b), &v));
	b[9] = 0x02;
	assert_null(varint_get(b, b + sizeof(b), &v));
	b[9] = 0x01;
	assert_ptr_equal(varint_get(b, b + sizeof(b), &v), b + 10);
	assert_int_equal(v, UINT64_MAX);
	assert_null(varint_get(b, b, &v));
}

UNIT_TEST(test_crc32c_known_answers)
{
	uint8_t b[32];

	/* RFC 3720, B.4 */
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	memset(b, 0, sizeof(b));
	assert_int_equal(crc32c(0, b, 32), 0x8a9136aa);
	memset(b, 0xff, sizeof(b));
	assert_int_equal(crc32c(0, b, 32), 0x62a8ab43);
	assert_int_equal(crc32c(0, b, 0), 0);
}

UNIT_TEST(test_crc32c_both_ways_agree)
{
	uint64_t seed = 3;
	uint8_t b[300];
	size_t i, n;

	for (i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)gen_random(&seed);
	for (n = 0; n < 280; n++) {
		assert_int_equal(crc32c(0, b + n % 9, n), crc32c_portable(0, b + n % 9, n));
		assert_int_equal(crc32c(crc32c(0, b, n / 3), b + n / 3, n - n / 3),
				 crc32c(0, b, n));
	}
}

UNIT_TEST(test_buf_remembers_failure)
{
	struct buf b = { 0 };

	buf_add(&b, "abc", 3);
	buf_add_varint(&b, 300);
	assert_int_equal(b.len, 5);
	assert_null(buf_room(&b, SIZE_MAX / 2));
	buf_add(&b, "x", 1);
	assert_true(b.failed);
	assert_int_equal(b.len, 5);
	buf_reset(&b);
	assert_false(b.failed);
	buf_done(&b);
}

UNIT_TEST(test_hash_map_against_an_array)
{
	enum { N = 5000 };
	static uintptr_t model[N];
	struct hash_map m = { 0 };
	uint64_t seed = 9;
	size_t cnt = 0;

	memset(model, 0, sizeof(model));
	for (int i = 0; i < 400000; i++) {
		/* keys that share low or high bits, as pids and addresses do */
		uint64_t k = gen_random(&seed) % N, key = k & 1 ? k << 40 : k;

		if (gen_random(&seed) & 1) {
			uintptr_t v = (gen_random(&seed) & 0xffff) + 1;

			cnt += !model[k];
			model[k] = v;
			assert_int_equal(hash_map_put(&m, key, (void *)v), 0);
		} else {
			cnt -= model[k] != 0;
			assert_int_equal((uintptr_t)hash_map_remove(&m, key), model[k]);
			model[k] = 0;
		}
		assert_int_equal(m.cnt, cnt);
		k = gen_random(&seed) % N;
		assert_int_equal((uintptr_t)hash_map_get(&m, k & 1 ? k << 40 : k), model[k]);
	}
	hash_map_done(&m);
}

UNIT_TEST(test_hash_map_makes_a_value_once)
{
	struct hash_map m = { 0 };
	uint64_t *v = hash_map_make(&m, 7, sizeof(*v));

	assert_non_null(v);
	assert_int_equal(*v, 0);
	*v = 1;
	assert_ptr_equal(hash_map_make(&m, 7, sizeof(*v)), v);
	assert_int_equal(*v, 1);
	assert_ptr_not_equal(hash_map_make(&m, 8, sizeof(*v)), v);
	assert_int_equal(m.cnt, 2);
	hash_map_done_values(&m);
}

UNIT_TEST(test_array_order_keeps_equal_ones_in_place)
{
	enum { N = 1000 };
	static uint64_t rows[N][2];
	uint64_t seed = 5;
	size_t *order, i;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		for (i = 0; i < N; i++)
			rows[i][0] = i % 2 ? gen_random(&seed) % 50 << shift :
					     gen_random(&seed) >> shift;
		order = array_order(rows, N, sizeof(rows[0]));
		assert_non_null(order);
		for (i = 1; i < N; i++) {
			uint64_t a = rows[order[i - 1]][0], b = rows[order[i]][0];

			assert_true(a < b || (a == b && order[i - 1] < order[i]));
		}
		free(order);
	}
	order = array_order(rows, 0, sizeof(rows[0]));
	assert_non_null(order);
	free(order);
}

UNIT_TEST(test_strpool_keeps_one_copy)
{
	struct strpool *p;
	const char *a, *b;
	char s[32], big[100000];

	assert_int_equal(strpool_new(&p), 0);
	a = strpool_put(p, "hello");
	for (int i = 0; i < 20000; i++) {
		snprintf(s, sizeof(s), "string %d", i);
		assert_string_equal(strpool_put(p, s), s);
	}
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = 0;
	b = strpool_put(p, big);
	assert_string_equal(b, big);
	assert_ptr_equal(strpool_put(p, "hello"), a);
	assert_ptr_equal(strpool_put(p, big), b);
	assert_string_equal(strpool_put(p, ""), "");
	strpool_free(p);
	strpool_free(NULL);
}

UNIT_TESTS
