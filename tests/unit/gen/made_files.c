/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include <sys/stat.h>

#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

const char *file_in(const char *dir, const char *fmt, ...)
{
	static char paths[8][512];
	static unsigned int next;
	char *path = paths[next++ % 8];
	size_t n = (size_t)snprintf(path, sizeof(paths[0]), "%s/", dir);
	va_list args;

	assert_true(n < sizeof(paths[0]));
	va_start(args, fmt);
	vsnprintf(path + n, sizeof(paths[0]) - n, fmt, args);
	va_end(args);
	return path;
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	return fd;
}

uint8_t *file_read(const char *path, size_t *ret_cnt)
{
	int fd = open_file(path, O_RDONLY);
	uint8_t *bytes;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	*ret_cnt = (size_t)st.st_size;
	bytes = malloc(*ret_cnt + 1);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, *ret_cnt), st.st_size);
	close(fd);
	return bytes;
}

void file_write(const char *path, const void *bytes, size_t cnt)
{
	/* Not O_TRUNC: file systems take that for a rewrite that must get to the disk at once. */
	int fd = open_file(path, O_WRONLY | O_CREAT);

	assert_int_equal(pwrite(fd, bytes, cnt, 0), (ssize_t)cnt);
	assert_int_equal(ftruncate(fd, (off_t)cnt), 0);
	close(fd);
}

void file_flip(const char *path, uint64_t at, uint8_t mask)
{
	int fd = open_file(path, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= mask;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}
