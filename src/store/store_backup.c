/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_backup: renames or removes a trace whose name is needed for a new trace. Changes only
 * directories whose manifest identifies them as traces, and only a trace's files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "store/chunk_name.h"
#include "store/chunk_scan.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/control_socket.h"
#include "store/store_writer.h"

static int open_trace(const char *path, struct err *e)
{
	struct manifest m = { 0 };
	struct path_parent p;
	int fd = -1, r;

	r = path_parent_open(&p, path);
	if (r == 0) {
		fd = openat(p.dir_fd, p.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			r = -errno;
		path_parent_close(&p);
	}
	if (r < 0)
		return err_set(e, r, "'%s': %s", path, err_text(NULL, r));
	r = manifest_read(&m, fd, e);
	manifest_done(&m);
	/* a trace with another format is also a trace */
	if (r < 0 && r != -EPROTONOSUPPORT) {
		close(fd);
		return err_prefix(e, r, "'%s'", path);
	}
	return fd;
}

/*
 * Files of analyses, which can be made again, and of recorders. The manifest is removed last,
 * because it identifies the directory as a trace.
 */
static const char *const others[] = {
	/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): a name and what follows it */
	DERIVED_FILE_NAME ".new", DERIVED_FILE_NAME, MANIFEST_NEW,
	CONTROL_SOCKET_NAME,	  MANIFEST_NAME,
};

#define OTHER_CNT (sizeof(others) / sizeof(*others))

/* Returns -ENOTEMPTY if the name is not one of a trace's files. */
static int check_foreign(void *ctx, const char *name)
{
	uint64_t number;

	for (size_t i = 0; i < OTHER_CNT; i++)
		if (!strcmp(name, others[i]))
			return 0;
	return chunk_name_parse(name, &number) < 0 ? -ENOTEMPTY : 0;
}

static int removal_error(const char *path, int r, struct err *e)
{
	if (r == 0)
		return 0;
	return err_set(e, r, "cannot remove '%s': %s", path,
		       r == -ENOTEMPTY || r == -EEXIST
			       ? "there are files in it that are not a trace's; move them, "
				 "or choose another name with -o"
			       : err_text(NULL, r));
}

int store_remove(const char *path, struct err *e)
{
	char name[CHUNK_NAME_BYTES];
	uint64_t *numbers = NULL;
	size_t cnt = 0, i;
	int fd, r;

	fd = open_trace(path, e);
	if (fd < 0)
		return fd;
	r = files_each(fd, check_foreign, NULL) ?: chunk_name_list(fd, &numbers, &cnt);
	for (i = 0; r == 0 && i < cnt; i++) {
		chunk_name_format(name, numbers[i]);
		if (unlinkat(fd, name, 0) < 0)
			r = -errno;
	}
	free(numbers);
	for (i = 0; r == 0 && i < OTHER_CNT; i++)
		if (unlinkat(fd, others[i], 0) < 0 && errno != ENOENT)
			r = -errno;
	close(fd);
	r = r ?: files_kernel.remove_dir(files_kernel.ctx, path);
	return removal_error(path, r, e);
}

/*
 * Refuses a directory that may have been made by another user, if other users may write to the
 * parent.
 */
static int check_owner(const struct path_parent *p, const struct stat *st, uid_t user,
		       const char *path, struct err *e)
{
	struct stat dir;

	if (fstat(p->dir_fd, &dir) < 0)
		return err_set(e, -errno, "'%s': %s", path, err_text(NULL, -errno));
	if (!(dir.st_mode & 022) || st->st_uid == geteuid() || st->st_uid == dir.st_uid ||
	    st->st_uid == user)
		return 0;
	return err_set(e, -EPERM,
		       "'%s' exists and belongs to another user (%u); choose another name "
		       "with -o",
		       path, (unsigned int)st->st_uid);
}

/* Refuses a trace that is being recorded: its recorder would continue under an unknown name. */
static int check_idle(int dir_fd, const char *path, struct err *e)
{
	if (!control_socket_has_owner(dir_fd))
		return 0;
	return err_set(e, -EBUSY,
		       "'%s' is still being recorded; end that recording, or choose another name "
		       "with -o",
		       path);
}

/* Returns when the recording of a trace began, from the clocks of its first file. 0: unknown. */
static uint64_t started_ns(int dir_fd)
{
	char name[CHUNK_NAME_BYTES];
	uint64_t *numbers = NULL, from_ns = 0;
	struct manifest m = { 0 };
	struct disk_file h = { 0 };
	const char *from;
	size_t cnt = 0;
	int fd = -1;

	if (manifest_read(&m, dir_fd, NULL) == 0 && (from = manifest_get(&m, "span.from_ns")))
		from_ns = strtoull(from, NULL, 10);
	manifest_done(&m);
	if (chunk_name_list(dir_fd, &numbers, &cnt) == 0 && cnt) {
		chunk_name_format(name, numbers[0]);
		fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	}
	free(numbers);
	if (fd >= 0 && chunk_header_read(&h, fd) < 0)
		h.real_ns = 0;
	if (fd >= 0)
		close(fd);
	return from_ns && from_ns <= h.mono_ns && h.mono_ns - from_ns < h.real_ns
		       ? h.real_ns - (h.mono_ns - from_ns)
		       : h.real_ns;
}

static int check_backup(const struct path_parent *p, uid_t user, const char *path,
			uint64_t *ret_real_ns, struct err *e)
{
	struct stat st;
	int fd, r;

	if (fstatat(p->dir_fd, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, -errno, "'%s': %s", path, err_text(NULL, -errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -EEXIST,
			       "'%s' exists and is not a trace; choose another name with -o",
			       path);
	r = check_owner(p, &st, user, path, e);
	if (r < 0)
		return r;
	fd = open_trace(path, NULL);
	if (fd >= 0) {
		r = check_idle(fd, path, e);
		*ret_real_ns = started_ns(fd);
		close(fd);
		return r;
	}
	r = fd == -EINVAL ? -ENOTEMPTY : fd;
	return err_set(e, r,
		       r == -ENOTEMPTY ? "'%s' exists and is not a trace; choose another "
					 "name with -o"
				       : "'%s' exists and cannot be opened",
		       path);
}

/* act: removes the trace; otherwise only returns what would prevent this. */
static int remove_old(const char *old, bool act, struct err *e)
{
	int fd = open_trace(old, NULL), r = 0;

	if (fd >= 0) {
		r = check_idle(fd, old, e);
		if (r == 0 && !act)
			r = removal_error(old, files_each(fd, check_foreign, NULL), e);
		close(fd);
		if (r < 0 || !act)
			return r;
	}
	return store_remove(old, e);
}

/* act: renames; otherwise only checks. 1: a trace exists; 2: and path.old exists, too. */
static int back_up(const struct path_parent *p, const char *path, int force, uid_t user, bool act,
		   uint64_t *ret_real_ns, struct err *e)
{
	char *old = NULL, old_name[sizeof(p->name) + 4];
	bool replaces = false;
	struct stat st;
	int r = check_backup(p, user, path, ret_real_ns, e);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (asprintf(&old, "%s.old", path) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(old_name, sizeof(old_name), "%s.old", p->name);
	if (fstatat(p->dir_fd, old_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		replaces = true;
		if (!force)
			r = err_set(e, -EEXIST,
				    "'%s' and '%s' both exist; choose another name with -o, or "
				    "use -f to replace the second",
				    path, old);
		else
			r = remove_old(old, act, e);
	}
	if (r == 0 && act && renameat(p->dir_fd, p->name, p->dir_fd, old_name) < 0)
		r = err_set(e, -errno, "cannot rename '%s' to '%s': %s", path, old,
			    err_text(NULL, -errno));
	free(old);
	return r < 0 ? r : 1 + replaces;
}

static int check_or_back_up(const char *path, int force, uid_t user, bool act,
			    uint64_t *ret_real_ns, struct err *e)
{
	struct path_parent p;
	size_t n = strlen(path);
	struct err mine = { "" };
	char *bare;
	int r;

	/* the backup of "trace/" is "trace.old" */
	while (n > 1 && path[n - 1] == '/')
		n--;
	bare = strndup(path, n);
	if (!bare)
		return err_set(e, -ENOMEM, "out of memory");
	r = path_parent_open(&p, bare);
	/* if the path is invalid, a later mkdir reports the error */
	if (r == 0) {
		r = back_up(&p, bare, force, user, act, ret_real_ns, &mine);
		path_parent_close(&p);
		if (r < 0)
			err_set(e, r, "%s", mine.text);
	} else {
		r = 0;
	}
	free(bare);
	return r;
}

int store_backup_check(const char *path, int force, uid_t user, uint64_t *ret_real_ns,
		       struct err *e)
{
	return check_or_back_up(path, force, user, false, ret_real_ns, e);
}

int store_backup(const char *path, int force, uid_t user, struct err *e)
{
	uint64_t real_ns;

	return check_or_back_up(path, force, user, true, &real_ns, e);
}
