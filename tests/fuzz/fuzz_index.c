/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_index: what is kept beside a trace to answer faster, changed at will: analysis.idx and lists.idx.
 *
 *     data[0] % 5: 0 a part of a cell (or a tail) is data[4..], all checksums right
 *                  1 analysis.idx is data[4..], checksums made right
 *                  2 analysis.idx with a few bytes changed, as they are
 *                  3 a piece of lists.idx is data[4..], checksums right
 *                  4 lists.idx with a few bytes changed, as they are
 *     data[1]      the question; data[2], data[3] for 0: which cell, which part; data[2] for 3: which piece
 *
 * Whoever makes checksums right may lie, and must do no other harm. What merely was damaged must never show: in 2 and
 * 4 the answers are those without any such file.
 */
#include <errno.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/context.h"
#include "analyze/index.h"
#include "base/crc32c.h"
#include "chunk/chunk.h"
#include "fuzz.h"
#include "index_trace.h"
#include "scratch_trace.h"

#define HEAD_BYTES 4
#define ROWS_MAX 5000
#define PARTS INDEX_PART_CNT
#define TAILS INDEX_TAIL_CNT
#define CELL_BYTES (24 * PARTS + 8)
#define PIECE_ENTRY 40 /* bytes of a piece's entry in lists.idx */

static const char *const questions[] = {
	"SELECT * FROM cpu_usage(0, 1 << 62, 0) ORDER BY 1, 4, 5",
	"SELECT * FROM sched_waits(0, 1 << 62, 100000, 'process') ORDER BY 1, 4, 5, 6",
	"SELECT * FROM alloc_usage(0, 1 << 62, 0, 'process') ORDER BY 1, 4, 5, 6, 7",
	"SELECT * FROM alloc_usage(40000, 900000, 200000, 'comm') ORDER BY 1, 4, 5, 6, 7",
	"SELECT * FROM io_usage(0, 1 << 62, 0, 'process') ORDER BY 1, 4, 5, 6, 7, 8, 27, 28",
	"SELECT * FROM cpu_usage(123456, 654321, 100000) ORDER BY 1, 4, 5",
	"SELECT * FROM spikes(0, 1 << 62, 3333333, 20000) ORDER BY 3, 1, 2, 4",
	"SELECT count(*), sum(start_ns), sum(end_ns), max(comm) FROM threads",
	"SELECT (SELECT count(*) || max(comm) || max(cmdline) FROM processes), (SELECT count(*) || max(name) FROM names),"
	" (SELECT count(*) || max(comm) FROM task_events), (SELECT sum(anon_bytes) FROM rss_baselines),"
	" (SELECT sum(user_ns) FROM cost), (SELECT sum(attempted_cnt) FROM hook_stats), (SELECT max(symbol) FROM user_sites),"
	" (SELECT max(comm) FROM threads WHERE utid = 17), (SELECT max(comm) FROM processes WHERE upid = 17)",
	"SELECT * FROM memory_levels(40000, 900000, 200000) ORDER BY 1, 4",
};
#define QUESTIONS (sizeof(questions) / sizeof(*questions))

static char trace[128];
static uint8_t *index_file, *lists_file;
static size_t index_bytes, lists_bytes;
static uint32_t wanted[QUESTIONS];

struct answer {
	unsigned int cols, rows;
	uint64_t skip; /* columns: percentiles are within 0.4 % with an index */
	uint32_t crc;
};

static int on_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct answer *a = ctx;
	unsigned int i;

	a->cols = col_cnt;
	for (i = 0; i < col_cnt && i < 64; i++)
		if (strstr(names[i], "_p50_") || strstr(names[i], "_p9"))
			a->skip |= 1ull << i;
	return 0;
}

static int on_row(void *ctx, const struct value *v)
{
	struct answer *a = ctx;
	unsigned int i;

	for (i = 0; i < a->cols; i++) {
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
	/* of lists that lie, and cannot be made again in their place, it is said */
	if (r < 0 && !indexed && !trace_lists_trouble(t)) {
		fprintf(stderr, "%s: %s\n", questions[question], e.text);
		abort();
	}
	/* said to be damaged: a caller asks again */
	if (r < 0 && analysis_index_failed(a)) {
		got = (struct answer){ 0 };
		r = analysis_sql(a, questions[question], &sink, &e);
	}
	*ret_crc = got.crc;
	analysis_close(a);
	return r;
}

/* The trace itself never changes, so it stays open for what is asked of its analysis.idx. */
static struct trace *plain;

static void at_exit(void)
{
	trace_close(plain);
	free(index_file);
	free(lists_file);
}

static void begin(void)
{
	unsigned int i;

	snprintf(trace, sizeof(trace), "%s/indexed", scratch_dir());
	index_trace_make(trace);
	index_file = index_trace_read(trace, INDEX_FILE, &index_bytes);
	lists_file = index_trace_read(trace, LISTS_FILE, &lists_bytes);
	FUZZ_CHECK(trace_open(&plain, trace, NULL) == 0);
	atexit(at_exit);
	for (i = 0; i < QUESTIONS; i++)
		FUZZ_CHECK(ask(plain, i, false, &wanted[i]) == 0);
}

/* The index with one blob in place of another. */
static void put_blob(const uint8_t *data, size_t bytes, unsigned int cell, unsigned int part)
{
	uint32_t cells, size = (uint32_t)bytes, none = 0;
	uint8_t *p, *entry;
	uint64_t dir, moved;

	memcpy(&dir, index_file + 16, 8);
	memcpy(&cells, index_file + 32, 4);
	p = malloc(index_bytes + bytes);
	FUZZ_CHECK(p);
	memcpy(p, index_file, dir);
	memcpy(p + dir, data, bytes);
	moved = dir + bytes;
	memcpy(p + moved, index_file + dir, index_bytes - dir);
	memcpy(p + 16, &moved, 8);
	if (part < PARTS)
		entry = p + moved + (size_t)(cell % cells) * CELL_BYTES + 24 * (size_t)part;
	else
		entry = p + moved + (size_t)cells * CELL_BYTES + 24 * (size_t)(part - PARTS);
	memcpy(entry, &dir, 8);
	memcpy(entry + 8, &size, 4);
	memcpy(entry + 12, &size, 4);
	memcpy(entry + 20, &none, 4);
	index_trace_fix(p, index_bytes + bytes);
	index_trace_write(trace, INDEX_FILE, p, index_bytes + bytes);
	free(p);
}

static void put_fixed(const uint8_t *data, size_t bytes)
{
	uint8_t *p = malloc(bytes + 1);

	FUZZ_CHECK(p);
	memcpy(p, data, bytes);
	index_trace_fix(p, bytes);
	index_trace_write(trace, INDEX_FILE, p, bytes);
	free(p);
}

/* The lists with one piece in place of another, all checksums right. */
static void put_lists(const uint8_t *data, size_t bytes, unsigned int piece)
{
	uint32_t cnt, size = (uint32_t)bytes, was, crc = crc32c(0, data, bytes), i;
	uint8_t *p = malloc(lists_bytes + bytes), *entry;
	uint64_t dir, at, offset;

	FUZZ_CHECK(p);
	memcpy(&cnt, lists_file + 12, 4);
	memcpy(&dir, lists_file + 16, 8);
	memcpy(&at, lists_file + dir + (size_t)(piece % cnt) * PIECE_ENTRY, 8);
	memcpy(&was, lists_file + dir + (size_t)(piece % cnt) * PIECE_ENTRY + 8, 4);
	memcpy(p, lists_file, at);
	memcpy(p + at, data, bytes);
	memcpy(p + at + bytes, lists_file + at + was, lists_bytes - at - was);
	dir += bytes - was;
	memcpy(p + 16, &dir, 8);
	for (i = 0, entry = p + dir; i < cnt; i++, entry += PIECE_ENTRY) {
		memcpy(&offset, entry, 8);
		offset += i > piece % cnt ? bytes - was : 0;
		memcpy(entry, &offset, 8);
		if (i != piece % cnt)
			continue;
		memcpy(entry + 8, &size, 4);
		memcpy(entry + 12, &size, 4);
		memcpy(entry + 16, &crc, 4);
		entry[23] = CHUNK_PACK_NONE;
	}
	crc = crc32c(0, p + dir, (size_t)cnt * PIECE_ENTRY);
	memcpy(p + 32, &crc, 4);
	crc = crc32c(0, p, 36);
	memcpy(p + 36, &crc, 4);
	index_trace_write(trace, LISTS_FILE, p, lists_bytes - was + bytes);
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	unsigned int mode, question;
	struct trace *t;
	uint32_t crc;
	int r = 0;

	if (!trace[0])
		begin();
	if (bytes < HEAD_BYTES)
		return 0;
	mode = data[0] % 5;
	question = data[1] % QUESTIONS;
	if (mode == 0)
		put_blob(data + HEAD_BYTES, bytes - HEAD_BYTES, data[2], data[3] % (PARTS + TAILS));
	else if (mode == 1)
		put_fixed(data + HEAD_BYTES, bytes - HEAD_BYTES);
	else if (mode == 2)
		index_trace_write_changed(trace, INDEX_FILE, index_file, index_bytes, data + HEAD_BYTES,
					  bytes - HEAD_BYTES);
	else if (mode == 3)
		put_lists(data + HEAD_BYTES, bytes - HEAD_BYTES, data[2]);
	else
		index_trace_write_changed(trace, LISTS_FILE, lists_file, lists_bytes, data + HEAD_BYTES,
					  bytes - HEAD_BYTES);
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
