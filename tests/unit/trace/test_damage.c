/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Damage: for any change to the bytes of a trace, the reader returns blocks unchanged or not at
 * all, reports the skipped parts, and neither crashes, hangs nor exhausts memory.
 */
#include <sys/resource.h>

#include "analyze/analyze.h"
#include "base/crc32c.h"
#include "format/chunk.h"
#include "trace/trace.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/slice_count.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

#define BLOCKS 4
#define FILE_NAME "chunk-000000.ebr"

struct fixture {
	char dir[64], path[80], file[128];
	uint8_t *bytes;			/* of the chunk file, undamaged */
	size_t cnt;
	struct event *events;		/* of the trace, in order */
	size_t event_cnt;
	struct trace_block blocks[BLOCKS];
};

static struct fixture fx;

static void load_events(struct fixture *f)
{
	struct event_cursor *c;
	const struct event *ev;
	struct err e = { 0 };
	struct trace *t;
	size_t cnt;

	assert_int_equal(trace_open(&t, f->path, &e), 0);
	memcpy(f->blocks, trace_blocks(t, &cnt), sizeof(f->blocks));
	assert_int_equal(cnt, BLOCKS);
	assert_int_equal(event_cursor_open(&c, t, ~0u, 0, UINT64_MAX, &e), 0);
	f->events = malloc(100000 * sizeof(*f->events));
	while (event_cursor_next(c, &ev, &e) > 0)
		f->events[f->event_cnt++] = *ev;
	event_cursor_close(c);
	trace_close(t);
}

static void begin(struct fixture *f, unsigned int per_block, bool finish)
{
	struct gen_mix m = { .seed = 5, .now_ns = 1000000 };
	struct gen *g;

	memset(f, 0, sizeof(*f));
	gen_temp_dir(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/t", f->dir);
	snprintf(f->file, sizeof(f->file), "%s/%s", f->path, FILE_NAME);
	g = gen_open(f->path, &(struct gen_config){ .from_ns = m.now_ns, .no_names = true });
	if (per_block > 100)
		gen_mix_start(g, &m);
	for (int i = 0; i < BLOCKS; i++) {
		uint64_t ts = m.now_ns;
		uint32_t k;

		if (per_block > 100) {
			gen_mix_run(g, &m, per_block);
		} else {
			gen_new(g, ts + 1, 0, 1, 10 + (uint32_t)i, 10 + (uint32_t)i, 1, "task");
			for (k = 0; k < per_block; k++) {
				gen_switch(g, ts + 10 + k * 100, k % 2, k % 3, (k + 2) % 3, 0);
				gen_kmalloc(g, ts + 20 + k * 100, k % 2, k % 3, 4096 + k * 64, 32,
					    7, 0);
				gen_kfree(g, ts + 30 + k * 100, k % 2, k % 3, 4096 + k * 64);
				gen_rss(g, ts + 40 + k * 100, k % 2, 1, 10, 1, k);
				gen_block(g, ts + 50 + k * 100, 0, 1, WIRE_BLOCK_ISSUE, k, 8 << 20,
					  k * 8, 4096, 1);
			}
			m.now_ns += 10000;
		}
		gen_slice(g, ++m.now_ns);
	}
	if (per_block > 100)
		gen_mix_done(&m);
	if (finish)
		gen_finish(g);
	else
		gen_abort(g);
	f->bytes = file_read(f->file, &f->cnt);
	load_events(f);
}

static void end(struct fixture *f)
{
	if (!f->dir[0])
		return;
	free(f->bytes);
	free(f->events);
	gen_remove_dir(f->dir);
	memset(f, 0, sizeof(*f));
}

static bool same_block(const struct trace_block *a, const struct trace_block *b)
{
	return a->from_ns == b->from_ns && a->to_ns == b->to_ns && a->bytes == b->bytes &&
	       !memcmp(a->kind_cnt, b->kind_cnt, sizeof(a->kind_cnt));
}

/* Which of the original blocks b is. Fails when it is none of them. */
static size_t original(const struct fixture *f, const struct trace_block *b)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if (same_block(b, &f->blocks[i]))
			return i;
	fail_msg("a block at %llu that was never written", (unsigned long long)b->offset);
	return 0;
}

/*
 * Reads the whole trace. Every event must be one that was written, and come with all others of
 * its block.
 */
static size_t check_damaged(const struct fixture *f, size_t *ret_damages)
{
	const struct trace_block *b;
	struct event_cursor *c;
	const struct event *ev;
	struct event *got = malloc((f->event_cnt + 1) * sizeof(*got));
	struct err e = { 0 };
	struct trace *t;
	size_t cnt, n = 0, at = 0, i, k, whole = 0;

	assert_int_equal(trace_open(&t, f->path, &e), 0);
	assert_int_equal(event_cursor_open(&c, t, ~0u, 0, UINT64_MAX, &e), 0);
	while (event_cursor_next(c, &ev, &e) > 0) {
		assert_true(n < f->event_cnt);
		got[n++] = *ev;
	}
	event_cursor_close(c);
	assert_string_equal(e.text, "");
	b = trace_blocks(t, &cnt);
	for (i = 0; i < cnt; i++) {
		size_t o = original(f, &b[i]);

		if (trace_block_is_damaged(t, i))
			continue;
		whole++;
		for (k = 0; k < f->event_cnt; k++) {
			if (f->events[k].ts_ns < f->blocks[o].from_ns ||
			    f->events[k].ts_ns >= f->blocks[o].to_ns)
				continue;
			assert_true(at < n);
			assert_memory_equal(&got[at], &f->events[k], sizeof(got[at]));
			at++;
		}
	}
	assert_int_equal(at, n);
	trace_damages(t, ret_damages);
	trace_close(t);
	free(got);
	return whole;
}

UNIT_TEST(test_truncated_anywhere_gives_whole_blocks)
{
	size_t len, damages, whole, last = 0;

	begin(&fx, 6, true);
	for (len = 0; len <= fx.cnt; len++) {
		size_t expect = 0, i;

		for (i = 0; i < BLOCKS; i++)
			expect += fx.blocks[i].offset + fx.blocks[i].bytes <= len;
		file_write(fx.file, fx.bytes, len);
		whole = check_damaged(&fx, &damages);
		assert_int_equal(whole, expect);
		assert_true(whole >= last);
		last = whole;
		if (whole < BLOCKS && len && len != sizeof(struct disk_file) &&
		    (!whole || len != fx.blocks[whole - 1].offset + fx.blocks[whole - 1].bytes))
			assert_true(damages > 0);
	}
	assert_int_equal(last, BLOCKS);
	assert_int_equal(damages, 0);
}

static void run_flips(bool finished)
{
	struct fixture f;
	size_t i, damages, whole;

	begin(&f, 6, finished);
	for (i = 0; i < f.cnt; i++) {
		size_t hit = BLOCKS, k;

		f.bytes[i] ^= (uint8_t)(1u << i % 8);
		file_write(f.file, f.bytes, f.cnt);
		whole = check_damaged(&f, &damages);
		for (k = 0; k < BLOCKS; k++)
			if (i >= f.blocks[k].offset && i < f.blocks[k].offset + f.blocks[k].bytes)
				hit = k;
		/* one block is gone, unless the byte was padding; nothing else ever is */
		if (hit < BLOCKS && i < f.blocks[hit].offset + f.blocks[hit].bytes - 7)
			assert_int_equal(whole, BLOCKS - 1);
		assert_true(whole >= BLOCKS - 1);
		assert_true(whole == BLOCKS || damages == 1);
		f.bytes[i] ^= (uint8_t)(1u << i % 8);
	}
	end(&f);
}

UNIT_TEST(test_flipped_bit_costs_one_block_of_a_closed_file)
{
	run_flips(true);
}

UNIT_TEST(test_flipped_bit_costs_one_block_of_an_open_file)
{
	run_flips(false);
}

/* The writer may have died with parts of the file not on the disk: opening checks all of it. */
UNIT_TEST(test_open_file_is_verified_at_once)
{
	struct trace *t;
	size_t cnt;

	begin(&fx, 2000, false);
	fx.bytes[fx.blocks[2].offset + fx.blocks[2].bytes - 20] ^= 4;
	file_write(fx.file, fx.bytes, fx.cnt);
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	trace_blocks(t, &cnt);
	assert_int_equal(cnt, BLOCKS - 1);
	assert_int_equal(trace_damages(t, &cnt)[0].offset, fx.blocks[2].offset);
	assert_int_equal(cnt, 1);
	trace_close(t);
}

UNIT_TEST(test_hole_in_the_middle_is_skipped)
{
	size_t damages, cut, n;
	uint64_t seed = 6;

	begin(&fx, 2000, true);
	for (int i = 0; i < 60; i++) {
		uint8_t *b = malloc(fx.cnt);

		/* bytes removed, not just overwritten: all later bytes move */
		cut = 64 + gen_random(&seed) % (fx.cnt - 200);
		n = 1 + gen_random(&seed) % (fx.cnt - cut < 5000 ? fx.cnt - cut : 5000);
		memcpy(b, fx.bytes, cut);
		memcpy(b + cut, fx.bytes + cut + n, fx.cnt - cut - n);
		file_write(fx.file, b, fx.cnt - n);
		assert_true(check_damaged(&fx, &damages) >= BLOCKS - 2);
		free(b);
	}
}

UNIT_TEST(test_garbage_is_no_trace_but_no_danger)
{
	size_t damages, n;
	uint64_t seed = 77;
	uint8_t *b = malloc(300000);

	begin(&fx, 6, true);
	for (int i = 0; i < 20; i++) {
		size_t k;

		n = gen_random(&seed) % 300000;
		for (k = 0; k < n; k++)
			b[k] = (uint8_t)gen_random(&seed);
		/* with magics strewn in */
		for (k = 0; k + 8 < n; k += 1 + gen_random(&seed) % 500)
			memcpy(b + k, CHUNK_BLOCK_MAGIC, 8);
		file_write(fx.file, b, n);
		assert_int_equal(check_damaged(&fx, &damages), 0);
		assert_true(damages > 0 || !n);
	}
	memset(b, 0, 300000);
	file_write(fx.file, b, 300000);
	assert_int_equal(check_damaged(&fx, &damages), 0);
	assert_int_equal(damages, 1);
	free(b);
}

/* ---- blocks with valid checksums and wrong content ---- */

static void fix_checksums(uint8_t *block)
{
	struct disk_block h;
	struct disk_section s;
	uint64_t at;

	memcpy(&h, block, sizeof(h));
	at = h.head_bytes;
	for (unsigned int i = 0; i < h.section_cnt; i++) {
		uint8_t *p = block + sizeof(h) + i * sizeof(s);

		memcpy(&s, p, sizeof(s));
		if (at + s.stored_bytes <= h.block_bytes)
			s.crc = crc32c(0, block + at, s.stored_bytes);
		at += s.stored_bytes;
		memcpy(p, &s, sizeof(s));
	}
	h.table_crc = crc32c(0, block + sizeof(h), h.section_cnt * sizeof(s));
	h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
	memcpy(block, &h, sizeof(h));
}

/* Changes something; how depends on the dice: a bit of data, a field of a section, a count. */
static void mutate(uint8_t *block, uint64_t *seed)
{
	static const uint32_t evil[] = { 0,	     1,		 255,	   65535,    0x7fffffff,
					 0x80000000, 0xffffffff, 8u << 20, 64u << 20 };
	struct disk_block h;
	unsigned int n = 1 + (unsigned int)(gen_random(seed) % 4);

	memcpy(&h, block, sizeof(h));
	while (n--) {
		uint64_t r = gen_random(seed);
		uint32_t x = evil[(r >> 20) % (sizeof(evil) / sizeof(*evil))];
		uint8_t *s =
			block + sizeof(h) + (r >> 40) % h.section_cnt * sizeof(struct disk_section);

		switch (r % 8) {
		case 0:
			memcpy(s + offsetof(struct disk_section, item_cnt), &x, 4);
			break;
		case 1:
			memcpy(s + offsetof(struct disk_section, raw_bytes), &x, 4);
			break;
		case 2:
			s[(r >> 8) % 8] = (uint8_t)(r >> 16);
			break;
		case 3:
			x = (r >> 16) % 5000;
			memcpy(block + offsetof(struct disk_block, kind_cnt) + (r >> 8) % 12 * 4,
			       &x, 4);
			break;
		case 4:
			memcpy(block + offsetof(struct disk_block, cpu_cnt), &x, 4);
			break;
		default:
			block[h.head_bytes + (r >> 8) % (h.block_bytes - h.head_bytes)] ^=
				(uint8_t)(1u << (r >> 50) % 8);
			break;
		}
	}
}

static void read_everything(const char *path)
{
	const struct slice_share *sum;
	const struct trace_rss *rss;
	struct event_cursor *c;
	const struct event *ev;
	struct trace *t;
	size_t cnt, n, i;

	assert_int_equal(trace_open(&t, path, NULL), 0);
	trace_blocks(t, &cnt);
	for (i = 0; i < cnt; i++) {
		slice_count(t, i, &sum, &n, NULL);
		trace_block_rss(t, i, &rss, &n, NULL);
		trace_block_running(t, i, 0);
	}
	if (event_cursor_open(&c, t, ~0u, 0, UINT64_MAX, NULL) == 0) {
		while (event_cursor_next(c, &ev, NULL) > 0)
			;
		event_cursor_close(c);
	}
	for (i = 0; i < cnt; i++)
		trace_block_verify(t, i, NULL);
	trace_close(t);
}

UNIT_TEST(test_lying_blocks_do_no_harm)
{
	uint64_t seed = 1234;
	uint8_t *b;

	begin(&fx, 500, true);
	b = malloc(fx.cnt);
	for (int i = 0; i < 4000; i++) {
		memcpy(b, fx.bytes, fx.cnt);
		mutate(b + fx.blocks[i % BLOCKS].offset, &seed);
		fix_checksums(b + fx.blocks[i % BLOCKS].offset);
		file_write(fx.file, b, fx.cnt);
		read_everything(fx.path);
	}
	free(b);
}

/* A small file that claims to hold millions of events costs no more than a small file. */
UNIT_TEST(test_promised_events_cost_no_memory)
{
	struct rlimit old, tight = { 0 };
	struct disk_block h;
	uint32_t x = CHUNK_EVENTS_MAX;

	begin(&fx, 6, true);
	memcpy(&h, fx.bytes + fx.blocks[0].offset, sizeof(h));
	h.kind_cnt[EVENT_SWITCH] = x;
	memcpy(fx.bytes + fx.blocks[0].offset, &h, sizeof(h));
	fix_checksums(fx.bytes + fx.blocks[0].offset);
	file_write(fx.file, fx.bytes, fx.cnt);
	getrlimit(RLIMIT_AS, &old);
	tight = old;
#if !defined(SANITIZED_address) &&                                                                 \
	!defined(SANITIZED_thread) /* their shadow memory alone takes terabytes */
	tight.rlim_cur = 256u << 20;
#endif
	setrlimit(RLIMIT_AS, &tight);
	read_everything(fx.path);
	setrlimit(RLIMIT_AS, &old);
}

UNIT_TEST(test_verify_finds_what_opening_left_unread)
{
	struct err e = { 0 };
	struct trace *t;
	size_t cnt, at;

	begin(&fx, 2000, true);
	at = fx.blocks[1].offset + fx.blocks[1].bytes - 20;
	fx.bytes[at] ^= 4;
	file_write(fx.file, fx.bytes, fx.cnt);
	assert_int_equal(trace_open(&t, fx.path, &e), 0);
	trace_damages(t, &cnt);
	assert_int_equal(cnt, 0);
	assert_int_equal(trace_block_verify(t, 0, &e), 0);
	assert_int_equal(trace_block_verify(t, 1, &e), -EBADMSG);
	assert_true(trace_block_is_damaged(t, 1));
	assert_int_equal(trace_damages(t, &cnt)[0].offset, fx.blocks[1].offset);
	assert_int_equal(cnt, 1);
	assert_int_equal(trace_block_verify(t, BLOCKS, NULL), -EINVAL);
	trace_close(t);
}

/* Answers about a damaged trace say so before the first event is read, and all scans agree. */
UNIT_TEST(test_sql_knows_of_damage_before_its_first_row)
{
	struct analysis *a;
	struct rows r;
	struct trace *t;
	size_t at;

	begin(&fx, 2000, true);
	at = fx.blocks[1].offset + fx.blocks[1].bytes - 20;
	fx.bytes[at] ^= 4;
	file_write(fx.file, fx.bytes, fx.cnt);
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	rows_sql(&r, a, "SELECT is_complete('all', 0, 4e9), (SELECT count(*) FROM damages), "
			"(SELECT count(*) FROM switches) = (SELECT count(*) FROM switches "
			"WHERE cpu >= 0), (SELECT count(*) FROM damages)");
	assert_int_equal(rows_int(&r, 0, 0), 0);
	assert_int_equal(rows_int(&r, 0, 1), 1);
	assert_int_equal(rows_int(&r, 0, 2), 1);
	assert_int_equal(rows_int(&r, 0, 3), 1);
	rows_done(&r);
	analysis_close(a);
	trace_close(t);
}

UNIT_TESTS_END(end, fx)
