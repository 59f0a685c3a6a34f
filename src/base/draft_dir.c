/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* draft_dir: mkdtemp(), flock() and renameat2(); only what has a draft's name, and is ours, is ever removed. */
#include "base/draft_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"
#include "base/remove_tree.h"

#define NAME ".ebpfrec-new."
#define TRIES 5

/* "a/b" and "a/b/" lie in "a/". */
static int dir_length(const char *output)
{
	size_t n = strlen(output);

	while (n > 1 && output[n - 1] == '/')
		n--;
	while (n && output[n - 1] != '/')
		n--;
	return (int)n;
}

/* Whoever made it is gone: nobody has it locked. */
static void drop_abandoned(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)remove_tree(AT_FDCWD, path);
	close(fd);
}

/* The directory of output is matched as it is written, whatever characters it has. */
void draft_dir_clear(const char *output)
{
	size_t dir_len = (size_t)dir_length(output), i;
	char *pattern = calloc(1, dir_len * 2 + sizeof(NAME) + 8), *to = pattern;
	glob_t found;

	if (!pattern)
		return;
	for (i = 0; i < dir_len; i++) {
		if (strchr("*?[\\", output[i]))
			*to++ = '\\';
		*to++ = output[i];
	}
	strcpy(to, NAME "??????");
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (i = 0; i < found.gl_pathc; i++)
			drop_abandoned(found.gl_pathv[i]);
		globfree(&found);
	}
	free(pattern);
}

/* Before it is locked, another one may take it for abandoned, and remove it: -EAGAIN. */
static int lock(struct draft_dir *d)
{
	struct stat st;

	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0 || flock(d->fd, LOCK_EX | LOCK_NB) < 0 || fstat(d->fd, &st) < 0 ||
	    !st.st_nlink)
		return -EAGAIN;
	return 0;
}

static int make_locked(struct draft_dir *d, const char *output)
{
	int r;

	*d = (struct draft_dir){ .fd = -1 };
	if (asprintf(&d->path, "%.*s" NAME "XXXXXX", dir_length(output), output) < 0) {
		d->path = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(d->path)) {
		r = -errno;
		free(d->path);
		d->path = NULL;
		return r;
	}
	r = lock(d);
	if (r < 0)
		draft_dir_drop(d);
	return r;
}

int draft_dir_make(struct draft_dir *d, const char *output)
{
	int tries = TRIES, r;

	do
		r = make_locked(d, output);
	while (r == -EAGAIN && --tries);
	return r;
}

/*
 * Where RENAME_NOREPLACE is not known, as on NFS. A file is linked, which does not replace either. rename() would replace a
 * directory, if it is empty: so it replaces one that nobody else has made. Killed between the two, that stays, empty.
 */
static int move_old_way(const struct draft_dir *d, const char *name, const struct place *to)
{
	struct stat st;
	int r;

	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return linkat(d->fd, name, to->dir_fd, to->name, 0) < 0 ? -errno : 0;
	if (mkdirat(to->dir_fd, to->name, 0700) < 0)
		return -errno;
	if (renameat(d->fd, name, to->dir_fd, to->name) == 0)
		return 0;
	r = -errno;
	(void)unlinkat(to->dir_fd, to->name, AT_REMOVEDIR);
	return r;
}

static int move(const struct draft_dir *d, const char *name, const struct place *to, bool replace)
{
	if (renameat2(d->fd, name, to->dir_fd, to->name, replace ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	return errno != EINVAL || replace ? -errno : move_old_way(d, name, to);
}

/* The new name is on the disk before it is announced. Not every file system can; it is there all the same. */
static void sync_names(const struct place *in)
{
	int fd = openat(in->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

int draft_dir_place(const struct draft_dir *d, const char *name, const char *output, bool replace)
{
	struct place to;
	int r = place_open(&to, output);

	if (r < 0)
		return r;
	r = move(d, name, &to, replace);
	if (r == 0)
		sync_names(&to);
	place_close(&to);
	return r;
}

void draft_dir_drop(struct draft_dir *d)
{
	if (!d->path)
		return;
	(void)remove_tree(AT_FDCWD, d->path);
	if (d->fd >= 0)
		close(d->fd);
	free(d->path);
	*d = (struct draft_dir){ .fd = -1 };
}
