/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block: the validity rule.
 *
 * A block exists if
 *  1. the header's magic and CRC hold, its version is known and its sizes are within the limits
 *     of chunk.h and agree with each other;
 *  2. the section table's CRC holds, and the sections follow each other from head_bytes on,
 *     without gaps: first small sections, which end at front_bytes, then columns, which end less
 *     than 8 bytes before the block's end;
 *  3. the CRC of every section holds over its stored bytes.
 * In a file that was closed properly, step 3 for event columns may be deferred until the columns
 * are read; if it fails, the whole block is dropped.
 */
#include "format/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/crc32c.h"

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

	/* Sections follow each other without gaps, so one pass over the columns suffices. */
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

/*
 * block_out: writes packed sections after room for the largest possible head. The head's size is
 * known last; the head then goes right before the sections.
 */

#define HEAD_GAP (sizeof(struct disk_block) + CHUNK_SECTIONS_MAX * sizeof(struct disk_section))

int block_out_init(struct block_out *o, int zstd_level)
{
	memset(o, 0, sizeof(*o));
	return zpack_new(&o->zpack, zstd_level);
}

void block_out_done(struct block_out *o)
{
	buf_done(&o->bytes);
	zpack_free(o->zpack);
	o->zpack = NULL;
}

void block_out_begin(struct block_out *o)
{
	buf_reset(&o->bytes);
	o->cnt = 0;
	o->error = 0;
	o->rows_bytes = 0;
	o->front_end = HEAD_GAP;
	if (buf_room(&o->bytes, HEAD_GAP))
		o->bytes.len = HEAD_GAP;
	else
		o->error = -ENOMEM;
}

/* Returns the stored bytes below which readers refuse a small section. */
static size_t least_of_rows(const struct disk_section *s, size_t raw_bytes)
{
	size_t by_bytes = (raw_bytes + CHUNK_ROWS_RATIO - 1) / CHUNK_ROWS_RATIO;
	size_t by_rows = (s->item_cnt + CHUNK_ROWS_PER_BYTE - 1) / CHUNK_ROWS_PER_BYTE;

	return by_bytes > by_rows ? by_bytes : by_rows;
}

void block_out_add(struct block_out *o, const struct disk_section *what, const void *raw,
		   size_t raw_bytes)
{
	bool is_small = what->type < CHUNK_SMALL_END;

	o->rows_bytes += is_small ? raw_bytes : 0;
	block_out_add_least(o, what, raw, raw_bytes, is_small ? least_of_rows(what, raw_bytes) : 0);
}

void block_out_add_least(struct block_out *o, const struct disk_section *what, const void *raw,
			 size_t raw_bytes, size_t least)
{
	struct disk_section *s;
	size_t room, stored = 0;
	uint8_t *p;
	int r;

	if (o->error)
		return;
	if (o->cnt == CHUNK_SECTIONS_MAX || raw_bytes > UINT32_MAX / 2) {
		o->error = -E2BIG;
		return;
	}
	room = zpack_bound(raw_bytes);
	p = buf_room(&o->bytes, room);
	if (!p) {
		o->error = -ENOMEM;
		return;
	}
	if (what->encoding == CHUNK_ENC_BITS) {
		/* the bits are nearly random: packing would not shrink them */
		if (raw_bytes)
			memcpy(p, raw, raw_bytes);
		stored = raw_bytes;
		r = CHUNK_PACK_NONE;
	} else {
		r = zpack_run(o->zpack, p, room, raw, raw_bytes, least, &stored);
	}
	if (r < 0) {
		o->error = r;
		return;
	}
	o->bytes.len += stored;
	s = &o->table[o->cnt++];
	*s = *what;
	s->pack = (uint8_t)r;
	s->raw_bytes = (uint32_t)raw_bytes;
	s->stored_bytes = (uint32_t)stored;
	s->crc = crc32c(0, p, stored);
	if (s->type < CHUNK_SMALL_END)
		o->front_end = o->bytes.len;
}

void block_out_add_rows(struct block_out *o, enum chunk_section_type type, struct row_writer *w)
{
	struct disk_section s = {
		.type = (uint16_t)type, .encoding = CHUNK_ENC_ROWS, .item_cnt = w->cnt,
	};

	if (w->out.failed) {
		o->error = -ENOMEM;
		return;
	}
	if (w->cnt)
		block_out_add(o, &s, w->out.data, w->out.len);
}

int block_out_seal(struct block_out *o, const struct disk_block *head, const void **ret,
		   size_t *ret_bytes)
{
	static const uint8_t zeros[8];
	struct disk_block h = *head;
	size_t head_bytes = sizeof(h) + o->cnt * sizeof(o->table[0]);
	size_t bytes;
	uint8_t *start;

	if (o->error)
		return o->error;
	bytes = head_bytes + o->bytes.len - HEAD_GAP;
	buf_add(&o->bytes, zeros, -bytes & 7);
	if (o->bytes.failed)
		return -ENOMEM;
	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > CHUNK_BLOCK_MAX || o->rows_bytes > CHUNK_ROWS_MAX ||
	    head_bytes + o->front_end - HEAD_GAP > CHUNK_FRONT_MAX)
		return -E2BIG;
	memcpy(h.magic, CHUNK_BLOCK_MAGIC, sizeof(h.magic));
	h.version = CHUNK_VERSION;
	h.head_bytes = (uint32_t)head_bytes;
	h.block_bytes = bytes;
	h.front_bytes = (uint32_t)(head_bytes + o->front_end - HEAD_GAP);
	h.section_cnt = o->cnt;
	h.zero0 = 0;
	h.zero1[0] = h.zero1[1] = 0;
	h.table_crc = crc32c(0, o->table, o->cnt * sizeof(o->table[0]));
	h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
	start = o->bytes.data + HEAD_GAP - head_bytes;
	memcpy(start, &h, sizeof(h));
	memcpy(start + sizeof(h), o->table, o->cnt * sizeof(o->table[0]));
	*ret = start;
	*ret_bytes = bytes;
	return 0;
}

/* ---- sections of another block, as they are stored ---- */

static void copy_stored(struct block_out *o, const struct disk_section *s, const void *stored)
{
	if (o->error)
		return;
	if (o->cnt == CHUNK_SECTIONS_MAX) {
		o->error = -E2BIG;
		return;
	}
	if (crc32c(0, stored, s->stored_bytes) != s->crc) {
		o->error = -EBADMSG;
		return;
	}
	buf_add(&o->bytes, stored, s->stored_bytes);
	if (o->bytes.failed) {
		o->error = -ENOMEM;
		return;
	}
	o->table[o->cnt++] = *s;
	if (s->type < CHUNK_SMALL_END)
		o->front_end = o->bytes.len;
}

void block_copy_small(struct block_out *o, const struct block_meta *f, unsigned int type)
{
	const struct disk_section *s = block_meta_find(f, type, 0, 0, 0);

	if (s)
		copy_stored(o, s, f->bytes + block_meta_offset(f, s));
}

static bool is_known(unsigned int kind)
{
	return kind && kind < EVENT_KIND_CNT;
}

int block_copy_events(struct block_out *o, const struct block_meta *f, const struct block_io *io,
		      struct disk_block *head)
{
	uint8_t *stored = NULL;
	uint64_t events = 0;
	size_t room = 0;
	int r = 0;

	for (uint32_t i = 0; i < f->head.section_cnt && r == 0; i++) {
		const struct disk_section *s = &f->sections[i];

		if (s->type < CHUNK_SMALL_END || !is_known(s->kind))
			continue;
		r = array_reserve(&stored, &room, (size_t)s->stored_bytes + 1);
		r = r ?: io->read(io->ctx, block_meta_offset(f, s), stored, s->stored_bytes);
		if (r == 0)
			copy_stored(o, s, stored);
		r = r < 0 ? r : o->error;
	}
	free(stored);
	for (uint32_t i = 0; i < CHUNK_KINDS; i++) {
		if (!is_known(i) && head->kind_cnt[i]) {
			head->kind_cnt[i] = 0;
			head->flags |= CHUNK_BLOCK_TRIMMED;
		}
		events += head->kind_cnt[i];
	}
	if (!events) {
		head->first_ns = UINT64_MAX;
		head->last_ns = 0;
	}
	return r;
}
