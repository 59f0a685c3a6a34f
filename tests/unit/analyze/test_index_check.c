/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The derived file beside a trace, with index or lists in it: a bit flipped at every byte is found
 * by the check, and never shows in an answer; so are files of other blocks, and of another trace.
 */
#include <sys/stat.h>
#include <time.h>

#include "analyze/analyze.h"
#include "base/crc32c.h"
#include "edit/trace_copy.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"
#include "trace/derived_file.h"
#include "trace/trace_state.h"

/* Sanitizers take ten times as long, and look for something else. */
#if defined(SANITIZED_address) || defined(SANITIZED_thread)
#define BYTE_STEP 7
#else
#define BYTE_STEP 1
#endif
#define LISTS_STEP (5 * BYTE_STEP)

static const char *const questions[] = {
	"SELECT sum(oncpu_ns), sum(switches), count(*) FROM cpu_usage(0, 1 << 62, 0)",
	"SELECT sum(wait_ns), sum(waits), count(*) FROM sched_waits(0, 1 << 62, 0, 'process')",
	"SELECT sum(alloc_bytes), sum(frees), sum(peak_bytes)"
	" FROM alloc_usage(0, 1 << 62, 0, 'process')",
	"SELECT sum(alloc_bytes), sum(frees), sum(peak_bytes)"
	" FROM alloc_usage(300000, 1 << 62, 0, 'comm')",
	"SELECT sum(ios), sum(bytes), count(*) FROM io_usage(0, 1 << 62, 0, 'process')",
	"SELECT count(*), sum(bytes), min(start_ns) FROM spikes(0, 1 << 62, 3333333, 2000)",
	"SELECT count(*), sum(bytes), min(start_ns) FROM spikes(0, 1 << 62, 10000000, 2000)",
	"SELECT sum(running_ns), sum(sleeping_ns), sum(unknown_ns), count(*)"
	" FROM thread_states(0, 1 << 62, 0, 'process')",
	"SELECT sum(alloc_bytes), sum(frees), sum(peak_bytes)"
	" FROM alloc_usage(0, 1 << 62, 0, 'process') WHERE source = 'rss'",
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

static struct fixture fx;

static void make_trace(struct fixture *f, unsigned int blocks, uint64_t seed)
{
	struct gen_mix m = { .seed = seed, .now_ns = 1000000 };
	struct gen *g;

	gen_temp_dir(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/trace", f->dir);
	snprintf(f->file, sizeof(f->file), "%s/%s", f->path, DERIVED_FILE_NAME);
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

	rows_sql(&r, a, questions[question]);
	assert_int_equal(r.row_cnt, 1);
	for (unsigned int i = 0; i < 3; i++)
		got.v[i] = rows_int(&r, 0, i);
	rows_done(&r);
	return got;
}

/*
 * Makes a file with lists, if there are blocks enough, and index; keeps its bytes, and the answers
 * that do not need it.
 */
static void begin(struct fixture *f, unsigned int blocks, uint64_t seed)
{
	struct analysis *a;
	struct trace *t;

	make_trace(f, blocks, seed);
	assert_int_equal(trace_open(&t, f->path, NULL), 0);
	trace_lists_save(t);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	for (unsigned int i = 0; i < QUESTIONS; i++)
		f->want[i] = ask(a, i);
	use_index(a, true);
	assert_int_equal(analysis_prepare(a, NULL), 0);
	analysis_close(a);
	trace_close(t);
	f->bytes = file_read(f->file, &f->cnt);
}

static void end(struct fixture *f)
{
	if (!f->dir[0])
		return;
	free(f->bytes);
	gen_remove_dir(f->dir);
	memset(f, 0, sizeof(*f));
}

/* As the check does it: 1, 0, -EBADMSG, -ESTALE. */
static int file_check(struct trace *t, const char **ret_why)
{
	struct derived_file *d;
	int r;

	assert_int_equal(derived_file_open(&d, t, DERIVED_BESIDE), 0);
	r = derived_file_state(d, ret_why);
	if (r == 1 && derived_file_verify(d) < 0) {
		*ret_why = "a part is damaged";
		r = -EBADMSG;
	}
	derived_file_close(d);
	return r;
}

static int index_check(const struct fixture *f, const char **ret_why)
{
	struct trace *t;
	int r;

	assert_int_equal(trace_open(&t, f->path, NULL), 0);
	r = file_check(t, ret_why);
	trace_close(t);
	return r;
}

/* ---- the index ---- */

UNIT_TEST(test_index_with_any_bit_flipped_is_found_and_not_believed)
{
	struct analysis *a;
	struct answer got;
	struct trace *t;
	const char *why;
	int r;

	begin(&fx, 3, 5);
	assert_int_equal(index_check(&fx, &why), 1);
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	for (size_t i = 0; i < fx.cnt; i += BYTE_STEP) {
		fx.bytes[i] ^= (uint8_t)(1u << i % 8);
		file_write(fx.file, fx.bytes, fx.cnt);
		fx.bytes[i] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(analysis_open(&a, t, NULL), 0);
		r = file_check(t, &why);
		assert_true((r == -EBADMSG || r == -ESTALE) && *why);
		use_index(a, false);
		got = ask(a, (unsigned int)(i % QUESTIONS));
		if (memcmp(&got, &fx.want[i % QUESTIONS], sizeof(got)))
			fail_msg("byte %zu of %zu: %s: another answer", i, fx.cnt,
				 questions[i % QUESTIONS]);
		analysis_close(a);
	}
	trace_close(t);
	file_write(fx.file, fx.bytes, fx.cnt);
	assert_int_equal(index_check(&fx, &why), 1);
}

UNIT_TEST(test_index_cut_off_anywhere_is_found)
{
	const char *why;

	begin(&fx, 3, 5);
	for (size_t n = 0; n < fx.cnt; n += 1 + n / 50) {
		file_write(fx.file, fx.bytes, n);
		assert_int_equal(index_check(&fx, &why), -EBADMSG);
	}
	assert_int_equal(unlink(fx.file), 0);
	assert_int_equal(index_check(&fx, &why), 0);
}

UNIT_TEST(test_index_of_another_trace_or_version_is_named)
{
	struct fixture f, other;
	uint8_t head[64];
	const char *why;
	uint32_t crc;

	begin(&f, 3, 5);
	begin(&other, 3, 6);
	file_write(f.file, other.bytes, other.cnt);
	assert_int_equal(index_check(&f, &why), -ESTALE);
	assert_non_null(strstr(why, "other blocks"));
	memcpy(head, f.bytes, sizeof(head));
	head[8]++;
	crc = crc32c(0, head, 60);
	memcpy(head + 60, &crc, 4);
	file_write(f.file, f.bytes, f.cnt);
	file_write(f.file, head, sizeof(head));
	assert_int_equal(index_check(&f, &why), -ESTALE);
	assert_non_null(strstr(why, "another version"));
	end(&f);
	end(&other);
}

/* The number of jobs whose parts are in the derived file. */
static size_t jobs_in_file(struct trace *t)
{
	const struct derived_part *parts;
	struct derived_file *d;
	size_t cnt;

	assert_int_equal(derived_file_open(&d, t, DERIVED_BESIDE), 0);
	assert_int_equal(derived_file_parts(d, DERIVED_INDEX_INFO, &parts, &cnt), 0);
	derived_file_close(d);
	return cnt;
}

static void ask_and_compare(const struct fixture *f, struct analysis *a, unsigned int question)
{
	struct answer got = ask(a, question);

	if (memcmp(&got, &f->want[question], sizeof(got)))
		fail_msg("%s: another answer", questions[question]);
}

/*
 * CPU time needs one job. Waits for a CPU need another one, the job of thread states. Requests and
 * resident memory need one job each, allocations the three others of their sources, and interrupts
 * the last one. All jobs together make the same file as a single preparation, except for the
 * positions of its parts.
 */
UNIT_TEST(test_index_has_the_parts_of_what_was_asked)
{
	static const struct {
		unsigned int question;
		size_t jobs;
	} steps[] = { { 0, 1 }, { 1, 2 }, { 4, 3 }, { 8, 4 }, { 2, 7 }, { 5, 7 }, { 6, 7 },
		      { 7, 7 } };
	struct derived_file *d;
	struct analysis *a;
	struct stat st;
	struct trace *t;

	begin(&fx, 3, 5);
	for (unsigned int i = 0; i < 4; i++) {
		bool save = i & 1, fresh = i & 2;

		(void)unlink(fx.file);
		assert_int_equal(trace_open(&t, fx.path, NULL), 0);
		assert_int_equal(analysis_open(&a, t, NULL), 0);
		use_index(a, save);
		for (unsigned int k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
			if (fresh && k) {
				/* the parts of before are in the file, or nowhere */
				analysis_close(a);
				assert_int_equal(analysis_open(&a, t, NULL), 0);
				use_index(a, save);
			}
			ask_and_compare(&fx, a, steps[k].question);
			assert_int_equal(jobs_in_file(t), save ? steps[k].jobs : 0);
		}
		for (unsigned int k = 0; k < QUESTIONS; k++)
			ask_and_compare(&fx, a, k);
		assert_int_equal(analysis_prepare(a, NULL), 0);
		assert_int_equal(jobs_in_file(t), save ? 8 : 0);
		analysis_close(a);
		if (save) {
			assert_int_equal(derived_file_open(&d, t, DERIVED_BESIDE), 0);
			assert_int_equal(derived_file_verify(d), 0);
			derived_file_close(d);
			assert_int_equal(stat(fx.file, &st), 0);
			assert_int_equal(st.st_size, fx.cnt);
		}
		trace_close(t);
	}
}

/*
 * Spikes without baselines need two jobs: resident memory and object bytes. Baselines need a third
 * one. All questions together need all jobs.
 */
UNIT_TEST(test_spikes_need_two_jobs_unless_their_baselines_are_asked_for)
{
	struct analysis *a;
	struct trace *t;
	struct rows r;

	begin(&fx, 3, 5);
	(void)unlink(fx.file);
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	use_index(a, true);
	ask_and_compare(&fx, a, 6);
	assert_true(fx.want[6].v[0] > 0);
	assert_int_equal(jobs_in_file(t), 2);
	rows_sql(&r, a, "SELECT max(baseline_bytes) FROM spikes(0, 1 << 62, 10000000, 2000) "
			"WHERE source = 'slab'");
	rows_done(&r);
	assert_int_equal(jobs_in_file(t), 3);
	for (unsigned int k = 0; k < QUESTIONS; k++)
		ask_and_compare(&fx, a, k);
	assert_int_equal(jobs_in_file(t), 8);
	analysis_close(a);
	trace_close(t);
}

/* All blocks that a question about few events reads are checked before it is answered. */
UNIT_TEST(test_damage_in_what_few_events_need_is_found_before_the_answer)
{
	const struct analysis_index_use use = { .use = true };
	struct trace_block b;
	struct analysis *a;
	struct trace *t;
	size_t cnt;

	begin(&fx, 3, 5);
	assert_int_equal(unlink(fx.file), 0);
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	b = *trace_block_at(t, 1);
	trace_close(t);
	/* flips a bit in the last column of block 0: at most 7 bytes of padding follow it */
	file_flip(file_in(fx.path, "chunk-000000.ebr"), b.offset - 8, 4);
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	analysis_use_index(a, &use);
	assert_int_equal(analysis_prepare_window(a, UINT32_MAX, b.last_ns, UINT64_MAX, NULL), 0);
	trace_damages(t, &cnt);
	assert_int_equal(cnt, 0);
	assert_int_equal(analysis_prepare_window(a, UINT32_MAX, 0, UINT64_MAX, NULL), 0);
	trace_damages(t, &cnt);
	assert_int_equal(cnt, 1);
	analysis_close(a);
	trace_close(t);
}

/* ---- the lists ---- */

struct seen {
	enum check_status status;
	char reason[200];
};

static int on_part(void *ctx, const struct check_part *p)
{
	struct seen *s = ctx;

	if (!strcmp(p->file, DERIVED_FILE_NAME)) {
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

static uint32_t add_text(uint32_t crc, const char *text)
{
	return crc32c(crc, text, strlen(text) + 1);
}

/* A checksum over something of every list. */
static uint32_t digest(struct trace *t)
{
	const struct trace_process *p;
	const struct trace_thread *h;
	const struct trace_name *n;
	uint32_t crc = 0;
	size_t cnt, i;

	p = trace_processes(t, &cnt);
	for (i = 0; i < cnt; i++) {
		crc = crc32c(crc, &p[i], offsetof(struct trace_process, comm));
		crc = add_text(add_text(add_text(crc, p[i].comm), p[i].exe), p[i].cmdline);
	}
	h = trace_threads(t, &cnt);
	for (i = 0; i < cnt; i++)
		crc = add_text(crc32c(crc, &h[i], offsetof(struct trace_thread, comm)), h[i].comm);
	for (unsigned int type = 1; type < TRACE_NAME_TYPE_CNT; type++)
		for (n = trace_names(t, type, &cnt), i = 0; i < cnt; i++)
			crc = add_text(crc32c(crc, &n[i].id, 2 * sizeof(n[i].id)), n[i].name);
#define WHOLE(list, type_)                                              \
	do {                                                            \
		const struct type_ *v = trace_##list(t, &cnt);          \
		crc = crc32c(crc, &cnt, sizeof(cnt));                   \
		for (i = 0; i < cnt; i++)                               \
			crc = crc32c(crc, &v[i], sizeof(uint64_t));     \
	} while (0)
	WHOLE(task_events, trace_task_event);
	WHOLE(rss_baselines, trace_rss);
	WHOLE(rss_snaps, trace_rss);
	WHOLE(losses, trace_loss);
	WHOLE(costs, trace_cost);
	WHOLE(hook_stats, trace_hook_stat);
	WHOLE(gaps, trace_gap);
	WHOLE(sites, trace_site);
	WHOLE(frames, trace_frame);
	WHOLE(clocks, trace_clock);
	WHOLE(marks, trace_mark);
#undef WHOLE
	assert_int_equal(trace_mm_resets_prepare(t), 0);
	for (i = 0; i < trace_mm_reset_cnt(t); i++)
		crc = crc32c(crc, trace_mm_reset_at(t, i), sizeof(struct trace_mm_reset));
	return crc;
}

/* Damage in a part is found when the part is read. The answer then comes from the blocks. */
UNIT_TEST(test_lists_with_any_bit_flipped_are_found_and_not_believed)
{
	struct trace *t, *quick;
	uint32_t want;
	struct seen s;
	bool checks;

	begin(&fx, 66, 5);
	s = lists_check_path(&fx);
	assert_int_equal(s.status, CHECK_VALID);
	assert_string_equal(s.reason, "checksums hold, made of these blocks");
	assert_int_equal(trace_open(&t, fx.path, NULL), 0);
	want = digest(t);
	assert_int_equal(trace_open_quick(&quick, fx.path, NULL), 0);
	assert_non_null(quick->lists);
	assert_int_equal(digest(quick), want);
	trace_close(quick);
	/* an odd step meets every bit of a byte, and each part many times */
	for (size_t i = 0; i < fx.cnt; i += LISTS_STEP) {
		fx.bytes[i] ^= (uint8_t)(1u << i % 8);
		file_write(fx.file, fx.bytes, fx.cnt);
		fx.bytes[i] ^= (uint8_t)(1u << i % 8);
		checks = i / LISTS_STEP % 16 == 0;	/* reads every block */
		if (checks) {
			s = lists_check(t);
			assert_int_equal(s.status, CHECK_NOTE);
			assert_non_null(strstr(s.reason, "not used"));
		}
		assert_int_equal(trace_open_quick(&quick, fx.path, NULL), 0);
		if (digest(quick) != want)
			fail_msg("byte %zu of %zu is changed, and the lists are wrong", i, fx.cnt);
		trace_close(quick);
	}
	trace_close(t);
}

/* Start of the table of that type, as in schema/FORMAT.md. */
static size_t table_at(const struct fixture *f, unsigned int type)
{
	uint64_t dir, at;
	uint32_t cnt;

	memcpy(&dir, f->bytes + 16, 8);
	at = dir + 8 * DERIVED_TYPE_CNT;
	for (unsigned int i = 0; i < type; i++) {
		memcpy(&cnt, f->bytes + dir + 8 * i, 4);
		at += sizeof(struct derived_part) * cnt;
	}
	return at;
}

static struct derived_part first_part(const struct fixture *f, unsigned int type)
{
	struct derived_part p;

	memcpy(&p, f->bytes + table_at(f, type), sizeof(p));
	assert_int_equal(p.type, type);
	return p;
}

/* File and blocks become unreadable after opening: the lists read by then are still valid. */
UNIT_TEST(test_lists_are_taken_in_when_the_trace_is_opened)
{
	struct trace *quick;
	uint32_t want;

	begin(&fx, 66, 5);
	assert_int_equal(trace_open_quick(&quick, fx.path, NULL), 0);
	want = digest(quick);
	trace_close(quick);
	assert_int_equal(trace_open_quick(&quick, fx.path, NULL), 0);
	assert_non_null(quick->lists);
	file_flip(file_in(fx.path, DERIVED_FILE_NAME),
		  first_part(&fx, CHUNK_TASK_EVENTS).offset, 4);
	file_flip(file_in(fx.path, "chunk-000000.ebr"), 64 + 40, 4);
	assert_int_equal(digest(quick), want);
	trace_close(quick);
}

/* Opening a trace whose files were unchanged for a while reads its lists only. */
UNIT_TEST(test_lists_of_unchanged_files_are_opened_without_them)
{
	const struct timespec unchanged = { .tv_sec = 2, .tv_nsec = 200000000 };
	const struct trace_block *b;
	struct trace *quick;
	size_t cnt, i;
	char path[160];
	struct stat st, now;

	begin(&fx, 66, 5);
	nanosleep(&unchanged, NULL);
	unlink(fx.file);
	assert_int_equal(trace_open(&quick, fx.path, NULL), 0);
	trace_lists_save(quick);
	trace_close(quick);
	/*
	 * This file cannot be read as a trace's, but does not look changed: its time was put
	 * into the lists.
	 */
	snprintf(path, sizeof(path), "%s/chunk-000000.ebr", fx.path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(trace_open_quick(&quick, fx.path, NULL), 0);
	assert_non_null(quick->lists);
	assert_int_equal(quick->headers_read, 0);
	trace_close(quick);
	/* touched, it may be another one: then each block says that it is not */
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(stat(path, &now), 0);
	assert_true(now.st_ctim.tv_sec != st.st_ctim.tv_sec ||
		    now.st_ctim.tv_nsec != st.st_ctim.tv_nsec);
	assert_int_equal(trace_open_quick(&quick, fx.path, NULL), 0);
	assert_non_null(quick->lists);
	b = trace_blocks(quick, &cnt);
	for (i = 0; i < cnt && !strcmp(b[i].file, "chunk-000000.ebr"); i++)
		;
	assert_int_equal(quick->headers_read, i);
	trace_close(quick);
	file_flip(file_in(fx.path, "chunk-000000.ebr"), 64 + 40, 4);
	assert_int_equal(trace_open_quick(&quick, fx.path, NULL), 0);
	assert_null(quick->lists);
	trace_close(quick);
}

/* Right checksums, wrong lists: only a comparison with the blocks finds it. */
UNIT_TEST(test_lists_that_lie_are_found)
{
	struct derived_part p;
	struct seen s;
	size_t table;
	uint64_t dir;
	uint32_t crc;

	begin(&fx, 66, 5);
	/* the first block's end of events, in the clear */
	table = table_at(&fx, DERIVED_BLOCKS);
	p = first_part(&fx, DERIVED_BLOCKS);
	fx.bytes[p.offset + 48] ^= 1;
	p.crc = crc32c(0, fx.bytes + p.offset, p.stored_bytes);
	memcpy(fx.bytes + table, &p, sizeof(p));
	memcpy(&dir, fx.bytes + 16, 8);
	crc = crc32c(0, fx.bytes + table, sizeof(p));
	memcpy(fx.bytes + dir + 8 * DERIVED_BLOCKS + 4, &crc, 4);
	crc = crc32c(0, fx.bytes + dir, 8 * DERIVED_TYPE_CNT);
	memcpy(fx.bytes + 48, &crc, 4);
	crc = crc32c(0, fx.bytes, 60);
	memcpy(fx.bytes + 60, &crc, 4);
	file_write(fx.file, fx.bytes, fx.cnt);
	s = lists_check_path(&fx);
	assert_int_equal(s.status, CHECK_NOTE);
	assert_non_null(strstr(s.reason, "does not say what the blocks say"));
}

UNIT_TESTS_END(end, fx)
