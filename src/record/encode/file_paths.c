/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * file_paths: the file of each request.
 *
 *     path records --[the last path of each inode]--> path of issues, names of files
 *
 * Each path has a number, and a changed path gets a new one: an inode number alone is not enough,
 * because a new file soon gets the number of a removed one. The slice's records are taken in order
 * of time, over all CPUs. After a loss of path records a path is unknown until the kernel sends it
 * again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/encode/block_state.h"
#include "record/encode/request_event.h"

/*
 * The kernel sends a path again after at most 41 s (bpf/paths.bpf.h); then idle ones are dropped.
 */
#define PATHS_IDLE_NS 60000000000ull
#define PATH_BYTES 4096

struct file_path {
	struct inode_entry inode;
	uint64_t number;
	uint64_t path_epoch, file_epoch;	/* the last block with its name, by type */
	char *text;
};

static void release(void *entry)
{
	free(((struct file_path *)entry)->text);
}

void file_paths_init(struct inode_cache *paths)
{
	*paths = (struct inode_cache){ .entry_bytes = sizeof(struct file_path),
				       .idle_ns = PATHS_IDLE_NS, .release = release };
}

/* Joins the names of the record, root first: "/a/b", or ".../a/b" if the path was cut. */
static void join_names(const struct wire_path *r, char *ret, size_t size)
{
	size_t from[sizeof(r->names)], cnt = 0, at, n, len = 0;

	for (at = 0; at < r->len; at += strnlen(r->names + at, r->len - at) + 1)
		from[cnt++] = at;
	if (r->is_cut)
		len = (size_t)snprintf(ret, size, "...");
	while (cnt--) {
		n = strnlen(r->names + from[cnt], r->len - from[cnt]);
		if (len + n + 2 > size)
			break;
		ret[len++] = '/';
		memcpy(ret + len, r->names + from[cnt], n);
		len += n;
	}
	ret[len] = 0;
}

static void put_path(const struct block_writer *w, const struct wire_path *r, char path[PATH_BYTES])
{
	const struct id_names_calls *names = &w->config.names;
	char inside[2 * sizeof(r->names) + 8];
	const struct mounts_file f = { r->ino_dev, r->ino, r->hdr.ts_ns, inside };

	join_names(r, inside, sizeof(inside));
	if (names->path && !r->is_cut)
		names->path(names->ctx, &f, path, PATH_BYTES);
	else
		snprintf(path, PATH_BYTES, "%s", inside);
}

int file_paths_note(struct block_writer *w)
{
	char path[PATH_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->steps.cnt; i++) {
		const struct wire_path *p = (const struct wire_path *)w->steps.v[i].h;
		uint64_t object = WIRE_OBJECT_FILE(p->ino, p->ino_dev, p->generation);

		put_path(w, p, path);
		r = object ? block_set_name(w, TRACE_NAME_WAITED, object, path) : 0;
	}
	return r;
}

static int on_path(struct block_writer *w, const struct wire_path *r)
{
	char path[PATH_BYTES];
	struct file_path *x;
	void *entry;
	char *text;
	int ret;

	put_path(w, r, path);
	ret = inode_cache_get(&w->paths, r->ino, r->ino_dev, r->hdr.ts_ns, &entry);
	x = entry;
	if (ret < 0 || !x || (x->text && !strcmp(x->text, path)))
		return ret;
	text = strdup(path);
	if (!text)
		return -ENOMEM;
	free(x->text);
	x->text = text;
	x->number = ++w->last_path;
	x->inode.used_ns = r->hdr.ts_ns;
	x->path_epoch = x->file_epoch = 0;
	return 0;
}

/* Appends the name unless the block has it. */
static void put_name(struct block_writer *w, const struct file_path *x, uint64_t *epoch,
		     struct trace_name name)
{
	if (*epoch == w->epoch)
		return;
	*epoch = w->epoch;
	name.name = x->text;
	row_put_name(&w->small[CHUNK_NAMES], &name);
}

static void on_issue(struct block_writer *w, const struct wire_request_issue *r, uint32_t row)
{
	struct file_path *x = inode_cache_find(&w->paths, r->ino, r->ino_dev);

	if (!x || !x->text || r->pages == EVENT_PAGES_DISK)
		return;
	x->inode.used_ns = r->step.hdr.ts_ns;
	w->rows[EVENT_REQUEST].val[EV_REQUEST_PATH][row] = x->number;
	put_name(w, x, &x->path_epoch, (struct trace_name){ .type = TRACE_NAME_PATH,
							    .id = x->number,
							    .arg = x->inode.ino });
}

static void on_dirty(struct block_writer *w, const struct wire_dirty *r)
{
	struct file_path *x = inode_cache_find(&w->paths, r->ino, r->ino_dev);

	if (!x || !x->text)
		return;
	x->inode.used_ns = r->hdr.ts_ns;
	put_name(w, x, &x->file_epoch, (struct trace_name){ .type = TRACE_NAME_FILE,
							    .id = x->inode.ino,
							    .arg = x->inode.dev });
}

int file_paths_resolve(struct block_writer *w, const struct block_slice *s)
{
	int r = 0;

	if (block_slice_lacks(s, WIRE_PATH, false)) {
		inode_cache_clear(&w->paths);
		return 0;
	}
	for (size_t i = 0; r == 0 && i < w->steps.cnt; i++) {
		const struct wire_hdr *h = w->steps.v[i].h;

		if (h->hook == WIRE_PATH)
			r = on_path(w, (const struct wire_path *)h);
		else if (h->hook == WIRE_DIRTY)
			on_dirty(w, (const struct wire_dirty *)h);
		else if (request_has_pages(h))
			on_issue(w, (const struct wire_request_issue *)h, w->steps.v[i].row);
	}
	return r;
}
