/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_snapshot: a store_writer adopts the closed files of the original trace, and appends the
 * blocks of that trace's newest file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "store/chunk_name.h"
#include "store/chunk_scan.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/store_snapshot.h"
#include "store/store_writer.h"

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

/* Ignores invalid blocks; they may still be being written. */
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
		 * removed in the meantime, as are all earlier files: the copy begins with the next
		 * file
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
