/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * chunk_scan: reads one header after another. After an invalid header it searches for the next
 * magic. It does not search inside a block whose header has a valid checksum, even if the block is
 * damaged: every byte is verified at most once, even if a file contains blocks within blocks.
 */
#include "store/chunk_scan.h"

#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "format/chunk.h"
#include "store/files.h"

/* chunk_name: six digits, or more if needed. */

void chunk_name_format(char name[CHUNK_NAME_BYTES], uint64_t number)
{
	snprintf(name, CHUNK_NAME_BYTES, "chunk-%06llu.ebr",
		 (unsigned long long)(number % 1000000000000ull));
}

int chunk_name_parse(const char *name, uint64_t *ret_number)
{
	char again[CHUNK_NAME_BYTES];
	unsigned long long n;

	if (strlen(name) >= CHUNK_NAME_BYTES || sscanf(name, "chunk-%12llu", &n) != 1)
		return -EINVAL;
	chunk_name_format(again, n);
	if (strcmp(again, name))
		return -EINVAL;
	*ret_number = n;
	return 0;
}

struct numbers {
	uint64_t *v;
	size_t cnt, cap;
};

static int add_number(void *ctx, const char *name)
{
	struct numbers *l = ctx;
	uint64_t n;

	if (chunk_name_parse(name, &n) < 0)
		return 0;
	if (l->cnt == CHUNK_FILES_MAX)
		return -E2BIG;
	return array_add(&l->v, &l->cap, &l->cnt, n);
}

int chunk_name_list(int dir_fd, uint64_t **ret, size_t *ret_cnt)
{
	struct numbers l = { 0 };
	int r = files_each(dir_fd, add_number, &l);

	if (r < 0) {
		free(l.v);
		return r;
	}
	if (l.cnt)
		qsort(l.v, l.cnt, sizeof(*l.v), compare_u64);
	*ret = l.v;
	*ret_cnt = l.cnt;
	return 0;
}

#define SCAN_BUF_BYTES (256u << 10)

struct scan {
	const struct chunk_sink *sink;
	struct chunk_scan_info info;
	int fd;
	bool verify;
	uint8_t *buf;
};

int chunk_io_read(void *ctx, uint64_t offset, void *dst, size_t bytes)
{
	const struct chunk_io *io = ctx;
	uint8_t *p = dst;
	ssize_t n;

	offset += io->base;
	while (bytes) {
		n = pread(io->fd, p, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ENODATA;
		p += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int scan_read(struct scan *s, uint64_t offset, void *dst, size_t bytes)
{
	struct chunk_io io = { s->fd, offset };

	return chunk_io_read(&io, 0, dst, bytes);
}

static bool is_header(const struct disk_file *h)
{
	return !memcmp(h->magic, CHUNK_FILE_MAGIC, sizeof(h->magic)) &&
	       crc32c(0, h, offsetof(struct disk_file, crc)) == h->crc;
}

int chunk_header_read(struct disk_file *ret, int fd)
{
	struct chunk_io io = { fd, 0 };
	struct disk_file h;
	int r = chunk_io_read(&io, 0, &h, sizeof(h));

	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (!is_header(&h))
		return -EBADMSG;
	*ret = h;
	return 0;
}

/*
 * Returns whether h is a valid header in the other byte order: not damaged, but not readable on
 * this machine.
 */
static bool is_big_endian(const struct disk_file *h)
{
	return !memcmp(h->magic, CHUNK_FILE_MAGIC, sizeof(h->magic)) &&
	       bswap_32(h->bytes) == sizeof(*h) &&
	       crc32c(0, h, offsetof(struct disk_file, crc)) == bswap_32(h->crc);
}

/* Sets *ret_next to the first block, or to where the search for a block begins. */
static int read_file_header(struct scan *s, uint64_t *ret_next)
{
	struct disk_file h;
	int r;

	*ret_next = 0;
	if (s->info.bytes < sizeof(h))
		return 0;
	r = scan_read(s, 0, &h, sizeof(h));
	if (r < 0)
		return r;
	if (is_big_endian(&h))
		return -EPROTONOSUPPORT;
	/* An invalid file header is not fatal: blocks do not depend on it. */
	if (!is_header(&h) || h.version != CHUNK_VERSION || h.bytes < sizeof(h) ||
	    h.bytes > s->info.bytes)
		return 0;
	*ret_next = h.bytes;
	return 0;
}

/*
 * Returns the offset of the first stored byte at or after an offset. Holes, which read as zeros,
 * are skipped.
 */
static uint64_t skip_hole(const struct scan *s, uint64_t at)
{
	off_t data = lseek(s->fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? s->info.bytes : at;
	return (uint64_t)data > at ? (uint64_t)data : at;
}

/*
 * Finds the first offset >= at of a valid block header whose block fits into the file; if there is
 * none, the end of the file.
 */
static int resync(struct scan *s, uint64_t at, uint64_t *ret)
{
	const size_t magic = 8;
	struct disk_block h;
	const char *why;
	int r;

	/* magics do not begin with a zero byte */
	while ((at = skip_hole(s, at)) + sizeof(h) <= s->info.bytes) {
		size_t n = s->info.bytes - at < SCAN_BUF_BYTES ? (size_t)(s->info.bytes - at)
							       : SCAN_BUF_BYTES;
		const uint8_t *p;
		uint64_t step;

		r = scan_read(s, at, s->buf, n);
		if (r < 0)
			return r;
		p = memmem(s->buf, n, CHUNK_BLOCK_MAGIC, magic);
		if (!p) {
			at += n - magic + 1;
			continue;
		}
		step = (uint64_t)(p - s->buf);
		if (step + sizeof(h) > n) {
			if (at + n == s->info.bytes)
				break;
			at += step;
			continue;
		}
		if (!block_head_check(p, &h, &why) && h.block_bytes <= s->info.bytes - at - step) {
			*ret = at + step;
			return 0;
		}
		at += step + 1;
	}
	*ret = s->info.bytes;
	return 0;
}

/*
 * Reads a block and passes it to the sink. 1; 0: the block is damaged, *ret_why has the reason; <
 * 0: stop.
 */
static int take_block(struct scan *s, uint64_t at, const struct disk_block *h, const char **ret_why)
{
	struct chunk_io cio = { s->fd, at };
	struct block_io io = { chunk_io_read, &cio };
	struct block_meta *f = NULL;
	int r;

	r = block_meta_open(&f, h, &io, ret_why);
	if (r == 0 && s->verify)
		r = block_meta_verify(f, &io, s->buf, SCAN_BUF_BYTES, ret_why);
	if (r < 0) {
		block_meta_free(f);
		return r == -ENOMEM ? r : 0;
	}
	s->info.block_cnt++;
	r = s->sink->block(s->sink->ctx, at, f);
	return r < 0 ? r : 1;
}

static int scan_blocks(struct scan *s, uint64_t at)
{
	uint64_t end = s->info.bytes;
	struct disk_block h;

	while (at < end) {
		const char *why = "incomplete block at the end of the file";
		uint64_t next = end;
		int r = -EBADMSG;

		if (end - at >= sizeof(h)) {
			uint8_t raw[sizeof(h)];

			r = scan_read(s, at, raw, sizeof(raw));
			if (r < 0)
				return r;
			r = block_head_check(raw, &h, &why);
			if (r == 0 && h.block_bytes > s->info.bytes - at) {
				why = "incomplete block at the end of the file";
				r = -EBADMSG;
			}
		}
		if (r == 0) {
			r = take_block(s, at, &h, &why);
			if (r < 0)
				return r;
			next = at + h.block_bytes;
			if (r == 1) {
				at = next;
				s->info.whole_bytes = at;
				continue;
			}
		} else {
			r = resync(s, at + 1, &next);
			if (r < 0)
				return r;
			if (next > end)
				next = end;
		}
		r = s->sink->damage(s->sink->ctx, at, next - at, why);
		if (r < 0)
			return r;
		at = next;
	}
	return 0;
}

int chunk_scan_from(int fd, uint64_t offset, bool verify, const struct chunk_sink *sink,
		    struct chunk_scan_info *ret)
{
	struct scan s = { .sink = sink, .fd = fd, .verify = verify, .info.whole_bytes = offset };
	uint64_t at = offset;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	s.info.bytes = (uint64_t)st.st_size;
	s.buf = malloc(SCAN_BUF_BYTES);
	if (!s.buf)
		return -ENOMEM;
	r = offset ? 0 : read_file_header(&s, &at);
	if (r == 0 && at == 0 && s.info.bytes) {
		uint64_t next;

		r = resync(&s, 0, &next);
		if (r == 0)
			r = sink->damage(sink->ctx, 0, next,
					 s.info.bytes < sizeof(struct disk_file)
						 ? "incomplete file header"
						 : "file header");
		at = next;
	}
	r = r ?: scan_blocks(&s, at);
	free(s.buf);
	*ret = s.info;
	return r;
}
