// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* A tree is removed while somebody else goes on making it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/remove_tree.h"
#include "gen_trace.h"

#define ROUNDS 3000

static char dir[64];
static atomic_bool is_over;

static int setup(void **state)
{
	gen_temp_dir(dir);
	return chdir(dir);
}

static int teardown(void **state)
{
	assert_int_equal(chdir("/"), 0);
	gen_remove_dir(dir);
	return 0;
}

static void test_remove_tree_removes_all_and_follows_nothing(void **state)
{
	int fd;

	assert_int_equal(mkdir("kept", 0700), 0);
	fd = open("kept/file", O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mkdir("top", 0700), 0);
	assert_int_equal(mkdir("top/inner", 0700), 0);
	assert_int_equal(symlink("../kept", "top/link"), 0);
	assert_int_equal(link("kept/file", "top/inner/file"), 0);
	assert_int_equal(remove_tree(AT_FDCWD, "top"), 0);
	assert_int_equal(access("top", F_OK), -1);
	assert_int_equal(access("kept/file", F_OK), 0);
	assert_int_equal(remove_tree(AT_FDCWD, "top"), -ENOENT);
}

/* Makes and removes what is inside, as a command does that is interrupted and cleans up after itself. */
static void *come_and_go(void *ctx)
{
	while (!is_over) {
		(void)mkdir("top/inner", 0700);
		(void)mkdir("top/inner/file", 0700);
		(void)rmdir("top/inner/file");
		(void)rmdir("top/inner");
	}
	return NULL;
}

static void test_remove_tree_what_is_gone_already_is_no_error(void **state)
{
	pthread_t other;
	int i, r;

	assert_int_equal(pthread_create(&other, NULL, come_and_go, NULL), 0);
	for (i = 0; i < ROUNDS; i++) {
		if (mkdir("top", 0700) < 0)
			assert_int_equal(errno, EEXIST);
		r = remove_tree(AT_FDCWD, "top");
		if (r != -ENOTEMPTY)
			assert_int_equal(r, 0);
	}
	is_over = true;
	assert_int_equal(pthread_join(other, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remove_tree_removes_all_and_follows_nothing),
		cmocka_unit_test(test_remove_tree_what_is_gone_already_is_no_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
