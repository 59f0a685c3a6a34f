/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* source_lines: files without lines are reported by reason, and by path within each reason. */
#include "symbol/source_lines.h"
#include "tests/unit/gen/make_elf.h"
#include "tests/unit/unit_test.h"

#define ID "abcd0304"

static void write_elf(const char *path)
{
	static const uint8_t id[] = { 0xab, 0xcd, 3, 4 };
	const struct elf_plan plan = { .build_id = id, .build_id_bytes = sizeof(id),
				       .text_offset = 0x1000, .text_addr = 0x401000,
				       .text_bytes = 0x1000 };
	struct buf b = { 0 };
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	make_elf(&b, &plan);
	assert_int_equal(write(fd, b.data, b.len), b.len);
	close(fd);
	buf_done(&b);
}

UNIT_TEST(test_missing_files_come_by_reason)
{
	static const struct {
		const char *path, *id, *why;
	} want[] = {
		{ "/changed", "ffff", "another file is there" },
		{ "/plain", "ffff", "another file is there" },
		{ "/changed", "", "no build id" },
		{ "/changed", ID, "no debugging information" },
		{ "/plain", ID, "no debugging information" },
		{ "/a", ID, "the file is not there" },
		{ "/gone", ID, "the file is not there" },
		{ "/z", ID, "the file is not there" },
	};
	static const unsigned int asked[] = { 7, 1, 4, 2, 5, 0, 3, 6, 7 };
	char root[] = "/tmp/ebpfrec-lines-XXXXXX", name[64];
	const char *path, *why;
	struct source_lines *s;
	unsigned int line, i;

	if (!source_lines_is_offered())
		skip();
	assert_non_null(mkdtemp(root));
	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", root, i ? "/plain" : "/changed");
		write_elf(name);
	}
	assert_int_equal(source_lines_new(&s, root, NULL), 0);
	assert_false(source_lines_missing(s, 0, &path, &why));
	for (i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		assert_null(source_lines_find(s, want[asked[i]].path, want[asked[i]].id, 0x1010,
					      &line));
	for (i = 0; source_lines_missing(s, i, &path, &why); i++) {
		assert_in_range(i, 0, sizeof(want) / sizeof(*want) - 1);
		assert_string_equal(path, want[i].path);
		assert_non_null(strstr(why, want[i].why));
	}
	assert_int_equal(i, sizeof(want) / sizeof(*want));
	source_lines_free(s);
	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", root, i ? "/plain" : "/changed");
		unlink(name);
	}
	rmdir(root);
}

UNIT_TESTS
