/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* derived_place: the user's cache, and a link that replaces the old file. */
#include "trace/derived_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int derived_cache_dir(bool make)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[4096];
	int n;

	if (base && *base == '/')
		n = snprintf(path, sizeof(path), "%s/ebpfrec", base);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.cache/ebpfrec", home);
	else
		return -1;
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	if (make)
		(void)mkdir(path, 0700);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int derived_place_file(int fd, int dir_fd, const char *name)
{
	char proc[64], temp[80];
	struct stat st;
	int r = 0;

	if (fstat(dir_fd, &st) < 0)
		return -errno;
	if (geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) < 0)
		return -errno;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	snprintf(temp, sizeof(temp), "%s.new", name);
	(void)unlinkat(dir_fd, temp, 0);
	if (linkat(AT_FDCWD, proc, dir_fd, temp, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	if (renameat(dir_fd, temp, dir_fd, name) < 0) {
		r = -errno;
		(void)unlinkat(dir_fd, temp, 0);
	}
	return r;
}
