/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_meta: the validity rule.
 *
 * A block exists if
 *  1. the header's magic and CRC hold, its version is known and its sizes are within the limits
 *     of chunk.h and agree with each other;
 *  2. the section table's CRC holds, and the sections fill the block from head_bytes on, without
 *     gaps, to less than 8 bytes before its end, small ones first, to front_bytes exactly;
 *  3. the CRC of every section holds over its stored bytes.
 * In a file that was closed properly, step 3 for event columns may be deferred until the columns
 * are read; if it fails, the whole block is dropped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/varint.h"
#include "format/block_meta.h"

int block_memory_read(void *ctx, uint64_t offset, void *dst, size_t bytes)
{
	const struct block_memory *m = ctx;

	if (offset > m->cnt || bytes > m->cnt - offset)
		return -ENODATA;
	memcpy(dst, m->bytes + offset, bytes);
	return 0;
}

int block_head_check(const void *data, struct disk_block *ret, const char **ret_why)
{
	struct disk_block h;
	uint64_t events = 0;

	memcpy(&h, data, sizeof(h));
	*ret_why = "no block header";
	if (memcmp(h.magic, CHUNK_BLOCK_MAGIC, sizeof(h.magic)))
		return -EBADMSG;
	*ret_why = "block header checksum";
	if (crc32c(0, &h, offsetof(struct disk_block, head_crc)) != h.head_crc)
		return -EBADMSG;
	*ret_why = "block of a format this program does not know";
	if (h.version != CHUNK_VERSION)
		return -EPROTONOSUPPORT;
	*ret_why = "block header sizes";
	if (h.section_cnt > CHUNK_SECTIONS_MAX || h.block_bytes > CHUNK_BLOCK_MAX ||
	    h.block_bytes & 7 ||
	    h.head_bytes != sizeof(h) + h.section_cnt * sizeof(struct disk_section) ||
	    h.front_bytes < h.head_bytes || h.front_bytes > h.block_bytes ||
	    h.front_bytes > CHUNK_FRONT_MAX || h.cpu_cnt > CHUNK_CPUS_MAX || h.to_ns < h.from_ns)
		return -EBADMSG;
	for (unsigned int i = 0; i < CHUNK_KINDS; i++)
		events += h.kind_cnt[i];
	if (events && h.first_ns > h.last_ns)
		return -EBADMSG;
	*ret_why = "more events than the limit of 2^23 a block, or 8 a byte";
	if (events > CHUNK_EVENTS_MAX || events > h.block_bytes * CHUNK_EVENTS_PER_BYTE)
		return -EBADMSG;
	*ret = h;
	return 0;
}

/* Checks the limits for rows; nothing has been unpacked yet. */
static int check_rows_limits(const struct disk_section *s, uint64_t *rows_bytes,
			     const char **ret_why)
{
	*rows_bytes += s->raw_bytes;
	*ret_why = "small sections that unpack to more than the limit of 64 MiB a block";
	if (*rows_bytes > CHUNK_ROWS_MAX)
		return -EBADMSG;
	*ret_why = "a small section that unpacks to more than the limit of 32 times its size";
	if (s->raw_bytes > (uint64_t)s->stored_bytes * CHUNK_ROWS_RATIO)
		return -EBADMSG;
	*ret_why = "a small section with more rows than the limit of one a byte";
	if (s->item_cnt > (uint64_t)s->stored_bytes * CHUNK_ROWS_PER_BYTE)
		return -EBADMSG;
	*ret_why = "section table";
	return 0;
}

static int check_table(struct block_meta *f, const char **ret_why)
{
	const struct disk_block *h = &f->head;
	uint64_t at = h->head_bytes, front_end = at, rows_bytes = 0;
	int r;

	*ret_why = "section table checksum";
	if (crc32c(0, f->sections, h->section_cnt * sizeof(*f->sections)) != h->table_crc)
		return -EBADMSG;
	*ret_why = "section table";
	for (unsigned int i = 0; i < h->section_cnt; i++) {
		const struct disk_section *s = &f->sections[i];

		f->offsets[i] = at;
		at += s->stored_bytes;
		if (s->type < CHUNK_SMALL_END) {
			/* small sections come first, so that one read suffices for them */
			if (front_end != f->offsets[i])
				return -EBADMSG;
			front_end = at;
			r = check_rows_limits(s, &rows_bytes, ret_why);
			if (r < 0)
				return r;
		}
		if (at > h->block_bytes || s->shift > 63)
			return -EBADMSG;
	}
	if (h->block_bytes - at >= 8 || front_end != h->front_bytes)
		return -EBADMSG;
	*ret_why = "section checksum";
	for (unsigned int i = 0; i < h->section_cnt && f->sections[i].type < CHUNK_SMALL_END; i++)
		if (crc32c(0, f->bytes + f->offsets[i], f->sections[i].stored_bytes) !=
		    f->sections[i].crc)
			return -EBADMSG;
	return 0;
}

int block_meta_open(struct block_meta **ret, const struct disk_block *head,
		     const struct block_io *io, const char **ret_why)
{
	struct block_meta *f = calloc(1, sizeof(*f));
	int r = -ENOMEM;

	*ret_why = "out of memory";
	if (!f)
		return r;
	f->head = *head;
	f->bytes = malloc(head->front_bytes);
	f->offsets = calloc(head->section_cnt + 1, sizeof(*f->offsets));
	f->unpacked = calloc(head->section_cnt + 1, sizeof(*f->unpacked));
	if (!f->bytes || !f->offsets || !f->unpacked)
		goto fail;
	*ret_why = "cannot be read";
	r = io->read(io->ctx, 0, f->bytes, head->front_bytes);
	if (r < 0)
		goto fail;
	/* head_bytes is a multiple of 8 and the buffer is malloc'ed: the table is aligned */
	f->sections = (const struct disk_section *)(f->bytes + sizeof(struct disk_block));
	r = check_table(f, ret_why);
	if (r < 0)
		goto fail;
	*ret = f;
	return 0;
fail:
	block_meta_free(f);
	return r;
}

void block_meta_free(struct block_meta *f)
{
	if (!f)
		return;
	for (unsigned int i = 0; f->unpacked && i < f->head.section_cnt; i++)
		free(f->unpacked[i]);
	free(f->unpacked);
	free(f->offsets);
	free(f->bytes);
	free(f);
}

int block_meta_verify(const struct block_meta *f, const struct block_io *io, void *buf,
		       size_t buf_bytes, const char **ret_why)
{
	uint64_t at = f->head.front_bytes;	/* offset in the block of the bytes in buf */
	size_t have = 0, used = 0, n;
	int r;

	/* Sections follow each other without gaps: one pass over the columns. */
	for (unsigned int i = 0; i < f->head.section_cnt; i++) {
		const struct disk_section *s = &f->sections[i];
		uint32_t crc = 0, left = s->stored_bytes;

		if (s->type < CHUNK_SMALL_END)
			continue;
		while (left) {
			if (used == have) {
				at += have;
				have = f->head.block_bytes - at < buf_bytes
					       ? (size_t)(f->head.block_bytes - at)
					       : buf_bytes;
				used = 0;
				*ret_why = "cannot be read";
				r = io->read(io->ctx, at, buf, have);
				if (r < 0)
					return r;
			}
			n = have - used < left ? have - used : left;
			crc = crc32c(crc, (const uint8_t *)buf + used, n);
			used += n;
			left -= (uint32_t)n;
		}
		*ret_why = "event column checksum";
		if (crc != s->crc)
			return -EBADMSG;
	}
	return 0;
}

const struct disk_section *block_meta_find(const struct block_meta *f, unsigned int type,
					    unsigned int kind, unsigned int column,
					    unsigned int part)
{
	for (unsigned int i = 0; i < f->head.section_cnt; i++) {
		const struct disk_section *s = &f->sections[i];

		if (s->type == type && s->kind == kind && s->column == column && s->part == part)
			return s;
	}
	return NULL;
}

/*
 * Returns the unpacked bytes of a small section, valid as long as f; 0 bytes: the block has no such
 * section.
 */
static int unpack(struct block_meta *f, struct zunpack *z, enum chunk_section_type type,
		  const uint8_t **ret, size_t *ret_bytes, uint32_t *ret_items)
{
	const struct disk_section *s = block_meta_find(f, type, 0, 0, 0);
	uint8_t *p;
	size_t i;
	int r;

	*ret = (const uint8_t *)"";
	*ret_bytes = 0;
	*ret_items = 0;
	if (!s)
		return 0;
	i = (size_t)(s - f->sections);
	if (!f->unpacked[i]) {
		p = malloc(s->raw_bytes + 1);
		if (!p)
			return -ENOMEM;
		r = zunpack_run(z, s->pack, p, s->raw_bytes, f->bytes + f->offsets[i],
				s->stored_bytes);
		if (r < 0) {
			free(p);
			return r;
		}
		f->unpacked[i] = p;
	}
	*ret = f->unpacked[i];
	*ret_bytes = s->raw_bytes;
	*ret_items = s->item_cnt;
	return 0;
}

int block_meta_rows(struct block_meta *f, struct zunpack *z, enum chunk_section_type type,
		     struct row_reader *ret)
{
	uint32_t items;
	size_t bytes;
	int r;

	r = unpack(f, z, type, &ret->p, &bytes, &items);
	ret->end = ret->p + bytes;
	ret->base_ns = f->head.from_ns;
	return r;
}

int block_meta_utids(struct block_meta *f, struct zunpack *z, uint32_t **ret, uint32_t *ret_cnt)
{
	const uint8_t *p, *end;
	uint64_t prev = 0, v;
	uint32_t cnt, i, *u;
	size_t bytes;
	int r;

	r = unpack(f, z, CHUNK_UTIDS, &p, &bytes, &cnt);
	if (r < 0)
		return r;
	if (cnt > bytes)
		return -EBADMSG;
	u = malloc(((size_t)cnt + 1) * sizeof(*u));
	if (!u)
		return -ENOMEM;
	end = p + bytes;
	for (i = 0; i < cnt; i++) {
		p = varint_get(p, end, &v);
		if (p)
			prev += zigzag_decode(v);
		if (!p || prev > UINT32_MAX) {
			free(u);
			return -EBADMSG;
		}
		u[i] = (uint32_t)prev;
	}
	*ret = u;
	*ret_cnt = cnt;
	return 0;
}
