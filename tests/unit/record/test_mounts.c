/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* mounts: a path inside a file system becomes one from the root. */
#include <sys/stat.h>

#include "record/tasks/id_names.h"
#include "tests/unit/unit_test.h"

#define DEV(major, minor) ((uint32_t)(major) << 20 | (minor))

static void read_lines(struct mounts *m, const char *lines)
{
	char path[] = "/tmp/ebpfrec-mounts.XXXXXX";
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	fputs(lines, f);
	fclose(f);
	assert_int_equal(mounts_read(m, path), 0);
	unlink(path);
}

static void expect_of(struct mounts *m, struct mounts_file f, const char *want)
{
	char got[256];

	mounts_path(m, &f, got, sizeof(got));
	assert_string_equal(got, want);
}

static void expect(struct mounts *m, uint32_t dev, const char *inside, const char *want)
{
	expect_of(m, (struct mounts_file){ .dev = dev, .inside = inside }, want);
}

UNIT_TEST(test_a_path_begins_where_its_file_system_is_mounted)
{
	struct mounts m = { 0 };

	read_lines(&m, "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		       "21 20 8:2 / /home rw - xfs /dev/sda2 rw\n"
		       "22 20 0:30 / /proc rw - proc proc rw\n"
		       "not a line\n");
	expect(&m, DEV(8, 1), "/etc/passwd", "/etc/passwd");
	expect(&m, DEV(8, 2), "/me/a b", "/home/me/a b");
	expect(&m, DEV(8, 3), "/x", "/x");	/* not mounted here */
	mounts_done(&m);
}

UNIT_TEST(test_blanks_in_directories_are_blanks)
{
	struct mounts m = { 0 };

	read_lines(&m, "20 1 8:2 / /mnt/my\\040disk\\134x rw - ext4 /dev/sda2 rw\n");
	expect(&m, DEV(8, 2), "/f", "/mnt/my disk\\x/f");
	mounts_done(&m);
}

/* The mount of the whole file system is preferred, in any order; otherwise a bind mount is used. */
UNIT_TEST(test_a_bind_mount_counts_where_there_is_nothing_better)
{
	struct mounts m = { 0 };

	read_lines(&m, "20 1 8:2 /srv/www /var/www rw - ext4 /dev/sda2 rw\n"
		       "21 1 8:2 / /data rw - ext4 /dev/sda2 rw\n");
	expect(&m, DEV(8, 2), "/srv/www/index", "/data/srv/www/index");
	read_lines(&m, "20 1 8:2 /srv/www /var/www rw - ext4 /dev/sda2 rw\n");
	expect(&m, DEV(8, 2), "/srv/www/index", "/var/www/index");
	expect(&m, DEV(8, 2), "/srv/wwwx", "/srv/wwwx");	/* another directory */
	mounts_done(&m);
}

/* The number of a file system is used again: for events before that, only a file tells. */
UNIT_TEST(test_a_later_mount_is_not_where_an_earlier_file_was)
{
	struct mounts_file f = { .dev = DEV(7, 0), .inside = "/file", .ts_ns = 1 };
	char dir[] = "/tmp/ebpfrec-mounts.XXXXXX", path[64], lines[128];
	struct mounts m = { 0 };
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(lines, sizeof(lines), "30 20 7:0 / %s rw - ext4 /dev/loop0 rw\n", dir);
	read_lines(&m, lines);
	expect_of(&m, f, path);			/* mounted before the recording */
	read_lines(&m, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	expect_of(&m, f, "/file");
	read_lines(&m, lines);
	expect_of(&m, f, "/file");		/* no such file below the mount */
	f.ts_ns = m.read_ns;
	expect_of(&m, f, path);
	f.ts_ns = 1;
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	expect_of(&m, f, "/file");		/* another file */
	assert_int_equal(stat(path, &st), 0);
	f.ino = st.st_ino;
	expect_of(&m, f, path);
	read_lines(&m, lines);			/* the mount is still the same one */
	f.ts_ns = m.read_ns - 1;
	f.ino = 0;
	expect_of(&m, f, path);
	unlink(path);
	rmdir(dir);
	mounts_done(&m);
}

UNIT_TESTS
