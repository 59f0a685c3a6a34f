/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * path_parent: walks the path itself, one name at a time, and opens each without following it. A
 * link is checked and read through its descriptor, so it cannot change in between.
 */
#include "base/path_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40

struct walk {
	int dir_fd;
	char rest[2 * PATH_MAX];	/* the part of the path still to walk */
	unsigned int link_cnt;
};

static int open_start(struct walk *w)
{
	int fd = open(w->rest[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	w->dir_fd = fd;
	return 0;
}

static bool is_trusted(const struct stat *link, const struct stat *dir)
{
	return !(dir->st_mode & 022) || !link->st_uid || link->st_uid == geteuid() ||
	       link->st_uid == dir->st_uid;
}

/* Inserts the target of the link fd before the rest of the path. */
static int follow(struct walk *w, int fd, const struct stat *link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	struct stat dir;
	ssize_t n;

	if (fstat(w->dir_fd, &dir) < 0)
		return -errno;
	if (!is_trusted(link, &dir) || ++w->link_cnt > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	if (snprintf(rest, sizeof(rest), "%s", w->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	snprintf(w->rest, sizeof(w->rest), "%s/%s", target, rest);
	if (target[0] != '/')
		return 0;
	close(w->dir_fd);
	w->dir_fd = -1;
	return open_start(w);
}

/* Enters the directory `name`. */
static int step(struct walk *w, const char *name)
{
	int fd = openat(w->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), r = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (S_ISLNK(st.st_mode))
		r = follow(w, fd, &st);
	else if (!S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	if (r < 0 || S_ISLNK(st.st_mode)) {
		close(fd);
		return r;
	}
	close(w->dir_fd);
	w->dir_fd = fd;
	return 0;
}

int path_parent_open(struct path_parent *ret, const char *path)
{
	struct walk w = { .dir_fd = -1 };
	char name[NAME_MAX + 1];
	size_t len, skip;
	int r;

	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	r = open_start(&w);
	while (r == 0) {
		skip = strspn(w.rest, "/");
		len = strcspn(w.rest + skip, "/");
		if (len > NAME_MAX)
			r = -ENAMETOOLONG;
		else if (!len)
			r = -EINVAL;
		if (r < 0)
			break;
		memcpy(name, w.rest + skip, len);
		name[len] = 0;
		skip += len;
		if (!w.rest[skip + strspn(w.rest + skip, "/")]) {
			ret->dir_fd = w.dir_fd;
			memcpy(ret->name, name, len + 1);
			return 0;
		}
		memmove(w.rest, w.rest + skip, strlen(w.rest + skip) + 1);
		r = step(&w, name);
	}
	if (w.dir_fd >= 0)
		close(w.dir_fd);
	return r;
}

void path_parent_close(struct path_parent *p)
{
	close(p->dir_fd);
}

void path_parent_sync(const struct path_parent *p)
{
	int fd = openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

bool path_of_program(char *ret)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len <= 0)
		return false;
	path[len] = 0;
	*strrchr(path, '/') = 0;
	strcpy(ret, path);
	return true;
}
