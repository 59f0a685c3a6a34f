/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The codecs of src/format, each alone: tokens, packing, tuples, ranks, rows. */
#include "base/buf.h"
#include "base/crc32c.h"
#include "format/block.h"
#include "format/chunk.h"
#include "format/columns.h"
#include "format/event.h"
#include "format/rows.h"
#include "format/zpack.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/unit_test.h"

static uint64_t any_number(uint64_t *seed, unsigned int i)
{
	if (i < 64)
		return (uint64_t)1 << i;
	if (i < 128)
		return ((uint64_t)2 << (i - 64)) - 1;
	if (i < 160)
		return i - 128;
	return gen_random(seed) >> (gen_random(seed) & 63);
}

UNIT_TEST(test_token_round_trip)
{
	enum { N = 100000 };
	uint64_t *v = malloc(N * sizeof(*v)), seed = 5;
	uint8_t *tokens = malloc(N), *bits = malloc(N * 8 + TOKEN_SLACK);
	struct token_writer w = { .token = tokens, .bits = bits };
	struct token_reader r = { .token = tokens, .bits = bits };
	size_t bytes;

	for (unsigned int i = 0; i < N; i++) {
		v[i] = any_number(&seed, i);
		token_put(&w, v[i]);
	}
	assert_ptr_equal(w.token, tokens + N);
	bytes = (size_t)(token_finish(&w) - bits);
	assert_int_equal(bytes, token_bits_bytes(tokens, N));
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(token_get(&r), v[i]);
	assert_true((r.at + 7) / 8 == bytes);
	free(v);
	free(tokens);
	free(bits);
}

UNIT_TEST(test_token_layout_is_as_documented)
{
	uint8_t tokens[8], bits[8 * 8 + TOKEN_SLACK];
	struct token_writer w = { .token = tokens, .bits = bits };

	token_put(&w, 15);
	token_put(&w, 16);	/* e = 4: token 16, 2 extra bits 00 */
	token_put(&w, 23);	/* 10111: token 16 + 01, extra bits 11 */
	token_put(&w, 1000);	/* e = 9, 1111101000: token 16 + 20 + 3, extra 7 bits 1101000 */
	token_put(&w, UINT64_MAX);
	assert_int_equal(token_finish(&w) - bits, (2 + 2 + 7 + 61 + 7) / 8);
	assert_int_equal(tokens[0], 15);
	assert_int_equal(tokens[1], 16);
	assert_int_equal(tokens[2], 17);
	assert_int_equal(tokens[3], 39);
	assert_int_equal(tokens[4], 255);
	assert_int_equal(bits[0], 0x8c);	/* 00, 11, then the low four of 1101000: 1000 */
	assert_int_equal(bits[1], 0xfe);	/* 110, then ones */
	assert_int_equal(bits[2], 0xff);
}

UNIT_TEST(test_zpack_round_trip_and_raw_fallback)
{
	uint8_t src[5000], dst[8000], back[5000];
	uint64_t seed = 8;
	struct zunpack *u;
	struct zpack *z;
	size_t n, i;
	int pack;

	assert_int_equal(zpack_new(&z, 0), 0);
	assert_int_equal(zunpack_new(&u), 0);
	memset(src, 7, sizeof(src));
	pack = zpack_run(z, dst, zpack_bound(sizeof(src)), src, sizeof(src), 0, &n);
	assert_int_equal(pack, CHUNK_PACK_ZSTD);
	assert_true(n < 100);
	assert_int_equal(zunpack_run(u, CHUNK_PACK_ZSTD, back, sizeof(back), dst, n), 0);
	assert_memory_equal(src, back, sizeof(src));
	/*
	 * A frame that holds more, or less, than it should is refused, and nothing is written
	 * beyond.
	 */
	back[4000] = 99;
	assert_int_equal(zunpack_run(u, CHUNK_PACK_ZSTD, back, 4000, dst, n), -EBADMSG);
	assert_int_equal(back[4000], 99);
	assert_int_equal(zunpack_run(u, CHUNK_PACK_ZSTD, back, 5001 - 1, dst, n - 1), -EBADMSG);
	assert_int_equal(zunpack_run(u, 77, back, 10, dst, 10), -EPROTONOSUPPORT);
	assert_int_equal(zunpack_run(u, CHUNK_PACK_NONE, back, 10, dst, 11), -EBADMSG);
	for (i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)gen_random(&seed);
	assert_int_equal(zpack_run(z, dst, zpack_bound(sizeof(src)), src, sizeof(src), 0, &n),
			 CHUNK_PACK_NONE);
	assert_int_equal(n, sizeof(src));
	assert_int_equal(zpack_run(z, dst, sizeof(dst), src, 0, 0, &n), CHUNK_PACK_NONE);
	assert_int_equal(n, 0);
	zpack_free(z);
	zunpack_free(u);
	zpack_free(NULL);
	zunpack_free(NULL);
}

UNIT_TEST(test_tuple_dict_numbers_each_once)
{
	struct tuple_dict d = { .width = 3 };
	static uint32_t number[1000];
	uint64_t seed = 4;

	memset(number, 0xff, sizeof(number));
	for (unsigned int i = 0; i < 50000; i++) {
		uint64_t k = gen_random(&seed) % 1000, t[3] = { k % 10, k / 10 % 10, k / 100 };
		uint32_t n = tuple_dict_add(&d, t, 3);

		assert_true(n < d.cnt);
		if (number[k] == UINT32_MAX)
			number[k] = n;
		assert_int_equal(n, number[k]);
		assert_memory_equal(d.values + n * 3, t, sizeof(t));
	}
	assert_int_equal(d.cnt, 1000);
	tuple_dict_reset(&d);
	assert_int_equal(tuple_dict_add(&d, (uint64_t[]){ 1, 2, 3 }, 3), 0);
	assert_int_equal(d.hits[0], 1);
	tuple_dict_done(&d);
}

UNIT_TEST(test_column_rank_orders_by_count)
{
	const uint32_t hits[] = { 5, 0, 9, 5, 1 };
	uint32_t rank[5] = { 0 }, order[5];

	assert_int_equal(column_rank(hits, 5, rank, order), 4);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 0);
	assert_int_equal(order[2], 3);
	assert_int_equal(order[3], 4);
	assert_int_equal(rank[3], 2);
	assert_int_equal(column_rank(NULL, 0, rank, order), 0);
}

static void row_reader_of(struct row_reader *r, const struct row_writer *w)
{
	*r = (struct row_reader){ w->out.data, w->out.data + w->out.len, w->base_ns };
}

static uint32_t room_for(struct kind_rows *k, uint32_t rows)
{
	uint32_t counts[EVENT_KIND_CNT] = { rows };

	assert_int_equal(kind_rows_place(k, EVENT_SWITCH, counts, 1), 0);
	assert_true(k->cap >= rows);
	k->ts_ns[k->cap - 1] = k->utid[k->cap - 1] = k->tuple[k->cap - 1] = 1;
	return k->cap;
}

/* Room for a large block stays while such blocks come, and a while longer. */
UNIT_TEST(test_rows_give_memory_back)
{
	struct kind_rows k = { 0 };
	uint32_t large, i;

	assert_int_equal(kind_rows_init(&k, EVENT_SWITCH, 1), 0);
	large = room_for(&k, 100000);
	for (i = 0; i < 50; i++)
		assert_int_equal(room_for(&k, i % 8 ? 10 : 100000), large);
	for (i = 0; i < 100 && room_for(&k, 10) == large; i++)
		;
	assert_in_range(i, 3, 20);
	assert_true(k.cap < large / 4);
	assert_int_equal(room_for(&k, 100000), large);
	kind_rows_done(&k);
}

UNIT_TEST(test_row_round_trip)
{
	struct row_writer w = { .base_ns = 1000000 };
	const struct trace_task_event in = {
		.ts_ns = 5,
		.utid = UINT32_MAX,
		.upid = 17,
		.cpu = UINT16_MAX,
		.type = 255,
		.exit_code = 9,
		.cgroup_id = UINT64_MAX,
		.comm = "a name",
		.exe = NULL,
		.cmdline = "\x01\xff=\n",
	};
	const struct trace_rss rss = { .ts_ns = UINT64_MAX, .upid = 1,
				       .bytes = { 1, 2, 3, UINT64_MAX }, .total_vm_bytes = 4 };
	struct trace_task_event out;
	struct trace_rss rss_out;
	struct row_reader r;

	row_put_task_event(&w, &in);
	row_put_task_event(&w, &in);
	assert_int_equal(w.cnt, 2);
	row_reader_of(&r, &w);
	assert_int_equal(row_get_task_event(&r, &out), 1);
	assert_int_equal(row_get_task_event(&r, &out), 1);
	assert_int_equal(row_get_task_event(&r, &(struct trace_task_event){ 0 }), 0);
	assert_int_equal(out.ts_ns, 5);
	assert_int_equal(out.utid, UINT32_MAX);
	assert_int_equal(out.cpu, UINT16_MAX);
	assert_int_equal(out.type, 255);
	assert_int_equal(out.cgroup_id, UINT64_MAX);
	assert_string_equal(out.comm, "a name");
	assert_string_equal(out.exe, "");
	assert_string_equal(out.cmdline, in.cmdline);
	buf_reset(&w.out);
	row_put_rss(&w, &rss);
	row_reader_of(&r, &w);
	assert_int_equal(row_get_rss(&r, &rss_out), 1);
	assert_int_equal(rss_out.ts_ns, UINT64_MAX);
	assert_int_equal(rss_out.upid, 1);
	assert_memory_equal(rss_out.bytes, rss.bytes, sizeof(rss.bytes));
	assert_int_equal(rss_out.total_vm_bytes, 4);
	buf_done(&w.out);
}

/*
 * Changes of a later version: it adds fields at the end, which this one does not know; an older one
 * has fewer.
 */
UNIT_TEST(test_row_tolerates_more_and_fewer_fields)
{
	const uint8_t longer[] = { 4, 3, 200, 1, 77 };	/* cpu 3, utid 200, then 77 */
	const uint8_t shorter[] = { 1, 3 };
	struct row_cpu_state s;
	struct row_reader r = { longer, longer + sizeof(longer), 0 };

	assert_int_equal(row_get_cpu_state(&r, &s), 1);
	assert_int_equal(s.cpu, 3);
	assert_int_equal(s.utid, 200);
	assert_int_equal(row_get_cpu_state(&r, &s), 0);
	r = (struct row_reader){ shorter, shorter + sizeof(shorter), 0 };
	assert_int_equal(row_get_cpu_state(&r, &s), 1);
	assert_int_equal(s.utid, 0);
}

UNIT_TEST(test_row_rejects_what_does_not_fit)
{
	const uint8_t cut[] = { 3, 3, 200 };
	const uint8_t wide[] = { 7, 3, 0x80, 0x80, 0x80, 0x80, 0x80, 1 };	/* utid 2^35 */
	const uint8_t name[] = { 6, 1, 1, 1, 2, 'a', 'b' };	/* length 2, no final zero byte */
	struct row_cpu_state s;
	struct trace_name n;
	struct row_reader r = { cut, cut + sizeof(cut), 0 };

	assert_int_equal(row_get_cpu_state(&r, &s), -EBADMSG);
	r = (struct row_reader){ wide, wide + sizeof(wide), 0 };
	assert_int_equal(row_get_cpu_state(&r, &s), -EBADMSG);
	r = (struct row_reader){ name, name + sizeof(name), 0 };
	assert_int_equal(row_get_name(&r, &n), -EBADMSG);
}

/* Kinds that a later recorder may have written have none. */
UNIT_TEST(test_kinds_of_events_have_names)
{
	for (unsigned int i = 0; i < EVENT_KIND_CNT; i++)
		for (unsigned int k = 0; k < i; k++)
			assert_true(!strcmp(event_kind_name(i), "?") ||
				    strcmp(event_kind_name(i), event_kind_name(k)));
	assert_string_equal(event_kind_name(EVENT_KIND_CNT), "?");
	assert_string_equal(event_kind_name(UINT32_MAX), "?");
}

/* ---- headers of blocks ---- */

static int check_head(struct disk_block h)
{
	struct disk_block got;
	const char *why;
	int r;

	h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
	r = block_head_check(&h, &got, &why);
	if (!r)
		assert_memory_equal(&got, &h, sizeof(h));
	return r;
}

/* A size equal to its limit is accepted and a larger one is refused, for any other sizes. */
UNIT_TEST(test_sizes_in_a_head_have_limits)
{
	struct disk_block most = { .version = CHUNK_VERSION, .section_cnt = CHUNK_SECTIONS_MAX,
				   .block_bytes = CHUNK_BLOCK_MAX, .front_bytes = CHUNK_FRONT_MAX,
				   .from_ns = 5, .to_ns = 5, .first_ns = 7, .last_ns = 7,
				   .cpu_cnt = CHUNK_CPUS_MAX,
				   .kind_cnt = { 1, CHUNK_EVENTS_MAX - 1 } };
	struct disk_block h;

	memcpy(most.magic, CHUNK_BLOCK_MAGIC, sizeof(most.magic));
	most.head_bytes = sizeof(h) + CHUNK_SECTIONS_MAX * sizeof(struct disk_section);
	assert_int_equal(check_head(most), 0);
#define REFUSES(what)                                                                              \
	h = most;                                                                                  \
	what;                                                                                      \
	assert_int_equal(check_head(h), -EBADMSG)
	REFUSES(h.section_cnt++; h.head_bytes += sizeof(struct disk_section));
	REFUSES(h.block_bytes += 8);
	REFUSES(h.block_bytes -= 4);
	REFUSES(h.head_bytes += 8);
	REFUSES(h.head_bytes -= 8);
	REFUSES(h.front_bytes = h.head_bytes - 8);
	REFUSES(h.front_bytes += 8);
	REFUSES(h.cpu_cnt++);
	REFUSES(h.to_ns--);
	REFUSES(h.last_ns--);
	REFUSES(h.kind_cnt[2] = 1);
	REFUSES(h.block_bytes = h.front_bytes - 8; h.kind_cnt[1] = 0);
	h = most;
	h.front_bytes = h.head_bytes;
	h.block_bytes = (h.head_bytes + 7) & ~7ull;
	h.kind_cnt[1] = (uint32_t)h.block_bytes * CHUNK_EVENTS_PER_BYTE - h.kind_cnt[0];
	assert_int_equal(check_head(h), 0);
	h.kind_cnt[1]++;
	assert_int_equal(check_head(h), -EBADMSG);
	h.kind_cnt[0] = h.kind_cnt[1] = 0;
	h.first_ns = UINT64_MAX;
	h.last_ns = 0;
	assert_int_equal(check_head(h), 0);
}

UNIT_TESTS
