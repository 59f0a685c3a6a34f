/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * lists_make: the lists of a trace, as they were read from its blocks, in pieces for lists.idx. Rows are written as
 * in the blocks' small sections; processes and threads by id, turns by time, so many to a piece, so that one is found by reading one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/zpack.h"
#include "event/lists_disk.h"
#include "store/chunk_name.h"
#include "store/files.h"

#define LISTS_MIN_BLOCKS 64	/* fewer are opened as fast without */
#define PIECE_BYTES (1u << 20)	/* a list that is read as a whole is cut at this */
/* File systems tell changes apart by a timer's tick, some by two seconds: a file this fresh may yet change unseen. */
#define FRESH_NS 2000000000ull

struct making {
	lists_sink sink;
	void *ctx;
	struct row_writer rows;
	struct disk_piece p;
};

/* ---- pieces ---- */

static int give(struct making *m)
{
	int r = m->rows.out.failed ? -ENOMEM : 0;

	m->p.raw_bytes = (uint32_t)m->rows.out.len;
	if (r == 0 && m->rows.out.len > LISTS_RAW_MAX)
		r = -EFBIG;
	if (r == 0 && m->p.row_cnt)
		r = m->sink(m->ctx, &m->p, &m->rows.out);
	buf_reset(&m->rows.out);
	m->p.row_cnt = 0;
	return r;
}

/* A row was added. */
static int count(struct making *m)
{
	bool is_full;

	m->p.row_cnt++;
	is_full = lists_is_by_piece(m->p.type) ? m->p.row_cnt == LISTS_PIECE_ROWS :
						 m->rows.out.len >= PIECE_BYTES;
	return is_full ? give(m) : 0;
}

static int begin(struct making *m, unsigned int type, unsigned int name_type)
{
	int r = give(m);

	m->p = (struct disk_piece){ .type = (uint16_t)type, .name_type = (uint8_t)name_type };
	return r;
}

uint64_t lists_changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
}

static int make_files(const struct trace *t, struct making *m)
{
	uint64_t *numbers = NULL, now_ns;
	struct timespec now;
	size_t cnt = 0, i;
	struct stat st;
	int r = chunk_name_list(t->dir_fd, &numbers, &cnt);

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (i = 0; r == 0 && i < cnt; i++) {
		struct disk_list_file f = { .number = numbers[i] };
		char name[CHUNK_NAME_BYTES];

		chunk_name_format(name, numbers[i]);
		if (fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			r = -errno;
			break;
		}
		f.bytes = (uint64_t)st.st_size;
		f.changed_ns = lists_changed_ns(&st);
		if (f.changed_ns + FRESH_NS > now_ns)
			f.changed_ns = 0;
		buf_add(&m->rows.out, &f, sizeof(f));
		r = count(m);
	}
	free(numbers);
	return r;
}

static int make_block(const struct trace_block *b, const struct trace_block_more *m, struct buf *out)
{
	struct disk_list_block d = {
		.file = m->file, .offset = b->offset, .bytes = b->bytes, .from_ns = b->from_ns,
		.to_ns = b->to_ns, .first_ns = b->first_ns, .last_ns = b->last_ns,
		.number = m->number, .front_bytes = m->front_bytes, .head_crc = m->head_crc,
		.cpu_cnt = m->cpu_cnt,
		.flags = (m->carried ? LISTS_BLOCK_CARRIED : 0) | (m->remade ? LISTS_BLOCK_REMADE : 0) |
			 (m->ends ? LISTS_BLOCK_ENDS : 0) | (m->cut ? LISTS_BLOCK_CUT : 0),
	};
	unsigned int k;

	for (k = 0; k < EVENT_KIND_CNT; k++) {
		if (b->kind_cnt[k] > UINT32_MAX)
			return -EFBIG;
		d.kind_cnt[k] = (uint32_t)b->kind_cnt[k];
	}
	buf_add(out, &d, sizeof(d));
	buf_add(out, m->running, m->cpu_cnt * sizeof(*m->running));
	if (m->ends)
		buf_add(out, m->ends, m->cpu_cnt * sizeof(*m->ends));
	return 0;
}

static int make_blocks(const struct trace *t, struct making *m)
{
	const struct trace_block_more *more = t->more.v;
	const struct trace_block *b = t->blocks.v;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < t->blocks.cnt; i++) {
		r = make_block(&b[i], &more[i], &m->rows.out);
		if (r == 0)
			r = count(m);
	}
	return r;
}

static int make_names(const struct trace *t, struct making *m, unsigned int type)
{
	const struct trace_name *n = t->names[type].v;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < t->names[type].cnt; i++) {
		struct row_name row = { .type = type, .id = n[i].id, .arg = n[i].arg,
					.name = n[i].name };

		row_put_name(&m->rows, &row);
		r = count(m);
	}
	return r;
}

#define X(section, row, of, list)                                            \
	static int make_##list(const struct trace *t, struct making *m)      \
	{                                                                    \
		const struct of *v = t->list.v;                              \
		size_t i;                                                    \
		int r = 0;                                                   \
		for (i = 0; r == 0 && i < t->list.cnt; i++) {                \
			if (!m->p.row_cnt)                                   \
				m->p.first = first_id(section, &v[i]);       \
			row_put_##row(&m->rows, &v[i]);                      \
			r = count(m);                                        \
		}                                                            \
		return r;                                                    \
	}

static uint32_t first_id(enum chunk_section_type type, const void *row)
{
	return type == CHUNK_PROCESSES ? ((const struct trace_process *)row)->upid :
	       type == CHUNK_THREADS   ? ((const struct trace_thread *)row)->utid : 0;
}

LISTS_OF_ROWS(X)
#undef X

static int make_turns(const struct trace *t, struct making *m)
{
	struct trace_list turns;
	const struct trace_turn *v;
	int r = trace_turns_make(t, &turns);
	size_t i;

	if (r < 0)
		return r;
	v = turns.v;
	for (i = 0; r == 0 && i < turns.cnt; i++) {
		const struct disk_turn d = { v[i].ts_ns, v[i].upid, v[i].kind };

		if (!m->p.row_cnt)
			m->p.first = d.ts_ns;
		buf_add(&m->rows.out, &d, sizeof(d));
		r = count(m);
	}
	free(turns.v);
	return r;
}

int lists_make(const struct trace *t, lists_sink sink, void *ctx)
{
	struct making m = { .sink = sink, .ctx = ctx, .rows = { .base_ns = trace_start_ns(t) } };
	unsigned int type;
	int r = begin(&m, LISTS_FILES, 0);

	if (r == 0)
		r = make_files(t, &m);
	if (r == 0)
		r = begin(&m, LISTS_BLOCKS, 0);
	if (r == 0)
		r = make_blocks(t, &m);
#define X(section, row, of, list)              \
	if (r == 0)                            \
		r = begin(&m, section, 0);     \
	if (r == 0)                            \
		r = make_##list(t, &m);
	LISTS_OF_ROWS(X)
#undef X
	if (r == 0)
		r = begin(&m, LISTS_TURNS, 0);
	if (r == 0)
		r = make_turns(t, &m);
	for (type = 1; r == 0 && type < TRACE_NAME_TYPE_CNT; type++) {
		r = begin(&m, CHUNK_NAMES, type);
		if (r == 0)
			r = make_names(t, &m, type);
	}
	if (r == 0)
		r = give(&m);
	buf_done(&m.rows.out);
	return r;
}

/* ---- the file ---- */

struct out_file {
	int fd;
	uint64_t end;
	struct zpack *z;
	uint8_t *packed;
	struct buf dir;
	uint32_t piece_cnt;
};

static int store_piece(void *ctx, const struct disk_piece *piece, const struct buf *raw)
{
	struct disk_piece p = *piece;
	const uint8_t *stored = raw->data;
	struct out_file *f = ctx;
	size_t bytes = raw->len;
	int r;

	/* what every opening needs whole is as it is in memory, or nearly */
	if (p.type != LISTS_FILES && p.type != LISTS_BLOCKS) {
		free(f->packed);
		f->packed = malloc(zpack_bound(raw->len));
		if (!f->packed)
			return -ENOMEM;
		r = zpack_run(f->z, f->packed, zpack_bound(raw->len), raw->data, raw->len,
			      raw->len / LISTS_RATIO_MAX + 1, &bytes);
		if (r < 0)
			return r;
		p.pack = (uint8_t)r;
		stored = f->packed;
	}
	p.offset = f->end;
	p.stored_bytes = (uint32_t)bytes;
	p.crc = crc32c(0, stored, bytes);
	f->end += bytes;
	f->piece_cnt++;
	buf_add(&f->dir, &p, sizeof(p));
	if (f->dir.failed)
		return -ENOMEM;
	return files_write_all(&files_kernel, f->fd, stored, bytes, p.offset);
}

static int write_file(const struct trace *t, int fd)
{
	struct disk_lists h = { .version = LISTS_VERSION, .kind_cnt = EVENT_KIND_CNT };
	struct out_file f = { .fd = fd, .end = sizeof(h) };
	int r = zpack_new(&f.z, 0);

	if (r == 0)
		r = lists_make(t, store_piece, &f);
	if (r == 0) {
		memcpy(h.magic, LISTS_MAGIC, sizeof(h.magic));
		h.piece_cnt = f.piece_cnt;
		h.dir_offset = f.end;
		h.thread_hash = trace_thread_hash(t, SIZE_MAX);
		h.dir_crc = crc32c(0, f.dir.data, f.dir.len);
		h.crc = crc32c(0, &h, offsetof(struct disk_lists, crc));
		r = files_write_all(&files_kernel, fd, f.dir.data, f.dir.len, f.end);
	}
	if (r == 0)
		r = files_write_all(&files_kernel, fd, &h, sizeof(h), 0);
	zpack_free(f.z);
	free(f.packed);
	buf_done(&f.dir);
	return r;
}

/* It was made without a name, so that a half-made one is never seen. Under root it belongs to whom the trace belongs to. */
static void name_file(const struct trace *t, int fd)
{
	struct stat st;
	char proc[64];

	if (fstat(t->dir_fd, &st) < 0 || (geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) < 0))
		return;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	(void)unlinkat(t->dir_fd, CHUNK_LISTS_NAME ".new", 0);
	if (linkat(AT_FDCWD, proc, t->dir_fd, CHUNK_LISTS_NAME ".new", AT_SYMLINK_FOLLOW) == 0 &&
	    renameat(t->dir_fd, CHUNK_LISTS_NAME ".new", t->dir_fd, CHUNK_LISTS_NAME) < 0)
		(void)unlinkat(t->dir_fd, CHUNK_LISTS_NAME ".new", 0);
}

int lists_make_file(const struct trace *t, bool in_memory)
{
	int fd, r;

	if (t->lists || t->is_live || t->dir_fd < 0 || !trace_is_finished(t) || t->damages.cnt ||
	    t->blocks.cnt < LISTS_MIN_BLOCKS)
		return -ENOENT;
	fd = openat(t->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0) {
		r = write_file(t, fd);
		if (r == 0) {
			name_file(t, fd);
			return fd;
		}
		close(fd);
	}
	fd = in_memory ? memfd_create("ebpfrec-lists", MFD_CLOEXEC) : -1;
	if (fd < 0)
		return in_memory ? -errno : -ENOENT;
	r = write_file(t, fd);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

void trace_lists_save(struct trace *t)
{
	int fd = lists_make_file(t, false);

	if (fd >= 0)
		close(fd);
}
