/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_copy: stored sections go from a front, or through io, behind those already in a block_out.
 */
#include "chunk/block_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

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

void block_copy_small(struct block_out *o, const struct block_front *f, unsigned int type)
{
	const struct disk_section *s = block_front_find(f, type, 0, 0, 0);

	if (s)
		block_copy_stored(o, s, f->bytes + block_front_offset(f, s));
}

int block_copy_events(struct block_out *o, const struct block_front *f, const struct block_io *io,
		      uint32_t kind_mask, struct disk_block *head)
{
	uint8_t *stored = NULL, *p;
	uint64_t events = 0;
	size_t room = 0;
	uint32_t i;
	int r = 0;

	for (i = 0; i < f->head.section_cnt && r == 0; i++) {
		const struct disk_section *s = &f->sections[i];

		if (s->type < CHUNK_SMALL_END || s->kind >= 32 || !(kind_mask & 1u << s->kind))
			continue;
		if (s->stored_bytes > room || !stored) {
			p = realloc(stored, s->stored_bytes + 1);
			if (!p) {
				r = -ENOMEM;
				break;
			}
			stored = p;
			room = s->stored_bytes;
		}
		r = io->read(io->ctx, block_front_offset(f, s), stored, s->stored_bytes);
		if (r == 0)
			block_copy_stored(o, s, stored);
		r = r < 0 ? r : o->error;
	}
	free(stored);
	for (i = 0; i < sizeof(head->kind_cnt) / sizeof(head->kind_cnt[0]); i++) {
		if (!(kind_mask & 1u << i) && head->kind_cnt[i]) {
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
