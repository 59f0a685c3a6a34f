/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Bombs: small files that would unpack to a lot. The size of a file bounds what it may make a
 * reader allocate (chunk.h). A file beyond a limit is refused with the place and the limit. The
 * writer stays within the limits for any input.
 */
#include <sys/resource.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "format/block.h"
#include "format/event.h"
#include "edit/trace_copy.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

#define T0 1000000ull

struct fixture {
	char dir[64], path[80];
};

static struct fixture fx;

static void begin(struct fixture *f)
{
	gen_temp_dir(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/trace", f->dir);
}

static void end(struct fixture *f)
{
	if (!f->dir[0])
		return;
	gen_remove_dir(f->dir);
	memset(f, 0, sizeof(*f));
}

/* ---- making bombs ---- */

/*
 * A trace of blocks from T0 on. Each block has a section of rows in raw, and promises events.
 * Returns its size.
 */
static size_t put_bombs(const struct fixture *f, unsigned int copies, int level, unsigned int type,
			uint32_t rows, const void *raw, uint32_t raw_bytes, uint32_t events)
{
	struct disk_block h = { .version = CHUNK_VERSION, .from_ns = T0, .to_ns = T0 + 10,
				.first_ns = T0, .last_ns = T0 + 9, .cpu_cnt = 1 };
	struct disk_section s = { .type = (uint16_t)type, .encoding = CHUNK_ENC_ROWS,
				  .item_cnt = rows, .raw_bytes = raw_bytes };
	struct gen *g = gen_open(f->path, &(struct gen_config){ .from_ns = T0 });
	struct buf b = { 0 };
	struct zpack *z;
	uint8_t *stored = malloc(zpack_bound(raw_bytes));
	size_t bytes;
	int fd;

	gen_snap(g, T0, 0, 100, 100, 1, "init");
	gen_slice(g, T0 + 5);
	gen_finish(g);
	assert_non_null(stored);
	assert_int_equal(zpack_new(&z, level), 0);
	s.pack = (uint8_t)zpack_run(z, stored, zpack_bound(raw_bytes), raw, raw_bytes, 0, &bytes);
	s.stored_bytes = (uint32_t)bytes;
	zpack_free(z);
	s.crc = crc32c(0, stored, bytes);
	memcpy(h.magic, CHUNK_BLOCK_MAGIC, sizeof(h.magic));
	h.section_cnt = raw_bytes ? 1 : 0;
	h.head_bytes = (uint32_t)(sizeof(h) + h.section_cnt * sizeof(s));
	h.front_bytes = h.head_bytes + s.stored_bytes;
	h.block_bytes = (h.front_bytes + 7u) & ~7ull;
	h.kind_cnt[EVENT_SWITCH] = events;
	h.table_crc = crc32c(0, &s, h.section_cnt * sizeof(s));
	for (unsigned int i = 0; i < copies; i++) {
		h.number = i;
		h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
		buf_add(&b, &h, sizeof(h));
		buf_add(&b, &s, h.section_cnt * sizeof(s));
		buf_add(&b, stored, bytes);
		buf_add(&b, "\0\0\0\0\0\0\0", -b.len & 7);
		h.from_ns += 10, h.to_ns += 10, h.first_ns += 10, h.last_ns += 10;
	}
	fd = open(file_in(f->path, "chunk-000000.ebr"), O_WRONLY);
	assert_true(fd >= 0 && ftruncate(fd, 64) == 0);
	assert_int_equal(pwrite(fd, b.data, b.len, 64), (ssize_t)b.len);
	close(fd);
	bytes = b.len;
	buf_done(&b);
	free(stored);
	return bytes;
}

static size_t put_bomb(const struct fixture *f, unsigned int type, uint32_t rows, const void *raw,
		       uint32_t raw_bytes, uint32_t events)
{
	return put_bombs(f, 1, 1, type, rows, raw, raw_bytes, events);
}

struct seen {
	uint64_t offset;
	char reason[200];
};

static int on_part(void *ctx, const struct check_part *p)
{
	struct seen *s = ctx;

	if (p->status == CHECK_DAMAGED && !s->reason[0]) {
		s->offset = p->offset;
		snprintf(s->reason, sizeof(s->reason), "%s", p->reason);
	}
	return 0;
}

/* Every block is reported as damaged, the first block with that reason, at its place. */
static void expect_refusal(const struct fixture *f, const char *limit)
{
	struct check_result r = { 0 };
	struct seen s = { 0 };
	struct err e = { "" };
	struct trace *t;
	size_t cnt;

	if (trace_open_anyway(&t, f->path, &e) < 0)
		fail_msg("%s", e.text);
	trace_blocks(t, &cnt);
	assert_int_equal(cnt, 0);
	assert_int_equal(trace_check(t, on_part, &s, &r, &e), 0);
	assert_true(r.damaged_cnt > 0);
	if (!strstr(s.reason, limit))
		fail_msg("'%s' does not name the limit, '%s'", s.reason, limit);
	assert_int_equal(s.offset, 64);
	trace_close(t);
}

static void expect_blocks(const struct fixture *f, size_t want)
{
	struct err e = { "" };
	struct trace *t;
	size_t cnt;

	if (trace_open(&t, f->path, &e) < 0)
		fail_msg("%s", e.text);
	trace_blocks(t, &cnt);
	assert_int_equal(cnt, want);
	trace_close(t);
}

/* ---- tests ---- */

UNIT_TEST(test_events_beyond_the_size_of_a_block_are_refused)
{
	size_t bytes;

	begin(&fx);
	bytes = put_bomb(&fx, 0, 0, "", 0, 1);
	gen_remove_dir(fx.path);
	put_bomb(&fx, 0, 0, "", 0, (uint32_t)bytes * CHUNK_EVENTS_PER_BYTE);
	expect_blocks(&fx, 1);
	gen_remove_dir(fx.path);
	put_bomb(&fx, 0, 0, "", 0, (uint32_t)bytes * CHUNK_EVENTS_PER_BYTE + 1);
	expect_refusal(&fx, "8 a byte");
}

/* A block that is large enough for 8 events a byte. */
UNIT_TEST(test_more_events_than_a_block_may_have_are_refused)
{
	enum { BYTES = (1 << 20) + 4096 };
	uint8_t *noise = malloc(BYTES);
	struct fixture f;
	uint32_t x = 1;
	size_t i, bytes;

	assert_non_null(noise);
	for (i = 0; i < BYTES; i++) {	/* packs to no less: the high byte of a linear congruence */
		x = x * 1664525 + 1013904223;
		noise[i] = (uint8_t)(x >> 24);
	}
	begin(&f);
	bytes = put_bomb(&f, CHUNK_LOSS, 1, noise, BYTES, CHUNK_EVENTS_MAX + 1);
	assert_true(bytes * CHUNK_EVENTS_PER_BYTE > CHUNK_EVENTS_MAX + 1);
	expect_refusal(&f, "2^23 a block");
	end(&f);
	free(noise);
}

UNIT_TEST(test_rows_that_unpack_to_much_are_refused)
{
	const uint32_t large = CHUNK_ROWS_MAX + 1;
	uint8_t *zeros = calloc(large, 1);
	struct fixture f;

	assert_non_null(zeros);
	begin(&f);
	/* zeros are rows of no fields: 50,000 in some dozen bytes */
	put_bombs(&f, 3, 1, CHUNK_LOSS, 50000, zeros, 50000, 0);
	expect_refusal(&f, "32 times its size");
	gen_remove_dir(f.path);
	put_bomb(&f, CHUNK_LOSS, large, zeros, large, 0);
	expect_refusal(&f, "64 MiB");
	end(&f);
	free(zeros);
}

UNIT_TEST(test_more_rows_than_bytes_are_refused)
{
	const uint8_t rows[30] = { 0 };

	begin(&fx);
	put_bomb(&fx, CHUNK_LOSS, 30, rows, 30, 0);		/* not packed: a row a byte */
	expect_blocks(&fx, 1);
	gen_remove_dir(fx.path);
	put_bomb(&fx, CHUNK_LOSS, 31, rows, 30, 0);
	expect_refusal(&fx, "one a byte");
	gen_remove_dir(fx.path);
	put_bomb(&fx, CHUNK_LOSS, 29, rows, 30, 0); /* the table says fewer than there are */
	expect_refusal(&fx, "rows of a small section");
}

/* A sanitizer alone takes terabytes of addresses. */
#if defined(SANITIZED_address) || defined(SANITIZED_thread)
enum { HAS_SHADOW_MEMORY = 1 };
#else
enum { HAS_SHADOW_MEMORY = 0 };
#endif

/* Address space that this program has taken so far. */
static uint64_t address_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * The largest allowed unpacked size, repeated, for each kind of row: opening allocates at most 256
 * times the size of the file, and 32 MiB that opening needs for any file.
 */
UNIT_TEST(test_opening_takes_memory_in_proportion)
{
	static const uint8_t rows[20000];
	const unsigned int copies = 100;
	struct rlimit old, tight;
	struct err e = { "" };
	struct fixture f;
	struct trace *t;
	size_t bytes, cnt;
	int r;

	getrlimit(RLIMIT_AS, &old);
	tight = old;
	for (unsigned int type = 1; type <= CHUNK_FRAMES; type++) {
		begin(&f);
		bytes = put_bombs(&f, copies, -1, type, sizeof(rows), rows, sizeof(rows), 0);
		if (!HAS_SHADOW_MEMORY)
			tight.rlim_cur = address_bytes() + (32u << 20) + bytes * 256;
		setrlimit(RLIMIT_AS, &tight);
		r = trace_open_anyway(&t, f.path, &e);
		setrlimit(RLIMIT_AS, &old);
		if (r < 0)
			fail_msg("rows of type %u: %s", type, e.text);
		trace_blocks(t, &cnt);
		assert_int_equal(cnt, copies);
		trace_close(t);
		end(&f);
	}
}

/* ---- the writer ---- */

/*
 * All sections are within the limits. *ret_plain: how many small sections or times were left
 * unpacked to stay within them.
 */
static void check_limits(const void *block, unsigned int *ret_plain)
{
	const struct disk_section *s =
		(const void *)((const uint8_t *)block + sizeof(struct disk_block));
	struct disk_block h;
	uint64_t events = 0, rows_bytes = 0;

	memcpy(&h, block, sizeof(h));
	for (unsigned int i = 0; i < CHUNK_KINDS; i++)
		events += h.kind_cnt[i];
	assert_true(events <= h.block_bytes * CHUNK_EVENTS_PER_BYTE);
	for (unsigned int i = 0; i < h.section_cnt; i++) {
		bool is_small = s[i].type < CHUNK_SMALL_END;

		if (!is_small && s[i].column != CHUNK_COL_TS)
			continue;
		*ret_plain += s[i].raw_bytes > 4096 && s[i].pack == CHUNK_PACK_NONE &&
			      s[i].encoding != CHUNK_ENC_BITS;
		if (!is_small)
			continue;
		rows_bytes += s[i].raw_bytes;
		assert_true(s[i].raw_bytes <= (uint64_t)s[i].stored_bytes * CHUNK_ROWS_RATIO);
		assert_true(s[i].item_cnt <= (uint64_t)s[i].stored_bytes * CHUNK_ROWS_PER_BYTE);
	}
	assert_true(rows_bytes <= CHUNK_ROWS_MAX);
}

/* 66 MiB of rows in two sections, which pack to half of that. */
UNIT_TEST(test_a_block_of_too_many_bytes_of_rows_is_not_made)
{
	static uint8_t raw[33u << 20];
	const struct disk_section s = { .type = CHUNK_LOSS, .encoding = CHUNK_ENC_ROWS,
					.item_cnt = 1 };
	const struct disk_block head = { .from_ns = T0, .to_ns = T0 + 10, .cpu_cnt = 1 };
	uint64_t dice = 1;
	struct block_out o;
	const void *block;
	size_t bytes;

	for (size_t i = 0; i < sizeof(raw); i += 64)
		for (size_t k = 0; k < 32; k += 8) {
			uint64_t word = gen_random(&dice);

			memcpy(raw + i + k, &word, 8);
		}
	assert_int_equal(block_out_init(&o, 0), 0);
	block_out_begin(&o);
	block_out_add(&o, &s, raw, sizeof(raw));
	assert_int_equal(block_out_seal(&o, &head, &block, &bytes), 0);
	assert_true(bytes < CHUNK_FRONT_MAX / 2);
	block_out_begin(&o);
	block_out_add(&o, &s, raw, sizeof(raw));
	block_out_add(&o, &s, raw, sizeof(raw));
	assert_int_equal(block_out_seal(&o, &head, &block, &bytes), -E2BIG);
	block_out_done(&o);
}

static void expect_events(const struct fixture *f, uint64_t want)
{
	struct check_result r = { 0 };
	struct err e = { "" };
	struct trace *t;

	if (trace_open(&t, f->path, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(trace_check(t, NULL, NULL, &r, &e), 0);
	assert_int_equal(r.damaged_cnt, 0);
	assert_int_equal(r.event_cnt, want);
	trace_close(t);
}

/* Nothing is as regular as this: the same event every nanosecond. */
UNIT_TEST(test_writer_keeps_the_limits_with_events_all_alike)
{
	const uint32_t cnt = 300000;
	unsigned int plain = 0;
	struct gen *g;
	size_t bytes;

	begin(&fx);
	g = gen_open(fx.path, &(struct gen_config){ .from_ns = T0 });
	gen_snap(g, T0, 0, 100, 100, 1, "init");
	for (uint32_t i = 1; i <= cnt; i++)
		gen_wakeup(g, T0 + i, 0, 100, 100, 0);
	gen_slice(g, T0 + cnt + 1);
	check_limits(gen_last_block(g, &bytes), &plain);
	gen_finish(g);
	assert_true(plain > 0);
	expect_events(&fx, cnt);
}

/* Each of them once. */
static void expect_threads(const struct trace *t, uint32_t first, uint32_t cnt)
{
	uint8_t *seen = calloc(cnt, 1);
	size_t all, i;
	const struct trace_thread *h = trace_threads(t, &all);
	uint32_t k, missing = 0;

	assert_non_null(seen);
	for (i = 0; i < all; i++)
		if (h[i].tid >= first && h[i].tid - first < cnt)
			seen[h[i].tid - first]++;
	for (k = 0; k < cnt; k++)
		missing += seen[k] != 1;
	assert_int_equal(missing, 0);
	free(seen);
}

/* A snapshot of more tasks than 16 bits count, all alike; then they all end at once. */
UNIT_TEST(test_writer_keeps_the_limits_with_tasks_all_alike)
{
	const uint32_t cnt = 70000, first = 1000;
	unsigned int plain = 0;
	struct trace *t;
	struct gen *g;
	size_t bytes;

	begin(&fx);
	g = gen_open(fx.path, &(struct gen_config){ .from_ns = T0 });
	for (uint32_t i = 0; i < cnt; i++)
		gen_snap(g, T0, 0, first + i, first, 1, "same");
	gen_slice(g, T0 + 1000);
	check_limits(gen_last_block(g, &bytes), &plain);
	for (uint32_t i = 1; i < cnt; i++)
		gen_exit(g, T0 + 1000 + i, 0, first + i, first, 0, false, 5);
	gen_slice(g, T0 + 2000 + cnt);
	check_limits(gen_last_block(g, &bytes), &plain);
	for (uint32_t i = 0; i < cnt; i++)
		gen_rename(g, T0 + 2000 + cnt, 0, first, first, "same");
	gen_slice(g, T0 + 3000 + cnt);
	check_limits(gen_last_block(g, &bytes), &plain);
	gen_finish(g);
	expect_events(&fx, 2 * cnt - 1);
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	expect_threads(t, first, cnt);
	trace_close(t);
}

/* Makes the block's one section the CPUs of its switches: two numbers, checksums are right. */
static void make_cpu_column(const struct fixture *f, uint8_t shift)
{
	struct disk_section s;
	struct disk_block h;
	int fd;

	fd = open(file_in(f->path, "chunk-000000.ebr"), O_RDWR);
	assert_int_equal(pread(fd, &h, sizeof(h), 64), sizeof(h));
	assert_int_equal(pread(fd, &s, sizeof(s), 64 + sizeof(h)), sizeof(s));
	s.kind = EVENT_SWITCH;
	s.column = CHUNK_COL_CPU;
	s.encoding = CHUNK_ENC_VARINTS;
	s.shift = shift;
	h.front_bytes = h.head_bytes;	/* columns follow it */
	h.table_crc = crc32c(0, &s, sizeof(s));
	h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
	assert_int_equal(pwrite(fd, &h, sizeof(h), 64), sizeof(h));
	assert_int_equal(pwrite(fd, &s, sizeof(s), 64 + sizeof(h)), sizeof(s));
	close(fd);
}

static void expect_cpu_column_refused(const uint8_t raw[2], uint8_t shift, const char *why)
{
	struct check_result r = { 0 };
	struct seen seen = { 0 };
	struct err e = { "" };
	struct fixture f;
	struct trace *t;

	begin(&f);
	put_bomb(&f, CHUNK_COLUMN, 2, raw, 2, 1);
	make_cpu_column(&f, shift);
	if (trace_open_anyway(&t, f.path, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(trace_check(t, on_part, &seen, &r, &e), 0);
	if (!strstr(seen.reason, why))
		fail_msg("'%s' does not name the %s", seen.reason, why);
	trace_close(t);
	end(&f);
}

UNIT_TEST(test_a_cpu_column_whose_last_number_is_cut_short_is_refused)
{
	expect_cpu_column_refused((const uint8_t[]){ 0, 0x81 }, 0, "CPU column");
}

UNIT_TEST(test_numbers_shifted_by_more_than_they_have_are_refused)
{
	expect_cpu_column_refused((const uint8_t[]){ 0, 0x81 }, 63, "CPU column");
	expect_cpu_column_refused((const uint8_t[]){ 0, 0x81 }, 64, "section table");
}

UNIT_TESTS_END(end, fx)
