/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_index: the derived file of a trace, with lists and index, changed at will.
 *
 *     data[0] % 5: 0 a part of the index is data[4..], all checksums right
 *                  1 the file is data[4..], checksums made right
 *                  2 the file with a few bytes changed, as they are
 *                  3 a part of the lists is data[4..], all checksums right
 *                  4 as 2, but the lists are used, too
 *     data[1]      the question
 *     data[2]      for 0: which interval; for 3: which part
 *     data[3]      for 0: which part
 *
 * Somebody who makes checksums right may lie, but do no other harm. Mere damage must never show: in
 * cases 2 and 4 the answers are those without any such file.
 */
#include "analyze/analyze.h"
#include "analyze/context/context.h"
#include "analyze/fold/index.h"
#include "base/crc32c.h"
#include "format/chunk.h"
#include "fuzz.h"
#include "index_trace.h"
#include "scratch_trace.h"
#include "trace/derived_file.h"

#define HEAD_BYTES 4
#define ROWS_MAX 5000
#define PARTS INDEX_PART_CNT
#define TAILS INDEX_TAIL_CNT

static const char *const questions[] = {
	"SELECT * FROM cpu_usage(0, 1 << 62, 0) ORDER BY 1, 4, 5",
	"SELECT * FROM sched_waits(0, 1 << 62, 100000, 'process') ORDER BY 1, 4, 5, 6",
	"SELECT * FROM alloc_usage(0, 1 << 62, 0, 'process') ORDER BY 1, 4, 5, 6, 7",
	"SELECT * FROM alloc_usage(40000, 900000, 200000, 'comm') ORDER BY 1, 4, 5, 6, 7",
	"SELECT * FROM io_usage(0, 1 << 62, 0, 'process') ORDER BY 1, 4, 5, 6, 7, 8, 27, 28",
	"SELECT * FROM cpu_usage(123456, 654321, 100000) ORDER BY 1, 4, 5",
	"SELECT * FROM spikes(0, 1 << 62, 3333333, 20000) ORDER BY 3, 1, 2, 4",
	"SELECT count(*), sum(start_ns), sum(end_ns), max(comm) FROM threads",
	"SELECT (SELECT count(*) || max(comm) || max(cmdline) FROM processes),"
	" (SELECT count(*) || max(name) FROM names),"
	" (SELECT count(*) || max(comm) FROM task_events),"
	" (SELECT sum(anon_bytes) FROM rss_baselines), (SELECT sum(user_ns) FROM cost),"
	" (SELECT sum(attempted_cnt) FROM hook_stats), (SELECT max(symbol) FROM user_sites),"
	" (SELECT max(comm) FROM threads WHERE utid = 17),"
	" (SELECT max(comm) FROM processes WHERE upid = 17)",
	"SELECT * FROM thread_states(0, 1 << 62, 100000, 'process') ORDER BY 1, 4, 5, 6",
	"SELECT * FROM memory_levels(40000, 900000, 200000) ORDER BY 1, 4",
};
#define QUESTIONS (sizeof(questions) / sizeof(*questions))

static char trace[128];
static uint8_t *file;
static size_t file_bytes;
static struct derived_part lists[4096]; /* the parts of the lists */
static size_t list_cnt;
static uint32_t wanted[QUESTIONS];

struct answer {
	unsigned int cols, rows;
	uint64_t skip; /* columns: percentiles are within 0.4 % with an index */
	uint32_t crc;
};

static int on_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct answer *a = ctx;

	a->cols = col_cnt;
	for (unsigned int i = 0; i < col_cnt && i < 64; i++)
		if (strstr(names[i], "_p50_") || strstr(names[i], "_p9"))
			a->skip |= 1ull << i;
	return 0;
}

static int on_row(void *ctx, const struct value *v)
{
	struct answer *a = ctx;

	for (unsigned int i = 0; i < a->cols; i++) {
		if (i < 64 && a->skip >> i & 1)
			continue;
		a->crc = crc32c(a->crc, &v[i].type, sizeof(v[i].type));
		if (v[i].type == VALUE_TEXT)
			a->crc = crc32c(a->crc, v[i].text, v[i].text_bytes);
		else if (v[i].type == VALUE_INT)
			a->crc = crc32c(a->crc, &v[i].i, sizeof(v[i].i));
	}
	return ++a->rows > ROWS_MAX ? -E2BIG : 0;
}

static int on_end(void *ctx)
{
	return 0;
}

/* 0: *ret_crc is the answer's */
static int ask(struct trace *t, unsigned int question, bool indexed, uint32_t *ret_crc)
{
	const struct analysis_index_use use = { .use = indexed, .always = true };
	struct answer got = { 0 };
	const struct row_sink sink = {
		.ctx = &got, .begin = on_begin, .row = on_row, .end = on_end
	};
	struct err e = { "" };
	struct analysis *a;
	int r = analysis_open(&a, t, NULL);

	FUZZ_CHECK(r == 0);
	analysis_use_index(a, &use);
	r = analysis_sql(a, questions[question], &sink, &e);
	/* reported as damaged: a caller asks again */
	if (r < 0 && analysis_index_failed(a)) {
		got = (struct answer){ 0 };
		r = analysis_sql(a, questions[question], &sink, &e);
	}
	*ret_crc = got.crc;
	analysis_close(a);
	return r;
}

/* The trace itself never changes, so it stays open for questions to its index. */
static struct trace *plain;

static void at_exit(void)
{
	trace_close(plain);
	free(file);
}

static void find_lists(void)
{
	const struct derived_part *p;
	struct derived_file *d;
	size_t cnt, i;

	FUZZ_CHECK(derived_file_open(&d, plain, DERIVED_BESIDE) == 0 &&
		   derived_file_state(d, NULL) == 1);
	for (unsigned int type = 0; type < DERIVED_FIRST_OF_INDEX; type++) {
		FUZZ_CHECK(derived_file_parts(d, type, &p, &cnt) == 0);
		for (i = 0; i < cnt && list_cnt < sizeof(lists) / sizeof(*lists); i++)
			lists[list_cnt++] = p[i];
	}
	derived_file_close(d);
}

static void begin(void)
{
	snprintf(trace, sizeof(trace), "%s/indexed", scratch_dir());
	index_trace_make(trace);
	file = index_trace_read(trace, DERIVED_FILE_NAME, &file_bytes);
	FUZZ_CHECK(trace_open(&plain, trace, NULL) == 0);
	find_lists();
	atexit(at_exit);
	for (unsigned int i = 0; i < QUESTIONS; i++)
		FUZZ_CHECK(ask(plain, i, false, &wanted[i]) == 0);
}

/* The file with one part in place of another. */
static void put_part(const uint8_t *data, size_t bytes, const struct derived_part *part)
{
	index_trace_write(trace, DERIVED_FILE_NAME, file, file_bytes);
	index_trace_put_part(plain, part, data, bytes);
}

static struct derived_part index_part(unsigned int cell, unsigned int part)
{
	struct derived_part p = { .type = (uint16_t)(DERIVED_INDEX + part) };
	size_t cells;

	trace_blocks(plain, &cells);
	if (part < PARTS)
		p.key = cell % cells;
	else
		p.type = (uint16_t)(DERIVED_INDEX_TAIL + part - PARTS);
	return p;
}

static void put_fixed(const uint8_t *data, size_t bytes)
{
	uint8_t *p = malloc(bytes + 1);

	FUZZ_CHECK(p);
	memcpy(p, data, bytes);
	index_trace_fix(p, bytes);
	index_trace_write(trace, DERIVED_FILE_NAME, p, bytes);
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	unsigned int mode, question;
	struct derived_part part;
	struct trace *t;
	uint32_t crc;
	int r = 0;

	if (!trace[0])
		begin();
	if (bytes < HEAD_BYTES)
		return 0;
	mode = data[0] % 5;
	question = data[1] % QUESTIONS;
	part = mode == 0 ? index_part(data[2], data[3] % (PARTS + TAILS))
			 : lists[data[2] % list_cnt];
	if (mode == 0 || mode == 3)
		put_part(data + HEAD_BYTES, bytes - HEAD_BYTES, &part);
	else if (mode == 1)
		put_fixed(data + HEAD_BYTES, bytes - HEAD_BYTES);
	else
		index_trace_write_changed(trace, DERIVED_FILE_NAME, file, file_bytes,
					  data + HEAD_BYTES, bytes - HEAD_BYTES);
	t = plain;
	if (mode >= 3)
		r = trace_open_quick(&t, trace, NULL);
	FUZZ_CHECK(r == 0);
	r = ask(t, question, mode < 3, &crc);
	if (mode == 2 || mode == 4)
		FUZZ_CHECK(r == 0 && crc == wanted[question]);
	if (t != plain)
		trace_close(t);
	return 0;
}
