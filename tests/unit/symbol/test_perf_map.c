/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* perf_map: names of code made at run time, from growing files with untrusted content. */
#include <sys/mman.h>

#include "base/clock.h"
#include "symbol/perf_map.h"
#include "tests/unit/unit_test.h"

static const struct perf_map_mapping always = { .start = 0x1000, .until_ns = UINT64_MAX };

struct file {
	int fd;
	struct perf_map *map;
};

static struct file open_file(void)
{
	struct file f = { .fd = memfd_create("map", MFD_CLOEXEC) };

	assert_true(f.fd >= 0);
	assert_int_equal(perf_map_new(&f.map), 0);
	return f;
}

static void close_file(struct file *f)
{
	perf_map_free(f->map);
	close(f->fd);
}

/* Appends text, and returns whether reading it brought symbols. */
static bool append(struct file *f, const char *text)
{
	bool grown;

	assert_int_equal(write(f->fd, text, strlen(text)), strlen(text));
	assert_int_equal(perf_map_read(f->map, f->fd, &grown), 0);
	return grown;
}

/* "name+offset" at an address at ts_ns, or "". */
static const char *at(struct file *f, uint64_t addr, uint64_t ts_ns,
		      const struct perf_map_mapping *in)
{
	static char text[2048];
	struct perf_map_hit h;

	if (!perf_map_find(f->map, addr, ts_ns, in, &h))
		return "";
	assert_true(h.from_ns <= ts_ns && ts_ns < h.until_ns);
	snprintf(text, sizeof(text), "%s+%d", h.name, (int)h.offset);
	return text;
}

UNIT_TEST(test_a_line_names_its_range)
{
	struct file f = open_file();

	assert_true(append(&f, "2000 10 one\n0x2010 0x20 two words: x\n2100 0 no size\n"));
	assert_string_equal(at(&f, 0x2000, 5, &always), "one+0");
	assert_string_equal(at(&f, 0x200f, 5, &always), "one+15");
	assert_string_equal(at(&f, 0x2010, 5, &always), "two words: x+0");
	assert_string_equal(at(&f, 0x1fff, 5, &always), "");
	assert_string_equal(at(&f, 0x2030, 5, &always), "");
	/* one without a size reaches to the next one, and not out of its mapping */
	assert_string_equal(at(&f, 0x2107, 5, &always), "no size+7");
	assert_string_equal(at(&f, 0x3007, 5, &(struct perf_map_mapping){ 0x3000, 0, 9 }), "");
	assert_false(append(&f, "2200 8 ha"));	/* the line is not whole */
	assert_string_equal(at(&f, 0x2200, 5, &always), "no size+256");
	assert_true(append(&f, "lf\n"));
	assert_string_equal(at(&f, 0x2200, 5, &always), "half+0");
	close_file(&f);
}

UNIT_TEST(test_a_later_line_replaces_an_earlier_one)
{
	struct file f = open_file();
	uint64_t read_ns, later_ns;
	struct perf_map_mapping in = always;
	struct perf_map_hit h;

	append(&f, "2000 40 old\n3000 10 other\n");
	read_ns = clock_mono_ns();
	append(&f, "2010 10 new\n");
	later_ns = clock_mono_ns();
	assert_string_equal(at(&f, 0x2010, 0, &always), "old+16");
	assert_string_equal(at(&f, 0x2010, read_ns, &always), "old+16");
	assert_string_equal(at(&f, 0x2010, later_ns, &always), "new+0");
	assert_string_equal(at(&f, 0x200f, later_ns, &always), "old+15");
	assert_string_equal(at(&f, 0x2020, later_ns, &always), "old+32");
	assert_string_equal(at(&f, 0x3000, later_ns, &always), "other+0");
	/* the memory was made executable between the reads: that is the instant */
	in.from_ns = read_ns;
	assert_true(perf_map_find(f.map, 0x2010, read_ns, &in, &h));
	assert_string_equal(h.name, "new");
	assert_true(h.from_ns == read_ns && h.until_ns == UINT64_MAX);
	in.from_ns = 0;
	in.until_ns = read_ns;
	assert_true(perf_map_find(f.map, 0x2010, read_ns - 1, &in, &h));
	assert_string_equal(h.name, "old");
	assert_true(h.until_ns == read_ns);
	close_file(&f);
}

/* A record of a jitdump: LOAD with a name and 3 bytes of code, or MOVE. */
static void append_record(struct file *f, uint32_t id, uint64_t ts_ns, uint64_t from, uint64_t to,
			  uint64_t bytes, const char *name)
{
	struct {
		uint32_t id, bytes;
		uint64_t ts_ns, pid_tid, vma, v[4];
	} r = { id, id ? 64 : (uint32_t)(56 + strlen(name) + 1 + 3), ts_ns, 0, 0,
		{ id ? from : to, id ? to : bytes, id ? bytes : 0, 0 } };

	assert_int_equal(write(f->fd, &r, id ? 64 : 56), id ? 64 : 56);
	if (!id)
		assert_int_equal(write(f->fd, name, strlen(name) + 1), strlen(name) + 1);
	if (!id)
		assert_int_equal(write(f->fd, "ret", 3), 3);
}

UNIT_TEST(test_a_jitdump_has_instants)
{
	static const uint64_t header[] = { 0x14a695444, 40, 0, 0, 0 };
	struct file f = open_file();
	bool grown;

	assert_int_equal(write(f.fd, header, sizeof(header)), sizeof(header));
	append_record(&f, 0, 100, 0, 0x2000, 0x40, "old");
	append_record(&f, 3, 150, 0, 0, 0, "a kind that is skipped");
	append_record(&f, 0, 200, 0, 0x2010, 0x10, "new");
	append_record(&f, 1, 300, 0x2010, 0x3000, 0x10, NULL);
	append_record(&f, 1, 300, 0x4444, 0x3010, 0x10, NULL);
	assert_int_equal(perf_map_read(f.map, f.fd, &grown), 0);
	assert_true(grown);
	assert_string_equal(at(&f, 0x2012, 199, &always), "old+18");
	assert_string_equal(at(&f, 0x2012, 200, &always), "new+2");
	assert_string_equal(at(&f, 0x2020, 900, &always), "old+32");
	assert_string_equal(at(&f, 0x3002, 300, &always), "new+2");
	assert_string_equal(at(&f, 0x3010, 900, &always), "");
	/* a record that is being written is read when it is whole */
	assert_int_equal(write(f.fd, "\0\0\0\0\100\0\0\0", 8), 8);
	assert_int_equal(perf_map_read(f.map, f.fd, &grown), 0);
	assert_false(grown);
	assert_int_equal(lseek(f.fd, -8, SEEK_CUR) >= 0, 1);
	append_record(&f, 0, 400, 0, 0x2020, 0x10, "last");
	assert_int_equal(perf_map_read(f.map, f.fd, &grown), 0);
	assert_string_equal(at(&f, 0x2020, 399, &always), "old+32");
	assert_string_equal(at(&f, 0x2020, 400, &always), "last+0");
	close_file(&f);
}

/* Records with more code than the reader's buffer has room for. */
UNIT_TEST(test_a_jitdump_with_much_code)
{
	static const uint64_t header[] = { 0x14a695444, 40, 0, 0, 0 };
	static uint8_t code[100000];
	struct file f = open_file();
	char name[2048], text[2100];
	bool grown;

	assert_int_equal(write(f.fd, header, sizeof(header)), sizeof(header));
	for (unsigned int i = 0; i < 50; i++) {
		uint32_t bytes = 3571 * i % 100000;
		uint64_t load[7] = { (uint64_t)(56 + 1500 + 1 + bytes) << 32, 10 + i, 0, 0,
				     0x2000 + 16 * i, 16, 0 };

		memset(name, 'a' + (int)(i % 26), 1500);
		name[1500] = 0;
		assert_int_equal(write(f.fd, load, 56), 56);
		assert_int_equal(write(f.fd, name, 1501), 1501);
		assert_int_equal(write(f.fd, code, bytes), bytes);
	}
	assert_int_equal(perf_map_read(f.map, f.fd, &grown), 0);
	for (unsigned int i = 0; i < 50; i++) {
		memset(name, 'a' + (int)(i % 26), PERF_MAP_NAME_MAX);
		snprintf(text, sizeof(text), "%.*s+5", PERF_MAP_NAME_MAX, name);
		assert_string_equal(at(&f, 0x2005 + 16 * i, 900, &always), text);
	}
	close_file(&f);
}

UNIT_TEST(test_a_file_that_is_written_again_repeats_itself)
{
	static const char text[] = "2000 40 same\n3000 10 other\n";
	struct file f = open_file();
	bool grown;
	size_t bytes;

	append(&f, text);
	bytes = perf_map_bytes(f.map);
	assert_string_equal(at(&f, 0x2000, 5, &always), "same+0");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ftruncate(f.fd, 0) | lseek(f.fd, 0, SEEK_SET), 0);
		assert_int_equal(perf_map_read(f.map, f.fd, &grown), 0);
		assert_false(grown);
		append(&f, text);
		assert_string_equal(at(&f, 0x2000, 5, &always), "same+0");
	}
	assert_true(perf_map_bytes(f.map) < bytes + 1000);
	close_file(&f);
}

UNIT_TEST(test_lines_that_make_no_sense_are_skipped)
{
	static char longest[200000];
	struct file f = open_file();

	assert_false(append(&f, "\n\n2000\n2000 \n2000 10\n2000 10 \n 2000 10 a\n-1 10 b\n"
				"zz 10 c\n2000 zz d\n"
				"fffffffffffffff0 20 e\n2000 ffffffff f\n"
				"12345678901234567 1 g\n0x 1 h\n"));
	memset(longest, 'x', sizeof(longest) - 2);
	longest[sizeof(longest) - 2] = '\n';
	assert_false(append(&f, longest));
	memcpy(longest, "2000 10 ", 8);
	memset(longest + 8, 'y', 3000);
	longest[3008] = '\n';
	longest[3009] = 0;
	assert_true(append(&f, longest));
	longest[8 + PERF_MAP_NAME_MAX] = 0;
	strcat(longest, "+0");
	assert_string_equal(at(&f, 0x2000, 5, &always), longest + 8);
	close_file(&f);
}

/* A million ranges that overlap cost a bounded search, and memory is bounded. */
UNIT_TEST(test_hostile_files_cost_little)
{
	struct file f = open_file();
	FILE *out = fdopen(dup(f.fd), "w");
	struct perf_map_hit h;
	bool grown;

	for (unsigned int i = 0; i < PERF_MAP_MAX_SYMBOLS + 1000; i++)
		fprintf(out, "%x 100000 f%x\n", 0x1000 + i, i);
	fclose(out);
	assert_int_equal(perf_map_read(f.map, f.fd, &grown), 0);
	for (unsigned int i = 0; i < 1000; i++)
		assert_true(perf_map_find(f.map, 0x90000 + i, 5, &always, &h));
	assert_true(perf_map_bytes(f.map) < 256u << 20);
	close_file(&f);
}

UNIT_TESTS
