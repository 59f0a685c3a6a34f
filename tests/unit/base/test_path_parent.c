/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The directory of a new trace: links are followed only if no other user can have made them. */
#include <sys/stat.h>

#include "base/atomic_output.h"
#include "tests/unit/gen/gen_trace.h"
#include "store/files.h"
#include "store/store_writer.h"
#include "tests/unit/unit_test.h"

/* store_backup(): only the caller is trusted. */
#define NO_USER ((uid_t)-1)

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

/* The inode of the directory that path is in, or the error. */
static long where(const char *path, char *name)
{
	struct path_parent p;
	struct stat st;
	int r = path_parent_open(&p, path);

	if (r < 0)
		return r;
	assert_int_equal(fstat(p.dir_fd, &st), 0);
	strcpy(name, p.name);
	path_parent_close(&p);
	return (long)st.st_ino;
}

static long inode(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (long)st.st_ino;
}

UNIT_TEST_IN(test_place_is_parent_and_name, setup, teardown)
{
	char name[NAME_MAX + 1], path[200];

	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/b", 0755), 0);
	assert_int_equal(where("t", name), inode("."));
	assert_string_equal(name, "t");
	assert_int_equal(where("a/b/t", name), inode("a/b"));
	assert_int_equal(where("a//b/../t/", name), inode("a"));
	assert_string_equal(name, "t");
	snprintf(path, sizeof(path), "%s/a/./t", dir);
	assert_int_equal(where(path, name), inode("a"));
	assert_int_equal(where("a/none/t", name), -ENOENT);
	assert_int_equal(where("", name), -EINVAL);
	assert_int_equal(where("/", name), -EINVAL);
	close(open("file", O_CREAT | O_WRONLY, 0600));
	assert_int_equal(where("file/t", name), -ENOTDIR);
}

UNIT_TEST_IN(test_place_follows_own_links, setup, teardown)
{
	char name[NAME_MAX + 1], path[200];

	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(symlink("a", "relative"), 0);
	snprintf(path, sizeof(path), "%s/relative", dir);
	assert_int_equal(symlink(path, "absolute"), 0);
	assert_int_equal(symlink("round", "round"), 0);
	assert_int_equal(where("relative/t", name), inode("a"));
	assert_int_equal(where("absolute/t", name), inode("a"));
	assert_int_equal(where("round/t", name), -ELOOP);
	/* the last name is not followed */
	assert_int_equal(where("a/../relative", name), inode("."));
}

UNIT_TEST_IN(test_place_refuses_links_of_others_where_others_write, setup, teardown)
{
	char name[NAME_MAX + 1];

	if (geteuid())
		skip();
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(symlink("../a", "plain"), 0);
	assert_int_equal(mkdir("open", 0777), 0);
	assert_int_equal(chmod("open", 01777), 0);
	assert_int_equal(symlink("../a", "open/theirs"), 0);
	assert_int_equal(lchown("open/theirs", 1234, 1234), 0);
	assert_int_equal(symlink("../a", "open/ours"), 0);
	assert_int_equal(where("open/theirs/t", name), -ELOOP);
	assert_int_equal(where("open/ours/t", name), inode("a"));
	/* the owner of the directory may: it is theirs */
	assert_int_equal(chown("open", 1234, 1234), 0);
	assert_int_equal(where("open/theirs/t", name), inode("a"));
	/* members of the directory's group are others, too */
	assert_int_equal(chown("open", 0, 1234), 0);
	assert_int_equal(chmod("open", 0770), 0);
	assert_int_equal(where("open/theirs/t", name), -ELOOP);
	assert_int_equal(chmod("open", 0750), 0);
	assert_int_equal(where("open/theirs/t", name), inode("a"));
}

UNIT_TEST_IN(test_place_follows_links_of_root_for_everybody, setup, teardown)
{
	char name[NAME_MAX + 1];
	long got_root, got_theirs;

	if (geteuid())
		skip();
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("open", 0777), 0);
	assert_int_equal(chown("open", 1234, 1234), 0);
	assert_int_equal(chmod("open", 01777), 0);
	assert_int_equal(symlink("../a", "open/roots"), 0);
	assert_int_equal(symlink("../a", "open/theirs"), 0);
	assert_int_equal(lchown("open/theirs", 4321, 4321), 0);
	assert_int_equal(seteuid(65534), 0);
	got_root = where("open/roots/t", name);
	got_theirs = where("open/theirs/t", name);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(got_root, inode("a"));
	assert_int_equal(got_theirs, -ELOOP);
}

UNIT_TEST_IN(test_trace_is_not_made_through_anothers_link, setup, teardown)
{
	struct store_config nobody = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct store_writer *w;
	struct err e = { "" };
	struct stat st;

	if (geteuid())
		skip();
	assert_int_equal(mkdir("target", 0777), 0);
	assert_int_equal(mkdir("open", 0777), 0);
	assert_int_equal(chmod("open", 01777), 0);
	assert_int_equal(symlink("../target", "open/dir"), 0);
	assert_int_equal(symlink("../target/t", "open/t"), 0);
	assert_int_equal(lchown("open/dir", 1234, 1234), 0);
	assert_int_equal(lchown("open/t", 1234, 1234), 0);
	assert_int_equal(store_writer_create(&w, "open/dir/t", &nobody, &e), -ELOOP);
	assert_non_null(strstr(e.text, "symbolic link"));
	assert_int_equal(store_writer_create(&w, "open/t", &nobody, NULL), -EEXIST);
	assert_int_equal(stat("target/t", &st), -1);
	/* an existing directory of another user */
	assert_int_equal(mkdir("open/pre", 0700), 0);
	assert_int_equal(chown("open/pre", 1234, 1234), 0);
	assert_int_equal(store_writer_create(&w, "open/pre", &nobody, NULL), -EEXIST);
}

UNIT_TEST_IN(test_anothers_trace_is_not_moved_where_others_write, setup, teardown)
{
	struct store_config nobody = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct store_writer *w;
	struct err e = { "" };
	struct stat st;

	if (geteuid())
		skip();
	assert_int_equal(mkdir("open", 0777), 0);
	assert_int_equal(chmod("open", 01777), 0);
	assert_int_equal(store_writer_create(&w, "open/t", &nobody, NULL), 0);
	assert_int_equal(store_writer_finish(w, NULL), 0);
	assert_int_equal(chown("open/t", 1234, 1234), 0);
	assert_int_equal(store_backup(dir, 0, NO_USER, &e) < 0, 1);
	memset(&e, 0, sizeof(e));
	assert_int_equal(store_backup("open/t", 1, NO_USER, &e), -EPERM);
	assert_non_null(strstr(e.text, "another user"));
	assert_int_equal(stat("open/t", &st), 0);
	/* under sudo, when it is the caller's */
	assert_int_equal(store_backup("open/t", 0, 1234, NULL), 1);
	assert_int_equal(stat("open/t.old", &st), 0);
}

/* Another process replaced the new directory with another directory of ours, which is not empty. */
UNIT_TEST_IN(test_swapped_directory_is_refused, setup, teardown)
{
	uid_t uid;
	mode_t mode;
	int fd;

	assert_int_equal(mkdir("swapped", 0700), 0);
	close(open("swapped/manifest", O_CREAT | O_WRONLY, 0600));
	assert_int_equal(files_kernel.open_dir(NULL, "swapped", &uid, &mode), -ENOTEMPTY);
	assert_int_equal(mkdir("empty", 0700), 0);
	assert_int_equal(symlink("empty", "link"), 0);
	assert_true(files_kernel.open_dir(NULL, "link", &uid, &mode) < 0);
	fd = files_kernel.open_dir(NULL, "empty", &uid, &mode);
	assert_true(fd >= 0);
	assert_int_equal(uid, geteuid());
	assert_int_equal(mode, 0700);
	close(fd);
}

/*
 * The kernel's mkdirat(), but another process at once replaces the new directory with another one.
 */
static mode_t swapped_mode;
static uid_t swapped_uid;

static int make_swapped(void *ctx, const char *name, mode_t mode)
{
	char mine[100];
	int r = files_kernel.make_dir(NULL, name, mode);

	if (r < 0)
		return r;
	snprintf(mine, sizeof(mine), "%s.mine", name);
	assert_int_equal(rename(name, mine), 0);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(chmod(name, swapped_mode), 0);
	assert_int_equal(chown(name, swapped_uid, (gid_t)-1), 0);
	return 0;
}

UNIT_TEST_IN(test_trace_is_not_made_in_anothers_empty_directory, setup, teardown)
{
	struct files swaps = files_kernel;
	struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1, .files = &swaps };
	struct store_writer *w;
	struct err e = { "" };

	if (geteuid())
		skip();
	swaps.make_dir = make_swapped;
	swapped_mode = 0700;
	swapped_uid = 1234;
	assert_int_equal(store_writer_create(&w, "of-another", &config, &e), -EPERM);
	assert_non_null(strstr(e.text, "somebody else replaced it"));
	assert_int_equal(access("of-another/manifest", F_OK), -1);
	swapped_mode = 0777;
	swapped_uid = 0;
	assert_int_equal(store_writer_create(&w, "open-to-all", &config, NULL), -EPERM);
	assert_int_equal(access("open-to-all/manifest", F_OK), -1);
}

UNIT_TEST_IN(test_files_are_new_ones, setup, teardown)
{
	int dir_fd = open(".", O_RDONLY | O_DIRECTORY), fd;

	fd = files_kernel.create(NULL, dir_fd, "new");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(files_kernel.create(NULL, dir_fd, "new"), -EEXIST);
	assert_int_equal(symlink("elsewhere", "link"), 0);
	assert_true(files_kernel.create(NULL, dir_fd, "link") < 0);
	assert_int_equal(access("elsewhere", F_OK), -1);
	close(dir_fd);
}

UNIT_TESTS
