/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_column: each column codec, without a block around it that the fuzzer would have to keep
 * valid:
 *
 *     struct column_input | sections: struct column_section and its bytes, until the end
 *
 * From these bytes the target makes a block whose frame is right and whose columns are arbitrary.
 * column_input.h has the layouts; make_seeds.c writes such inputs from real blocks.
 */
#include "base/buf.h"
#include "base/crc32c.h"
#include "format/columns.h"
#include "column_input.h"
#include "column_value.h"
#include "fuzz.h"

static int read_block(void *ctx, uint64_t offset, void *dst, size_t bytes)
{
	const struct buf *b = ctx;

	if (offset > b->len || bytes > b->len - offset)
		return -ENODATA;
	if (bytes)
		memcpy(dst, b->data + offset, bytes);
	return 0;
}

/* Reads the table and the bytes of the sections. Returns the number of sections. */
static unsigned int take_sections(const uint8_t *p, const uint8_t *end, struct buf *table,
				  struct buf *body)
{
	unsigned int cnt = 0;

	while ((size_t)(end - p) >= sizeof(struct column_section) && cnt < CHUNK_SECTIONS_MAX) {
		struct column_section in;
		struct disk_section s = { 0 };

		memcpy(&in, p, sizeof(in));
		p += sizeof(in);
		if (in.bytes > (size_t)(end - p))
			in.bytes = (uint16_t)(end - p);
		s = (struct disk_section){
			.type = in.type & 1 ? CHUNK_TUPLES : CHUNK_COLUMN, .kind = in.kind,
			.column = in.column, .part = in.part, .encoding = in.encoding,
			.pack = in.raw_bytes ? CHUNK_PACK_ZSTD : CHUNK_PACK_NONE,
			.shift = in.shift & 63, .item_cnt = in.item_cnt,
			.raw_bytes = in.raw_bytes ? in.raw_bytes : in.bytes,
			.stored_bytes = in.bytes, .crc = crc32c(0, p, in.bytes),
		};
		buf_add(table, &s, sizeof(s));
		buf_add(body, p, in.bytes);
		p += in.bytes;
		cnt++;
	}
	return cnt;
}

static volatile uint64_t sink;

static void read_kind(const struct column_source *s, unsigned int kind)
{
	const uint32_t asks[] = { COLUMN_ASK_ALL, COLUMN_ASK_UTID, COLUMN_ASK_FLAGS, 1, 2, 4 };
	struct kind_columns all, k;
	const char *why;
	int r, ok;

	ok = column_read_kind(&all, s, kind, asks[0], &why) == 0;
	for (uint32_t row = 0; ok && row < all.cnt; row++)
		for (size_t i = 0; i < EVENT_VALUES; i++)
			sink += kind_columns_value(&all, (unsigned int)i, row);
	for (size_t i = 1; i < sizeof(asks) / sizeof(*asks); i++) {
		r = column_read_kind(&k, s, kind, asks[i], &why);
		/* a column has the same values when others are requested, too */
		FUZZ_CHECK(!ok || r == 0);
		for (uint32_t row = 0; ok && row < k.cnt && i >= 3; row++)
			FUZZ_CHECK(kind_columns_value(&k, (unsigned int)i - 3, row) ==
				   kind_columns_value(&all, (unsigned int)i - 3, row));
		if (r == 0)
			kind_columns_done(&k);
	}
	if (ok)
		kind_columns_done(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct disk_block h = { .version = CHUNK_VERSION, .last_ns = 1ull << 40 };
	struct buf table = { 0 }, body = { 0 }, block = { 0 };
	static const uint8_t zeros[8];
	struct column_source s = { .io = { read_block, &block } };
	struct column_input in;
	struct block_meta *f;
	struct disk_block head;
	uint32_t utids[256];
	const char *why;

	if (bytes < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	h.section_cnt = take_sections(data + sizeof(in), data + bytes, &table, &body);
	memcpy(h.magic, CHUNK_BLOCK_MAGIC, sizeof(h.magic));
	h.head_bytes = h.front_bytes =
		(uint32_t)(sizeof(h) + h.section_cnt * sizeof(struct disk_section));
	h.block_bytes = (h.head_bytes + body.len + 7) & ~(size_t)7;
	h.cpu_cnt = in.cpu_cnt;
	for (unsigned int i = 0; i < EVENT_KIND_CNT; i++)
		h.kind_cnt[i] = in.kind_cnt[i];
	h.table_crc = crc32c(0, table.data, table.len);
	h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
	buf_add(&block, &h, sizeof(h));
	buf_add(&block, table.data, table.len);
	buf_add(&block, body.data, body.len);
	buf_add(&block, zeros, h.block_bytes - h.head_bytes - body.len);
	FUZZ_CHECK(!block.failed);
	for (unsigned int i = 0; i < 256; i++)
		utids[i] = i * 3;
	s.utids = utids;
	s.utid_cnt = in.utid_cnt;
	if (block_head_check(block.data, &head, &why) == 0 && zunpack_new(&s.zunpack) == 0) {
		FUZZ_CHECK(block_meta_open(&f, &head, &s.io, &why) == 0);
		s.meta = f;
		for (unsigned int i = 1; i < EVENT_KIND_CNT; i++)
			if (h.kind_cnt[i])
				read_kind(&s, i);
		block_meta_free(f);
		zunpack_free(s.zunpack);
	}
	buf_done(&table);
	buf_done(&body);
	buf_done(&block);
	return 0;
}
