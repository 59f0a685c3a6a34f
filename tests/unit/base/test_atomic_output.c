/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A tree is removed while another process still adds files to it. */
#include <pthread.h>
#include <sys/stat.h>

#include "base/atomic_output.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/unit_test.h"

#define ROUNDS 300
#define ITEMS  50

static char dir[64];

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

static struct atomic_output begin(void)
{
	struct atomic_output o;
	struct err e = { "" };

	if (atomic_output_begin(&o, "out", false, &e) < 0)
		fail_msg("%s", e.text);
	return o;
}

UNIT_TEST(test_drop_removes_all_and_follows_nothing)
{
	struct atomic_output o = begin();
	char at[200], *old = strdup(o.dir);
	int fd;

	assert_int_equal(mkdir("kept", 0700), 0);
	fd = open("kept/file", O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	snprintf(at, sizeof(at), "%s/inner", o.dir);
	assert_int_equal(mkdir(at, 0700), 0);
	snprintf(at, sizeof(at), "%s/inner/file", o.dir);
	assert_int_equal(link("kept/file", at), 0);
	snprintf(at, sizeof(at), "%s/link", o.dir);
	assert_int_equal(symlink("../kept", at), 0);
	atomic_output_drop(&o);
	assert_null(o.dir);
	assert_int_equal(access(old, F_OK), -1);
	assert_int_equal(access("kept/file", F_OK), 0);
	atomic_output_drop(&o);
	free(old);
}

static void item(char at[300], const char *dir_path, int number)
{
	snprintf(at, 300, "%s/%d", dir_path, number);
}

/* Removes the files as well, as a command does that fails while a signal ends the program. */
static void *remove_items(void *ctx)
{
	char at[300];

	for (int i = ITEMS; i-- > 0;) {
		item(at, ctx, i);
		(void)rmdir(at);
	}
	return NULL;
}

UNIT_TEST(test_drop_of_what_is_gone_already_is_no_error)
{
	char at[300], old[200];
	pthread_t other;
	int i, k;

	for (i = 0; i < ROUNDS; i++) {
		struct atomic_output o = begin();

		snprintf(old, sizeof(old), "%s", o.dir);
		for (k = 0; k < ITEMS; k++) {
			item(at, o.dir, k);
			assert_int_equal(mkdir(at, 0700), 0);
		}
		assert_int_equal(pthread_create(&other, NULL, remove_items, old), 0);
		atomic_output_drop(&o);
		assert_int_equal(pthread_join(other, NULL), 0);
		assert_int_equal(access(old, F_OK), -1);
	}
}

UNIT_TEST(test_an_output_that_exists_is_not_begun_anew)
{
	struct atomic_output o;
	struct err e = { "" };

	assert_int_equal(mkdir("there", 0700), 0);
	assert_int_equal(atomic_output_begin(&o, "there/", true, &e), -EEXIST);
	assert_non_null(strstr(e.text, "there"));
	assert_null(o.dir);
	atomic_output_drop(&o);
}

/* `-f -o /dev/null` must not cost the machine its /dev/null. */
UNIT_TEST(test_what_is_no_file_is_not_replaced)
{
	struct atomic_output o;
	struct err e = { "" };
	struct stat st;

	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(atomic_output_begin(&o, "pipe", false, &e), -EEXIST);
	assert_non_null(strstr(e.text, "pipe"));
	assert_null(o.dir);
	assert_int_equal(lstat("pipe", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

/* The item has the output's name, for messages, unless that is a way to other directories. */
UNIT_TEST(test_the_item_is_called_as_the_output)
{
	static const char *const names[][2] = { { "a", "/a" },	   { "./b.db", "/b.db" },
						{ "c/", "/c" },	   { ".", "/new" },
						{ "./..", "/new" }, { "./...", "/..." } };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct atomic_output o;

		assert_int_equal(atomic_output_begin(&o, names[i][0], false, NULL), 0);
		assert_string_equal(o.path + strlen(o.dir), names[i][1]);
		atomic_output_drop(&o);
	}
}

UNIT_TESTS_IN(setup, teardown)
