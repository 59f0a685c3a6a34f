/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* chunk_index: nobody has to believe an index: it can be made again by walking the blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "chunk/block_front.h"
#include "store/chunk_index.h"
#include "store/chunk_scan.h"

static int read_at(int fd, uint64_t offset, void *dst, size_t bytes)
{
	struct chunk_io io = { fd, offset };
	int r = chunk_io_read(&io, 0, dst, bytes);

	return r == -ENODATA ? -EBADMSG : r;
}

int chunk_header_read(struct disk_file *ret, int fd)
{
	struct disk_file h;
	int r = read_at(fd, 0, &h, sizeof(h));

	if (r < 0)
		return r;
	if (memcmp(h.magic, CHUNK_FILE_MAGIC, sizeof(h.magic)) ||
	    crc32c(0, &h, offsetof(struct disk_file, crc)) != h.crc)
		return -EBADMSG;
	*ret = h;
	return 0;
}

static int read_rows(struct chunk_index *x, struct block_front *f)
{
	struct zunpack *z = NULL;
	struct row_reader rows;
	struct row_index row;
	size_t cap = 0;
	int r;

	r = zunpack_new(&z);
	if (r == 0)
		r = block_front_rows(f, z, CHUNK_INDEX, &rows);
	while (r == 0 && (r = row_get_index(&rows, &row)) > 0) {
		if (x->cnt == cap) {
			size_t more = cap ? cap * 2 : 64;
			void *p = realloc(x->rows, more * sizeof(*x->rows));

			if (!p) {
				r = -ENOMEM;
				break;
			}
			x->rows = p;
			cap = more;
		}
		x->rows[x->cnt++] = row;
		r = 0;
	}
	zunpack_free(z);
	return r;
}

int chunk_index_read(struct chunk_index *ret, int fd)
{
	struct block_front *f = NULL;
	struct chunk_index x = { 0 };
	struct disk_block head;
	struct disk_trailer t;
	struct block_io io;
	struct chunk_io cio;
	uint8_t raw[sizeof(head)];
	const char *why;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < sizeof(struct disk_file) + sizeof(t))
		return -ENOENT;
	r = read_at(fd, (uint64_t)st.st_size - sizeof(t), &t, sizeof(t));
	if (r < 0)
		return r;
	if (memcmp(t.magic, CHUNK_TRAILER_MAGIC, sizeof(t.magic)) ||
	    crc32c(0, &t, offsetof(struct disk_trailer, crc)) != t.crc)
		return -ENOENT;
	x.offset = t.index_offset;
	x.block_cnt = t.block_cnt;
	if (t.index_offset > (uint64_t)st.st_size)
		return -EBADMSG;
	cio = (struct chunk_io){ fd, t.index_offset };
	io = (struct block_io){ chunk_io_read, &cio };
	r = read_at(fd, t.index_offset, raw, sizeof(raw));
	if (r == 0)
		r = block_head_check(raw, &head, &why);
	if (r == 0 && (!(head.flags & CHUNK_BLOCK_INDEX) ||
		       head.block_bytes > (uint64_t)st.st_size - t.index_offset))
		r = -EBADMSG;
	if (r == 0)
		r = block_front_open(&f, &head, &io, &why);
	if (r == 0)
		r = read_rows(&x, f);
	block_front_free(f);
	if (r < 0) {
		chunk_index_done(&x);
		return r;
	}
	*ret = x;
	return 0;
}

void chunk_index_done(struct chunk_index *x)
{
	free(x->rows);
	memset(x, 0, sizeof(*x));
}
