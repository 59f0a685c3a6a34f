/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * make_seeds DIR [TRACE...]: writes first inputs for every fuzz target to DIR/TARGET/. They come
 * from generated traces, and from each TRACE, which has one chunk file. Seeds have sections
 * unpacked, too, since a mutated zstd frame rarely unpacks.
 */
#include <sys/stat.h>

#include "analyze/analyze.h"
#include "analyze/fold/index.h"
#include "base/buf.h"
#include "format/chunk.h"
#include "format/event.h"
#include "format/zpack.h"
#include "column_input.h"
#include "edit/checkpoint.h"
#include "trace/derived_file.h"
#include "trace/trace_state.h"
#include "fix_chunk.h"
#include "fuzz.h"
#include "index_trace.h"
#include "store/bundle.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/make_elf.h"

static const char *out_dir;
static struct zunpack *zunpack;

static void put_seed(const char *target, const char *name, uint8_t flags, const void *data,
		     size_t bytes, bool with_flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", out_dir, target);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/seed-%s", out_dir, target, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FUZZ_CHECK(fd >= 0);
	if (with_flags)
		FUZZ_CHECK(write(fd, &flags, 1) == 1);
	FUZZ_CHECK(write(fd, data, bytes) == (ssize_t)bytes && !close(fd));
}

/* A seed that is a trace is written for all targets that read traces. */
static void put_trace(const char *name, uint8_t flags, const struct buf *b)
{
	static const char *const targets[] = { "fuzz_trace", "fuzz_analysis", "fuzz_repair" };

	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		put_seed(targets[i], name, flags, b->data, b->len, true);
}

static uint8_t *unpack(const struct disk_section *s, const uint8_t *stored)
{
	uint8_t *raw = malloc(s->raw_bytes + 1u);

	FUZZ_CHECK(raw &&
		   !zunpack_run(zunpack, s->pack, raw, s->raw_bytes, stored, s->stored_bytes));
	return raw;
}

/* The block at p with all its sections unpacked. */
static void add_unpacked(struct buf *to, const uint8_t *p)
{
	const struct disk_section *table = (const void *)(p + sizeof(struct disk_block));
	struct buf head = { 0 }, body = { 0 };
	struct disk_block h;
	uint8_t *raw, *start;
	size_t at, from = to->len;

	memcpy(&h, p, sizeof(h));
	buf_add(&head, &h, sizeof(h));
	at = h.head_bytes;
	for (unsigned int i = 0; i < h.section_cnt; i++) {
		struct disk_section s = table[i];

		raw = unpack(&s, p + at);
		at += s.stored_bytes;
		s.pack = CHUNK_PACK_NONE;
		s.stored_bytes = s.raw_bytes;
		buf_add(&head, &s, sizeof(s));
		buf_add(&body, raw, s.raw_bytes);
		free(raw);
	}
	buf_add(&body, "\0\0\0\0\0\0\0", -(head.len + body.len) & 7);
	buf_add(to, head.data, head.len);
	buf_add(to, body.data, body.len);
	start = to->data + from;
	fix_block(start, to->len - from, true);
	buf_done(&head);
	buf_done(&body);
}

static void put_columns(const char *name, const uint8_t *p)
{
	const struct disk_section *table = (const void *)(p + sizeof(struct disk_block));
	struct column_input in = { .cpu_cnt = 4, .utid_cnt = 255 };
	struct buf one[EVENT_KIND_CNT] = { 0 };
	struct disk_block h;
	unsigned int i, k;
	uint8_t *raw;
	size_t at;

	memcpy(&h, p, sizeof(h));
	at = h.head_bytes;
	for (i = 0; i < h.section_cnt; i++) {
		const struct disk_section *s = &table[i];
		struct column_section c = {
			.type = s->type == CHUNK_TUPLES,
			.kind = s->kind,
			.column = s->column,
			.part = s->part,
			.encoding = s->encoding,
			.shift = s->shift,
			.item_cnt = (uint16_t)s->item_cnt,
			.bytes = (uint16_t)s->raw_bytes,
		};

		if (s->type > CHUNK_SMALL_END && s->kind < EVENT_KIND_CNT) {
			raw = unpack(s, p + at);
			/* a free refers to the rows of its allocations: they are copied, too */
			for (k = 1; k < EVENT_KIND_CNT; k++) {
				if (k != s->kind && column_xref_kind(k) != s->kind)
					continue;
				buf_add(&one[k], &c, sizeof(c));
				buf_add(&one[k], raw, s->raw_bytes);
			}
			free(raw);
		}
		at += s->stored_bytes;
	}
	for (k = 1; k < EVENT_KIND_CNT; k++) {
		struct buf b = { 0 };
		char file[96];

		if (!h.kind_cnt[k]) {
			buf_done(&one[k]);
			continue;
		}
		memset(in.kind_cnt, 0, sizeof(in.kind_cnt));
		in.kind_cnt[k] = (uint16_t)h.kind_cnt[k];
		if (column_xref_kind(k))
			in.kind_cnt[column_xref_kind(k)] =
				(uint16_t)h.kind_cnt[column_xref_kind(k)];
		buf_add(&b, &in, sizeof(in));
		buf_add(&b, one[k].data, one[k].len);
		snprintf(file, sizeof(file), "%.60s-kind%u", name, k);
		put_seed("fuzz_column", file, 0, b.data, b.len, false);
		buf_done(&b);
		buf_done(&one[k]);
	}
}

static void put_rows(const char *name, const uint8_t *p)
{
	/* CHUNK_x to the number of its row type in ROW_TYPES */
	static const uint8_t types[CHUNK_SMALL_END] = {
		[CHUNK_PROCESSES] = 1, [CHUNK_THREADS] = 2,   [CHUNK_TASK_EVENTS] = 3,
		[CHUNK_RSS_STATE] = 4, [CHUNK_CPU_STATE] = 5, [CHUNK_LOSS] = 6,
		[CHUNK_COST] = 7,      [CHUNK_HOOK_STATS] = 8, [CHUNK_CLOCKS] = 9,
		[CHUNK_NAMES] = 11,    [CHUNK_RSS_SNAPS] = 4, [CHUNK_CPU_END] = 5,
		[CHUNK_MARKS] = 10,    [CHUNK_GAPS] = 12,     [CHUNK_SITES] = 13,
		[CHUNK_FRAMES] = 14,
	};
	const struct disk_section *table = (const void *)(p + sizeof(struct disk_block));
	struct disk_block h;
	size_t at;

	memcpy(&h, p, sizeof(h));
	at = h.head_bytes;
	for (unsigned int i = 0; i < h.section_cnt; at += table[i++].stored_bytes) {
		uint8_t head[9], *raw;
		struct buf b = { 0 };
		char file[96];

		if (table[i].type >= CHUNK_SMALL_END || !types[table[i].type])
			continue;
		raw = unpack(&table[i], p + at);
		head[0] = (uint8_t)(types[table[i].type] - 1);
		memcpy(head + 1, &h.from_ns, 8);
		buf_add(&b, head, 9);
		buf_add(&b, raw, table[i].raw_bytes < 2000 ? table[i].raw_bytes : 2000);
		snprintf(file, sizeof(file), "%.60s-%u", name, table[i].type);
		put_seed("fuzz_rows", file, 0, b.data, b.len, false);
		buf_done(&b);
		free(raw);
	}
}

static void add_file_header(struct buf *b)
{
	struct disk_file h = { .version = CHUNK_VERSION, .bytes = sizeof(h) };

	memcpy(h.magic, CHUNK_FILE_MAGIC, sizeof(h.magic));
	buf_add(b, &h, sizeof(h));
}

/* Some events of every kind that gen_mix does not make: tasks, heap, memory maps, losses. */
static void tell_a_story(struct gen *g, uint64_t ts)
{
	const struct trace_loss loss = {
		.from_ns = ts, .to_ns = ts + 50, .cpu = 1, .hook = 3, .cls = 1, .full_cnt = 4
	};
	const struct trace_cost cost = { .from_ns = ts, .to_ns = ts + 99, .user_ns = 5 };
	const struct trace_hook_stat stat = { .from_ns = ts, .to_ns = ts + 99, .hook = 1,
					      .attempted_cnt = 9, .read_cnt = 9, .run_cnt = 9 };

	gen_snap(g, ts, 0, 100, 100, 1, "init");
	gen_new(g, ts + 1, 0, 100, 101, 101, 100, "child");
	gen_exec(g, ts + 2, 0, 101, 101, 0, "=1+1", "/bin/\"x\"", "x\0-\x1b[31m\0\xff\n", 10);
	gen_rename(g, ts + 3, 0, 101, 101, "a,b\nc");
	gen_cgroup(g, ts + 4, 1, 101, 101, 77);
	gen_switch(g, ts + 5, 0, 100, 101, 0);
	gen_wakeup(g, ts + 6, 1, 0, 100, 0);
	gen_switch(g, ts + 7, 1, 0, 100, 0);
	gen_kmalloc(g, ts + 8, 0, 101, 0xffff888000001000ull, 192, 0xffffffff81000000ull, 0);
	gen_cache_alloc(g, ts + 9, 0, 101, 0xffff888000002000ull, 64, 0xffffffff81000010ull, 5);
	gen_cache_free(g, ts + 10, 0, 101, 0xffff888000002000ull, 5);
	gen_kfree(g, ts + 11, 1, 100, 0xffff888000001000ull);
	gen_page_alloc(g, ts + 12, 0, 101, 4096, 2, 0);
	gen_page_free(g, ts + 13, 0, 101, 4096, 2);
	gen_rss(g, ts + 14, 0, 101, 101, 1, 5000);
	gen_vm(g, ts + 15, 0, 101, 101, 1, 0x7f0000000000ull, 65536, 1016);
	gen_heap(g, ts + 16, 0, 101, 0x55550000, 128);
	gen_heap(g, ts + 17, 0, 101, 0x55550000, 0);
	gen_block(g, ts + 18, 0, 101, WIRE_BLOCK_INSERT, 1, 8 << 20, 2048, 4096, 1);
	gen_block(g, ts + 19, 0, 101, WIRE_BLOCK_ISSUE, 1, 8 << 20, 2048, 4096, 1);
	gen_block(g, ts + 29, 1, 0, WIRE_BLOCK_COMPLETE, 1, 8 << 20, 2048, 4096, 1);
	gen_switch(g, ts + 30, 0, 101, 0, WIRE_F_PREEMPT);
	gen_exit(g, ts + 31, 0, 101, 101, 256, true, 25);
	gen_loss(g, &loss);
	gen_cost(g, &cost);
	gen_hook_stat(g, &stat);
}

static void read_chunk(struct buf *b, const char *trace)
{
	char path[256], data[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/chunk-000000.ebr", trace);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	FUZZ_CHECK(fd >= 0);
	while ((n = read(fd, data, sizeof(data))) > 0)
		buf_add(b, data, (size_t)n);
	close(fd);
}

/*
 * The chunk file as `ebpfrec bundle` packs it, and once more with a comment and an unknown file
 * in the bundle.
 */
static void put_bundles(const char *name, const struct buf *chunk)
{
	static const char manifest[] = "ebpfrec trace 2\npage_bytes=4096\nstate=finished\n";
	const struct bundle_member m[] = {
		{ .name = "README.txt", .data = "a trace\n", .bytes = 8 },
		{ .name = "manifest", .data = manifest, .bytes = sizeof(manifest) - 1 },
		{ .name = "chunk-000000.ebr", .data = chunk->data, .bytes = chunk->len },
		{ .name = "chunk-000007.ebr", .data = chunk->data, .bytes = 60 },
	};
	char dir[64], path[96], file[96];
	uint64_t bytes;
	uint8_t *zip;
	size_t i, n;

	for (i = 2; i <= 4; i++) {
		gen_temp_dir(dir);
		snprintf(path, sizeof(path), "%s/b.zip", dir);
		if (bundle_write(path, i == 2 ? "folder" : NULL, m + (i == 2), i, 1700000000,
				 &bytes, NULL) == 0) {
			zip = index_trace_read(dir, "b.zip", &n);
			snprintf(file, sizeof(file), "%s-%zu", name, i);
			put_seed("fuzz_bundle", file, 0, zip, n, false);
			free(zip);
		}
		gen_remove_dir(dir);
	}
}

static void make_traces(unsigned int records, int blocks, const char *name)
{
	struct buf raw = { 0 }, packed = { 0 }, two = { 0 };
	struct gen_mix m = { .seed = records + 1, .now_ns = 1000000 };
	char dir[64], path[96], file[96];
	const void *block;
	struct gen *g;
	size_t bytes;

	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/t", dir);
	g = gen_open(path, &(struct gen_config){ .from_ns = m.now_ns });
	add_file_header(&raw);
	add_file_header(&two);
	if (records)
		gen_mix_start(g, &m);
	for (int i = 0; i < blocks; i++) {
		struct buf one = { 0 };

		tell_a_story(g, m.now_ns + 1);
		m.now_ns += 40;
		if (records)
			gen_mix_run(g, &m, records);
		gen_slice(g, ++m.now_ns);
		block = gen_last_block(g, &bytes);
		add_unpacked(&raw, block);
		add_unpacked(&one, block);
		if (i && i == blocks - 1)
			add_file_header(&two);
		buf_add(&two, block, bytes);
		snprintf(file, sizeof(file), "%s-%d", name, i);
		put_seed("fuzz_front", file, 3, one.data, one.len, true);
		snprintf(file, sizeof(file), "%s-%d-packed", name, i);
		put_seed("fuzz_front", file, 1, block, bytes, true);
		snprintf(file, sizeof(file), "%s-%d", name, i);
		put_columns(file, block);
		put_rows(file, block);
		buf_done(&one);
	}
	if (records)
		gen_mix_done(&m);
	gen_finish(g);
	read_chunk(&packed, path);
	snprintf(file, sizeof(file), "%s-raw", name);
	put_trace(file, 3, &raw);
	snprintf(file, sizeof(file), "%s-packed", name);
	put_trace(file, 1 | 4, &packed);
	put_bundles(name, &packed);
	snprintf(file, sizeof(file), "%s-two", name);
	put_trace(file, 1, &two);
	gen_remove_dir(dir);
	buf_done(&raw);
	buf_done(&packed);
	buf_done(&two);
}

static void put_index(uint8_t mode, uint8_t question, unsigned int cell, unsigned int part,
		      const void *data, size_t bytes)
{
	const uint8_t head[] = { mode, question, (uint8_t)cell, (uint8_t)part };
	struct buf b = { 0 };
	char name[64];

	buf_add(&b, head, sizeof(head));
	buf_add(&b, data, bytes);
	snprintf(name, sizeof(name), "%u-%u-%u-%u", mode, question, cell, part);
	put_seed("fuzz_index", name, 0, b.data, b.len, false);
	buf_done(&b);
}

/* Every part of the lists. */
static void put_list_seeds(const char *path)
{
	const struct derived_part *p;
	struct derived_file *d;
	struct buf mem = { 0 };
	const uint8_t *raw;
	unsigned int type, nth = 0;
	struct trace *t;
	size_t cnt, i;

	FUZZ_CHECK(!trace_open(&t, path, NULL) && !derived_file_open(&d, t, DERIVED_BESIDE));
	for (type = 0; type < DERIVED_FIRST_OF_INDEX; type++) {
		FUZZ_CHECK(!derived_file_parts(d, type, &p, &cnt));
		for (i = 0; i < cnt; i++) {
			FUZZ_CHECK(!derived_file_read(d, &p[i], &mem, &raw));
			put_index(3, type == DERIVED_LIST + TRACE_LIST_MM_RESETS ? 2 : 8, nth++, 0,
				  raw, p[i].raw_bytes);
		}
	}
	buf_done(&mem);
	derived_file_close(d);
	trace_close(t);
}

/*
 * Every part of the first cells, every tail; the files as they are; a changed byte here and there.
 */
static void make_index_seeds(void)
{
	/* the question that reads a part: enum index_part's order, then the tails */
	static const uint8_t readers[INDEX_PART_CNT + INDEX_TAIL_CNT] = {
		0, 1, 1, 4, 4, 2, 2, 2, 2, 3, 3, 3, 3, 2, 2, 2,
		2, 6, 6, 6, 6, 1, 4, 2, 2, 2, 2, 6, 6, 6, 6,
	};
	const struct analysis_index_use use = { .use = true, .always = true };
	char dir[64], path[96];
	struct buf mem = { 0 };
	struct analysis *a;
	struct packed_in in;
	struct index *x;
	struct trace *t;
	unsigned int cell, part;
	uint8_t *file;
	size_t bytes;

	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/t", dir);
	index_trace_make(path);
	FUZZ_CHECK(!trace_open(&t, path, NULL) && !analysis_open(&a, t, NULL));
	FUZZ_CHECK(!index_open(&x, a, false, NULL) && index_need(x, UINT32_MAX, &use, NULL) > 0);
	for (cell = 0; cell < 4; cell++)
		for (part = 0; part < INDEX_PART_CNT; part++)
			if (!index_read(x, cell, part, &mem, &in) && in.p != in.end)
				put_index(0, readers[part], cell, part, in.p,
					  (size_t)(in.end - in.p));
	for (part = 0; part < INDEX_TAIL_CNT; part++)
		if (!index_read_tail(x, part, &mem, &in) && in.p != in.end)
			put_index(0, readers[INDEX_PART_CNT + part], 0, INDEX_PART_CNT + part, in.p,
				  (size_t)(in.end - in.p));
	index_free(x);
	analysis_close(a);
	trace_close(t);
	put_list_seeds(path);
	file = index_trace_read(path, DERIVED_FILE_NAME, &bytes);
	put_index(1, 3, 0, 0, file, bytes);
	free(file);
	for (part = 0; part < 8; part++) {
		put_index(2, (uint8_t)part, 0, 0, "\x50\x01\x00\x55", 4);
		put_index(4, (uint8_t)part, 0, 0, "\x80\x00\x00\xff\x22\x00\x00\x01", 8);
	}
	buf_done(&mem);
	gen_remove_dir(dir);
}

/* The state at some instants, and a file with bytes changed. */
static void make_carry_seeds(void)
{
	char dir[64], path[96], name[32];
	struct checkpoint c = { 0 };
	struct buf b = { 0 }, point = { 0 };
	struct analysis *a;
	struct trace *t;
	uint64_t at_ns, ignored;
	const uint8_t *after;

	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/t", dir);
	index_trace_make(path);
	FUZZ_CHECK(!trace_open(&t, path, NULL));
	a = index_trace_analysis(t, false);
	for (unsigned int i = 1; i < 8; i++) {
		const uint8_t heads[][4] = { { 0, 0, 0, 0 },
					     { 1, (uint8_t)(32 * i), (uint8_t)i, 0 } };
		size_t mode;

		at_ns = trace_start_ns(t) + (trace_end_ns(t) - trace_start_ns(t)) / 8 * i;
		FUZZ_CHECK(!analysis_checkpoint(a, at_ns, (uint32_t)-1, &c, NULL));
		buf_reset(&point);
		checkpoint_encode(&c, at_ns, &point);
		after = varint_get(point.data, point.data + point.len, &ignored);
		for (mode = 0; mode < 2; mode++) {
			buf_reset(&b);
			buf_add(&b, heads[mode], 4);
			buf_add(&b, after, (size_t)(point.data + point.len - after));
			snprintf(name, sizeof(name), "%zu-%u", mode, i);
			put_seed("fuzz_carry", name, 0, b.data, b.len, false);
		}
		checkpoint_done(&c);
		snprintf(name, sizeof(name), "2-%u", i);
		buf_reset(&b);
		buf_add(&b, (const uint8_t[]){ 2, (uint8_t)(32 * i), 0, 0, (uint8_t)(7 * i), 0, 0,
					       0x55 }, 8);
		put_seed("fuzz_carry", name, 0, b.data, b.len, false);
	}
	analysis_close(a);
	trace_close(t);
	buf_done(&point);
	buf_done(&b);
	gen_remove_dir(dir);
}

/* A recorded trace of one chunk file: the file, each block alone, its manifest. */
static void put_recorded(const char *trace)
{
	const char *name = strrchr(trace, '/') ? strrchr(trace, '/') + 1 : trace;
	struct buf packed = { 0 }, raw = { 0 };
	struct disk_block h;
	char file[96];
	uint8_t *manifest;
	size_t at, bytes;
	int i = 0;

	manifest = index_trace_read(trace, "manifest", &bytes);
	put_seed("fuzz_manifest", name, 0, manifest, bytes, false);
	free(manifest);
	read_chunk(&packed, trace);
	add_file_header(&raw);
	for (at = sizeof(struct disk_file); at + sizeof(h) <= packed.len; at += h.block_bytes) {
		struct buf one = { 0 };

		memcpy(&h, packed.data + at, sizeof(h));
		if (memcmp(h.magic, CHUNK_BLOCK_MAGIC, sizeof(h.magic)))
			break;
		FUZZ_CHECK(h.block_bytes <= packed.len - at);
		snprintf(file, sizeof(file), "%.60s-%d", name, i++);
		put_columns(file, packed.data + at);
		put_rows(file, packed.data + at);
		add_unpacked(&raw, packed.data + at);
		add_file_header(&one);
		add_unpacked(&one, packed.data + at);
		put_seed("fuzz_front", file, 3, one.data + sizeof(struct disk_file),
			 one.len - sizeof(struct disk_file), true);
		put_trace(file, 3, &one);
		buf_reset(&one);
		add_file_header(&one);
		buf_add(&one, packed.data + at, h.block_bytes);
		snprintf(file, sizeof(file), "%.60s-%d-packed", name, i);
		put_trace(file, 1, &one);
		buf_done(&one);
	}
	FUZZ_CHECK(i);
	snprintf(file, sizeof(file), "%.60s-raw", name);
	put_trace(file, 3, &raw);
	snprintf(file, sizeof(file), "%.60s-packed", name);
	put_trace(file, 1 | 4, &packed);
	put_bundles(name, &packed);
	buf_done(&packed);
	buf_done(&raw);
}

static void put_words(const char *target, const char *const *words)
{
	char name[32];

	for (int i = 0; words[i]; i++) {
		snprintf(name, sizeof(name), "word-%02d", i);
		put_seed(target, name, 0, words[i], strlen(words[i]), false);
	}
}

/* Symbols of both tables, with and without a build id and a link; one file is cut off. */
static void put_elf(void)
{
	static const struct elf_function functions[] = {
		{ "outer", 0x401000, 0x100, 1, 0 }, { "inner", 0x401040, 0x10, 0, 0 },
		{ "sizeless", 0x401300, 0, 2, 0 },
	};
	static const uint8_t id[20] = { 1, 2, 3 };
	struct elf_plan plan = { .functions = functions, .cnt = 3, .build_id = id,
				 .build_id_bytes = sizeof(id), .link = "x.debug",
				 .text_offset = 0x1000, .text_addr = 0x401000,
				 .text_bytes = 0x1000 };
	struct buf b = { 0 }, go = { 0 };

	make_elf(&b, &plan);
	put_seed("fuzz_elf_symbols", "full", 0, b.data, b.len, false);
	put_seed("fuzz_elf_symbols", "cut", 0, b.data, b.len / 2, false);
	buf_reset(&b);
	plan.dynamic = 1;
	plan.build_id = NULL;
	plan.link = NULL;
	make_elf(&b, &plan);
	put_seed("fuzz_elf_symbols", "dynamic", 0, b.data, b.len, false);
	buf_reset(&b);
	make_go_table(&go, functions, 2);
	plan.go = &go;
	make_elf(&b, &plan);
	put_seed("fuzz_elf_symbols", "go", 0, b.data, b.len, false);
	buf_done(&go);
	buf_done(&b);
}

static void put_perf_map(void)
{
	static const char map[] = "2000 10 one\n0x2010 0x20 two words\n"
				  "1000 0 no size\n2000 10 again\n";

	/* a jitdump: its header; one function, 16 bytes at 0x2000, and moved by 16 */
	static const uint64_t dump[] = { 0x14a695444, 40, 0, 1, 0, 66ull << 32, 2, 0, 0x2000,
					 0x2000, 16, 0, 0x656e6f, 0 };
	static const uint64_t move[] = { 1 | 64ull << 32, 3, 0, 0, 0x2000, 0x2010, 16, 0 };
	uint8_t both[40 + 66 + sizeof(move)];

	memcpy(both, dump, 40 + 66);
	memcpy(both + 40 + 66, move, sizeof(move));
	put_seed("fuzz_perf_map", "dump", 0, both, sizeof(both), false);
	put_seed("fuzz_perf_map", "map", 0, map, sizeof(map) - 1, false);
}

int main(int argc, char **argv)
{
	static const char *const words[] = { "1.5s",
					     "-2s",
					     "90",
					     "1m30s",
					     "250ms",
					     "64MiB",
					     "1.3KiB",
					     "10G",
					     "@1772366400.5",
					     "2026-03-01T12:00:00.5Z",
					     "2026-03-01T12:00:00+01:00",
					     "T12:00:03",
					     "12,34,56",
					     "sched,alloc.slab,block",
					     "all",
					     "sched.swich",
					     "1d2h",
					     "18446744073709551615",
					     "a b 'c' \"d\"",
					     NULL };
	static const char *const names[] = { "make",
					     "=1+1",
					     "+cmd|' /C calc'!A0",
					     "-2+3",
					     "@SUM(A1)",
					     "\x1b[31mred",
					     "a,b\"c\nd\r",
					     "\xff\xfe half \xc3",
					     "\xe2\x80\xaereverse",
					     "caf\xc3\xa9 \xe6\xbc\xa2",
					     "\t\x01\x7f",
					     NULL };
	static const char *const manifests[] = {
		"ebpfrec trace 2\nstate=recording\npage_bytes=4096\n",
		"ebpfrec trace 2\nnote.n=\\x1b[31m\\x5c\ncommand=sh -c 'a=b'\nstate=finished\n",
		"ebpfrec trace 2\n", NULL
	};
	static const char *const triggers[] = { "\377spike>500MiB",	"\377spike>1.5GiB/250ms",
						"\377io-latency>200ms", "\377runq>50ms",
						"\377loss>0",		"\377exit!=0",
						"\377exit=1",		"\377exit>128",
						"\001spike>5",		"\377exit!=256",
						"\377runq=5ms",	"\377request:GET*>5ms",
						NULL };

	if (argc < 2) {
		fprintf(stderr, "usage: make_seeds DIR [TRACE...]\n");
		return 2;
	}
	out_dir = argv[1];
	mkdir(out_dir, 0755);
	FUZZ_CHECK(!zunpack_new(&zunpack));
	make_traces(0, 1, "short");
	make_traces(0, 3, "story");
	make_traces(60, 3, "mix");
	put_elf();
	put_perf_map();
	put_words("fuzz_words", words);
	put_words("fuzz_names", names);
	put_words("fuzz_manifest", manifests);
	put_words("fuzz_trigger", triggers);
	make_index_seeds();
	make_carry_seeds();
	for (int i = 2; i < argc; i++)
		put_recorded(argv[i]);
	zunpack_free(zunpack);
	return 0;
}
