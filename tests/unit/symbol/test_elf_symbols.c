/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * elf_symbols, module_cache: names of functions from files that may say anything, and how the
 * right file is found.
 */
#include <elf.h>
#include <sys/stat.h>

#include "tests/unit/gen/make_elf.h"
#include "symbol/elf_symbols.h"
#include "symbol/module_cache.h"
#include "symbol/source_lines.h"
#include "tests/unit/unit_test.h"

static const uint8_t id[20] = { 0xab, 0xcd, 3,	4,  5,	6,  7,	8,  9,	10,
				11,   12,   13, 14, 15, 16, 17, 18, 19, 20 };

static const struct elf_function functions[] = {
	{ "outer", 0x401000, 0x100, STB_GLOBAL, 0 },
	{ "inner", 0x401040, 0x10, STB_LOCAL, 0 },	/* inside outer */
	{ "alias_local", 0x401200, 0x20, STB_LOCAL, 0 },
	{ "alias", 0x401200, 0x20, STB_GLOBAL, 0 },
	{ "sizeless", 0x401300, 0, STB_LOCAL, 0 },
	{ "last", 0x401340, 0x10, STB_WEAK, 0 },
	{ "a_variable", 0x401400, 8, STB_GLOBAL, STT_OBJECT },
};

static struct elf_plan plan_of(size_t cnt)
{
	return (struct elf_plan){ .functions = functions, .cnt = cnt, .build_id = id,
				  .build_id_bytes = sizeof(id), .text_offset = 0x1000,
				  .text_addr = 0x401000, .text_bytes = 0x1000 };
}

static int read_bytes(struct elf_symbols **ret, const void *data, size_t bytes)
{
	int fd = make_elf_fd(data, bytes), r = elf_symbols_read(ret, fd);

	close(fd);
	return r;
}

static struct elf_symbols *read_plan(const struct elf_plan *plan)
{
	struct elf_symbols *s = NULL;
	struct buf b = { 0 };

	make_elf(&b, plan);
	assert_int_equal(read_bytes(&s, b.data, b.len), 0);
	buf_done(&b);
	return s;
}

static void expect(struct elf_symbols *s, uint64_t file_offset, const char *name, uint64_t offset)
{
	uint64_t got = 0;
	const char *found = elf_symbols_find(s, file_offset, &got);

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, name);
	assert_int_equal(got, offset);
}

UNIT_TEST(test_elf_symbols_finds_functions_by_file_offset)
{
	struct elf_plan plan = plan_of(7);
	struct elf_symbols *s = read_plan(&plan);
	uint8_t got[ELF_BUILD_ID_MAX];
	uint64_t offset = 0;

	assert_true(elf_symbols_is_full(s));
	expect(s, 0x1000, "outer", 0);
	expect(s, 0x1045, "inner", 5);
	expect(s, 0x1050, "outer", 0x50);	/* after inner, and still in outer */
	expect(s, 0x10ff, "outer", 0xff);
	expect(s, 0x1100, NULL, 0);
	expect(s, 0x1201, "alias", 1);		/* the global one of two */
	expect(s, 0x133f, "sizeless", 0x3f);
	expect(s, 0x1350, NULL, 0);		/* last has ended, and so has sizeless */
	expect(s, 0x1400, NULL, 0);		/* a variable */
	expect(s, 0xfff, NULL, 0);		/* not in the segment */
	expect(s, 0x2000, NULL, 0);
	expect(s, UINT64_MAX, NULL, 0);
	assert_int_equal(elf_symbols_build_id(s, got), 20);
	assert_memory_equal(got, id, 20);
	assert_true(elf_symbols_function(s, "outer", &offset));
	assert_int_equal(offset, 0x1000);
	assert_false(elf_symbols_function(s, "nowhere", &offset));
	elf_symbols_free(s);
}

/* Code without a symbol is one piece between the symbols on both sides. */
UNIT_TEST(test_elf_symbols_limits_what_has_no_symbol)
{
	static const struct {
		uint64_t at, from, to;
	} want[] = { { 0x1100, 0x1100, 0x1200 }, { 0x11ff, 0x1100, 0x1200 },
		     { 0x1220, 0x1220, 0x1300 }, { 0x1350, 0x1350, 0x2000 } };
	struct elf_plan plan = plan_of(7);
	struct elf_symbols *s;
	uint64_t from, to;

	plan.dynamic = 1;
	s = read_plan(&plan);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_true(elf_symbols_range(s, want[i].at, &from, &to));
		assert_int_equal(from, want[i].from);
		assert_int_equal(to, want[i].to);
	}
	assert_false(elf_symbols_range(s, 0x2000, &from, &to));
	elf_symbols_free(s);
}

/* The segment begins inside the first page of its mapping, and zeros follow its bytes. */
UNIT_TEST(test_elf_symbols_names_functions_of_stripped_go)
{
	static const struct elf_function go[] = { { "main.main", 0x401000, 0x40, 0, 0 },
						  { "main.(*T).Do", 0x401040, 0x80, 0, 0 },
						  { "runtime.goexit", 0x4010c0, 0x20, 1, 0 } };
	struct elf_plan plan = plan_of(0);
	struct buf table = { 0 };
	struct elf_symbols *s;

	make_go_table(&table, go, 3);
	plan.go = &table;
	plan.dynamic = true;
	s = read_plan(&plan);
	assert_false(elf_symbols_is_full(s));
	expect(s, 0x1000, "main.main", 0);
	expect(s, 0x103f, "main.main", 0x3f);
	expect(s, 0x1041, "main.(*T).Do", 1);
	expect(s, 0x10df, "runtime.goexit", 0x1f);
	expect(s, 0x10e0, NULL, 0);
	assert_false(elf_symbols_defines(s, "main.main"));
	elf_symbols_free(s);
	/* any other first word, or an end of the names without NUL, is not such a table */
	for (size_t at = 0; at < table.len; at += at ? table.len : 72 + 37) {
		table.data[at] ^= 0x20;
		s = read_plan(&plan);
		expect(s, 0x1000, NULL, 0);
		elf_symbols_free(s);
		table.data[at] ^= 0x20;
	}
	buf_done(&table);
}

UNIT_TEST(test_elf_symbols_finds_variables_by_their_mapping)
{
	static const struct elf_function variables[] = {
		{ "code", 0x404e20, 0x10, STB_GLOBAL, 0 },
		{ "lock", 0x404e40, 0x28, STB_LOCAL, STT_OBJECT },
		{ "zeros", 0x406000, 0x100, STB_GLOBAL, STT_OBJECT },
		{ "elsewhere", 0x409000, 0x10, STB_GLOBAL, STT_OBJECT },
	};
	struct elf_plan plan = { .functions = variables, .cnt = 4, .text_offset = 0x2e10,
				 .text_addr = 0x404e10, .text_bytes = 0x200, .zero_bytes = 0x2000 };
	struct elf_symbols *s = read_plan(&plan);
	uint64_t offset = 0;

	assert_string_equal(elf_symbols_find_variable(s, 0x2000, 0xe40, &offset), "lock");
	assert_int_equal(offset, 0);
	assert_string_equal(elf_symbols_find_variable(s, 0x2000, 0xe67, &offset), "lock");
	assert_int_equal(offset, 0x27);
	assert_null(elf_symbols_find_variable(s, 0x2000, 0xe68, &offset));
	assert_null(elf_symbols_find_variable(s, 0x2000, 0xe20, &offset));
	assert_string_equal(elf_symbols_find_variable(s, 0x2000, 0x20ff, &offset), "zeros");
	assert_int_equal(offset, 0xff);
	/* the memory after the segment, and pages that are not the segment's */
	assert_null(elf_symbols_find_variable(s, 0x2000, 0x5000, &offset));
	assert_null(elf_symbols_find_variable(s, 0x100000, 0x20ff, &offset));
	assert_null(elf_symbols_find_variable(s, UINT64_MAX, 1, &offset));
	expect(s, 0x2e40, NULL, 0);	/* no function */
	elf_symbols_free(s);
}

UNIT_TEST(test_elf_symbols_of_a_stripped_file_are_none)
{
	struct elf_plan plan = plan_of(1);
	struct elf_symbols *s;
	uint32_t crc;

	plan.dynamic = 1;
	plan.link = "x.debug";
	plan.link_crc = 0x1234;
	s = read_plan(&plan);
	assert_false(elf_symbols_is_full(s));
	expect(s, 0x1001, "outer", 1);	/* exported */
	assert_string_equal(elf_symbols_link(s, &crc), "x.debug");
	assert_int_equal(crc, 0x1234);
	elf_symbols_free(s);
}

/*
 * Every byte of the file is cut off, and every byte is changed: the result is an error or an
 * answer, and nothing else.
 */
UNIT_TEST(test_elf_symbols_survives_any_damage)
{
	struct elf_plan plan = plan_of(7);
	struct buf b = { 0 }, table = { 0 };
	size_t i, offset;
	uint64_t got;

	make_go_table(&table, functions, 2);
	plan.go = &table;
	plan.dynamic = true;
	plan.link = "x.debug";
	make_elf(&b, &plan);
	buf_done(&table);
	for (i = 0; i < b.len; i++) {
		struct elf_symbols *s = NULL;
		int r = read_bytes(&s, b.data, i);

		assert_true(r == 0 || r == -ENOEXEC || r == -E2BIG);
		elf_symbols_free(s);
	}
	for (i = 0; i < b.len; i++) {
		static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
		uint8_t was = b.data[i];

		for (unsigned int v = 0; v < sizeof(values); v++) {
			struct elf_symbols *s = NULL;
			int r;

			b.data[i] = values[v];
			r = read_bytes(&s, b.data, b.len);
			assert_true(r == 0 || r == -ENOEXEC || r == -E2BIG || r == -ENOMEM);
			for (offset = 0xf00; !r && offset < 0x2100; offset += 0x11)
				(void)elf_symbols_find(s, offset, &got);
			elf_symbols_free(s);
		}
		b.data[i] = was;
	}
	buf_done(&b);
}

UNIT_TEST(test_elf_symbols_refuses_what_is_too_much)
{
	struct elf_plan plan = plan_of(2);
	struct elf_symbols *s = NULL;
	struct buf b = { 0 };
	Elf64_Shdr *sh;
	Elf64_Ehdr *eh;

	make_elf(&b, &plan);
	eh = (Elf64_Ehdr *)b.data;
	sh = (Elf64_Shdr *)(b.data + eh->e_shoff);
	sh[2].sh_size = (9ull << 20) * sizeof(Elf64_Sym);	/* of symbols that are not there */
	assert_int_equal(read_bytes(&s, b.data, b.len), -E2BIG);
	sh[2].sh_size = 48;
	sh[sh[2].sh_link].sh_size = (512ull << 20) + 1;		/* of names */
	assert_int_equal(read_bytes(&s, b.data, b.len), -E2BIG);
	sh[2].sh_link = 77;
	assert_int_equal(read_bytes(&s, b.data, b.len), -ENOEXEC);
	buf_done(&b);
	assert_int_equal(read_bytes(&s, "#!/bin/sh\n", 10), -ENOEXEC);
	assert_int_equal(read_bytes(&s, "", 0), -ENOEXEC);
}

/* ---- which file ---- */

static char dir[] = "/tmp/ebpfrec-module.XXXXXX";

static void write_elf(const char *name, const struct elf_plan *plan)
{
	char path[128];
	struct buf b = { 0 };
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	make_elf(&b, plan);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
	fclose(f);
	buf_done(&b);
}

static struct map_record mapping(const char *path, const uint8_t *build_id)
{
	struct map_record r = { .what = MAP_CODE, .pid = 0x7fffffff, .start = 0x7000, .end = 0x8000,
				.offset = 0x1000, .path = path };

	if (build_id) {
		r.build_id_bytes = 20;
		memcpy(r.build_id, build_id, 20);
	}
	return r;
}

static struct module_answer ask(struct module_cache *b, const struct map_record *r)
{
	struct module *m = module_cache_of(b, r);
	struct module_answer a;

	assert_non_null(m);
	assert_int_equal(module_cache_find(b, m, r->pid, r->start, r->end, 0x1045, &a), 0);
	return a;
}

UNIT_TEST(test_module_book_says_why_there_is_no_name)
{
	static const uint8_t other[20] = { 9 };
	struct elf_plan plan = plan_of(7);
	struct module_cache *b;
	struct map_record r;
	char path[128];

	assert_non_null(mkdtemp(dir));
	assert_int_equal(module_cache_new(&b, NULL, NULL), 0);
	write_elf("good", &plan);
	snprintf(path, sizeof(path), "%s/good", dir);
	r = mapping(path, id);
	assert_int_equal(ask(b, &r).why, MODULE_NAMED);
	assert_string_equal(ask(b, &r).symbol, "inner");
	assert_int_equal(ask(b, &r).symbol_offset, 5);
	assert_string_equal(ask(b, &r).path, path);
	assert_string_equal(ask(b, &r).build_id, "abcd030405060708090a0b0c0d0e0f1011121314");
	/* another build of it was mapped; the process cannot be asked any more */
	r = mapping(path, other);
	assert_int_equal(ask(b, &r).why, MODULE_EXITED);
	r.pid = (uint32_t)getpid();
	assert_int_equal(ask(b, &r).why, MODULE_CHANGED);
	r = mapping("/nowhere/at/all", id);
	assert_int_equal(ask(b, &r).why, MODULE_EXITED);
	r = mapping("/nowhere/at/all (deleted)", id);
	r.pid = (uint32_t)getpid();
	assert_int_equal(ask(b, &r).why, MODULE_DELETED);
	assert_string_equal(ask(b, &r).path, "/nowhere/at/all");
	r = mapping("//anon", NULL);
	assert_int_equal(ask(b, &r).why, MODULE_ANONYMOUS);
	assert_string_equal(ask(b, &r).path, "");
	r = mapping("[vdso]", NULL);
	assert_int_equal(ask(b, &r).why, MODULE_ANONYMOUS);
	assert_string_equal(ask(b, &r).path, "[vdso]");
	plan.cnt = 0;
	write_elf("bare", &plan);
	snprintf(path, sizeof(path), "%s/bare", dir);
	r = mapping(path, id);
	assert_int_equal(ask(b, &r).why, MODULE_NO_FUNCTION);
	plan.dynamic = 1;
	write_elf("stripped", &plan);
	snprintf(path, sizeof(path), "%s/stripped", dir);
	r = mapping(path, id);
	assert_int_equal(ask(b, &r).why, MODULE_STRIPPED);
	module_cache_free(b);
}

/* The file is found by device and inode where no build id is known; its debug file by its CRC. */
UNIT_TEST(test_module_book_takes_symbols_that_prove_to_belong)
{
	struct elf_plan full = plan_of(7), plan = plan_of(0);
	struct map_record r;
	struct module_cache *b;
	char path[128];
	struct stat st;

	full.build_id = plan.build_id = NULL;
	write_elf("split.debug", &full);
	snprintf(path, sizeof(path), "%s/split.debug", dir);
	for (unsigned int right = 0; right < 2; right++) {
		int fd = open(path, O_RDONLY);

		plan.dynamic = 1;
		plan.link = "split.debug";
		assert_true(debug_file_crc(fd, &plan.link_crc));
		close(fd);
		plan.link_crc += !right;
		write_elf("split", &plan);
		snprintf(path, sizeof(path), "%s/split", dir);
		assert_int_equal(stat(path, &st), 0);
		r = mapping(path, NULL);
		r.ino = st.st_ino;
		r.dev_major = (unsigned int)(st.st_dev >> 8 & 0xfff);
		r.dev_minor = (unsigned int)((st.st_dev & 0xff) | (st.st_dev >> 12 & 0xfff00));
		assert_int_equal(module_cache_new(&b, NULL, NULL), 0);
		assert_int_equal(ask(b, &r).why, right ? MODULE_NAMED : MODULE_STRIPPED);
		r.ino++;	/* not that file */
		r.pid = (uint32_t)getpid();
		assert_int_equal(ask(b, &r).why, MODULE_CHANGED);
		module_cache_free(b);
		snprintf(path, sizeof(path), "%s/split.debug", dir);
	}
}

/* Below a directory is the program, stripped, and a file with its symbols. */
UNIT_TEST(test_symbol_dirs_name_code_by_build_id)
{
	static const char hex[] = "abcd030405060708090a0b0c0d0e0f1011121314";
	struct elf_plan full = plan_of(7), bare = plan_of(0);
	struct symbol_dirs *d;
	char text[256];
	uint64_t offset = 0;

	write_elf("s.debug", &full);
	bare.dynamic = 1;
	write_elf("s", &bare);
	assert_int_equal(symbol_dirs_new(&d, dir, text), 0);
	/* by the address as linked, and by the place in the file */
	assert_string_equal(symbol_dirs_find(d, hex, 0, 0x401045, &offset), "inner");
	assert_int_equal(offset, 5);
	assert_string_equal(symbol_dirs_find(d, hex, 0x1341, 0, &offset), "last");
	assert_int_equal(offset, 1);
	assert_null(symbol_dirs_find(d, hex, 0, 0x401250, &offset));
	assert_null(symbol_dirs_find(d, hex, 0x9000, 0, &offset));
	assert_null(symbol_dirs_find(d, "../s.debug", 0x1341, 0, &offset));
	symbol_dirs_free(d);
	assert_int_equal(symbol_dirs_new(&d, "/tmp/,/nowhere/at/all", text), -ENOENT);
	assert_string_equal(text, "/nowhere/at/all");
}

UNIT_TEST(test_module_crc_is_the_one_of_debuglink)
{
	int fd = make_elf_fd("123456789", 9);
	uint32_t crc;

	assert_true(debug_file_crc(fd, &crc));
	assert_int_equal(crc, 0xcbf43926);
	close(fd);
}

static int remove_dir(void **state)
{
	char cmd[160];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

UNIT_TESTS_IN(NULL, remove_dir)
