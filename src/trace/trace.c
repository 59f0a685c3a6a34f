/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace: opens a trace, which is a directory or a bundle, and compares it with its manifest to
 * report missing chunk files and missing time at its end.
 */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "format/zpack.h"
#include "store/chunk_scan.h"
#include "store/files.h"
#include "trace/derived_file.h"
#include "trace/trace_state.h"

/*
 * trace_lists: stores the merged lists of all blocks in the derived file.
 *
 *     trace_load --lists--> [trace_lists_save] --> derived_file --> [load_lists] --> same lists
 *
 * With these lists, a finished trace of thousands of blocks is opened without reading the small
 * sections of every block. Rows are stored as in a block (rows.h), TRACE_LISTS_ROWS per part.
 * Opening reads the stored bytes of all lists, verifies their checksums, and allocates memory for
 * all rows. A part is unpacked when one of its rows is first read. This cannot fail, because it
 * needs neither the file nor more memory. For one second of a trace with 20 M events, 2,000 blocks
 * and 11,400 processes, `report cpu` takes 50.4 M instructions and 14.7 MiB; if whole lists are
 * unpacked instead of parts, 74.1 M and 16.2 MiB. With 750 processes, both ways cost the same.
 *
 * The lists are valid if the chunk files have the same sizes and have not been changed since. In a
 * file that may have been changed or copied, every block's header must be the same; its CRC covers
 * all bytes of the block. A block's bytes are checked when the block is opened.
 */

#define LISTS_MIN_BLOCKS 64	/* with fewer blocks, lists do not speed up opening */
#define LISTS_BLOCKS_BYTES (1u << 20)	/* approximate size of a part of the list of blocks */
/*
 * The resolution of file times, two seconds on some file systems. A file that was changed less than
 * this time ago may change again without a new ctime.
 */
#define FRESH_NS 2000000000ull

_Static_assert(DERIVED_LIST + TRACE_LIST_CNT <= DERIVED_FILES, "a type of parts for every list");

/* An entry of the part DERIVED_FILES, for one chunk file. */
struct disk_list_file {
	uint64_t number, bytes;
	uint64_t changed_ns;	/* ctime of the file; 0: too recent to detect a later change */
};

/*
 * An entry of DERIVED_BLOCKS, followed by cpu_cnt utids (4 bytes each) of the threads on the CPUs
 * at the block's start and, if has_ends, by cpu_cnt struct row_cpu_end.
 */
struct disk_list_block {
	uint64_t file, offset;
	uint64_t has_ends;
	struct disk_block head;
};

_Static_assert(sizeof(struct disk_list_file) == 24, "layout of disk_list_file");
_Static_assert(sizeof(struct disk_list_block) == 248, "layout of disk_list_block");

/* Returns the time of a chunk file's last change. */
static uint64_t changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
}

/* ---- rows ---- */

static int load_list(struct trace *t, unsigned int list)
{
	struct trace_stored_list *l = &t->lists->lists[list];
	size_t i, rows = 0, stored = 0, raw = 0;
	struct trace_list *to = &t->rows[list];
	const struct derived_part *p;
	uint8_t *at, *raw_at;
	int r = derived_file_parts(t->lists->d, DERIVED_LIST + list, &p, &l->part_cnt);

	for (i = 0; r == 0 && i < l->part_cnt; i++) {
		if (p[i].row_cnt > TRACE_LISTS_ROWS ||
		    (i + 1 < l->part_cnt && p[i].row_cnt < TRACE_LISTS_ROWS))
			r = -EBADMSG;
		rows += p[i].row_cnt;
		stored += p[i].stored_bytes;
		raw += p[i].raw_bytes;
	}
	if (r < 0)
		return r;
	/* pages of calloc() take no memory until rows are unpacked */
	free(to->v);
	to->v = calloc(rows + 1, to->row_bytes + 1);
	l->parts = calloc(l->part_cnt + 1, sizeof(*l->parts));
	l->bytes = malloc(stored + raw + 1);
	if (!to->v || !l->parts || !l->bytes)
		return -ENOMEM;
	to->cnt = to->cap = rows;
	at = l->bytes;
	raw_at = at + stored;
	for (i = 0; r == 0 && i < l->part_cnt; i++) {
		r = derived_file_read_stored(t->lists->d, &p[i], at);
		l->parts[i].part = &p[i];
		l->parts[i].stored = at;
		l->parts[i].raw = raw_at;
		at += p[i].stored_bytes;
		raw_at += p[i].raw_bytes;
	}
	return r;
}

/* ---- blocks ---- */

/* State of decoding the list of blocks. */
struct block_in {
	const uint8_t *p, *end;
	const uint64_t *numbers;	/* numbers of the chunk files, ascending */
	const bool *changed;
	size_t file_cnt, file;		/* file: index of the last block's file */
	const char *name;		/* name of that file */
};

static int take_bytes(struct block_in *in, void *to, size_t bytes)
{
	if (bytes > (size_t)(in->end - in->p))
		return -EBADMSG;
	memcpy(to, in->p, bytes);
	in->p += bytes;
	return 0;
}

/* Finds the file of the next block. Blocks are in order of files. */
static int find_file(struct trace *t, struct block_in *in, uint64_t number)
{
	char name[CHUNK_NAME_BYTES];

	if (in->name && in->numbers[in->file] == number)
		return 0;
	while (in->file < in->file_cnt && in->numbers[in->file] != number)
		in->file++;
	if (in->file == in->file_cnt)
		return -EBADMSG;
	chunk_name_format(name, number);
	in->name = strpool_put(t->strings, name);
	return in->name ? 0 : -ENOMEM;
}

/* Returns true if the block's header is unchanged since the lists were made. */
static bool block_fits(struct trace *t, size_t i)
{
	struct chunk_io io;
	const char *why;

	t->headers_read++;
	return trace_block_seek(t, &t->reader, i, &io, NULL) == 0 &&
	       trace_block_head(t, i, &io, &why) == 0;
}

static int take_block(struct trace *t, struct block_in *in)
{
	struct trace_block_more *m;
	struct disk_list_block d;
	struct disk_block head;
	const char *why;
	size_t cpus;
	int r = take_bytes(in, &d, sizeof(d));

	if (r == 0 && (block_head_check(&d.head, &head, &why) < 0 ||
		       head.from_ns < trace_blocks_end_ns(t)))
		r = -EBADMSG;
	r = r ?: find_file(t, in, d.file) ?: trace_load_block(t, in->name, d.file, d.offset, &head);
	if (r < 0)
		return r;
	m = trace_more_at(t, t->more.cnt - 1);
	cpus = head.cpu_cnt * sizeof(*m->running);
	r = take_bytes(in, m->running, cpus);
	if (r == 0 && d.has_ends) {
		cpus = head.cpu_cnt * sizeof(*m->ends);
		m->ends = malloc(cpus + 1);
		r = m->ends ? take_bytes(in, m->ends, cpus) : -ENOMEM;
	}
	if (r == 0 && in->changed[in->file] && !block_fits(t, t->blocks.cnt - 1))
		r = -ESTALE;
	return r;
}

/*
 * Checks that the chunk files exist and have the same sizes. ret_changed, by file: true if the
 * contents may have changed.
 */
static int files_fit(struct trace *t, const uint64_t *numbers, size_t cnt, struct buf *mem,
		     bool *ret_changed)
{
	const struct disk_list_file *f;
	struct derived_part p;
	char name[CHUNK_NAME_BYTES];
	const uint8_t *raw = NULL;
	struct stat st;
	int r;

	r = derived_file_get(t->lists->d, DERIVED_FILES, 0, &p);
	if (r > 0)
		r = derived_file_read(t->lists->d, &p, mem, &raw);
	else if (r == 0)
		r = -ENOENT;
	if (r < 0)
		return r;
	f = (const struct disk_list_file *)raw;
	if (p.raw_bytes != cnt * sizeof(*f))
		return -ESTALE;
	for (size_t i = 0; i < cnt; i++) {
		chunk_name_format(name, numbers[i]);
		if (f[i].number != numbers[i] ||
		    fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || (uint64_t)st.st_size != f[i].bytes)
			return -ESTALE;
		ret_changed[i] = !f[i].changed_ns || f[i].changed_ns != changed_ns(&st);
	}
	return 0;
}

static int take_blocks(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct block_in in = { .numbers = numbers, .file_cnt = cnt };
	bool *changed = calloc(cnt + 1, sizeof(*changed));
	const struct derived_part *p;
	struct buf mem = { 0 };
	size_t part_cnt, i;
	int r;

	in.changed = changed;
	r = changed ? files_fit(t, numbers, cnt, &mem, changed) : -ENOMEM;
	r = r ?: derived_file_parts(t->lists->d, DERIVED_BLOCKS, &p, &part_cnt);
	for (i = 0; r == 0 && i < part_cnt; i++) {
		r = derived_file_read(t->lists->d, &p[i], &mem, &in.p);
		if (r == 0)
			in.end = in.p + p[i].raw_bytes;
		for (uint32_t rows = p[i].row_cnt; r == 0 && rows; rows--)
			r = take_block(t, &in);
		if (r == 0 && in.p != in.end)
			r = -EBADMSG;
	}
	buf_done(&mem);
	free(changed);
	return r;
}

/* ---- opening and closing ---- */

static int load_now(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	int r = take_blocks(t, numbers, cnt);

	t->lists->thread_hash = derived_file_thread_hash(t->lists->d);

	for (unsigned int list = 0; r == 0 && list < TRACE_LIST_CNT; list++)
		r = load_list(t, list);
	r = r ?: zunpack_new(&t->lists->zunpack);
	r = r ?: trace_stacks_reserve(t, t->rows[CHUNK_FRAMES].cnt);
	if (r < 0)
		return r;
	trace_finalize_blocks(t);
	/* unpack marks now: numbering them allocates memory */
	trace_lists_rows(t, CHUNK_MARKS);
	r = trace_number_marks(t);
	return r < 0 ? r : derived_file_bind(t->lists->d, t);
}

static void close_lists(struct trace *t)
{
	struct trace_lists *l = t->lists;

	if (!l)
		return;
	for (unsigned int i = 0; i < TRACE_LIST_CNT; i++) {
		free(l->lists[i].parts);
		free(l->lists[i].bytes);
	}
	zunpack_free(l->zunpack);
	derived_file_close(l->d);
	free(l);
	t->lists = NULL;
}

/*
 * Loads the lists from the derived file. 1: t->lists is set; 0: lists are missing or not valid, and
 * t is unchanged.
 */
static int load_lists(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct trace_lists *l;

	if (t->is_live || t->dir_fd < 0 || !trace_is_finished(t))
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return 0;
	t->lists = l;
	if (derived_file_open(&l->d, t, DERIVED_BESIDE | DERIVED_UNBOUND) == 0 &&
	    load_now(t, numbers, cnt) == 0)
		return 1;
	trace_blocks_done(t);
	t->cpu_cnt = 0;
	for (size_t i = 0; i < TRACE_LIST_CNT; i++)
		t->rows[i].cnt = t->rows[i].sorted_cnt = 0;
	close_lists(t);
	return 0;
}

/* ---- making parts ---- */

/* Receives a finished part. A result < 0 ends make_all(). */
typedef int (*part_sink)(void *ctx, unsigned int type, uint64_t key, uint32_t row_cnt,
			 const struct buf *raw);

struct making {
	part_sink sink;
	void *ctx;
	uint64_t key;		/* key of the current part */
	struct row_writer rows;
};

static int give_part(struct making *m, unsigned int type)
{
	int r = m->rows.out.failed ? -ENOMEM : 0;

	if (r == 0 && m->rows.cnt)
		r = m->sink(m->ctx, type, m->key++, m->rows.cnt, &m->rows.out);
	buf_reset(&m->rows.out);
	m->rows.cnt = 0;
	return r;
}

static int make_list(const struct trace *t, unsigned int list, struct making *m)
{
	const struct trace_list *l = &t->rows[list];
	const struct row_type *of = trace_list_type(list);
	int r = 0;

	m->key = 0;
	m->rows.base_ns = trace_start_ns(t);
	for (size_t i = 0; r == 0 && i < l->cnt; i++) {
		row_put(&m->rows, of, (const char *)l->v + i * l->row_bytes);
		if (m->rows.cnt == TRACE_LISTS_ROWS)
			r = give_part(m, DERIVED_LIST + list);
	}
	return r == 0 ? give_part(m, DERIVED_LIST + list) : r;
}

static int make_files(const struct trace *t, struct making *m)
{
	uint64_t *numbers = NULL, now_ns;
	char name[CHUNK_NAME_BYTES];
	struct disk_list_file f;
	struct timespec now;
	size_t cnt = 0, i;
	struct stat st;
	int r = chunk_name_list(t->dir_fd, &numbers, &cnt);

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (i = 0; r == 0 && i < cnt; i++) {
		chunk_name_format(name, numbers[i]);
		if (fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			r = -errno;
			break;
		}
		f = (struct disk_list_file){ numbers[i], (uint64_t)st.st_size, changed_ns(&st) };
		if (f.changed_ns + FRESH_NS > now_ns)
			f.changed_ns = 0;
		buf_add(&m->rows.out, &f, sizeof(f));
		m->rows.cnt++;
	}
	free(numbers);
	m->key = 0;
	return r == 0 ? give_part(m, DERIVED_FILES) : r;
}

static int make_blocks(const struct trace *t, struct making *m)
{
	const struct trace_block_more *more = t->more.v;
	const struct trace_block *b = t->blocks.v;
	struct buf *out = &m->rows.out;
	size_t i, cpus;
	int r = 0;

	m->key = 0;
	for (i = 0; r == 0 && i < t->blocks.cnt; i++) {
		struct disk_list_block d = { .file = more[i].file, .offset = b[i].offset,
					     .has_ends = more[i].ends != NULL,
					     .head = more[i].head };

		cpus = d.head.cpu_cnt * sizeof(*more[i].running);
		buf_add(out, &d, sizeof(d));
		buf_add(out, more[i].running, cpus);
		if (more[i].ends)
			buf_add(out, more[i].ends, d.head.cpu_cnt * sizeof(*more[i].ends));
		m->rows.cnt++;
		if (out->len >= LISTS_BLOCKS_BYTES)
			r = give_part(m, DERIVED_BLOCKS);
	}
	return r == 0 ? give_part(m, DERIVED_BLOCKS) : r;
}

static int make_all(struct trace *t, part_sink sink, void *ctx)
{
	struct making m = { .sink = sink, .ctx = ctx };
	int r = trace_mm_resets_prepare(t);

	r = r ?: make_files(t, &m) ?: make_blocks(t, &m);
	for (unsigned int list = 0; r == 0 && list < TRACE_LIST_CNT; list++)
		r = make_list(t, list, &m);
	buf_done(&m.rows.out);
	return r;
}

/* ---- saving the lists ---- */

struct keeping {
	struct derived_file *d;
	struct zpack *z;
};

static int keep_part(void *ctx, unsigned int type, uint64_t key, uint32_t row_cnt,
		     const struct buf *raw)
{
	const struct keeping *k = ctx;
	/* parts that every opening reads are stored unpacked */
	bool is_plain = type == DERIVED_FILES || type == DERIVED_BLOCKS;

	return derived_file_add(k->d, is_plain ? NULL : k->z, type, key, row_cnt, raw);
}

void trace_lists_save(struct trace *t)
{
	struct keeping k = { 0 };
	int r;

	if (t->lists || t->is_live || t->dir_fd < 0 || !trace_is_finished(t) || t->damages.cnt ||
	    t->blocks.cnt < LISTS_MIN_BLOCKS)
		return;
	r = derived_file_open(&k.d, t, DERIVED_SAVE | DERIVED_BESIDE);
	r = r ?: derived_file_begin(k.d, true) ?: zpack_new(&k.z, 0);
	if (r == 0) {
		derived_file_drop(k.d, DERIVED_LIST, DERIVED_FIRST_OF_INDEX);
		r = make_all(t, keep_part, &k);
	}
	if (r == 0)
		(void)derived_file_commit(k.d, t, t->blocks.cnt);
	zpack_free(k.z);
	derived_file_close(k.d);
}

/* ---- checking the lists ---- */

struct comparing {
	struct derived_file *d;
	struct buf mem;
	size_t part_cnt;
};

static int compare_part(void *ctx, unsigned int type, uint64_t key, uint32_t row_cnt,
			const struct buf *raw)
{
	struct comparing *c = ctx;
	struct derived_part p;
	const uint8_t *was;
	int r;

	c->part_cnt++;
	r = derived_file_get(c->d, type, key, &p);
	if (r < 0)
		return r;
	if (r == 0 || p.row_cnt != row_cnt || p.raw_bytes != raw->len)
		return -ESTALE;
	r = derived_file_read(c->d, &p, &c->mem, &was);
	if (r < 0 || type != DERIVED_FILES)
		return r < 0 ? r : memcmp(was, raw->data, raw->len) ? -ESTALE : 0;
	/* ignore ctimes, which do not describe the contents */
	for (size_t i = 0; i < row_cnt; i++)
		if (memcmp(was + i * sizeof(struct disk_list_file),
			   raw->data + i * sizeof(struct disk_list_file),
			   offsetof(struct disk_list_file, changed_ns)))
			return -ESTALE;
	return 0;
}

int trace_lists_compare(struct trace *t, struct derived_file *d)
{
	struct comparing c = { .d = d };
	const struct derived_part *p;
	size_t had = 0, cnt;
	int r = 0;

	for (unsigned int type = DERIVED_LIST; r == 0 && type < DERIVED_FIRST_OF_INDEX; type++) {
		r = derived_file_parts(d, type, &p, &cnt);
		had += cnt;
	}
	if (r < 0 || !had)
		return r;
	r = make_all(t, compare_part, &c);
	buf_done(&c.mem);
	return r < 0 ? r : c.part_cnt != had ? -ESTALE : 0;
}

/* ---- comparison with the manifest ---- */

#define NAMED_MAX 64	/* maximum number of missing files that are reported individually */

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

/*
 * Maximum number of files that are kept open in case a recorder with a limit removes them. These
 * are the oldest files, which it removes first.
 */
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
 * Opens the files of a trace whose recorder may remove them. The recorder removes the oldest files
 * first, so if a file is missing, all older files are missing. *ret_first: index of the first
 * existing file.
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
			continue;	/* the error is reported when the file is read */
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

/* Returns the highest whole_below in the headers of the files; finished traces do not need it. */
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
	if (r == 0 && t->quick && !t->scanned && load_lists(t, numbers, cnt) > 0) {
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

/*
 * Loads the manifest before the files, since a recorder writes its final manifest after the last
 * block.
 */
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
	/* the recorder may have finished after the manifest was read */
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
	close_lists(t);
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

/*
 * trace_layout: adds up the bytes of file headers, blocks, damaged parts and the rest of every
 * file.
 */

struct layout {
	struct trace *t;
	struct trace_list list;
	uint64_t block_bytes, damaged_bytes;
};

static struct trace_layout *layout_part(struct layout *l, uint32_t part, uint8_t kind,
					uint8_t column)
{
	struct trace_layout *p = l->list.v;

	for (size_t i = 0; i < l->list.cnt; i++)
		if (p[i].part == part && p[i].kind == kind && p[i].column == column)
			return &p[i];
	p = trace_list_add(&l->list, sizeof(*p));
	if (p)
		*p = (struct trace_layout){ .part = part, .kind = kind, .column = column };
	return p;
}

static int layout_add(struct layout *l, uint32_t part, uint64_t row_cnt, uint64_t bytes)
{
	struct trace_layout *p;

	if (!bytes)
		return 0;
	p = layout_part(l, part, 0, 0);
	if (!p)
		return -ENOMEM;
	p->row_cnt += row_cnt;
	p->raw_bytes += bytes;
	p->stored_bytes += bytes;
	return 0;
}

static int add_section(struct layout *l, const struct disk_section *s)
{
	bool is_event = s->type == CHUNK_COLUMN || s->type == CHUNK_TUPLES;
	struct trace_layout *p = layout_part(l, is_event ? CHUNK_COLUMN : s->type,
				      is_event ? s->kind : 0, is_event ? s->column : 0);

	if (!p)
		return -ENOMEM;
	p->is_event = is_event;
	if (!is_event)
		p->row_cnt += s->item_cnt;
	p->raw_bytes += s->raw_bytes;
	p->stored_bytes += s->stored_bytes;
	return 0;
}

static int add_blocks(struct layout *l, struct err *e)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(l->t, &cnt);
	struct trace_block_open o;
	uint64_t sections;
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++) {
		r = trace_block_open(l->t, &l->t->reader, i, &o, e);
		if (r < 0)
			return r;
		sections = 0;
		for (uint32_t j = 0; j < o.meta->head.section_cnt && r == 0; j++) {
			r = add_section(l, &o.meta->sections[j]);
			sections += o.meta->sections[j].stored_bytes;
		}
		block_meta_free(o.meta);
		r = r ?: layout_add(l, TRACE_LAYOUT_BLOCK_HEADERS, 1, b[i].bytes - sections);
		l->block_bytes += b[i].bytes;
	}
	return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static int add_damages(struct layout *l)
{
	size_t cnt, i;
	const struct trace_damage *d = trace_damages(l->t, &cnt);

	/*
	 * Skip damage that is counted elsewhere: a block with damaged events is counted as a block,
	 * and the manifest as its own part.
	 */
	for (i = 0; i < cnt; i++) {
		size_t blocks, j;
		const struct trace_block *b = trace_blocks(l->t, &blocks);

		for (j = 0; j < blocks; j++)
			if (b[j].offset == d[i].offset && !strcmp(b[j].file, d[i].file))
				break;
		if (j < blocks || !strcmp(d[i].file, MANIFEST_NAME))
			continue;
		l->damaged_bytes += d[i].bytes;
		if (layout_add(l, TRACE_LAYOUT_DAMAGED, 1, d[i].bytes) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the headers of the files, the unfinished rest and the manifest. */
static int add_files(struct layout *l)
{
	uint64_t *numbers = NULL, bytes = 0, headers = 0, known;
	size_t cnt = 0, i;
	struct stat st;
	int r = trace_file_list(l->t, &numbers, &cnt), fd;

	for (i = 0; r == 0 && i < cnt; i++) {
		bool good;

		fd = trace_file_open(l->t, numbers[i]);
		if (fd < 0)
			continue;
		good = !fstat(fd, &st) && S_ISREG(st.st_mode);
		trace_file_close(l->t, fd);
		if (!good)
			continue;
		bytes += (uint64_t)st.st_size;
		headers += (uint64_t)st.st_size < sizeof(struct disk_file)
				   ? (uint64_t)st.st_size
				   : sizeof(struct disk_file);
	}
	free(numbers);
	r = r ?: layout_add(l, TRACE_LAYOUT_FILE_HEADERS, cnt, headers);
	known = headers + l->block_bytes + l->damaged_bytes;
	/* bytes < known if a header lies in a damaged part and was counted twice */
	if (r == 0 && bytes > known)
		r = layout_add(l, TRACE_LAYOUT_REST, cnt, bytes - known);
	if (r == 0 && l->t->dir_fd < 0)
		r = layout_add(l, TRACE_LAYOUT_MANIFEST, 1, l->t->held.manifest_bytes);
	else if (r == 0 && !fstatat(l->t->dir_fd, "manifest", &st, AT_SYMLINK_NOFOLLOW))
		r = layout_add(l, TRACE_LAYOUT_MANIFEST, 1, (uint64_t)st.st_size);
	return r;
}

/* ---- names ---- */

static const char *part_name(uint32_t part)
{
	switch (part) {
	case TRACE_LAYOUT_FILE_HEADERS:
		return "file headers";
	case TRACE_LAYOUT_BLOCK_HEADERS:
		return "block headers";
	case TRACE_LAYOUT_DAMAGED:
		return "damaged parts";
	case TRACE_LAYOUT_REST:
		return "unfinished blocks";
	case TRACE_LAYOUT_MANIFEST:
		return "manifest";
	case CHUNK_UTIDS:
		return "utids";
#define X(name, number, text, row) case CHUNK_##name: return #text;
		CHUNK_SECTIONS(X)
#undef X
	default:
		return "?";
	}
}

static void name_event_column(struct trace_layout *p)
{
	static const char *const codecs[] = { "?",     "UTID",	 "PREV",    "TUPLE", "PLAIN",
					      "DELTA", "TDELTA", "BACKREF", "XREF" };
	static const struct {
		uint8_t column;
		const char *name, *codec;
	} shared[] = {
		{ CHUNK_COL_CPU, "cpu", "runs" },     { CHUNK_COL_TS, "ts_ns", "DELTA" },
		{ CHUNK_COL_UTID, "utid", "UTID" },   { CHUNK_COL_FLAGS, "flags", "TUPLE" },
		{ CHUNK_COL_TUPLE, "tuple", "INDEX" },
	};
	const struct event_column *c;

	p->kind_name = event_kind_name(p->kind);
	p->name = p->codec = "?";
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		if (shared[i].column != p->column)
			continue;
		p->name = shared[i].name;
		p->codec = p->column == CHUNK_COL_UTID && p->kind == EVENT_SWITCH ?
				   "PREV" : shared[i].codec;
	}
	c = event_column(p->kind, p->column);
	if (c) {
		p->name = c->name;
		p->codec = c->codec < sizeof(codecs) / sizeof(*codecs) ? codecs[c->codec] : "?";
	}
}

static void name_all(struct layout *l)
{
	struct trace_layout *p = l->list.v;
	size_t i, j, cnt;
	const struct trace_block *b = trace_blocks(l->t, &cnt);

	for (i = 0; i < l->list.cnt; i++) {
		if (p[i].is_event) {
			name_event_column(&p[i]);
			for (j = 0; j < cnt; j++)
				p[i].row_cnt +=
					p[i].kind < EVENT_KIND_CNT ? b[j].kind_cnt[p[i].kind] : 0;
			continue;
		}
		p[i].kind_name = "";
		p[i].name = part_name(p[i].part);
		p[i].codec = p[i].part == CHUNK_UTIDS		? "DELTA"
			     : p[i].part < CHUNK_SMALL_END	? "rows"
								: "";
	}
}

static int layout_cmp(const void *pa, const void *pb)
{
	const struct trace_layout *a = pa, *b = pb;

	return compare_numbers(b->is_event, a->is_event) ?: compare_numbers(a->part, b->part) ?:
	       compare_numbers(a->kind, b->kind) ?: compare_numbers(a->column, b->column);
}

int trace_layout_read(struct trace *t, struct trace_layout **ret, size_t *ret_cnt, struct err *e)
{
	struct layout l = { .t = t };
	int r = add_blocks(&l, e);

	r = r ?: add_damages(&l) ?: add_files(&l);
	if (r < 0) {
		free(l.list.v);
		return err_set(e, r, "the trace's layout: %s", err_text(e, r));
	}
	name_all(&l);
	if (l.list.cnt)
		qsort(l.list.v, l.list.cnt, sizeof(struct trace_layout), layout_cmp);
	*ret = l.list.v;
	*ret_cnt = l.list.cnt;
	return 0;
}
