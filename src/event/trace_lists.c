/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_lists: the merged lists of a finished trace in one file beside it, so that opening a trace of
 * thousands of blocks does not read the front of each. The lists' rows are written as in the blocks'
 * small sections, and read by the same code.
 *
 * The file holds for the trace when its chunk files are as long as they were, and the CRC of every
 * block's header is what it was: that covers all bytes of the block. What is in a block is checked
 * when it is opened. Derived data: it can be deleted at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/zpack.h"
#include "event/index_number.h"
#include "event/trace_state.h"
#include "store/chunk_name.h"

#define LISTS_MAGIC "EBRLIST\n"
#define LISTS_VERSION 2
#define LISTS_MIN_BLOCKS 64	/* fewer are opened as fast without */
#define LISTS_RAW_MAX (1u << 30)
#define LISTS_RATIO_MAX 256	/* more is stored as it is: a file makes a reader take so many times its size */

struct disk_lists {
	uint8_t magic[8];
	uint16_t version, kind_cnt;
	uint32_t pack;
	uint64_t stored_bytes, raw_bytes;
	uint32_t stored_crc;	/* of what follows */
	uint32_t crc;		/* of the 36 bytes before */
};

_Static_assert(sizeof(struct disk_lists) == 40, "layout of disk_lists");

/* Sections in the order they are written and read. X(type, row of row_codec, struct, list) */
#define LISTS(X)                                                        \
	X(CHUNK_PROCESSES, process, trace_process, processes)           \
	X(CHUNK_THREADS, thread, trace_thread, threads)                 \
	X(CHUNK_TASK_EVENTS, task_event, trace_task_event, task_events) \
	X(CHUNK_RSS_STATE, rss, trace_rss, baselines)                   \
	X(CHUNK_RSS_SNAPS, rss, trace_rss, rss_snaps)                   \
	X(CHUNK_LOSS, loss, trace_loss, losses)                         \
	X(CHUNK_COST, cost, trace_cost, costs)                          \
	X(CHUNK_HOOK_STATS, hook_stat, trace_hook_stat, hook_stats)     \
	X(CHUNK_CLOCKS, clock, trace_clock, clocks)                     \
	X(CHUNK_MARKS, mark, trace_mark, marks)                         \
	X(CHUNK_GAPS, gap, trace_gap, gaps)                             \
	X(CHUNK_SITES, site, trace_site, sites)                         \
	X(CHUNK_FRAMES, frame, trace_frame, frames)

/* ---- saving ---- */

static void put_blocks(const struct trace *t, struct buf *out)
{
	const struct trace_block *b = t->blocks.v;
	const struct trace_block_more *m = t->more.v;
	unsigned int k;
	size_t i;

	buf_add_varint(out, t->blocks.cnt);
	for (i = 0; i < t->blocks.cnt; i++) {
		buf_add_varint(out, m[i].file);
		buf_add_varint(out, b[i].offset);
		buf_add_varint(out, b[i].bytes);
		buf_add_varint(out, b[i].from_ns);
		buf_add_varint(out, b[i].to_ns - b[i].from_ns);
		buf_add_varint(out, b[i].first_ns);
		buf_add_varint(out, b[i].last_ns);
		buf_add_varint(out, m[i].number);
		buf_add_varint(out, m[i].front_bytes);
		buf_add_varint(out, m[i].head_crc);
		for (k = 0; k < EVENT_KIND_CNT; k++)
			buf_add_varint(out, b[i].kind_cnt[k]);
		buf_add_varint(out, m[i].carried | m[i].remade << 1 | (m[i].ends != NULL) << 2 | m[i].cut << 3);
		buf_add_varint(out, m[i].cpu_cnt);
		for (k = 0; k < m[i].cpu_cnt; k++)
			buf_add_varint(out, m[i].running[k]);
		for (k = 0; m[i].ends && k < m[i].cpu_cnt; k++)
			buf_add_varint(out, m[i].ends[k]);
	}
}

static void put_section(struct buf *out, unsigned int type, struct row_writer *rows)
{
	buf_add_varint(out, type);
	buf_add_varint(out, rows->out.len);
	buf_add(out, rows->out.data, rows->out.len);
	out->failed |= rows->out.failed;
	buf_reset(&rows->out);
}

static void put_lists(const struct trace *t, struct buf *out)
{
	struct row_writer rows = { .base_ns = trace_start_ns(t) };
	unsigned int type;
	size_t i;

#define X(section, row, of, list)                                       \
	for (i = 0; i < t->list.cnt; i++)                               \
		row_put_##row(&rows, (const struct of *)t->list.v + i); \
	put_section(out, section, &rows);
	LISTS(X)
#undef X
	for (type = 1; type < TRACE_NAME_TYPE_CNT; type++)
		for (i = 0; i < t->names[type].cnt; i++) {
			const struct trace_name *n = (const struct trace_name *)t->names[type].v + i;
			struct row_name row = { .type = type, .id = n->id, .arg = n->arg,
						.name = n->name };

			row_put_name(&rows, &row);
		}
	put_section(out, CHUNK_NAMES, &rows);
	buf_done(&rows.out);
}

static int put_files(const struct trace *t, struct buf *out)
{
	uint64_t *numbers = NULL;
	size_t cnt = 0, i;
	struct stat st;
	int r = chunk_name_list(t->dir_fd, &numbers, &cnt);

	buf_add_varint(out, cnt);
	for (i = 0; r == 0 && i < cnt; i++) {
		char name[CHUNK_NAME_BYTES];

		chunk_name_format(name, numbers[i]);
		if (fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			r = -errno;
		buf_add_varint(out, numbers[i]);
		buf_add_varint(out, (uint64_t)st.st_size);
	}
	free(numbers);
	return r;
}

static bool write_whole(int fd, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes) {
		ssize_t n = write(fd, p, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* Made without a name, so that a half-made one is never seen. */
static void write_file(const struct trace *t, const struct disk_lists *h, const uint8_t *stored)
{
	int fd = openat(t->dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	struct stat st;
	char proc[64];

	if (fd < 0)
		return;
	if (fstat(t->dir_fd, &st) == 0 &&
	    (geteuid() || fchown(fd, st.st_uid, st.st_gid) == 0) &&
	    write_whole(fd, h, sizeof(*h)) && write_whole(fd, stored, h->stored_bytes)) {
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		(void)unlinkat(t->dir_fd, CHUNK_LISTS_NAME ".new", 0);
		if (linkat(AT_FDCWD, proc, t->dir_fd, CHUNK_LISTS_NAME ".new",
			   AT_SYMLINK_FOLLOW) == 0 &&
		    renameat(t->dir_fd, CHUNK_LISTS_NAME ".new", t->dir_fd, CHUNK_LISTS_NAME) < 0)
			(void)unlinkat(t->dir_fd, CHUNK_LISTS_NAME ".new", 0);
	}
	close(fd);
}

void trace_lists_save(struct trace *t)
{
	struct disk_lists h = { .version = LISTS_VERSION, .kind_cnt = EVENT_KIND_CNT };
	struct buf raw = { 0 };
	struct zpack *z = NULL;
	uint8_t *stored = NULL;
	size_t bytes;
	int pack;

	if (t->from_lists || t->is_live || !trace_is_finished(t) || t->damages.cnt ||
	    t->blocks.cnt < LISTS_MIN_BLOCKS || zpack_new(&z, 0) < 0)
		return;
	if (put_files(t, &raw) < 0)
		goto out;
	put_blocks(t, &raw);
	put_lists(t, &raw);
	if (raw.failed || raw.len > LISTS_RAW_MAX)
		goto out;
	stored = malloc(zpack_bound(raw.len));
	if (!stored)
		goto out;
	pack = zpack_run(z, stored, zpack_bound(raw.len), raw.data, raw.len,
			 raw.len / LISTS_RATIO_MAX + 1, &bytes);
	if (pack < 0)
		goto out;
	memcpy(h.magic, LISTS_MAGIC, sizeof(h.magic));
	h.pack = (uint32_t)pack;
	h.stored_bytes = bytes;
	h.raw_bytes = raw.len;
	h.stored_crc = crc32c(0, stored, bytes);
	h.crc = crc32c(0, &h, offsetof(struct disk_lists, crc));
	write_file(t, &h, stored);
out:
	zpack_free(z);
	free(stored);
	buf_done(&raw);
}

/* ---- loading ---- */

static int read_file(const struct trace *t, uint8_t **ret, size_t *ret_bytes)
{
	int fd = openat(t->dir_fd, CHUNK_LISTS_NAME,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct chunk_io io = { fd, 0 };
	struct disk_lists h;
	uint8_t *stored = NULL, *raw = NULL;
	struct stat st;
	int r = -EBADMSG;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    chunk_io_read(&io, 0, &h, sizeof(h)) == 0 &&
	    !memcmp(h.magic, LISTS_MAGIC, sizeof(h.magic)) && h.version == LISTS_VERSION &&
	    h.kind_cnt == EVENT_KIND_CNT &&
	    crc32c(0, &h, offsetof(struct disk_lists, crc)) == h.crc &&
	    h.stored_bytes <= (uint64_t)st.st_size && h.raw_bytes <= LISTS_RAW_MAX &&
	    h.raw_bytes / LISTS_RATIO_MAX <= h.stored_bytes) {
		stored = malloc(h.stored_bytes + 1);
		raw = malloc(h.raw_bytes + 1);
		if (stored && raw && chunk_io_read(&io, sizeof(h), stored, h.stored_bytes) == 0 &&
		    crc32c(0, stored, h.stored_bytes) == h.stored_crc)
			r = zunpack_run(t->reader.zunpack, h.pack, raw, h.raw_bytes, stored,
					h.stored_bytes);
	}
	close(fd);
	free(stored);
	if (r < 0) {
		free(raw);
		return r;
	}
	*ret = raw;
	*ret_bytes = h.raw_bytes;
	return 0;
}

static bool files_fit(const struct trace *t, struct index_in *in, const uint64_t *numbers,
		      size_t cnt)
{
	char name[CHUNK_NAME_BYTES];
	struct stat st;
	size_t i;

	if (index_get(in) != cnt)
		return false;
	for (i = 0; i < cnt; i++) {
		uint64_t number = index_get(in), bytes = index_get(in);

		chunk_name_format(name, numbers[i]);
		if (number != numbers[i] ||
		    fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || (uint64_t)st.st_size != bytes)
			return false;
	}
	return !in->bad;
}

/* The header that is there now is the one the lists were made of. */
static bool block_fits(struct trace *t, const struct trace_block *b,
		       const struct trace_block_more *m)
{
	struct disk_block head;
	struct chunk_io io;

	if (t->reader.fd < 0 || t->reader.fd_number != m->file) {
		if (t->reader.fd >= 0)
			trace_file_close(t, t->reader.fd);
		t->reader.fd = trace_file_open(t, m->file);
		t->reader.fd_number = m->file;
		if (t->reader.fd < 0) {
			t->reader.fd = -1;
			return false;
		}
	}
	io = (struct chunk_io){ t->reader.fd, b->offset };
	return chunk_io_read(&io, 0, &head, sizeof(head)) == 0 && head.head_crc == m->head_crc &&
	       crc32c(0, &head, offsetof(struct disk_block, head_crc)) == head.head_crc;
}

static int get_block(struct trace *t, struct index_in *in)
{
	struct trace_block *b = trace_list_add(&t->blocks, sizeof(*b));
	struct trace_block_more *m = trace_list_add(&t->more, sizeof(*m));
	char name[CHUNK_NAME_BYTES];
	unsigned int k, flags;

	if (!b || !m)
		return -ENOMEM;
	m->file = index_get(in);
	chunk_name_format(name, m->file);
	b->file = strpool_put(t->strings, name);
	b->offset = index_get(in);
	b->bytes = index_get(in);
	b->from_ns = index_get(in);
	b->to_ns = b->from_ns + index_get(in);
	b->first_ns = index_get(in);
	b->last_ns = index_get(in);
	m->number = index_get(in);
	m->front_bytes = (uint32_t)index_get(in);
	m->head_crc = (uint32_t)index_get(in);
	for (k = 0; k < EVENT_KIND_CNT; k++)
		b->kind_cnt[k] = index_get(in);
	flags = (unsigned int)index_get(in);
	m->carried = flags & 1;
	m->remade = flags & 2;
	m->cut = flags & 8;
	m->cpu_cnt = (uint32_t)index_get(in);
	if (in->bad || m->cpu_cnt > CHUNK_CPUS_MAX) {
		m->cpu_cnt = 0;
		return -EBADMSG;
	}
	m->running = malloc((m->cpu_cnt + 1) * sizeof(*m->running));
	if (flags & 4)
		m->ends = malloc((m->cpu_cnt + 1) * sizeof(*m->ends));
	if (!m->running || !b->file || (flags & 4 && !m->ends))
		return -ENOMEM;
	for (k = 0; k < m->cpu_cnt; k++)
		m->running[k] = (uint32_t)index_get(in);
	for (k = 0; m->ends && k < m->cpu_cnt; k++)
		m->ends[k] = (uint32_t)index_get(in);
	if (m->cpu_cnt > t->cpu_cnt)
		t->cpu_cnt = m->cpu_cnt;
	if (in->bad || !block_fits(t, b, m) ||
	    (t->blocks.cnt > 1 && b->from_ns < b[-1].to_ns) || b->to_ns < b->from_ns)
		return -EBADMSG;
	return 0;
}

static int get_all(struct trace *t, struct index_in *in, const uint64_t *numbers, size_t cnt)
{
	uint64_t blocks;
	int r = 0;

	if (!files_fit(t, in, numbers, cnt))
		return -EBADMSG;
	for (blocks = index_get(in); blocks && r == 0 && !in->bad; blocks--)
		r = get_block(t, in);
	while (r == 0 && in->p != in->end) {
		uint64_t type = index_get(in), bytes = index_get(in);
		struct row_reader rows = { .p = in->p, .base_ns = trace_start_ns(t) };

		if (in->bad || bytes > (uint64_t)(in->end - in->p))
			return -EBADMSG;
		in->p += bytes;
		rows.end = in->p;
		r = trace_load_rows(t, (enum chunk_section_type)type, &rows);
	}
	return r < 0 ? r : in->bad ? -EBADMSG : 0;
}

static void clear_lists(struct trace *t)
{
	unsigned int type;

	trace_blocks_done(t);
#define X(section, row, of, list) t->list.cnt = 0;
	LISTS(X)
#undef X
	idmap_done(&t->by_upid);
	idmap_done(&t->by_utid);
	idmap_done(&t->by_baseline);
	idmap_done(&t->by_site);
	idmap_done(&t->by_stack);
	for (type = 0; type < TRACE_NAME_TYPE_CNT; type++) {
		t->names[type].cnt = 0;
		idmap_done(&t->by_name[type]);
	}
	t->cpu_cnt = 0;
}

int trace_lists_check(struct trace *t, const uint64_t *numbers, size_t cnt, const char **ret_why)
{
	struct index_in in = { 0 };
	struct buf now = { 0 };
	uint8_t *raw = NULL;
	size_t bytes = 0;
	int r;

	*ret_why = "cannot be read, or its checksum does not hold: it is not used";
	r = read_file(t, &raw, &bytes);
	if (r == -ENOENT || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	if (r < 0)
		return -EBADMSG;
	in.p = raw;
	in.end = raw + bytes;
	*ret_why = "was made when the chunk files were others: it is not used";
	r = files_fit(t, &in, numbers, cnt) ? 0 : -ESTALE;
	/* with damage in the trace there is nothing to hold it against */
	*ret_why = r < 0 ? *ret_why : "checksum holds";
	if (r == 0 && !t->damages.cnt && !t->is_live && trace_is_finished(t)) {
		r = put_files(t, &now);
		put_blocks(t, &now);
		put_lists(t, &now);
		if (now.failed)
			r = -ENOMEM;
		else if (r == 0 && (now.len != bytes || (bytes && memcmp(now.data, raw, bytes))))
			r = -ESTALE;
		*ret_why = r == -ESTALE ? "does not say what the blocks say: delete it" :
					  "says what the blocks say";
	}
	buf_done(&now);
	free(raw);
	return r < 0 ? r : 1;
}

bool trace_has_lists(const struct trace *t)
{
	return t->from_lists;
}

int trace_lists_load(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct index_in in = { 0 };
	uint8_t *raw = NULL;
	size_t bytes = 0;
	int r;

	if (t->is_live || !trace_is_finished(t) || read_file(t, &raw, &bytes) < 0)
		return 0;
	in.p = raw;
	in.end = raw + bytes;
	r = get_all(t, &in, numbers, cnt);
	free(raw);
	if (r == 0)
		r = trace_load_finish(t);
	if (r == 0)
		return 1;
	clear_lists(t);
	return 0;
}
