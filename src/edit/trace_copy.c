/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* trace_copy: checks the path of a new trace, makes the trace, and copies blocks unchanged. */
#include "edit/trace_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_writer.h"
#include "trace/trace_read.h"

/* Refuses paths inside the old trace, which must not change. */
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
			       "'%s' exists already, and is left alone; name a new one with -o",
			       path);
	}
	if (trace_dir_fd(t) < 0) {	/* a bundle is a file, so nothing can be inside */
		free(copy);
		return 0;
	}
	old = realpath(trace_path(t), NULL);
	parent = realpath(dirname(copy), NULL);
	free(copy);
	if (!old || !parent || stat(old, &mine) < 0) {
		r = -errno;
		err_set(e, r, "cannot make '%s': %s", path, err_text(NULL, r));
	}
	/* compare by identity, not by name: the same directory may be mounted twice */
	while (r == 0) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): set if r is 0 */
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

int trace_copy_make(const struct trace *t, const char *path, const struct store_config *config,
		    int (*write)(void *ctx, struct store_writer *w, struct err *e), void *ctx,
		    struct err *e)
{
	struct store_writer *w;
	int r = trace_copy_refuse(t, path, e);

	r = r ?: store_writer_create(&w, path, config, e);
	if (r < 0)
		return r;
	r = write(ctx, w, e);
	if (r < 0)
		store_writer_abort(w);
	else
		r = store_writer_finish(w, e);
	if (r < 0)
		store_remove(path, NULL);
	return r;
}

static bool is_whole(const uint8_t *p, size_t bytes)
{
	struct block_memory m = { p, bytes };
	struct block_io io = { block_memory_read, &m };
	struct block_meta *f = NULL;
	struct disk_block head;
	uint8_t buf[4096];
	const char *why;
	bool yes;

	yes = bytes >= sizeof(head) && !block_head_check(p, &head, &why) &&
	      head.block_bytes == bytes && !block_meta_open(&f, &head, &io, &why) &&
	      !block_meta_verify(f, &io, buf, sizeof(buf), &why);
	block_meta_free(f);
	return yes;
}

int trace_copy_block(struct trace *t, size_t i, struct store_writer *w, struct err *e)
{
	const struct trace_block *b = trace_block_at(t, i);
	struct trace_block_open o = { 0 };
	uint8_t *p;
	int r;

	p = malloc(b->bytes);
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	r = trace_block_open(t, trace_own_reader(t), i, &o, e);
	if (r == 0) {
		r = chunk_io_read(&o.io, 0, p, b->bytes);
		block_meta_free(o.meta);
		if (r < 0 || !is_whole(p, b->bytes))
			r = err_set(e, -EIO,
				    "'%s/%s', block at %" PRIu64 ": was whole before and is "
				    "damaged now; is the disk failing? Copy the trace away, then "
				    "repair the copy",
				    trace_path(t), b->file, b->offset);
	}
	r = r ?: store_writer_append(w, p, b->bytes, 0, e);
	free(p);
	return r;
}

/* Adds the gap [from_ns, to_ns) to the manifest, up to TRACE_COPY_GAPS_MAX gaps. */
static int note_gap(struct store_writer *w, uint64_t number, uint64_t from_ns, uint64_t to_ns)
{
	char key[48], value[64];

	if (number >= TRACE_COPY_GAPS_MAX)
		return 0;
	snprintf(key, sizeof(key), "repaired.gap.%" PRIu64, number);
	snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64, from_ns, to_ns);
	return store_writer_set(w, key, value);
}

int trace_copy_declare_gaps(const struct trace *t, uint64_t from_ns, uint64_t to_ns,
			    struct store_writer *w, struct trace_copy_gaps *ret)
{
	struct trace_copy_gaps gaps = { 0 };
	struct trace_hole h = { 0 };
	int r = 0;

	while (r == 0 && trace_hole_next(t, &h)) {
		uint64_t from = h.from_ns > from_ns ? h.from_ns : from_ns;
		uint64_t to = h.to_ns < to_ns ? h.to_ns : to_ns;

		if (from >= to)
			continue;
		r = note_gap(w, gaps.cnt++, from, to);
		gaps.ns += to - from;
	}
	if (r == 0 && gaps.cnt)
		r = store_writer_set(w, "repaired", "1");
	if (r == 0 && gaps.cnt)
		r = store_writer_set_number(w, "repaired.gaps", gaps.cnt);
	*ret = gaps;
	return r;
}

bool trace_copy_key_is_of_whole(const char *key)
{
	return !strcmp(key, "attempted") || !strcmp(key, "read") || !strcmp(key, "lost") ||
	       !strncmp(key, "repaired.gap", 12);
}

/*
 * trace_repair: copies the blocks through the store writer that recordings use, so files and
 * manifest have the same form as in recordings.
 */

static int copy_manifest(struct trace *t, struct store_writer *w)
{
	const struct manifest *all = trace_stored_manifest(t);
	const char *state = trace_get(t, "state");
	int r;

	for (size_t i = 0; i < all->cnt; i++) {
		const struct manifest_entry *m = &all->entries[i];

		/* gaps of an earlier repair are declared again by trace_copy_declare_gaps() */
		if (!strcmp(m->key, "state") || !strncmp(m->key, "repaired", 8) ||
		    (trace_is_damaged(t) && trace_copy_key_is_of_whole(m->key)))
			continue;
		r = store_writer_set(w, m->key, m->value);
		if (r < 0)
			return r;
	}
	r = store_writer_set(w, "trace.origin", trace_uuid(t));
	r = r ?: store_writer_set(w, "repaired", "1");
	if (r == 0)
		r = store_writer_set(w, "repaired.state", state ? state : "unknown");
	return r;
}

static int copy_blocks(struct trace *t, struct store_writer *w, struct repair_result *ret,
		       struct err *e)
{
	const struct trace_block *b = trace_block_at(t, 0);
	int r = 0;

	for (size_t i = 0; r == 0 && i < trace_block_cnt(t); i++) {
		if (trace_block_is_damaged(t, i))
			continue;
		r = trace_copy_block(t, i, w, e);
		ret->block_cnt++;
		ret->bytes += b[i].bytes;
	}
	if (r == 0 && !ret->block_cnt)
		r = err_set(e, -ENODATA, "'%s' has no valid block: there is nothing to save",
			    trace_path(t));
	return r;
}

struct repair {
	struct trace *t;
	struct repair_result res;
};

static int write_repaired(void *ctx, struct store_writer *w, struct err *e)
{
	struct repair *x = ctx;
	int r = copy_manifest(x->t, w);

	if (r < 0)
		return err_set(e, r, "out of memory");
	r = copy_blocks(x->t, w, &x->res, e);
	if (r == 0 && (store_writer_set_number(w, "repaired.gaps", 0) < 0 ||
		       trace_copy_declare_gaps(x->t, 0, UINT64_MAX, w, &x->res.gaps) < 0))
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

int trace_repair(struct trace *t, const char *path, struct repair_result *ret, struct err *e)
{
	const struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct repair x = { .t = t };
	int r = trace_copy_make(t, path, &config, write_repaired, &x, e);

	if (r == 0)
		*ret = x.res;
	return r;
}
