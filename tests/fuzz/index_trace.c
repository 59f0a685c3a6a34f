/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* index_trace: offsets are those of schema/FORMAT.md, "The derived file". */
#include <sys/stat.h>

#include "analyze/analyze.h"
#include "base/crc32c.h"
#include "fuzz.h"
#include "index_trace.h"
#include "tests/unit/gen/gen_trace.h"
#include "trace/derived_file.h"

#define BLOCKS 66 /* lists are kept of 64 and more */
#define RICH_BLOCKS 3

void index_trace_make(const char *path)
{
	const struct analysis_index_use use = { .use = true, .always = true, .save = true,
						.checkpoint_events = 60 };
	struct gen_mix m = { .seed = 11, .now_ns = 1000000 };
	struct analysis *a;
	struct trace *t;
	struct gen *g = gen_open(path, &(struct gen_config){ .from_ns = m.now_ns });

	gen_mix_start(g, &m);
	for (int i = 0; i < BLOCKS; i++) {
		gen_mix_run(g, &m, i < RICH_BLOCKS ? 60 : 2);
		gen_heap(g, m.now_ns, 0, 1001, 0x55550000 + 32 * (uint64_t)(i / 2),
			 i % 2 ? 0 : 128);
		gen_slice(g, ++m.now_ns);
	}
	gen_mix_done(&m);
	gen_finish(g);
	FUZZ_CHECK(trace_open(&t, path, NULL) == 0);
	trace_lists_save(t);
	FUZZ_CHECK(analysis_open(&a, t, NULL) == 0);
	analysis_use_index(a, &use);
	FUZZ_CHECK(analysis_prepare(a, NULL) == 0 && analysis_knows_block(a, 0));
	analysis_close(a);
	trace_close(t);
}

struct analysis *index_trace_analysis(struct trace *t, bool use_index)
{
	const struct analysis_index_use use = { .use = use_index };
	struct analysis *a;

	FUZZ_CHECK(analysis_open(&a, t, NULL) == 0);
	analysis_use_index(a, &use);
	return a;
}

uint8_t *index_trace_read(const char *path, const char *file, size_t *ret_bytes)
{
	char name[256];
	struct stat st;
	uint8_t *p;
	int fd;

	snprintf(name, sizeof(name), "%s/%s", path, file);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && !fstat(fd, &st));
	p = malloc((size_t)st.st_size + 1);
	FUZZ_CHECK(p && read(fd, p, (size_t)st.st_size) == st.st_size);
	close(fd);
	*ret_bytes = (size_t)st.st_size;
	return p;
}

void index_trace_write(const char *path, const char *file, const void *data, size_t bytes)
{
	char name[256];
	int fd;

	snprintf(name, sizeof(name), "%s/%s", path, file);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
	FUZZ_CHECK(!ftruncate(fd, (off_t)bytes) && !close(fd));
}

void index_trace_write_changed(const char *path, const char *file, const uint8_t *whole,
			       size_t whole_bytes, const uint8_t *data, size_t bytes)
{
	uint8_t *p = malloc(whole_bytes);

	FUZZ_CHECK(p);
	memcpy(p, whole, whole_bytes);
	for (size_t i = 0; i + 4 <= bytes; i += 4)
		p[(data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16) % whole_bytes] =
			data[i + 3];
	index_trace_write(path, file, p, whole_bytes);
	free(p);
}

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The checksum of the target of a table's entry. */
static void fix_part(uint8_t *p, size_t bytes, uint8_t *entry)
{
	uint64_t at;

	memcpy(&at, entry + 8, sizeof(at));
	if (at <= bytes && get32(entry + 16) <= bytes - at)
		put32(entry + 24, crc32c(0, p + at, get32(entry + 16)));
}

void index_trace_fix(uint8_t *p, size_t bytes)
{
	const size_t head = 64, entry = sizeof(struct derived_part), tables = 8 * DERIVED_TYPE_CNT;
	uint32_t type, i, cnt;
	uint64_t dir;
	size_t at, table;

	if (bytes < head)
		return;
	memcpy(&dir, p + 16, 8);
	if (dir <= bytes && tables <= bytes - dir) {
		at = (size_t)dir + tables;
		for (type = 0; type < DERIVED_TYPE_CNT; type++) {
			table = at;
			cnt = get32(p + dir + 8 * type);
			for (i = 0; i < cnt && entry <= bytes - at; i++, at += entry)
				fix_part(p, bytes, p + at);
			put32(p + dir + 8 * type + 4, crc32c(0, p + table, at - table));
		}
		put32(p + 48, crc32c(0, p + dir, tables));
	}
	put32(p + 60, crc32c(0, p, 60));
}

void index_trace_put_part(struct trace *t, const struct derived_part *part, const uint8_t *data,
			  size_t bytes)
{
	struct derived_file *d;
	struct buf raw = { 0 };
	size_t cnt;

	trace_blocks(t, &cnt);
	buf_add(&raw, data, bytes);
	FUZZ_CHECK(derived_file_open(&d, t, DERIVED_BESIDE | DERIVED_SAVE) == 0 &&
		   derived_file_begin(d, true) == 0);
	FUZZ_CHECK(derived_file_add(d, NULL, part->type, part->key, part->row_cnt, &raw) == 0);
	FUZZ_CHECK(derived_file_commit(d, t, cnt) == 0);
	derived_file_close(d);
	buf_done(&raw);
}
