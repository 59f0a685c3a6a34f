/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_copy: a block is looked at once more in memory before it is written: what was valid when it
 * was checked may have gone bad on a dying disk.
 */
#include "event/trace_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/trace_state.h"

/* A new directory inside the old one would be a change to it. */
int trace_copy_refuse(const struct trace *t, const char *path, struct err *e)
{
	char *copy = strdup(path), *parent, *old, *at;
	struct stat mine, st;
	int r = 0;

	if (!copy)
		return err_set(e, -ENOMEM, "out of memory");
	if (!lstat(path, &st)) {
		free(copy);
		return err_set(e, -EEXIST,
			       "'%s' exists already, and is left alone; name a new one with -o", path);
	}
	if (t->dir_fd < 0) {	/* a file has no inside */
		free(copy);
		return 0;
	}
	old = realpath(t->path, NULL);
	parent = realpath(dirname(copy), NULL);
	free(copy);
	if (!old || !parent || stat(old, &mine) < 0) {
		r = -errno;
		err_set(e, r, "cannot make '%s': %s", path, err_text(NULL, r));
	}
	/* by identity, not by name: the same directory may be mounted twice */
	while (r == 0) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there when r is 0 */
		if (!stat(parent, &st) && st.st_dev == mine.st_dev && st.st_ino == mine.st_ino)
			r = err_set(e, -EINVAL,
				    "'%s' lies inside of the trace that is read, which "
				    "is not changed; name a place outside with -o",
				    path);
		at = strrchr(parent, '/');
		if (!at || !parent[1])
			break;
		at[at == parent] = 0;
	}
	free(old);
	free(parent);
	return r;
}

struct block_bytes {
	const uint8_t *p;
	size_t cnt;
};

static int read_bytes(void *ctx, uint64_t offset, void *dst, size_t bytes)
{
	const struct block_bytes *b = ctx;

	if (offset > b->cnt || bytes > b->cnt - offset)
		return -ENODATA;
	memcpy(dst, b->p + offset, bytes);
	return 0;
}

static bool is_whole(const uint8_t *p, size_t bytes)
{
	struct block_bytes b = { p, bytes };
	struct block_io io = { read_bytes, &b };
	struct block_front *f = NULL;
	struct disk_block head;
	uint8_t buf[4096];
	const char *why;
	bool yes;

	yes = bytes >= sizeof(head) && !block_head_check(p, &head, &why) &&
	      head.block_bytes == bytes && !block_front_open(&f, &head, &io, &why) &&
	      !block_front_verify(f, &io, buf, sizeof(buf), &why);
	block_front_free(f);
	return yes;
}

int trace_copy_block(struct trace *t, size_t i, struct store_writer *w, struct err *e)
{
	const struct trace_block *b = (const struct trace_block *)t->blocks.v + i;
	struct trace_block_open o = { 0 };
	uint8_t *p;
	int r;

	p = malloc(b->bytes);
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	r = trace_block_open(t, &t->reader, i, &o, e);
	if (r == 0) {
		r = chunk_io_read(&o.io, 0, p, b->bytes);
		block_front_free(o.front);
		if (r < 0 || !is_whole(p, b->bytes))
			r = err_set(e, -EIO,
				    "'%s/%s', block at %" PRIu64 ": was whole and is no more; is the "
				    "disk failing? Copy the trace away, then repair the copy",
				    t->path, b->file, b->offset);
	}
	if (r == 0)
		r = store_writer_append(w, p, b->bytes, 0, e);
	free(p);
	return r;
}
