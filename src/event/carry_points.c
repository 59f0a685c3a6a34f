/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * carry_points: points are written as they are added, to a file without a name; the list of them and the header come last.
 */
#include "event/carry_points.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/zpack.h"
#include "event/carry_code.h"
#include "event/trace_state.h"
#include "store/chunk_name.h"
#include "store/files.h"

#define CARRY_MAGIC "EBRCARR\n"
#define CARRY_VERSION 1
#define CARRY_POINTS_MAX 100000
#define CARRY_RAW_MAX (1ull << 31)
/* More is stored as it is: a file makes a reader take so many times its size. */
#define CARRY_RATIO_MAX 16

struct disk_carry {
	uint8_t magic[8];
	uint16_t version, kind_cnt;
	uint32_t point_cnt;
	uint64_t dir_offset;
	uint64_t block_cnt;
	uint32_t blocks_crc; /* of place and header CRC of each */
	uint32_t dir_crc;
	uint32_t zero;
	uint32_t crc; /* of the 44 bytes before */
};

struct disk_point {
	uint64_t at_ns, offset, stored_bytes, raw_bytes;
	uint32_t pack, crc; /* of the stored bytes */
};

_Static_assert(sizeof(struct disk_carry) == 48, "layout of disk_carry");
_Static_assert(sizeof(struct disk_point) == 40, "layout of disk_point");

struct carry_points {
	struct trace *t;
	int fd; /* the file that is there; -1: none */
	uint64_t fd_bytes;
	int new_fd; /* the one that is being made */
	uint64_t new_bytes;
	bool is_off; /* none can be made */
	struct trace_list points; /* struct disk_point */
	struct zpack *z;
};

/* ---- bytes ---- */

static int read_at(int fd, uint64_t offset, void *to, uint64_t bytes)
{
	struct chunk_io io = { fd, offset };

	return chunk_io_read(&io, 0, to, bytes);
}

static int append(struct carry_points *p, const void *from, uint64_t bytes)
{
	int r = files_write_all(&files_kernel, p->new_fd, from, bytes, p->new_bytes);

	if (r == 0)
		p->new_bytes += bytes;
	return r;
}

static uint32_t blocks_crc(const struct trace *t)
{
	const struct trace_block *b = t->blocks.v;
	const struct trace_block_more *m = t->more.v;
	uint32_t crc = 0;
	size_t i;

	for (i = 0; i < t->blocks.cnt; i++) {
		const uint64_t of[] = { m[i].file, b[i].offset, b[i].bytes, m[i].head_crc };

		crc = crc32c(crc, of, sizeof(of));
	}
	return crc;
}

/* ---- reading ---- */

static int open_file(const struct trace *t, uint64_t *ret_bytes)
{
	int fd =
		openat(t->dir_fd, CHUNK_CARRY_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*ret_bytes = (uint64_t)st.st_size;
		return fd;
	}
	close(fd);
	return -EBADMSG;
}

static bool point_fits(const struct carry_points *p, const struct disk_point *d,
		       const struct disk_point *before)
{
	return d->offset >= sizeof(struct disk_carry) && d->offset <= p->fd_bytes &&
	       d->stored_bytes <= p->fd_bytes - d->offset && d->raw_bytes <= CARRY_RAW_MAX &&
	       d->raw_bytes / CARRY_RATIO_MAX <= d->stored_bytes &&
	       (!before || d->at_ns > before->at_ns);
}

static int read_list(struct carry_points *p)
{
	struct disk_carry h;
	struct disk_point *d;
	uint64_t bytes;
	uint32_t i;

	if (read_at(p->fd, 0, &h, sizeof(h)) < 0 || memcmp(h.magic, CARRY_MAGIC, sizeof(h.magic)) ||
	    h.version != CARRY_VERSION ||
	    crc32c(0, &h, offsetof(struct disk_carry, crc)) != h.crc ||
	    h.kind_cnt != EVENT_KIND_CNT || h.point_cnt > CARRY_POINTS_MAX)
		return -EBADMSG;
	if (h.block_cnt != p->t->blocks.cnt || h.blocks_crc != blocks_crc(p->t))
		return -ESTALE;
	bytes = h.point_cnt * sizeof(*d);
	if (h.dir_offset > p->fd_bytes || bytes != p->fd_bytes - h.dir_offset)
		return -EBADMSG;
	d = malloc(bytes + 1);
	if (!d)
		return -ENOMEM;
	p->points = (struct trace_list){ .v = d, .cnt = h.point_cnt, .cap = h.point_cnt };
	if (read_at(p->fd, h.dir_offset, d, bytes) < 0 || crc32c(0, d, bytes) != h.dir_crc)
		return -EBADMSG;
	for (i = 0; i < h.point_cnt; i++)
		if (!point_fits(p, &d[i], i ? &d[i - 1] : NULL))
			return -EBADMSG;
	return 0;
}

static void forget(struct carry_points *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->points.cnt = 0;
}

/* 0, or why there is none: -ENOENT and what read_list() says. */
static int open_points(struct carry_points **ret, struct trace *t)
{
	struct carry_points *p = calloc(1, sizeof(*p));
	int r = 0;

	if (!p)
		return -ENOMEM;
	*p = (struct carry_points){ .t = t, .fd = -1, .new_fd = -1 };
	p->is_off = t->dir_fd < 0 || t->is_live || !trace_is_finished(t) || t->damages.cnt;
	if (!p->is_off) {
		p->fd = open_file(t, &p->fd_bytes);
		r = p->fd < 0 ? p->fd : read_list(p);
	}
	if (r < 0)
		forget(p);
	*ret = p;
	return r;
}

int carry_points_open(struct carry_points **ret, struct trace *t)
{
	struct carry_points *p = NULL;

	if (open_points(&p, t) == -ENOMEM) {
		carry_points_free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

void carry_points_free(struct carry_points *p)
{
	if (!p)
		return;
	forget(p);
	if (p->new_fd >= 0)
		close(p->new_fd);
	free(p->points.v);
	zpack_free(p->z);
	free(p);
}

static int read_point(struct carry_points *p, const struct disk_point *d, struct trace_carry *ret)
{
	uint8_t *stored = malloc(d->stored_bytes + 1), *raw = malloc(d->raw_bytes + 1);
	int r = stored && raw ? 0 : -ENOMEM;

	if (r == 0)
		r = read_at(p->fd, d->offset, stored, d->stored_bytes);
	if (r == 0 && crc32c(0, stored, d->stored_bytes) != d->crc)
		r = -EBADMSG;
	if (r == 0)
		r = zunpack_run(p->t->reader.zunpack, d->pack, raw, d->raw_bytes, stored,
				d->stored_bytes);
	if (r == 0)
		r = carry_decode(raw, d->raw_bytes, d->at_ns, p->t->cpu_cnt, ret);
	free(stored);
	free(raw);
	return r;
}

int carry_points_find(struct carry_points *p, uint64_t at_ns, uint64_t *ret_at_ns,
		      struct trace_carry *ret)
{
	const struct disk_point *d = p->points.v;
	size_t i = p->points.cnt;
	int r;

	while (i && d[i - 1].at_ns > at_ns)
		i--;
	if (!i)
		return 0;
	r = read_point(p, &d[i - 1], ret);
	if (r == 0) {
		*ret_at_ns = d[i - 1].at_ns;
		return 1;
	}
	/* damaged: all of it is made anew */
	forget(p);
	return r == -ENOMEM ? r : 0;
}

uint64_t carry_points_last_ns(const struct carry_points *p)
{
	const struct disk_point *d = p->points.v;

	return p->points.cnt ? d[p->points.cnt - 1].at_ns : 0;
}

/* ---- making ---- */

/* The points there are go to the new file. */
static int copy_points(struct carry_points *p)
{
	struct disk_point *d = p->points.v;
	uint8_t *bytes;
	size_t i;
	int r = 0;

	for (i = 0; i < p->points.cnt && r == 0; i++) {
		bytes = malloc(d[i].stored_bytes + 1);
		if (!bytes)
			return -ENOMEM;
		r = read_at(p->fd, d[i].offset, bytes, d[i].stored_bytes);
		d[i].offset = p->new_bytes;
		if (r == 0)
			r = append(p, bytes, d[i].stored_bytes);
		free(bytes);
	}
	return r;
}

static int begin_file(struct carry_points *p)
{
	const struct disk_carry none = { .version = 0 };
	struct stat st;

	p->new_fd = openat(p->t->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (p->new_fd < 0 || fstat(p->t->dir_fd, &st) < 0 ||
	    (!geteuid() && fchown(p->new_fd, st.st_uid, st.st_gid) < 0))
		return -EIO;
	if (zpack_new(&p->z, 0) < 0)
		return -ENOMEM;
	return append(p, &none, sizeof(none)) < 0 ? -EIO : copy_points(p);
}

static int put_point(struct carry_points *p, uint64_t at_ns, const struct buf *raw)
{
	struct disk_point d = { .at_ns = at_ns, .offset = p->new_bytes, .raw_bytes = raw->len };
	uint8_t *stored = malloc(zpack_bound(raw->len));
	struct disk_point *to;
	size_t bytes;
	int r;

	if (!stored)
		return -ENOMEM;
	r = zpack_run(p->z, stored, zpack_bound(raw->len), raw->data, raw->len,
		      raw->len / CARRY_RATIO_MAX + 1, &bytes);
	if (r >= 0) {
		d.pack = (uint32_t)r;
		d.stored_bytes = bytes;
		d.crc = crc32c(0, stored, bytes);
		r = append(p, stored, bytes);
	}
	free(stored);
	to = r < 0 ? NULL : trace_list_add(&p->points, sizeof(*to));
	if (to)
		*to = d;
	return r < 0 ? r : to ? 0 : -ENOMEM;
}

static void give_up(struct carry_points *p)
{
	p->is_off = true;
	if (p->new_fd >= 0)
		close(p->new_fd);
	p->new_fd = -1;
}

int carry_points_add(struct carry_points *p, uint64_t at_ns, const struct trace_carry *c)
{
	struct buf raw = { 0 };
	int r = 0;

	if (p->is_off || at_ns <= carry_points_last_ns(p) || p->points.cnt == CARRY_POINTS_MAX)
		return 0;
	if (p->new_fd < 0)
		r = begin_file(p);
	if (r == 0)
		r = carry_encode(c, at_ns, &raw);
	if (r == 0 && raw.len <= CARRY_RAW_MAX)
		r = put_point(p, at_ns, &raw);
	buf_done(&raw);
	if (r < 0)
		give_up(p);
	return r == -ENOMEM ? r : 0;
}

static int put_header(struct carry_points *p)
{
	struct disk_carry h = {
		.version = CARRY_VERSION,
		.kind_cnt = EVENT_KIND_CNT,
		.point_cnt = (uint32_t)p->points.cnt,
		.dir_offset = p->new_bytes,
		.block_cnt = p->t->blocks.cnt,
		.blocks_crc = blocks_crc(p->t),
	};
	uint64_t bytes = p->points.cnt * sizeof(struct disk_point);

	memcpy(h.magic, CARRY_MAGIC, sizeof(h.magic));
	h.dir_crc = crc32c(0, p->points.v, bytes);
	h.crc = crc32c(0, &h, offsetof(struct disk_carry, crc));
	if (append(p, p->points.v, bytes) < 0)
		return -EIO;
	p->new_bytes = 0;
	return append(p, &h, sizeof(h));
}

void carry_points_save(struct carry_points *p)
{
	char proc[64];

	if (p->is_off || p->new_fd < 0 || !p->points.cnt || p->t->damages.cnt)
		return;
	if (put_header(p) == 0) {
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", p->new_fd);
		(void)unlinkat(p->t->dir_fd, CHUNK_CARRY_NAME ".new", 0);
		if (linkat(AT_FDCWD, proc, p->t->dir_fd, CHUNK_CARRY_NAME ".new",
			   AT_SYMLINK_FOLLOW) == 0 &&
		    renameat(p->t->dir_fd, CHUNK_CARRY_NAME ".new", p->t->dir_fd,
			     CHUNK_CARRY_NAME) < 0)
			(void)unlinkat(p->t->dir_fd, CHUNK_CARRY_NAME ".new", 0);
	}
	give_up(p);
}

int carry_points_check(struct trace *t, uint64_t *ret_bytes)
{
	struct carry_points *p = NULL;
	const struct disk_point *d;
	struct trace_carry c;
	size_t i;
	int r = open_points(&p, t);

	for (i = 0; r == 0 && i < p->points.cnt; i++) {
		d = (const struct disk_point *)p->points.v + i;
		r = read_point(p, d, &c);
		if (r == 0)
			trace_carry_done(&c);
	}
	if (r == 0) {
		*ret_bytes = p->fd_bytes;
		r = p->fd >= 0;
	}
	carry_points_free(p);
	return r == -ENOENT ? 0 : r < 0 && r != -ENOMEM && r != -ESTALE ? -EBADMSG : r;
}
