/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_front: one block. The first byte selects whether checksums (1) and sizes (2) are repaired
 * before. Header, table, small sections, and every column of every kind.
 */
#include "format/block.h"
#include "format/columns.h"
#include "column_value.h"
#include "fix_chunk.h"
#include "fuzz.h"

struct memory {
	const uint8_t *p;
	size_t bytes;
};

static int read_memory(void *ctx, uint64_t offset, void *dst, size_t bytes)
{
	const struct memory *m = ctx;

	if (offset > m->bytes || bytes > m->bytes - offset)
		return -ENODATA;
	if (bytes)
		memcpy(dst, m->p + offset, bytes);
	return 0;
}

static volatile uint64_t sink;

static void touch_columns(const struct kind_columns *k)
{
	uint32_t row, run, rows = 0;

	for (run = 0; run < k->run_cnt; run++) {
		FUZZ_CHECK(k->runs[run].start == rows);
		rows += k->runs[run].cnt;
	}
	FUZZ_CHECK(rows == k->cnt);
	for (row = 0; row < k->cnt; row++) {
		sink += k->ts_ns[row] + k->utid[row] + k->flags[k->tuple ? k->tuple[row] : 0];
		for (unsigned int c = 0; c < k->value_cnt; c++)
			sink += kind_columns_value(k, c, row);
	}
}

static void read_columns(struct block_meta *f, struct zunpack *z, const struct block_io *io)
{
	struct column_source s = { .meta = f, .io = *io, .zunpack = z };
	uint32_t *utids = NULL;
	const char *why;

	if (block_meta_utids(f, z, &utids, &s.utid_cnt) < 0)
		return;
	s.utids = utids;
	for (unsigned int kind = 1; kind < EVENT_KIND_CNT; kind++) {
		struct kind_columns k;
		int r = column_read_kind(&k, &s, kind, COLUMN_ASK_ALL, &why);

		FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT || r == -ENOMEM ||
			   r == -ENODATA);
		if (r < 0)
			continue;
		touch_columns(&k);
		kind_columns_done(&k);
	}
	free(utids);
}

static void read_rows(struct block_meta *f, struct zunpack *z)
{
	struct row_reader r;

#define X(name, type, fields)                                                        \
	for (unsigned int t = 1; t < CHUNK_SMALL_END; t++) {                         \
		struct type row;                                                     \
		if (block_meta_rows(f, z, (enum chunk_section_type)t, &r) == 0)     \
			while (row_get_##name(&r, &row) > 0)                         \
				;                                                    \
	}
	ROW_TYPES(X)
#undef X
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct memory m = { .bytes = bytes - 1 };
	struct block_io io = { read_memory, &m };
	struct block_meta *f;
	struct disk_block head;
	struct zunpack *z;
	uint8_t *p, buf[4096];
	const char *why;

	if (bytes < 1 + sizeof(head) || zunpack_new(&z) < 0)
		return 0;
	p = malloc(m.bytes);
	FUZZ_CHECK(p);
	memcpy(p, data + 1, m.bytes);
	m.p = p;
	if (data[0] & 3)
		fix_block(p, m.bytes, data[0] & 2);
	if (block_head_check(p, &head, &why) == 0 && block_meta_open(&f, &head, &io, &why) == 0) {
		block_meta_verify(f, &io, buf, sizeof(buf), &why);
		read_rows(f, z);
		read_columns(f, z, &io);
		block_meta_free(f);
	}
	FUZZ_CHECK(why);
	zunpack_free(z);
	free(p);
	return 0;
}
