/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* remove_tree: depth first, and no deeper than what this program makes has any need of. */
#include "base/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 8

static int remove_level(int dir_fd, const char *name, dev_t dev, bool is_top, int depth);

static int remove_entry(int dir_fd, const char *name, dev_t dev, int depth)
{
	struct stat st;
	int r;

	/* what somebody else has removed meanwhile is gone all the same */
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	else if (S_ISDIR(st.st_mode))
		r = remove_level(dir_fd, name, dev, false, depth);
	else
		r = unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
	return r == -ENOENT ? 0 : r;
}

static int remove_level(int dir_fd, const char *name, dev_t dev, bool is_top, int depth)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	struct dirent *e;
	struct stat st;
	DIR *d;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!depth || (!is_top && st.st_dev != dev))
		r = -EXDEV;
	d = r ? NULL : fdopendir(fd);
	if (!d) {
		r = r ? r : -errno;
		close(fd);
		return r;
	}
	while (r == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = remove_entry(fd, e->d_name, st.st_dev, depth - 1);
	closedir(d);
	return r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

int remove_tree(int dir_fd, const char *name)
{
	return remove_level(dir_fd, name, 0, true, DEPTH_MAX);
}
