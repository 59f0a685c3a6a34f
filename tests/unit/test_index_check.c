/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The files beside a trace that make answers faster, analysis.idx and lists.idx: a bit flipped at every byte of either is
 * found by the check, and never shows in an answer; so are files of other blocks, and of another trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/analysis.h"
#include "base/crc32c.h"
#include "chunk/zpack.h"
#include "event/trace_check.h"
#include "gen_trace.h"
#include "table_rows.h"

#define INDEX "analysis.idx"
#define LISTS "lists.idx"

/* Sanitizers take ten times as long, and look for something else. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BYTE_STEP 7
#else
#define BYTE_STEP 1
#endif

static const char *const questions[] = {
	"SELECT sum(oncpu_ns), sum(switches), count(*) FROM cpu_usage(0, 1 << 62, 0)",
	"SELECT sum(wait_ns), sum(waits), count(*) FROM sched_waits(0, 1 << 62, 0, 'process')",
	"SELECT sum(alloc_bytes), sum(frees), sum(peak_bytes) FROM alloc_usage(0, 1 << 62, 0, 'process')",
	"SELECT sum(alloc_bytes), sum(frees), sum(peak_bytes) FROM alloc_usage(300000, 1 << 62, 0, 'comm')",
	"SELECT sum(ios), sum(bytes), count(*) FROM io_usage(0, 1 << 62, 0, 'process')",
	"SELECT count(*), sum(bytes), min(start_ns) FROM spikes(0, 1 << 62, 3333333, 2000)",
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

struct answer {
	int64_t v[3];
};

struct fixture {
	char dir[64], path[80], file[128];
	uint8_t *bytes;		/* of the file as it was made */
	size_t cnt;
	struct answer want[QUESTIONS];
};

static void make_trace(struct fixture *f, const char *file, unsigned int blocks, uint64_t seed)
{
	struct gen_mix m = { .seed = seed, .now_ns = 1000000 };
	struct gen *g;

	gen_temp_dir(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/trace", f->dir);
	snprintf(f->file, sizeof(f->file), "%s/%s", f->path, file);
	g = gen_open(f->path, &(struct gen_config){ .from_ns = m.now_ns });
	gen_mix_start(g, &m);
	while (blocks--) {
		gen_mix_run(g, &m, blocks < 3 ? 30 : 1);
		gen_slice(g, ++m.now_ns);
	}
	gen_mix_done(&m);
	gen_finish(g);
}

static void use_index(struct analysis *a, bool save)
{
	const struct analysis_index_use use = { .use = true, .always = true, .save = save };

	analysis_use_index(a, &use);
}

static struct answer ask(struct analysis *a, unsigned int question)
{
	struct answer got;
	struct rows r;
	unsigned int i;

	rows_sql(&r, a, questions[question]);
	assert_int_equal(r.row_cnt, 1);
	for (i = 0; i < 3; i++)
		got.v[i] = rows_int(&r, 0, i);
	rows_done(&r);
	return got;
}

/* Makes both files, keeps the bytes of the one in question, and the answers that need neither. */
static void begin(struct fixture *f, const char *file, unsigned int blocks, uint64_t seed)
{
	struct analysis *a;
	struct trace *t;
	struct stat st;
	unsigned int i;
	int fd;

	make_trace(f, file, blocks, seed);
	assert_int_equal(trace_open(&t, f->path, NULL), 0);
	trace_lists_save(t);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	for (i = 0; i < QUESTIONS; i++)
		f->want[i] = ask(a, i);
	use_index(a, true);
	assert_int_equal(analysis_prepare(a, NULL), 0);
	analysis_close(a);
	trace_close(t);
	fd = open(f->file, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	f->cnt = (size_t)st.st_size;
	f->bytes = malloc(f->cnt);
	assert_non_null(f->bytes);
	assert_int_equal(read(fd, f->bytes, f->cnt), st.st_size);
	close(fd);
}

static void put(const struct fixture *f, const uint8_t *bytes, size_t cnt)
{
	int fd = open(f->file, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, cnt, 0), (ssize_t)cnt);
	assert_int_equal(ftruncate(fd, (off_t)cnt), 0);
	close(fd);
}

static void end(struct fixture *f)
{
	free(f->bytes);
	gen_remove_dir(f->dir);
}

static int index_check(const struct fixture *f, const char **ret_why)
{
	struct analysis *a;
	struct trace *t;
	uint64_t bytes;
	int r;

	assert_int_equal(trace_open(&t, f->path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	r = analysis_index_check(a, &bytes, ret_why);
	analysis_close(a);
	trace_close(t);
	return r;
}

/* ---- analysis.idx ---- */

static void test_index_with_any_bit_flipped_is_found_and_not_believed(void **state)
{
	unsigned int holds = 0;
	struct analysis *a;
	struct fixture f;
	struct answer got;
	struct trace *t;
	const char *why;
	uint64_t bytes;
	size_t i;
	int r;

	begin(&f, INDEX, 3, 5);
	assert_int_equal(index_check(&f, &why), 1);
	assert_non_null(strstr(why, "made of these blocks"));
	assert_int_equal(trace_open(&t, f.path, NULL), 0);
	for (i = 0; i < f.cnt; i += BYTE_STEP) {
		f.bytes[i] ^= (uint8_t)(1u << i % 8);
		put(&f, f.bytes, f.cnt);
		f.bytes[i] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(analysis_open(&a, t, NULL), 0);
		r = analysis_index_check(a, &bytes, &why);
		assert_true(r == 1 || ((r == -EBADMSG || r == -ESTALE) && *why));
		holds += r == 1;
		use_index(a, false);
		got = ask(a, (unsigned int)(i % QUESTIONS));
		if (memcmp(&got, &f.want[i % QUESTIONS], sizeof(got)))
			fail_msg("byte %zu of %zu: %s: another answer", i, f.cnt, questions[i % QUESTIONS]);
		analysis_close(a);
	}
	trace_close(t);
	/* at most the zeros that align the directory */
	assert_true(holds < 8);
	put(&f, f.bytes, f.cnt);
	assert_int_equal(index_check(&f, &why), 1);
	end(&f);
}

static void test_index_cut_off_anywhere_is_found(void **state)
{
	struct fixture f;
	const char *why;
	size_t n;

	begin(&f, INDEX, 3, 5);
	for (n = 0; n < f.cnt; n += 1 + n / 50) {
		put(&f, f.bytes, n);
		assert_int_equal(index_check(&f, &why), -EBADMSG);
	}
	assert_int_equal(unlink(f.file), 0);
	assert_int_equal(index_check(&f, &why), 0);
	end(&f);
}

static void test_index_of_another_trace_or_version_is_named(void **state)
{
	struct fixture f, other;
	uint8_t head[64];
	const char *why;
	uint32_t crc;

	begin(&f, INDEX, 3, 5);
	begin(&other, INDEX, 3, 6);
	put(&f, other.bytes, other.cnt);
	assert_int_equal(index_check(&f, &why), -ESTALE);
	assert_non_null(strstr(why, "other blocks"));
	memcpy(head, f.bytes, sizeof(head));
	head[8]++;
	crc = crc32c(0, head, 60);
	memcpy(head + 60, &crc, 4);
	put(&f, f.bytes, f.cnt);
	put(&f, head, sizeof(head));
	assert_int_equal(index_check(&f, &why), -ESTALE);
	assert_non_null(strstr(why, "another version"));
	end(&f);
	end(&other);
}

/* ---- lists.idx ---- */

struct seen {
	enum check_status status;
	char reason[200];
};

static int on_part(void *ctx, const struct check_part *p)
{
	struct seen *s = ctx;

	if (!strcmp(p->file, LISTS)) {
		s->status = p->status;
		snprintf(s->reason, sizeof(s->reason), "%s", p->reason);
	}
	return 0;
}

static struct seen lists_check(struct trace *t)
{
	struct check_result r = { 0 };
	struct seen s = { .status = CHECK_DAMAGED };

	assert_int_equal(trace_check(t, on_part, &s, &r, NULL), 0);
	assert_int_equal(r.damaged_cnt, 0);
	return s;
}

static struct seen lists_check_path(const struct fixture *f)
{
	struct trace *t;
	struct seen s;

	assert_int_equal(trace_open(&t, f->path, NULL), 0);
	s = lists_check(t);
	trace_close(t);
	return s;
}

static void test_lists_with_any_bit_flipped_are_found_and_not_believed(void **state)
{
	struct fixture f;
	struct trace *t, *quick;
	struct seen s;
	size_t i, cnt, quick_cnt;

	begin(&f, LISTS, 66, 5);
	s = lists_check_path(&f);
	assert_int_equal(s.status, CHECK_VALID);
	assert_string_equal(s.reason, "says what the blocks say");
	assert_int_equal(trace_open(&t, f.path, NULL), 0);
	trace_threads(t, &cnt);
	for (i = 0; i < f.cnt; i += BYTE_STEP) {
		f.bytes[i] ^= (uint8_t)(1u << i % 8);
		put(&f, f.bytes, f.cnt);
		f.bytes[i] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(trace_open_quick(&quick, f.path, NULL), 0);
		if (trace_has_lists(quick))
			fail_msg("byte %zu of %zu is changed, and the lists are used", i, f.cnt);
		trace_threads(quick, &quick_cnt);
		assert_int_equal(quick_cnt, cnt);
		trace_close(quick);
		if (i / BYTE_STEP % 16)	/* reads every block */
			continue;
		s = lists_check(t);
		assert_int_equal(s.status, CHECK_NOTE);
		assert_non_null(strstr(s.reason, "not used"));
	}
	trace_close(t);
	end(&f);
}

/* Right checksums, wrong lists: only the blocks can tell. */
static void test_lists_that_lie_are_found(void **state)
{
	struct fixture f;
	struct zunpack *u;
	uint64_t raw_bytes, stored_bytes;
	uint32_t pack, crc, none = 0;
	uint8_t *p;
	struct seen s;

	begin(&f, LISTS, 66, 5);
	memcpy(&pack, f.bytes + 12, 4);
	memcpy(&stored_bytes, f.bytes + 16, 8);
	memcpy(&raw_bytes, f.bytes + 24, 8);
	p = malloc(40 + raw_bytes);
	assert_non_null(p);
	assert_int_equal(zunpack_new(&u), 0);
	assert_int_equal(zunpack_run(u, pack, p + 40, raw_bytes, f.bytes + 40, stored_bytes), 0);
	zunpack_free(u);
	p[40 + raw_bytes - 1] ^= 1;
	memcpy(p, f.bytes, 40);
	memcpy(p + 12, &none, 4);
	memcpy(p + 16, &raw_bytes, 8);
	crc = crc32c(0, p + 40, raw_bytes);
	memcpy(p + 32, &crc, 4);
	crc = crc32c(0, p, 36);
	memcpy(p + 36, &crc, 4);
	put(&f, p, 40 + raw_bytes);
	s = lists_check_path(&f);
	assert_int_equal(s.status, CHECK_NOTE);
	assert_non_null(strstr(s.reason, "does not say what the blocks say"));
	free(p);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_with_any_bit_flipped_is_found_and_not_believed),
		cmocka_unit_test(test_index_cut_off_anywhere_is_found),
		cmocka_unit_test(test_index_of_another_trace_or_version_is_named),
		cmocka_unit_test(test_lists_with_any_bit_flipped_are_found_and_not_believed),
		cmocka_unit_test(test_lists_that_lie_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
