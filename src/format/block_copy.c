/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* block_copy: appends stored sections of a block, from its front or through io, to a block_out. */
#include "format/block_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "format/event.h"

void block_copy_stored(struct block_out *o, const struct disk_section *s, const void *stored)
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
		block_copy_stored(o, s, f->bytes + block_meta_offset(f, s));
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
	uint32_t i;
	int r = 0;

	for (i = 0; i < f->head.section_cnt && r == 0; i++) {
		const struct disk_section *s = &f->sections[i];

		if (s->type < CHUNK_SMALL_END || !is_known(s->kind))
			continue;
		r = array_reserve(&stored, &room, (size_t)s->stored_bytes + 1);
		if (r == 0)
			r = io->read(io->ctx, block_meta_offset(f, s), stored, s->stored_bytes);
		if (r == 0)
			block_copy_stored(o, s, stored);
		r = r < 0 ? r : o->error;
	}
	free(stored);
	for (i = 0; i < CHUNK_KINDS; i++) {
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
