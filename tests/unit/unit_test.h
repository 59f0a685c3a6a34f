/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unit_test: cmocka, the headers of C that most tests need, and tests that need no list.
 * UNIT_TEST(test_x) { ... } is a test, UNIT_TESTS at the end of the file is its main(). Tests run
 * in the order of their lines.
 */
#ifndef UNIT_TEST_H
#define UNIT_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ns, bytes */
#define US 1000ull
#define MS 1000000ull
#define MIB (1ull << 20)

enum { UNIT_TESTS_MAX = 64 };

static struct CMUnitTest unit_tests[UNIT_TESTS_MAX];
static int unit_test_lines[UNIT_TESTS_MAX];
static size_t unit_test_cnt;

/* Constructors of a file run in any order. */
static inline void unit_test_add(struct CMUnitTest test, int line)
{
	size_t i = unit_test_cnt++;

	if (i >= UNIT_TESTS_MAX)
		__builtin_trap();
	for (; i > 0 && unit_test_lines[i - 1] > line; i--) {
		unit_tests[i] = unit_tests[i - 1];
		unit_test_lines[i] = unit_test_lines[i - 1];
	}
	unit_tests[i] = test;
	unit_test_lines[i] = line;
}

/* The body of a test follows. It begins after setup, and teardown runs after it, if not NULL. */
#define UNIT_TEST_IN(name, setup, teardown)							\
	static void name(void **state);								\
	__attribute__((constructor)) static void name##_add(void)				\
	{											\
		unit_test_add((struct CMUnitTest)						\
			cmocka_unit_test_setup_teardown(name, setup, teardown), __LINE__);	\
	}											\
	static void name(void **state)

#define UNIT_TEST(name) UNIT_TEST_IN(name, NULL, NULL)

/* main() of a file of tests; setup and teardown of all of them, or NULL */
#define UNIT_TESTS_IN(setup, teardown)								\
	int main(void)										\
	{											\
		return _cmocka_run_group_tests(__FILE__, unit_tests, unit_test_cnt, setup,	\
					       teardown);					\
	}

#define UNIT_TESTS UNIT_TESTS_IN(NULL, NULL)

/*
 * main() of a file of tests that share an object. end(&object) runs after each of them, also after
 * a failed one or one that did not begin the object.
 */
#define UNIT_TESTS_END(end, object)								\
	static int unit_test_end(void **state)							\
	{											\
		end(&(object));									\
		return 0;									\
	}											\
												\
	int main(void)										\
	{											\
		for (size_t i = 0; i < unit_test_cnt; i++)					\
			unit_tests[i].teardown_func = unit_test_end;				\
		return _cmocka_run_group_tests(__FILE__, unit_tests, unit_test_cnt, NULL, NULL);\
	}

#endif
