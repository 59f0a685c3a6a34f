/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_backup: renames or removes a trace whose name is needed for a new trace. Changes only
 * directories whose manifest identifies them as traces, and only a trace's files.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "store/chunk_scan.h"
#include "store/files.h"
#include "store/manifest.h"
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
 * Other files of a trace: the derived file, which can be made again, and files of the recorder. The
 * manifest is removed last, because it identifies the directory as a trace.
 */
static const char *const others[] = {
	/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): a name and its suffix */
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

/* act: removes the trace; otherwise only returns the error that would prevent the removal. */
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

/*
 * store_snapshot: a store_writer adopts the closed files of the original trace, and appends the
 * blocks of that trace's newest file.
 */

struct copy {
	int dir_fd, fd;
	uid_t uid;
	gid_t gid;
	struct store_writer *w;
	uint8_t *buf;
	size_t cap;
	struct err *e;
};

static int copy_block(void *ctx, uint64_t offset, struct block_meta *meta)
{
	struct copy *c = ctx;
	size_t bytes = (size_t)meta->head.block_bytes;
	struct chunk_io io = { c->fd, offset };
	int r = 0;

	block_meta_free(meta);
	if (bytes > c->cap) {
		void *p = realloc(c->buf, bytes);

		if (!p)
			return err_set(c->e, -ENOMEM, "out of memory");
		c->buf = p;
		c->cap = bytes;
	}
	r = chunk_io_read(&io, 0, c->buf, bytes);
	return r < 0 ? r : store_writer_append(c->w, c->buf, bytes, 0, c->e);
}

/* Ignores invalid blocks: the recorder may still be writing them. */
static int skip_damage(void *ctx, uint64_t offset, uint64_t bytes, const char *reason)
{
	return 0;
}

/* Links the file, or clones it, or copies its bytes, whichever is possible first. */
static int adopt_file(struct copy *c, uint64_t number)
{
	int to_dir = store_writer_dir_fd(c->w), from, to, r = 0;
	char name[CHUNK_NAME_BYTES];
	ssize_t n;

	chunk_name_format(name, number);
	if (!linkat(c->dir_fd, name, to_dir, name, 0))
		return 0;
	if (errno == ENOENT)
		return -ENOENT;
	from = openat(c->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (from < 0)
		return -errno;
	to = files_kernel.create(NULL, to_dir, name);
	if (to < 0) {
		close(from);
		return to;
	}
	if (c->uid != (uid_t)-1 || c->gid != (gid_t)-1)
		r = files_kernel.set_owner(NULL, to, c->uid, c->gid);
	if (r == 0 && ioctl(to, FICLONE, from) < 0)
		do {
			n = copy_file_range(from, NULL, to, NULL, 1u << 30, 0);
			r = n < 0 ? -errno : 0;
		} while (n > 0);
	r = r ?: files_kernel.sync(NULL, to);
	close(from);
	close(to);
	return r;
}

static int disown_file(struct copy *c, uint64_t number)
{
	char name[CHUNK_NAME_BYTES];

	chunk_name_format(name, number);
	return unlinkat(store_writer_dir_fd(c->w), name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int copy_blocks(struct copy *c, uint64_t number)
{
	const struct chunk_sink sink = { c, copy_block, skip_damage };
	struct chunk_scan_info info;
	char name[CHUNK_NAME_BYTES];
	int r;

	chunk_name_format(name, number);
	c->fd = openat(c->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (c->fd < 0)
		return -errno;
	store_writer_set_next_file(c->w, number);
	r = chunk_scan_from(c->fd, 0, true, &sink, &info);
	close(c->fd);
	return r;
}

/* Sets the copy's beginning to the first block of an adopted file. */
static int begin_with(struct copy *c, uint64_t number)
{
	struct disk_block h;
	struct chunk_io io;
	uint8_t raw[sizeof(h)];
	char name[CHUNK_NAME_BYTES];
	const char *why;
	int fd;

	chunk_name_format(name, number);
	fd = openat(store_writer_dir_fd(c->w), name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	io = (struct chunk_io){ fd, sizeof(struct disk_file) };
	if (chunk_io_read(&io, 0, raw, sizeof(raw)) == 0 && block_head_check(raw, &h, &why) == 0)
		store_writer_begins_with(c->w, number, h.from_ns);
	close(fd);
	return 0;
}

static int copy_files(struct copy *c)
{
	uint64_t *numbers = NULL;
	size_t cnt = 0, i, first = 0;
	int r;

	r = chunk_name_list(c->dir_fd, &numbers, &cnt);
	for (i = 0; r == 0 && i < cnt; i++) {
		r = i + 1 < cnt ? adopt_file(c, numbers[i])
				: copy_blocks(c, numbers[i]);
		if (r != -ENOENT)
			continue;
		/*
		 * this file was removed in the meantime, as were all earlier files: the copy begins
		 * with the next file
		 */
		for (r = 0; first < i && r == 0; first++)
			r = disown_file(c, numbers[first]);
		first = i + 1;
	}
	if (r == 0 && first + 1 < cnt)
		r = begin_with(c, numbers[first]);
	free(numbers);
	return r;
}

static int copy_manifest(struct copy *c, const struct manifest *m, const struct store_snapshot *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->cnt; i++)
		if (strcmp(m->entries[i].key, "state"))
			r = store_writer_set(c->w, m->entries[i].key, m->entries[i].value);
	for (size_t i = 0; r == 0 && i < s->note_cnt; i++)
		r = store_writer_set(c->w, s->notes[i].key, s->notes[i].value);
	return r;
}

int store_snapshot_take(int dir_fd, const struct store_snapshot *s, struct err *e)
{
	struct store_config config = {
		.file_bytes = UINT64_MAX, .file_age_ns = UINT64_MAX, .uid = s->uid, .gid = s->gid,
		.sync_inline = true,
	};
	struct copy c = { .dir_fd = dir_fd, .uid = s->uid, .gid = s->gid, .e = e };
	struct manifest m = { 0 };
	const char *id;
	int r;

	r = manifest_read(&m, dir_fd, e);
	id = manifest_get(&m, "trace.id");
	config.trace_id = id ? strtoull(id, NULL, 16) : 0;
	r = r ?: store_writer_create(&c.w, s->path, &config, e);
	if (r < 0) {
		manifest_done(&m);
		return r;
	}
	r = copy_manifest(&c, &m, s);
	manifest_done(&m);
	r = r ?: copy_files(&c);
	if (r == 0) {
		r = store_writer_finish(c.w, e);
	} else {
		err_set(e, r, "cannot copy the trace to '%s': %s", s->path, err_text(NULL, r));
		store_writer_abort(c.w);
	}
	free(c.buf);
	if (r < 0)
		store_remove(s->path, NULL);
	return r;
}
