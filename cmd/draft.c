/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* draft: mkdtemp(), flock() and renameat2(); only what has a draft's name, and is ours, is ever removed. */
#include "cmd/draft.h"

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
#include "cmd/cmd.h"
#include "cmd/leftover.h"
#include "cmd/say.h"

#define DRAFT_NAME ".ebpfrec-new."
#define DRAFT_TRIES 5
#define DRAFT_TRACE "trace"

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
static void drop_all_abandoned(const char *dir, int dir_len)
{
	char *pattern = calloc(1, (size_t)dir_len * 2 + sizeof(DRAFT_NAME) + 8), *to = pattern;
	glob_t found;
	size_t i;

	if (!pattern)
		return;
	for (i = 0; i < (size_t)dir_len; i++) {
		if (strchr("*?[\\", dir[i]))
			*to++ = '\\';
		*to++ = dir[i];
	}
	strcpy(to, DRAFT_NAME "??????");
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (i = 0; i < found.gl_pathc; i++)
			drop_abandoned(found.gl_pathv[i]);
		globfree(&found);
	}
	free(pattern);
}

/* Before it is locked, another one may take it for abandoned, and remove it: -EAGAIN. */
static int lock(struct draft *d)
{
	struct stat st;

	d->fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0 || flock(d->fd, LOCK_EX | LOCK_NB) < 0 || fstat(d->fd, &st) < 0 ||
	    !st.st_nlink)
		return -EAGAIN;
	return 0;
}

static int make_locked(struct draft *d, const char *dir, int dir_len)
{
	int r;

	*d = (struct draft){ .fd = -1 };
	if (asprintf(&d->dir, "%.*s" DRAFT_NAME "XXXXXX", dir_len, dir) < 0) {
		d->dir = NULL;
		return -ENOMEM;
	}
	r = leftover_begin();
	if (r == 0 && !mkdtemp(d->dir)) {
		r = -errno;
		leftover_forget();
	}
	if (r < 0) {
		free(d->dir);
		d->dir = NULL;
		return r;
	}
	r = lock(d);
	if (r == 0)
		return leftover_watch(d->dir);
	leftover_forget();
	return r;
}

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

int draft_make(struct draft *d, const char *output)
{
	int dir_len = dir_length(output), tries = DRAFT_TRIES, r;

	drop_all_abandoned(output, dir_len);
	do {
		r = make_locked(d, output, dir_len);
		if (r == 0)
			return 0;
		draft_drop(d);
	} while (r == -EAGAIN && --tries);
	say_error("cannot make a directory beside '%s': %s", output, strerror(-r));
	return EXIT_FAILED;
}

char *draft_path(const struct draft *d, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", d->dir, name) >= 0)
		return path;
	say_error("out of memory");
	return NULL;
}

int draft_make_trace(struct draft *d, const char *output, char **ret_path)
{
	struct stat st;

	if (!lstat(output, &st)) {
		say_error("'%s' exists already, and is left alone; name a new one with -o", output);
		return EXIT_FAILED;
	}
	if (draft_make(d, output))
		return EXIT_FAILED;
	*ret_path = draft_path(d, DRAFT_TRACE);
	return *ret_path ? 0 : EXIT_FAILED;
}

int draft_place_trace(const struct draft *d, const char *output)
{
	return draft_place(d, DRAFT_TRACE, output, false);
}

/* 0 or -errno. A file system that knows no RENAME_NOREPLACE can link files, and does not rename over a directory. */
static int move(const struct draft *d, const char *name, const struct place *to, bool replace)
{
	struct stat st;

	if (renameat2(d->fd, name, to->dir_fd, to->name, replace ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL || replace)
		return -errno;
	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode) ? renameat(d->fd, name, to->dir_fd, to->name)
				: linkat(d->fd, name, to->dir_fd, to->name, 0))
		return errno == ENOTEMPTY || errno == ENOTDIR ? -EEXIST : -errno;
	return 0;
}

/* The new name is on the disk before it is announced. Not every file system can; it is there all the same. */
static void sync_name(const char *output)
{
	int dir_len = dir_length(output);
	char *path = dir_len ? strndup(output, (size_t)dir_len) : strdup(".");
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
	free(path);
}

int draft_place(const struct draft *d, const char *name, const char *output, bool replace)
{
	struct place to;
	int r = place_open(&to, output);

	if (r == 0) {
		leftover_hold();
		r = move(d, name, &to, replace);
		leftover_release();
		place_close(&to);
	}
	if (r == 0) {
		sync_name(output);
		return 0;
	}
	say_error(r == -EEXIST ? "'%s' exists, and is left alone: it was not there before"
			       : "cannot make '%s': %s",
		  output, strerror(-r));
	return EXIT_FAILED;
}

void draft_drop(struct draft *d)
{
	if (!d->dir)
		return;
	leftover_hold();
	(void)remove_tree(AT_FDCWD, d->dir);
	leftover_release();
	leftover_forget();
	if (d->fd >= 0)
		close(d->fd);
	free(d->dir);
	*d = (struct draft){ .fd = -1 };
}
