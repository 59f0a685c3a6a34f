/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* span_probes: what --request names, and the return instructions of Go functions. */
#include "probe/span_probes.h"
#include "tests/unit/unit_test.h"

#define SELF "/proc/self/exe"

__attribute__((noinline)) int span_test_one(int x);
__attribute__((noinline)) int span_test_two(int x);
int span_test_one(int x) { return x + 1; }
int span_test_two(int x) { return x * 3; }

UNIT_TEST(test_a_request_is_a_function_a_pattern_or_usdt_probes)
{
	struct span_probes p = { 0 };

	assert_int_equal(span_test_one(1) + span_test_two(1), 5);	/* the linker keeps them */
	assert_int_equal(span_probes_add(&p, SELF ":span_test_two", NULL), 0);
	assert_int_equal(p.cnt, 1);
	assert_string_equal(p.names[0], "span_test_two");
	assert_false(span_probes_need_cookies(&p));
	assert_false(span_probes_need(&p, "span_usdt_begin"));
	/* the first one is there already */
	assert_int_equal(span_probes_add(&p, SELF ":span_test_*", NULL), 0);
	assert_int_equal(p.cnt, 2);
	assert_string_equal(p.names[1], "span_test_one");
	assert_int_equal(span_probes_add(&p, "usdt:" SELF ":shop:sale__a/sale__b:arg2", NULL), 0);
	assert_int_equal(p.cnt, 3);
	assert_string_equal(p.names[2], "shop:sale__a");
	assert_string_equal(p.v[2].end, "sale__b");
	assert_int_equal(p.v[2].arg, 3);
	assert_true(span_probes_need_cookies(&p));
	assert_true(span_probes_need(&p, "span_usdt_begin"));
	assert_true(span_probes_need(&p, "span_return"));
	span_probes_done(&p);
}

UNIT_TEST(test_other_requests_are_errors)
{
	static const struct {
		const char *request;
		int err;
	} cases[] = {
		{ "", -EINVAL }, { "x", -EINVAL }, { ":f", -EINVAL }, { SELF ":", -EINVAL },
		{ "usdt:" SELF ":a:b", -EINVAL }, { "usdt:" SELF ":a:b/", -EINVAL },
		{ "usdt:" SELF ":a:b/c:12", -EINVAL }, { "usdt:" SELF ":a:b/c:x", -EINVAL },
		{ "usdt:/nothing:a:b/c", -ENOENT }, { SELF ":no_such_function", -ENOENT },
		{ "/etc/passwd:f", -ENOENT }, { "/nothing:f", -ENOENT }, { SELF ":*", -E2BIG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span_probes p = { 0 };
		struct err e = { "" };

		assert_int_equal(span_probes_add(&p, cases[i].request, &e), cases[i].err);
		assert_true(e.text[0]);
		span_probes_done(&p);
	}
}

UNIT_TEST(test_returns_are_instructions_not_bytes)
{
#ifdef __x86_64__
	static const uint8_t code[] = {
		0xb8, 0xc3, 0xc3, 0xc3, 0xc3,			/* mov $0xc3c3c3c3, %eax */
		0xc3,						/* ret, at 5 */
		0x48, 0x8b, 0x84, 0x24, 0xc3, 0, 0, 0,		/* mov 0xc3(%rsp), %rax */
		0xc5, 0xf9, 0x6f, 0x05, 0xc3, 0xc3, 0, 0,	/* vmovdqa 0xc3c3(%rip), %xmm0 */
		0x49, 0xbb, 0xc3, 0xc3, 0xc3, 0xc3, 0, 0, 0, 0, /* movabs */
		0xf6, 0xc3, 0xc3,				/* test $0xc3, %bl */
		0x0f, 0x84, 0xc3, 0xc3, 0, 0,			/* je */
		0xf3, 0xc3,					/* repz ret, at 41 */
	};
	uint32_t at[2];

	assert_int_equal(returns_find(code, sizeof(code), at, 2), 2);
	assert_int_equal(at[0], 5);
	assert_int_equal(at[1], 41);
	assert_int_equal(returns_find(code, sizeof(code), at, 1), -E2BIG);
	assert_int_equal(returns_find(code, 4, at, 2), -EILSEQ);
	for (unsigned int i = 0; i < 100000; i++) {	/* any bytes: nothing beyond them is read */
		uint8_t *any = malloc(i % 16 + 1);

		for (unsigned int k = 0; k <= i % 16; k++)
			any[k] = (uint8_t)rand();
		returns_find(any, i % 16 + 1, at, 2);
		free(any);
	}
#endif
}

UNIT_TESTS
