/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cgroup: a kernfs file handle contains the 64-bit id that BPF programs see. Opening a handle
 * requires CAP_DAC_READ_SEARCH, so paths of ids are found by walking the directories instead: the
 * id is also the directory's inode number.
 */
#include "record/tasks/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/rows.h"

#define DEPTH_MAX 64

#ifndef FILEID_KERNFS
#define FILEID_KERNFS 0xfe
#endif

/* A file handle with room for an id, because struct file_handle ends with a flexible array. */
struct id_handle {
	struct file_handle h;
	uint64_t id[4];
};

int cgroup_find_mount(const char *controller, char dir[PATH_MAX])
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int err = -ENOTSUP;

	while (f && err && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, controller ? "cgroup" : "cgroup2") ||
		    (controller && !hasmntopt(m, controller)))
			continue;
		snprintf(dir, PATH_MAX, "%s", m->mnt_dir);
		err = 0;
	}
	if (f)
		endmntent(f);
	return err;
}

int cgroup_id_of(const char *dir, uint64_t *ret_id)
{
	struct id_handle handle = { .h = { .handle_bytes = sizeof(handle.id) } };
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, dir, &handle.h, &mount_id, 0))
		return -errno;
	memcpy(ret_id, handle.h.f_handle, sizeof(*ret_id));
	return 0;
}

struct walk {
	int (*row)(void *ctx, uint64_t id, const char *path);
	void *ctx;
	char path[PATH_MAX];
};

/*
 * Walks the cgroups below dir_fd, and closes dir_fd. len: length of the path of dir_fd, without a
 * final slash.
 */
static int walk_below(struct walk *w, int dir_fd, size_t len, unsigned int depth)
{
	DIR *d = fdopendir(dir_fd);
	struct dirent *entry;
	int err = 0, fd;

	if (!d) {
		close(dir_fd);
		return 0;
	}
	while (!err && (entry = readdir(d))) {
		size_t n = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    len + n + 2 > sizeof(w->path))
			continue;
		w->path[len] = '/';
		memcpy(w->path + len + 1, entry->d_name, n + 1);
		/* with 64-bit inode numbers, the id of a kernfs file is its inode number */
		err = w->row(w->ctx, entry->d_ino, w->path);
		if (err || depth == DEPTH_MAX)
			continue;
		fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			err = walk_below(w, fd, len + 1 + n, depth + 1);
	}
	closedir(d);
	return err;
}

int cgroup_walk(int mount_fd, int (*row)(void *ctx, uint64_t id, const char *path), void *ctx)
{
	struct walk w = { .row = row, .ctx = ctx };
	struct stat st;
	int fd, err;

	fd = openat(mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	err = row(ctx, st.st_ino, "/");
	if (!err)
		return walk_below(&w, fd, 0, 0);
	close(fd);
	return err;
}

/* ---- quotas ---- */

/*
 * Reads two numbers from a file of a group. Returns how many were read. path: relative to the
 * mount.
 */
static int read_numbers(int mount_fd, int len, const char *path, const char *file, long long *ret_a,
			long long *ret_b)
{
	char full[PATH_MAX], buf[64];
	ssize_t n;
	int fd;

	if (snprintf(full, sizeof(full), ".%.*s/%s", len, path, file) >= (int)sizeof(full))
		return 0;
	fd = openat(mount_fd, full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return sscanf(buf, "%lld %lld", ret_a, ret_b);
}

/*
 * Returns true if the group has a quota. Files of both versions use us; "max 100000" and -1 mean
 * unlimited.
 */
static bool has_quota(int mount_fd, int len, const char *path, long long *ret_quota_us,
		      long long *ret_period_us)
{
	long long none;

	if (read_numbers(mount_fd, len, path, "cpu.max", ret_quota_us, ret_period_us) == 2)
		return true;
	return read_numbers(mount_fd, len, path, "cpu.cfs_quota_us", ret_quota_us, &none) > 0 &&
	       read_numbers(mount_fd, len, path, "cpu.cfs_period_us", ret_period_us, &none) > 0 &&
	       *ret_quota_us > 0;
}

int cgroup_quota(int mount_fd, const char *path, struct trace_quota *ret)
{
	int left = (int)strlen(path);
	long long quota_us, period_us;
	char full[PATH_MAX];
	struct stat st;

	if (snprintf(full, sizeof(full), ".%s", path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	while (left > 1 && !has_quota(mount_fd, left, path, &quota_us, &period_us))
		left = (int)((const char *)memrchr(path, '/', (size_t)left) - path);
	if (fstatat(mount_fd, full, &st, 0))
		return -errno;
	if (left <= 1)
		return 1;
	full[1 + left] = '\0';
	if (fstatat(mount_fd, full, &st, 0))
		return -errno;
	ret->limit_id = st.st_ino;
	ret->quota_ns = (uint64_t)quota_us * 1000;
	ret->period_ns = (uint64_t)period_us * 1000;
	return 0;
}
