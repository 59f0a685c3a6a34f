/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* mounts: a path inside a file system becomes one from the root. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "record/tasks/mounts.h"

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
	m->read_ns = UINT64_MAX;	/* not this machine's */
}

static void expect(struct mounts *m, uint32_t dev, const char *inside, const char *want)
{
	char got[256];

	mounts_path(m, dev, inside, got, sizeof(got));
	assert_string_equal(got, want);
}

static void test_a_path_begins_where_its_file_system_is_mounted(void **state)
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

static void test_blanks_in_directories_are_blanks(void **state)
{
	struct mounts m = { 0 };

	read_lines(&m, "20 1 8:2 / /mnt/my\\040disk\\134x rw - ext4 /dev/sda2 rw\n");
	expect(&m, DEV(8, 2), "/f", "/mnt/my disk\\x/f");
	mounts_done(&m);
}

/* The mount of the whole file system is preferred, in any order; otherwise a bind mount is used. */
static void test_a_bind_mount_counts_where_there_is_nothing_better(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_path_begins_where_its_file_system_is_mounted),
		cmocka_unit_test(test_blanks_in_directories_are_blanks),
		cmocka_unit_test(test_a_bind_mount_counts_where_there_is_nothing_better),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
