/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * lists_file: lists.idx as a file: whether it is one, its pieces, and whether it says what the blocks say. A file is one when
 * header and directory have their checksums, and pieces lie from the one to the other without a hole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/zpack.h"
#include "event/lists_disk.h"
#include "store/chunk_name.h"

/* ---- the file ---- */

/* Pieces follow each other without a hole, and each list's are together. */
static bool dir_fits(const struct disk_lists *h, const struct disk_piece *p)
{
	uint64_t at = sizeof(*h);
	uint32_t i;

	for (i = 0; i < h->piece_cnt; i++) {
		bool is_task = p[i].type == CHUNK_PROCESSES || p[i].type == CHUNK_THREADS;
		bool goes_on = i && p[i - 1].type == p[i].type;

		if (p[i].offset != at || p[i].stored_bytes > h->dir_offset - at ||
		    p[i].raw_bytes > LISTS_RAW_MAX ||
		    p[i].raw_bytes / LISTS_RATIO_MAX > p[i].stored_bytes ||
		    p[i].row_cnt > p[i].raw_bytes || !p[i].row_cnt || p[i].zero ||
		    p[i].name_type >= TRACE_NAME_TYPE_CNT)
			return false;
		if (is_task && (p[i].first < EVENT_ID_FIRST || p[i].first > UINT32_MAX ||
				(goes_on && p[i - 1].first == p[i].first)))
			return false;
		if (lists_is_by_piece(p[i].type) &&
		    (p[i].row_cnt > LISTS_PIECE_ROWS ||
		     (goes_on &&
		      (p[i - 1].row_cnt != LISTS_PIECE_ROWS || p[i - 1].first > p[i].first))))
			return false;
		at += p[i].stored_bytes;
	}
	return at == h->dir_offset;
}

int lists_read_head(int fd, struct disk_lists *ret, struct disk_piece **ret_dir)
{
	struct chunk_io io = { fd, 0 };
	struct disk_piece *dir;
	struct disk_lists h;
	struct stat st;
	uint64_t bytes;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || chunk_io_read(&io, 0, &h, sizeof(h)) < 0 ||
	    memcmp(h.magic, LISTS_MAGIC, sizeof(h.magic)) || h.version != LISTS_VERSION ||
	    h.kind_cnt != EVENT_KIND_CNT ||
	    crc32c(0, &h, offsetof(struct disk_lists, crc)) != h.crc)
		return -EBADMSG;
	bytes = (uint64_t)h.piece_cnt * sizeof(*dir);
	if (h.dir_offset < sizeof(h) || h.dir_offset > (uint64_t)st.st_size ||
	    bytes != (uint64_t)st.st_size - h.dir_offset)
		return -EBADMSG;
	dir = malloc(bytes + 1);
	if (!dir)
		return -ENOMEM;
	if (chunk_io_read(&io, h.dir_offset, dir, bytes) < 0 || crc32c(0, dir, bytes) != h.dir_crc ||
	    !dir_fits(&h, dir)) {
		free(dir);
		return -EBADMSG;
	}
	*ret = h;
	*ret_dir = dir;
	return 0;
}

int lists_read_piece(const struct lists_file *f, const struct disk_piece *p, uint8_t **ret)
{
	struct chunk_io io = { f->fd, 0 };
	uint8_t *stored = malloc((size_t)p->stored_bytes + 1), *raw = NULL;
	int r = -ENOMEM;

	if (stored)
		r = chunk_io_read(&io, p->offset, stored, p->stored_bytes) < 0 ||
		    crc32c(0, stored, p->stored_bytes) != p->crc ? -EBADMSG : 0;
	if (r == 0 && p->pack == CHUNK_PACK_NONE) {
		if (p->raw_bytes == p->stored_bytes) {
			*ret = stored;
			return 0;
		}
		r = -EBADMSG;
	}
	if (r == 0) {
		raw = malloc((size_t)p->raw_bytes + 1);
		r = raw ? zunpack_run(f->zunpack, p->pack, raw, p->raw_bytes, stored, p->stored_bytes) :
			  -ENOMEM;
	}
	free(stored);
	if (r < 0) {
		free(raw);
		return r == -ENOMEM ? r : -EBADMSG;
	}
	*ret = raw;
	return 0;
}

void lists_file_close(struct lists_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->dir);
	zunpack_free(f->zunpack);
	*f = (struct lists_file){ .fd = -1 };
}

int lists_file_open(struct lists_file *f, const struct trace *t)
{
	int r;

	*f = (struct lists_file){ .fd = openat(t->dir_fd, CHUNK_LISTS_NAME,
					       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) };
	r = f->fd < 0 ? -errno : lists_read_head(f->fd, &f->head, &f->dir);
	if (r == 0)
		r = zunpack_new(&f->zunpack);
	if (r < 0)
		lists_file_close(f);
	return r;
}

/* ---- does it hold for the trace? ---- */

static bool files_fit(const struct trace *t, const struct disk_list_file *f, size_t have,
		      const uint64_t *numbers, size_t cnt, bool *ret_changed)
{
	char name[CHUNK_NAME_BYTES];
	struct stat st;
	size_t i;

	if (have != cnt)
		return false;
	for (i = 0; i < cnt; i++) {
		chunk_name_format(name, numbers[i]);
		if (f[i].number != numbers[i] ||
		    fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
		    (uint64_t)st.st_size != f[i].bytes)
			return false;
		ret_changed[i] = !f[i].changed_ns || f[i].changed_ns != lists_changed_ns(&st);
	}
	return true;
}

int lists_files_fit(const struct trace *t, const struct lists_file *f, const uint64_t *numbers, size_t cnt,
		    bool *ret_changed)
{
	const struct disk_piece *p = f->dir;
	uint8_t *raw = NULL;
	int r;

	if (!f->head.piece_cnt || p->type != LISTS_FILES ||
	    p->raw_bytes % sizeof(struct disk_list_file))
		return -EBADMSG;
	r = lists_read_piece(f, p, &raw);
	if (r == 0 && !files_fit(t, (struct disk_list_file *)raw,
				 p->raw_bytes / sizeof(struct disk_list_file), numbers, cnt,
				 ret_changed))
		r = -ESTALE;
	free(raw);
	return r;
}

/* ---- checking ---- */

struct compare {
	const struct lists_file *f;
	uint32_t next;
};

static int compare_piece(void *ctx, const struct disk_piece *now, const struct buf *raw)
{
	struct compare *c = ctx;
	const struct disk_piece *p = &c->f->dir[c->next];
	size_t bytes = raw->len, i;
	uint8_t *was;
	int r = 0;

	if (c->next++ >= c->f->head.piece_cnt || p->type != now->type ||
	    p->name_type != now->name_type || p->row_cnt != now->row_cnt ||
	    p->first != now->first || p->raw_bytes != bytes)
		return -ESTALE;
	r = lists_read_piece(c->f, p, &was);
	if (r < 0)
		return r;
	/* when a file was changed is no question of what is in it */
	for (i = 0; now->type == LISTS_FILES && i + sizeof(struct disk_list_file) <= bytes;
	     i += sizeof(struct disk_list_file)) {
		const size_t at = i + offsetof(struct disk_list_file, changed_ns);

		memcpy(was + at, raw->data + at, sizeof(uint64_t));
	}
	r = memcmp(was, raw->data, bytes) ? -ESTALE : 0;
	free(was);
	return r;
}

/* Every piece can be read. */
static int read_all(const struct lists_file *f)
{
	uint8_t *raw;
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < f->head.piece_cnt; i++) {
		r = lists_read_piece(f, &f->dir[i], &raw);
		if (r == 0)
			free(raw);
	}
	return r;
}

int trace_lists_check(struct trace *t, const uint64_t *numbers, size_t cnt, const char **ret_why)
{
	bool *changed = calloc(cnt + 1, sizeof(*changed));
	struct lists_file f;
	struct compare c;
	int r = changed ? lists_file_open(&f, t) : -ENOMEM;

	*ret_why = "cannot be read, or its checksum does not hold: it is not used";
	if (r < 0) {
		free(changed);
		return r == -ENOENT ? 0 : r == -ENOMEM ? r : -EBADMSG;
	}
	r = read_all(&f);
	if (r == 0) {
		*ret_why = "was made when the chunk files were others: it is not used";
		r = lists_files_fit(t, &f, numbers, cnt, changed);
	}
	/* with damage in the trace there is nothing to hold it against */
	*ret_why = r < 0 ? *ret_why : "checksum holds";
	if (r == 0 && !t->damages.cnt && !t->is_live && trace_is_finished(t)) {
		c = (struct compare){ .f = &f };
		r = lists_make(t, compare_piece, &c);
		if (r == 0 && (c.next != f.head.piece_cnt ||
			       f.head.thread_hash != trace_thread_hash(t, SIZE_MAX)))
			r = -ESTALE;
		*ret_why = r == -ESTALE ? "does not say what the blocks say: delete it" :
					  "says what the blocks say";
	}
	lists_file_close(&f);
	free(changed);
	return r < 0 ? r : 1;
}
