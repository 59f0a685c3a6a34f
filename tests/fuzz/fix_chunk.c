/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fix_chunk: recomputes sizes and checksums as a writer would have written them. */
#include <string.h>

#include "base/crc32c.h"
#include "format/chunk.h"
#include "fix_chunk.h"

static void fix_sizes(struct disk_block *h, uint8_t *table, size_t bytes)
{
	size_t at, front;

	h->version = CHUNK_VERSION;
	h->section_cnt %= CHUNK_SECTIONS_MAX + 1;
	while (sizeof(*h) + h->section_cnt * sizeof(struct disk_section) > bytes)
		h->section_cnt /= 2;
	h->head_bytes = (uint32_t)(sizeof(*h) + h->section_cnt * sizeof(struct disk_section));
	at = front = h->head_bytes;
	for (unsigned int i = 0; i < h->section_cnt; i++) {
		struct disk_section s;

		memcpy(&s, table + i * sizeof(s), sizeof(s));
		if (s.stored_bytes > bytes - at)
			s.stored_bytes = (uint32_t)(bytes - at);
		if (!s.pack)
			s.raw_bytes = s.stored_bytes;
		memcpy(table + i * sizeof(s), &s, sizeof(s));
		at += s.stored_bytes;
		if (s.type < CHUNK_SMALL_END)
			front = at;
	}
	h->front_bytes = (uint32_t)front;
	h->block_bytes = (at + 7) & ~(size_t)7;
	if (h->to_ns < h->from_ns)
		h->to_ns = h->from_ns;
}

size_t fix_block(uint8_t *p, size_t bytes, bool sizes)
{
	uint8_t *table = p + sizeof(struct disk_block);
	struct disk_block h;
	uint64_t at;
	unsigned int i;

	if (bytes < sizeof(h))
		return 0;
	memcpy(&h, p, sizeof(h));
	memcpy(h.magic, CHUNK_BLOCK_MAGIC, sizeof(h.magic));
	if (sizes)
		fix_sizes(&h, table, bytes);
	at = h.head_bytes;
	for (i = 0; i < h.section_cnt && (i + 1) * sizeof(struct disk_section) <= bytes - sizeof(h);
	     i++) {
		struct disk_section s;

		memcpy(&s, table + i * sizeof(s), sizeof(s));
		if (at <= bytes && s.stored_bytes <= bytes - at)
			s.crc = crc32c(0, p + at, s.stored_bytes);
		at += s.stored_bytes;
		memcpy(table + i * sizeof(s), &s, sizeof(s));
	}
	h.table_crc = crc32c(0, table, i * sizeof(struct disk_section));
	h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
	memcpy(p, &h, sizeof(h));
	return h.block_bytes < bytes ? h.block_bytes : bytes;
}

void fix_chunk(uint8_t *p, size_t bytes, bool sizes)
{
	const size_t magic = 8;
	struct disk_file f;
	size_t at = sizeof(f);

	if (bytes >= sizeof(f)) {
		memcpy(&f, p, sizeof(f));
		f.version = CHUNK_VERSION;
		f.crc = crc32c(0, &f, offsetof(struct disk_file, crc));
		memcpy(p, &f, sizeof(f));
	}
	while (at < bytes) {
		uint8_t *q = memmem(p + at, bytes - at, CHUNK_BLOCK_MAGIC, magic), *next;
		size_t room, n;

		if (!q)
			break;
		at = (size_t)(q - p);
		room = bytes - at;
		/* it ends where the next one begins */
		next = room > magic ? memmem(q + magic, room - magic, CHUNK_BLOCK_MAGIC, magic)
				    : NULL;
		if (sizes && next)
			room = (size_t)(next - q);
		n = fix_block(q, room, sizes);
		at += n > magic ? n : magic;
	}
}
