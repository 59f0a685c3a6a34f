/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace: opens a trace, a directory or a bundle, and compares it with its manifest to report
 * missing data: missing chunk files, and missing time at its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/trace_state.h"
#include "store/chunk_scan.h"
#include "store/control_socket.h"

/* ---- parts of the trace, according to its manifest ---- */

#define NAMED_MAX 64	/* missing files that are reported one by one */

static void read_span(struct trace *t)
{
	const char *id = trace_get(t, "trace.id");
	bool known = trace_is_finished(t) && trace_get(t, "span.to_ns");

	t->id = id ? strtoull(id, NULL, 16) : 0;
	if (t->id)
		manifest_format_uuid(t->uuid, t->id);
	t->span_from_ns = known ? trace_get_number(t, "span.from_ns") : 0;
	t->span_to_ns = known ? trace_get_number(t, "span.to_ns") : 0;
	if (t->span_to_ns < t->span_from_ns)
		t->span_from_ns = t->span_to_ns = 0;
}

static int add_missing(struct trace *t, uint64_t from, uint64_t to)
{
	uint64_t end = to - from > NAMED_MAX ? from + NAMED_MAX : to;
	char name[CHUNK_NAME_BYTES];
	int r = 0;

	for (; !r && from < end; from++) {
		chunk_name_format(name, from);
		r = trace_add_damage(t, name, 0, 0, TRACE_FILE_MISSING);
	}
	return r;
}

static int check_span(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	bool keeps = trace_get(t, "keep.bytes") || trace_get(t, "keep.ns");
	const struct trace_block *b = t->blocks.v;
	uint64_t next = cnt && keeps ? numbers[0] : 0;
	int r = 0;

	if (t->is_live || t->no_manifest)
		return 0;
	if (t->span_to_ns)
		next = trace_get_number(t, "span.first_file");
	for (size_t i = 0; !r && i < cnt; i++) {
		if (numbers[i] > next)
			r = add_missing(t, next, numbers[i]);
		if (numbers[i] >= next)
			next = numbers[i] + 1;
	}
	if (r || !t->span_to_ns)
		return r;
	if (trace_get_number(t, "span.last_file") >= next)
		return add_missing(t, next, trace_get_number(t, "span.last_file") + 1);
	if (t->damages.cnt || !t->blocks.cnt || b[t->blocks.cnt - 1].to_ns >= t->span_to_ns)
		return 0;
	return trace_add_damage(t, b[t->blocks.cnt - 1].file, 0, 0,
				"blocks at its end are missing");
}

/* ---- opening ---- */

/* At most this many files are kept open: a recorder removes the oldest ones first. */
#define HELD_MAX 256

static int load_manifest(struct trace *t, struct err *e)
{
	struct manifest m = { 0 };
	int r;

	if (t->dir_fd >= 0)
		r = manifest_read(&m, t->dir_fd, e);
	else
		r = manifest_parse_text(&m, t->held.manifest, t->held.manifest_bytes, e);
	if (r < 0) {
		manifest_done(&m);
		return r;
	}
	if (m.damaged_bytes && !t->no_manifest)
		r = trace_add_damage(t, MANIFEST_NAME, 0, m.damaged_bytes, MANIFEST_SUM_DIFFERS);
	t->no_manifest = m.damaged_bytes;
	manifest_done(&t->manifest);
	t->manifest = m;
	if (r < 0)
		return err_set(e, r, "out of memory");
	read_span(t);
	return 0;
}

/*
 * Opens the files of a trace whose recorder may remove them. It removes the oldest first: if one is
 * missing, so are all older ones. *ret_first is the first that still exists.
 */
static int hold_files(struct trace *t, const uint64_t *numbers, size_t cnt, size_t *ret_first,
		      struct err *e)
{
	int fd;

	*ret_first = 0;
	if (!t->is_live || (!trace_get(t, "keep.bytes") && !trace_get(t, "keep.ns")))
		return 0;
	if (!t->held.files)
		t->held.files = calloc(HELD_MAX, sizeof(*t->held.files));
	if (!t->held.files)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < cnt && t->held.cnt < HELD_MAX; i++) {
		if (trace_file_held(t, numbers[i]) >= 0)
			continue;
		fd = trace_file_open(t, numbers[i]);
		if (fd >= 0)
			t->held.files[t->held.cnt++] =
				(struct bundle_file){ .number = numbers[i], .fd = fd };
		else if (fd != -ENOENT)
			continue;	/* reported when the file is read */
		else if (t->scanned)
			return -ESTALE;
		else
			while (t->held.cnt)
				close(t->held.files[--t->held.cnt].fd);
		if (fd == -ENOENT)
			*ret_first = i + 1;
	}
	return 0;
}

/* Returns the highest whole_below of the files' headers. A finished trace does not need it. */
static uint64_t find_whole_below(const struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct disk_file h;
	uint64_t below = 0;
	int fd;

	for (size_t i = 0; i < cnt && !trace_is_finished(t); i++) {
		fd = trace_file_open(t, numbers[i]);
		if (fd < 0)
			continue;
		if (chunk_header_read(&h, fd) == 0 && h.whole_below > below)
			below = h.whole_below;
		trace_file_close(t, fd);
	}
	return below;
}

static int load_files(struct trace *t, struct err *e)
{
	uint64_t *numbers = NULL;
	size_t cnt = 0, i;
	int r;

	r = trace_file_list(t, &numbers, &cnt);
	if (r < 0)
		return err_set(e, r, "cannot list the chunk files: %s", err_text(NULL, r));
	if (t->scanned && (!cnt || numbers[0] != t->first_file))
		r = -ESTALE;
	r = r ?: hold_files(t, numbers, cnt, &i, e);
	if (r == 0 && !t->scanned && i < cnt)
		t->first_file = numbers[i];
	if (r == 0 && t->quick && !t->scanned && trace_lists_load(t, numbers, cnt) > 0) {
		free(numbers);
		return 0;
	}
	if (r == 0)
		t->whole_below = find_whole_below(t, numbers, cnt);
	for (; r == 0 && i < cnt; i++)
		if (!t->scanned || numbers[i] >= t->scanned_file)
			r = trace_load_file(t, numbers[i], i + 1 == cnt, e);
	r = r ?: check_span(t, numbers, cnt);
	free(numbers);
	r = r ?: trace_load_finish(t);
	return r < 0 ? err_set(e, r, "%s", err_text(NULL, r)) : 0;
}

/* Loads the manifest first: a recorder that ends writes it after its last block. */
static int load(struct trace *t, bool anyway, struct err *e)
{
	int r = load_manifest(t, anyway ? NULL : e);

	if (anyway && r < 0 && r != -EPROTONOSUPPORT && r != -ENOMEM) {
		t->no_manifest = true;
		r = manifest_set(&t->manifest, MANIFEST_LOST, "cannot be read");
		r = r < 0 ? r : load_files(t, e);
		return r < 0 || t->blocks.cnt ? r :
		       err_set(e, -EINVAL, "not a trace: it has neither a manifest nor a block");
	}
	if (r < 0)
		return err_set(e, r, "%s", err_text(NULL, r));
	t->is_live = !trace_is_finished(t) && t->dir_fd >= 0 && control_socket_has_owner(t->dir_fd);
	/* the recorder may have ended in between */
	if (!t->is_live && !trace_is_finished(t))
		r = load_manifest(t, e);
	return r < 0 ? r : load_files(t, e);
}

int trace_refresh(struct trace *t, struct err *e)
{
	int r = load(t, false, e);

	return r < 0 && r != -ESTALE ? err_prefix(e, r, "'%s'", t->path) : r;
}

static int open_trace(struct trace **ret, const char *path, bool anyway, bool quick,
		      struct err *e)
{
	struct trace *t = calloc(1, sizeof(*t));
	const struct row_type *of;
	int r = -ENOMEM;

	if (!t)
		return err_set(e, r, "out of memory");
	t->reader.fd = -1;
	t->dir_fd = -1;
	t->quick = quick;
	for (unsigned int i = 0; i < TRACE_LIST_CNT; i++) {
		of = trace_list_type(i);
		t->rows[i].row_bytes = of ? of->bytes : 0;
	}
	pthread_mutex_init(&t->drop_lock, NULL);
	t->path = strdup(path);
	if (!t->path || strpool_new(&t->strings) < 0 || trace_reader_init(&t->reader) < 0) {
		err_set(e, r, "out of memory");
		goto fail;
	}
	t->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = t->dir_fd < 0 ? -errno : 0;
	if (r == -ENOTDIR)
		r = bundle_open(&t->held, path, e);
	else if (r < 0)
		err_set(e, r, "cannot open trace '%s': %s", path, err_text(NULL, r));
	if (r < 0)
		goto fail;
	r = load(t, anyway, e);
	if (r < 0) {
		err_prefix(e, r, "'%s'", path);
		goto fail;
	}
	*ret = t;
	return 0;
fail:
	trace_close(t);
	return r;
}

int trace_open(struct trace **ret, const char *path, struct err *e)
{
	return open_trace(ret, path, false, false, e);
}

int trace_open_quick(struct trace **ret, const char *path, struct err *e)
{
	return open_trace(ret, path, false, true, e);
}

int trace_open_anyway(struct trace **ret, const char *path, struct err *e)
{
	return open_trace(ret, path, true, false, e);
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	trace_blocks_done(t);
	trace_lists_close(t);
	trace_reader_done(t, &t->reader);
	bundle_close(&t->held);
	pthread_mutex_destroy(&t->drop_lock);
	if (t->dir_fd >= 0)
		close(t->dir_fd);
	manifest_done(&t->manifest);
	strpool_free(t->strings);
	free(t->blocks.v);
	free(t->more.v);
	free(t->damages.v);
	free(t->stacks.v);
	free(t->rss.v);
	for (size_t i = 0; i < TRACE_LIST_CNT; i++) {
		free(t->rows[i].v);
		hash_map_done(&t->by_key[i]);
	}
	hash_map_done(&t->site_code);
	hash_map_done(&t->site_row);
	free(t->path);
	free(t);
}
