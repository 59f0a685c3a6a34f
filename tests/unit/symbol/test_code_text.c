/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Text of a user space address: the known parts, and the reason for missing ones. Names of types
 * of interrupts.
 */
#include "analyze/context/code_text.h"
#include "symbol/source_lines.h"
#include "tests/unit/unit_test.h"

static void expect(struct trace_site s, const char *whole, const char *in_stack)
{
	char text[SITE_TEXT_MAX];

	s.addr = 0x7f21c0a3;
	s.build_id = "";
	site_text_format(text, sizeof(text), &s, true, NULL);
	assert_string_equal(text, whole);
	site_text_format(text, sizeof(text), &s, false, NULL);
	assert_string_equal(text, in_stack);
}

UNIT_TEST(test_a_site_says_what_is_known_of_it)
{
	expect((struct trace_site){ .symbol = "make_node", .symbol_offset = 0x1f,
				    .module = "/usr/lib/libtree.so", .module_offset = 0x11a3 },
	       "make_node+0x1f [libtree.so]", "make_node");
	expect((struct trace_site){ .symbol = "", .module = "/usr/lib/libtree.so",
				    .module_offset = 0x11a3, .why = TRACE_SITE_STRIPPED },
	       "libtree.so+0x11a3 (stripped)", "libtree.so+0x11a3 (stripped)");
	expect((struct trace_site){ .symbol = "", .module = "/usr/lib/libtree.so",
				    .module_offset = 0x11a3, .why = TRACE_SITE_STRIPPED,
				    .range_from = 0x1180, .range_to = 0x1240 },
	       "libtree.so+0x11a3 (stripped)", "libtree.so+[0x1180-0x1240]");
	expect((struct trace_site){ .symbol = "make_node", .symbol_offset = 2, .module = "[jit]" },
	       "make_node+0x2 [jit]", "make_node");
	expect((struct trace_site){ .symbol = "", .module = "[vdso]", .module_offset = 0xa3,
				    .why = TRACE_SITE_NO_FUNCTION }, "[vdso]+0xa3", "[vdso]+0xa3");
	expect((struct trace_site){ .symbol = "", .module = "", .why = TRACE_SITE_ANONYMOUS },
	       "0x7f21c0a3 (anonymous memory)", "(anonymous memory)");
	expect((struct trace_site){ .symbol = "", .module = "", .why = TRACE_SITE_WHY_CNT },
	       "0x7f21c0a3 (unknown)", "(unknown)");
}

/* Lines are looked up in files, not in mappings of the kernel or without a name. */
UNIT_TEST(test_lines_are_asked_of_files_alone)
{
	static const char *const modules[] = { "", "[vdso]", "anon", "/gone/prog" };
	struct trace_site s = { .addr = 0x7f21c0a3, .symbol = "f", .build_id = "00ff",
				.module_offset = 0xa3 };
	char text[SITE_TEXT_MAX];
	struct source_lines *lines;
	const char *path, *why;

	if (!source_lines_is_offered())
		skip();
	assert_int_equal(source_lines_new(&lines, "/tmp", NULL), 0);
	for (unsigned int i = 0; i < 4; i++) {
		s.module = modules[i];
		site_text_format(text, sizeof(text), &s, false, lines);
		assert_string_equal(text, "f");
	}
	assert_true(source_lines_missing(lines, 0, &path, &why));
	assert_string_equal(path, "/gone/prog");
	assert_false(source_lines_missing(lines, 1, &path, &why));
	source_lines_free(lines);
}

UNIT_TEST(test_a_variable_has_a_file)
{
	struct trace_site s = { .addr = 0x7f33a0012018, .symbol = "locks", .symbol_offset = 0x28,
				.module = "/opt/server" };
	char text[SITE_TEXT_MAX];

	site_text_variable(text, sizeof(text), &s);
	assert_string_equal(text, "locks+0x28 (server)");
	/* the other word of a condition variable */
	s.symbol_offset = 0x2c;
	site_text_variable(text, sizeof(text), &s);
	assert_string_equal(text, "locks+0x28 (server)");
	s.symbol_offset = 4;
	site_text_variable(text, sizeof(text), &s);
	assert_string_equal(text, "locks+0x4 (server)");
	s.symbol_offset = 0;
	site_text_variable(text, sizeof(text), &s);
	assert_string_equal(text, "locks (server)");
	s.symbol = "";
	site_text_variable(text, sizeof(text), &s);
	assert_string_equal(text, "7f33a0012018 (server)");
}

UNIT_TEST(test_types_of_interrupts_are_found_by_name)
{
	for (unsigned int i = EVENT_IRQ_LINE; i < EVENT_IRQ_TYPE_CNT; i++)
		assert_int_equal(irq_type_find(irq_type_name(i)), i);
	assert_int_equal(irq_type_find("?"), 0);
	assert_string_equal(irq_type_name(0), "?");
	assert_string_equal(irq_type_name(EVENT_IRQ_TYPE_CNT), "?");
}

UNIT_TESTS
