/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_out: writes packed sections after room for the largest possible head. The head's size is
 * known last; the head then goes right before the sections.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "format/block_out.h"

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
