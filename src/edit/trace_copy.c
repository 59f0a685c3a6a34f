/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* trace_copy: reads every byte of a trace, and copies its valid blocks unchanged. */
#include "edit/trace_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "format/columns.h"
#include "store/chunk_scan.h"
#include "store/files.h"
#include "trace/derived_file.h"
#include "trace/trace_read.h"

/*
 * trace_check: checks each block separately. Then reports the blocks and damage of each file as
 * stretches in order of offset, and at last the index and other files of the directory.
 */

/* ---- one block ---- */

struct extent {
	uint64_t first_ns, last_ns;
};

static void see_rows(const struct kind_columns *k, struct extent *x)
{
	uint32_t i, end;

	for (i = 0; i < k->run_cnt; i++) {
		if (!k->runs[i].cnt)
			continue;
		end = k->runs[i].start + k->runs[i].cnt;
		if (k->ts_ns[k->runs[i].start] < x->first_ns)
			x->first_ns = k->ts_ns[k->runs[i].start];
		if (k->ts_ns[end - 1] > x->last_ns)
			x->last_ns = k->ts_ns[end - 1];
	}
}

/*
 * Checks all columns of all kinds, and compares the times of the first and last event with the
 * header.
 */
static int check_columns(struct trace *t, struct block_meta *f, struct chunk_io *cio,
			 const char **ret_why)
{
	const struct disk_block *h = &f->head;
	struct column_source s = {
		.meta = f,
		.io = { chunk_io_read, cio },
		.zunpack = trace_own_reader(t)->zunpack,
	};
	struct extent x = { UINT64_MAX, 0 };
	uint32_t *utids = NULL;
	struct kind_columns k;
	int r;

	*ret_why = "list of threads";
	r = block_meta_utids(f, trace_own_reader(t)->zunpack, &utids, &s.utid_cnt);
	if (r < 0)
		return r;
	s.utids = utids;
	for (unsigned int kind = 1; r == 0 && kind < EVENT_KIND_CNT; kind++) {
		if (!h->kind_cnt[kind])
			continue;
		r = column_read_kind(&k, &s, kind, COLUMN_ASK_ALL, ret_why);
		if (r == 0) {
			see_rows(&k, &x);
			kind_columns_done(&k);
		}
	}
	free(utids);
	/*
	 * in trimmed blocks, the header's times are only bounds, which column_read_kind() has
	 * checked
	 */
	if (r == 0 && x.last_ns && !(h->flags & CHUNK_BLOCK_TRIMMED) &&
	    (x.first_ns != h->first_ns || x.last_ns != h->last_ns)) {
		*ret_why = "the header names other times than its events have";
		r = -EBADMSG;
	}
	return r;
}

static int check_block(struct trace *t, size_t block)
{
	const char *why = "block changed while it was checked";
	struct trace_block_open o = { 0 };
	int r = trace_block_verify(t, block, NULL);

	r = r ?: trace_block_open(t, trace_own_reader(t), block, &o, NULL);
	r = r ?: check_columns(t, o.meta, &o.io, &why);
	block_meta_free(o.meta);
	/* a block that failed in trace_block_verify() is already dropped, for that reason */
	return r == 0 || r == -ENOMEM ? r : trace_block_drop(t, block, why);
}

static int check_blocks(struct trace *t)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < trace_block_cnt(t); i++)
		r = trace_block_is_damaged(t, i) ? 0 : check_block(t, i);
	return r;
}

/* ---- a trace ---- */

struct check {
	struct trace *t;
	check_part_fn fn;
	void *ctx;
	struct check_result res;
	size_t block;		/* the next block to report */
	uint64_t covered_ns;	/* end of the last reported valid block */
	bool hole_reported;	/* the time before the next block is already reported as missing */
};

static int report(struct check *c, const struct check_part *p)
{
	if (p->status == CHECK_DAMAGED) {
		c->res.damaged_cnt++;
		c->res.damaged_bytes += p->bytes;
	}
	c->res.note_cnt += p->status == CHECK_NOTE;
	c->res.block_cnt += p->block_cnt;
	c->res.event_cnt += p->event_cnt;
	return c->fn ? c->fn(c->ctx, p) : 0;
}

static int note(struct check *c, const char *file, uint64_t bytes, const char *reason)
{
	return report(c, &(struct check_part){ .file = file, .status = CHECK_NOTE, .bytes = bytes,
					     .reason = reason });
}

/* Returns the first valid block from index i, in this file or a later one; NULL: none. */
static const struct trace_block *next_valid(const struct check *c, size_t i)
{
	while (i < trace_block_cnt(c->t) && trace_block_is_damaged(c->t, i))
		i++;
	return i < trace_block_cnt(c->t) ? trace_block_at(c->t, i) : NULL;
}

static int by_offset(const void *a, const void *b)
{
	const struct trace_damage *x = a, *y = b;

	return compare_numbers(x->offset, y->offset);
}

/* Returns the damage of one file, sorted by offset; malloc'ed. NULL: out of memory. */
static struct trace_damage *damages_of(struct trace *t, const char *file, size_t *ret_cnt)
{
	size_t all, i, cnt = 0;
	const struct trace_damage *d = trace_damages(t, &all);
	struct trace_damage *mine = malloc((all + 1) * sizeof(*mine));

	for (i = 0; mine && i < all; i++)
		if (!strcmp(d[i].file, file))
			mine[cnt++] = d[i];
	if (mine && cnt)
		qsort(mine, cnt, sizeof(*mine), by_offset);
	*ret_cnt = cnt;
	return mine;
}

/* Returns true if the manifest declares this hole, because of a repair or cut. */
static bool is_declared(const struct trace *t, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t i, n = trace_get_number(t, "repaired.gaps");
	unsigned long long from, to;
	const char *gap;
	char key[48];

	/* too many gaps for the manifest to list */
	if (n > TRACE_COPY_GAPS_MAX)
		return true;
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "repaired.gap.%" PRIu64, i);
		gap = trace_get(t, key);
		if (gap && sscanf(gap, "%llu %llu", &from, &to) == 2 && from == from_ns &&
		    to == to_ns)
			return true;
	}
	return false;
}

/* Reports a hole before a valid block: time that neither a block nor damage covers. */
static int report_hole(struct check *c, const char *file, uint64_t to_ns)
{
	struct check_part p = { .file = file, .status = CHECK_DAMAGED, .from_ns = c->covered_ns,
				.to_ns = to_ns, .reason = "there is no block for this time" };

	if (is_declared(c->t, c->covered_ns, to_ns)) {
		p.status = CHECK_NOTE;
		p.reason = "a gap that was declared when this trace was made";
	} else {
		c->res.missing_ns += to_ns - c->covered_ns;
	}
	return report(c, &p);
}

/* Reports a stretch of valid blocks of one file without a hole, up to the damage at offset stop. */
static int report_run(struct check *c, const char *file, uint64_t stop)
{
	struct check_part p = { .file = file, .status = CHECK_VALID, .reason = "" };
	const struct trace_block *b;
	int r;

	for (; c->block < trace_block_cnt(c->t); c->block++) {
		b = trace_block_at(c->t, c->block);
		if (strcmp(b->file, file) || b->offset >= stop)
			break;
		if (trace_block_is_damaged(c->t, c->block))
			continue;
		/* a hole in time starts a new stretch */
		if (p.block_cnt && b->from_ns != p.to_ns)
			break;
		if (!p.block_cnt++) {
			p.offset = b->offset;
			p.from_ns = b->from_ns;
		}
		p.bytes = b->offset + b->bytes - p.offset;
		p.to_ns = b->to_ns;
		p.event_cnt += trace_block_events(b, UINT32_MAX);
	}
	if (!p.block_cnt)
		return 0;
	p.event_cnt += trace_task_event_cnt(c->t, p.from_ns, p.to_ns);
	if (p.from_ns > c->covered_ns && !c->hole_reported) {
		r = report_hole(c, file, p.from_ns);
		if (r < 0)
			return r;
	}
	c->hole_reported = false;
	c->covered_ns = p.to_ns;
	if (!c->res.missing_ns && !c->res.missing_first)
		c->res.valid_to_ns = p.to_ns;
	return report(c, &p);
}

static int report_damage(struct check *c, const struct trace_damage *d)
{
	const struct trace_block *next = next_valid(c, c->block);
	struct check_part p = { .file = d->file, .status = CHECK_DAMAGED, .offset = d->offset,
				.bytes = d->bytes, .reason = d->reason };
	uint64_t to_ns = next ? next->from_ns : trace_end_ns(c->t);

	char reason[160];

	/*
	 * a flight recorder drops its oldest blocks on purpose, so the number of lost blocks is
	 * unknown
	 */
	if (next && next == trace_block_at(c->t, 0) && next->from_ns == trace_start_ns(c->t) &&
	    !trace_get(c->t, "keep.bytes") && !trace_get(c->t, "keep.ns"))
		c->res.missing_first = trace_more_at(c->t, 0)->head.number;
	if (c->res.missing_first && !c->block) {
		snprintf(reason, sizeof(reason), "%s; the first valid block is number %" PRIu64,
			 d->reason, c->res.missing_first);
		p.reason = reason;
	}
	/* the damaged part contained the time between its neighbours */
	if (to_ns > c->covered_ns) {
		p.from_ns = c->covered_ns;
		p.to_ns = to_ns;
		if (!c->hole_reported)
			c->res.missing_ns += p.to_ns - p.from_ns;
		c->hole_reported = true;
	}
	return report(c, &p);
}

static int check_file(struct check *c, uint64_t number, struct err *e)
{
	struct trace_damage *damages;
	char name[CHUNK_NAME_BYTES];
	struct disk_file header;
	size_t cnt, i;
	int fd, r = 0;

	chunk_name_format(name, number);
	damages = damages_of(c->t, name, &cnt);
	if (!damages)
		return err_set(e, -ENOMEM, "out of memory");
	for (i = 0; r == 0 && i <= cnt; i++) {
		uint64_t stop = i < cnt ? damages[i].offset : UINT64_MAX;
		size_t before;

		do {
			before = c->block;
			r = report_run(c, name, stop);
		} while (r == 0 && c->block != before);
		if (r == 0 && i < cnt)
			r = report_damage(c, &damages[i]);
	}
	free(damages);
	fd = trace_file_open(c->t, number);
	if (r < 0 || fd < 0) {
		if (fd >= 0)
			trace_file_close(c->t, fd);
		return r;
	}
	if (chunk_header_read(&header, fd) == 0 && header.number != number)
		r = note(c, name, sizeof(header), "its header has another file's number");
	trace_file_close(c->t, fd);
	return r;
}

static int check_manifest(struct check *c)
{
	struct check_part p = { .file = MANIFEST_NAME, .reason = "finished" };
	const char *state = trace_get(c->t, "state"), *page = trace_get(c->t, "page_bytes");
	struct stat st;

	if (!fstatat(trace_dir_fd(c->t), MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW))
		p.bytes = (uint64_t)st.st_size;
	if (trace_lacks_manifest(c->t)) {
		p.status = CHECK_DAMAGED;
		p.reason = trace_get(c->t, MANIFEST_LOST);
		return report(c, &p);
	}
	if (trace_is_live(c->t))
		p.reason = "still being recorded";
	else if (!trace_is_finished(c->t))
		p.reason = "not finished: its recorder was killed, or could not write";
	else if (trace_get(c->t, "heap.own_malloc"))
		p.reason = "heaps of processes with a malloc built in were not recorded";
	else if (trace_get(c->t, "heap.without"))
		p.reason = "heaps of programs without the library were not recorded";
	if (!state || (strcmp(state, "finished") && strcmp(state, "recording")))
		p.reason = "does not say whether the recording was finished";
	if (page && strspn(page, "0123456789") != strlen(page))
		p.reason = "page_bytes is not a number";
	return report(c, &p);
}

/*
 * Checks the derived file. If the file is damaged, readers use the blocks instead: no data is lost.
 */
static int check_derived(struct check *c)
{
	struct check_part p = { .file = DERIVED_FILE_NAME, .status = CHECK_VALID };
	struct trace *t = c->t;
	struct derived_file *d;
	int r = derived_file_open(&d, t, DERIVED_BESIDE);

	if (r < 0)
		return r;
	r = derived_file_state(d, &p.reason);
	if (r > 0) {
		p.bytes = derived_file_bytes(d);
		r = derived_file_verify(d);
		p.reason = r < 0 ? "a part of it is damaged: it is not used" :
				   "checksums hold, made of these blocks";
		/* the lists of a damaged trace are incomplete and cannot be compared */
		if (r == 0 && !trace_is_damaged(t) && !trace_is_live(t) && trace_is_finished(t))
			r = trace_lists_compare(t, d);
		if (r == -ESTALE)
			p.reason = "does not say what the blocks say: delete it";
		r = r < 0 ? r : 1;
	}
	derived_file_close(d);
	if (r == 0 || r == -ENOMEM)
		return r;
	return r < 0 ? note(c, DERIVED_FILE_NAME, 0, p.reason) : report(c, &p);
}

/* Reports a file that no reader uses. */
static int check_other_file(void *ctx, const char *name)
{
	struct check *c = ctx;
	uint64_t n;

	if (!strcmp(name, MANIFEST_NAME) || !chunk_name_parse(name, &n) ||
	    !strcmp(name, DERIVED_FILE_NAME) ||
	    (!strcmp(name, CONTROL_SOCKET_NAME) && trace_is_live(c->t)))
		return 0;
	return note(c, name, 0,
		    !strcmp(name, MANIFEST_NAME ".new") ?
			    "is a manifest that was not written to its end" :
		    !strcmp(name, CONTROL_SOCKET_NAME) ?
			    "was left by a recorder that was killed" :
			    "is no file of a trace, and not looked at");
}

/* Adds missing files to the list of files, sorted by number. */
static int add_missing_files(const struct trace *t, uint64_t **numbers, size_t *cnt)
{
	size_t damage_cnt, i;
	const struct trace_damage *d = trace_damages(t, &damage_cnt);
	uint64_t *p = realloc(*numbers, (*cnt + damage_cnt + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	*numbers = p;
	for (i = 0; i < damage_cnt; i++)
		if (!strcmp(d[i].reason, TRACE_FILE_MISSING) &&
		    chunk_name_parse(d[i].file, &p[*cnt]) == 0)
			(*cnt)++;
	qsort(p, *cnt, sizeof(*p), compare_u64);
	return 0;
}

int trace_check(struct trace *t, check_part_fn fn, void *ctx, struct check_result *ret,
		struct err *e)
{
	struct check c = { .t = t, .fn = fn, .ctx = ctx };
	uint64_t *numbers = NULL;
	size_t i, cnt = 0;
	int r = check_blocks(t);

	c.res.valid_to_ns = c.covered_ns = trace_start_ns(t);
	r = r ?: check_manifest(&c) ?: trace_file_list(t, &numbers, &cnt);
	r = r ?: add_missing_files(t, &numbers, &cnt);
	for (i = 0; r == 0 && i < cnt; i++)
		r = check_file(&c, numbers[i], e);
	if (r == 0 && trace_dir_fd(t) >= 0)
		r = check_derived(&c);
	free(numbers);
	if (r == 0 && trace_dir_fd(t) >= 0)
		r = files_each(trace_dir_fd(t), check_other_file, &c);
	if (r < 0)
		return err_set(e, r, "%s", err_text(e, r));
	*ret = c.res;
	return 0;
}

/* ---- a new trace ---- */

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
