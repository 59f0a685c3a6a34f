/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* files: one system call per function. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "store/files.h"

static int result(int r)
{
	return r < 0 ? -errno : r;
}

static int kernel_make_dir(void *ctx, const char *path, mode_t mode)
{
	struct path_parent p;
	int r = path_parent_open(&p, path);

	if (r < 0)
		return r;
	r = result(mkdirat(p.dir_fd, p.name, mode));
	if (r == 0)
		path_parent_sync(&p);
	path_parent_close(&p);
	return r;
}

static int kernel_remove_dir(void *ctx, const char *path)
{
	struct path_parent p;
	int r = path_parent_open(&p, path);

	if (r < 0)
		return r;
	r = result(unlinkat(p.dir_fd, p.name, AT_REMOVEDIR));
	path_parent_close(&p);
	return r;
}

static int any_name(void *ctx, const char *name)
{
	return -ENOTEMPTY;
}

static int kernel_open_dir(void *ctx, const char *path, uid_t *ret_uid, mode_t *ret_mode)
{
	struct path_parent p;
	struct stat st;
	int r = path_parent_open(&p, path), fd;

	if (r < 0)
		return r;
	fd = result(openat(p.dir_fd, p.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	path_parent_close(&p);
	if (fd < 0)
		return fd;
	r = result(fstat(fd, &st)) ?: files_each(fd, any_name, NULL);
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_uid = st.st_uid;
	*ret_mode = st.st_mode & 07777;
	return fd;
}

static int kernel_create(void *ctx, int dir_fd, const char *name)
{
	return result(openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     0600));
}

static int kernel_set_owner(void *ctx, int fd, uid_t uid, gid_t gid)
{
	return result(fchown(fd, uid, gid));
}

static ssize_t kernel_write_at(void *ctx, int fd, const void *data, size_t bytes, uint64_t offset)
{
	ssize_t n;

	do {
		n = pwrite(fd, data, bytes, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int kernel_truncate(void *ctx, int fd, uint64_t bytes)
{
	return result(ftruncate(fd, (off_t)bytes));
}

static int kernel_sync(void *ctx, int fd)
{
	return result(fdatasync(fd));
}

static int kernel_sync_dir(void *ctx, int dir_fd)
{
	return result(fsync(dir_fd));
}

static int kernel_still_there(void *ctx, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_nlink ? 0 : -ENOENT;
}

static int kernel_rename(void *ctx, int dir_fd, const char *from, const char *to)
{
	return result(renameat(dir_fd, from, dir_fd, to));
}

static int kernel_unlink(void *ctx, int dir_fd, const char *name)
{
	return result(unlinkat(dir_fd, name, 0));
}

static int kernel_close(void *ctx, int fd)
{
	return result(close(fd));
}

const struct files files_kernel = {
	.make_dir = kernel_make_dir,
	.remove_dir = kernel_remove_dir,
	.open_dir = kernel_open_dir,
	.create = kernel_create,
	.set_owner = kernel_set_owner,
	.write_at = kernel_write_at,
	.truncate = kernel_truncate,
	.sync = kernel_sync,
	.sync_dir = kernel_sync_dir,
	.still_there = kernel_still_there,
	.rename = kernel_rename,
	.unlink = kernel_unlink,
	.close = kernel_close,
};

int files_write_all(const struct files *f, int fd, const void *data, size_t bytes, uint64_t offset)
{
	const uint8_t *p = data;
	ssize_t n;

	while (bytes) {
		n = f->write_at(f->ctx, fd, p, bytes, offset);
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		p += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int files_each(int dir_fd, int (*f)(void *ctx, const char *name), void *ctx)
{
	/* a new descriptor has its own position */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			r = f(ctx, entry->d_name);
	closedir(d);
	return r;
}
