/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * lists_make: turns the lists of a trace that was read from its blocks into parts of the derived
 * file, to save them or to compare them with the saved ones. The trace's pool has every text once,
 * so a text's address identifies it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/zpack.h"
#include "store/chunk_name.h"
#include "trace/lists_disk.h"

#define LISTS_MIN_BLOCKS 64	/* a trace with fewer blocks opens as fast without */
/*
 * File systems time changes by ticks, some of two seconds: a file changed since may change again
 * unnoticed.
 */
#define FRESH_NS 2000000000ull

/* Receives a finished part. A result < 0 ends the work. */
typedef int (*part_sink)(void *ctx, unsigned int type, uint64_t key, uint32_t row_cnt,
			 const struct buf *raw);

struct making {
	part_sink sink;
	void *ctx;
	unsigned int type;	/* of the part being made */
	uint64_t key;
	uint32_t row_cnt;
	struct buf raw;
	struct buf strings;
	struct hash_map by_text;	/* address of a text to its offset + 1 */
};

/* ---- parts ---- */

static int give_part(struct making *m)
{
	int r = m->raw.failed || m->strings.failed ? -ENOMEM : 0;

	if (r == 0 && m->row_cnt)
		r = m->sink(m->ctx, m->type, m->key, m->row_cnt, &m->raw);
	buf_reset(&m->raw);
	m->row_cnt = 0;
	m->key++;
	return r;
}

static int begin_parts(struct making *m, unsigned int type, uint64_t name_type)
{
	int r = give_part(m);

	m->type = type;
	m->key = name_type << 32;
	return r;
}

/* Counts a row just added. */
static int count_row(struct making *m)
{
	m->row_cnt++;
	if (lists_is_lazy(m->type) ? m->row_cnt == LISTS_ROWS : m->raw.len >= LISTS_PART_BYTES)
		return give_part(m);
	return 0;
}

static void put_number(struct making *m, uint64_t v)
{
	buf_add(&m->raw, &v, sizeof(v));
}

static void put_string(struct making *m, const char *s)
{
	uintptr_t at = (uintptr_t)hash_map_get(&m->by_text, (uintptr_t)s);

	if (!at) {
		at = m->strings.len + 1;
		buf_add(&m->strings, s, strlen(s) + 1);
		if (hash_map_put(&m->by_text, (uintptr_t)s, (void *)at) < 0)
			m->strings.failed = true;
	}
	put_number(m, at - 1);
}

/* ---- lists ---- */

#define PUT_NUMBER(field) put_number(m, row->field);
#define PUT_STRING(field) put_string(m, row->field);
/* The key of a part of processes or threads is its first id, so that ids are found quickly. */
static uint64_t first_key(const struct making *m, const void *row)
{
	return m->type == CHUNK_PROCESSES ? ((const struct trace_process *)row)->upid :
	       m->type == CHUNK_THREADS	  ? ((const struct trace_thread *)row)->utid :
					    m->key;
}

#define X(id, type, name, of, list, fields)                                     \
	static int make_##id(const struct trace *t, struct making *m)           \
	{                                                                       \
		const struct of *row = t->list.v;                               \
		size_t left = t->list.cnt;                                      \
		int r = begin_parts(m, type, name);                             \
		for (; r == 0 && left; left--, row++) {                         \
			if (!m->row_cnt)                                        \
				m->key = first_key(m, row);                     \
			fields(PUT_NUMBER, PUT_NUMBER, PUT_STRING)              \
			r = count_row(m);                                       \
		}                                                               \
		return r;                                                       \
	}
LISTS_OF_ROWS(X)
#undef X

static int make_files(const struct trace *t, struct making *m)
{
	uint64_t *numbers = NULL, now_ns;
	char name[CHUNK_NAME_BYTES];
	struct disk_list_file f;
	struct timespec now;
	size_t cnt = 0, i;
	struct stat st;
	int r = chunk_name_list(t->dir_fd, &numbers, &cnt);

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (i = 0; r == 0 && i < cnt; i++) {
		chunk_name_format(name, numbers[i]);
		if (fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			r = -errno;
			break;
		}
		f = (struct disk_list_file){ numbers[i], (uint64_t)st.st_size,
					     lists_changed_ns(&st) };
		if (f.changed_ns + FRESH_NS > now_ns)
			f.changed_ns = 0;
		buf_add(&m->raw, &f, sizeof(f));
		m->row_cnt++;
	}
	free(numbers);
	return r;
}

static int make_block(const struct trace_block *b, const struct trace_block_more *m,
		      struct buf *out)
{
	struct disk_list_block d = {
		.file = m->file, .offset = b->offset, .bytes = b->bytes, .from_ns = b->from_ns,
		.to_ns = b->to_ns, .first_ns = b->first_ns, .last_ns = b->last_ns,
		.number = m->number, .front_bytes = m->front_bytes, .head_crc = m->head_crc,
		.cpu_cnt = m->cpu_cnt,
		.flags = (m->carried ? LISTS_BLOCK_CARRIED : 0) |
			 (m->rewritten ? LISTS_BLOCK_REWRITTEN : 0) |
			 (m->ends ? LISTS_BLOCK_ENDS : 0) | (m->cut ? LISTS_BLOCK_CUT : 0),
	};
	unsigned int k;

	for (k = 0; k < EVENT_KIND_CNT; k++) {
		if (b->kind_cnt[k] > UINT32_MAX)
			return -EFBIG;
		d.kind_cnt[k] = (uint32_t)b->kind_cnt[k];
	}
	buf_add(out, &d, sizeof(d));
	buf_add(out, m->running, m->cpu_cnt * sizeof(*m->running));
	if (m->ends)
		buf_add(out, m->ends, m->cpu_cnt * sizeof(*m->ends));
	return 0;
}

static int make_blocks(const struct trace *t, struct making *m)
{
	const struct trace_block_more *more = t->more.v;
	const struct trace_block *b = t->blocks.v;
	int r = begin_parts(m, DERIVED_BLOCKS, 0);
	size_t i;

	for (i = 0; r == 0 && i < t->blocks.cnt; i++) {
		r = make_block(&b[i], &more[i], &m->raw);
		if (r == 0)
			r = count_row(m);
	}
	return r;
}

/* Texts come last, because the rows refer to them. */
static int make_strings(struct making *m)
{
	int r = begin_parts(m, DERIVED_STRINGS, 0);

	buf_add(&m->raw, m->strings.data, m->strings.len);
	m->row_cnt = m->strings.len != 0;
	return r < 0 ? r : give_part(m);
}

static int make_all(struct trace *t, part_sink sink, void *ctx)
{
	static int (*const lists[])(const struct trace *t, struct making *m) = {
#define X(id, type, name, of, list, fields) make_##id,
		LISTS_OF_ROWS(X)
#undef X
	};
	struct making m = { .sink = sink, .ctx = ctx };
	int r = trace_mm_resets_prepare(t);
	size_t i;

	if (r == 0)
		r = begin_parts(&m, DERIVED_FILES, 0);
	if (r == 0)
		r = make_files(t, &m);
	if (r == 0)
		r = make_blocks(t, &m);
	for (i = 0; r == 0 && i < sizeof(lists) / sizeof(*lists); i++)
		r = lists[i](t, &m);
	if (r == 0)
		r = make_strings(&m);
	hash_map_done(&m.by_text);
	buf_done(&m.strings);
	buf_done(&m.raw);
	return r;
}

/* ---- keeping them ---- */

struct keeping {
	struct derived_file *d;
	struct zpack *z;
};

static int keep_part(void *ctx, unsigned int type, uint64_t key, uint32_t row_cnt,
		     const struct buf *raw)
{
	struct keeping *k = ctx;

	/* parts that every opening needs are stored unpacked */
	if (type == DERIVED_FILES || type == DERIVED_BLOCKS)
		return derived_file_add_plain(k->d, type, key, row_cnt, raw);
	return derived_file_add(k->d, k->z, type, key, row_cnt, raw);
}

void trace_lists_save(struct trace *t)
{
	struct keeping k = { 0 };
	int r;

	if (t->lists || t->is_live || t->dir_fd < 0 || !trace_is_finished(t) || t->damages.cnt ||
	    t->blocks.cnt < LISTS_MIN_BLOCKS)
		return;
	r = derived_file_open(&k.d, t, DERIVED_SAVE | DERIVED_BESIDE);
	if (r == 0)
		r = derived_file_begin(k.d, true);
	if (r == 0)
		r = zpack_new(&k.z, 0);
	if (r == 0) {
		derived_file_drop(k.d, DERIVED_LIST, DERIVED_CHECKPOINT);
		r = make_all(t, keep_part, &k);
	}
	if (r == 0)
		(void)derived_file_commit(k.d, t, t->blocks.cnt);
	zpack_free(k.z);
	derived_file_close(k.d);
}

/* ---- checking them ---- */

struct comparing {
	struct derived_file *d;
	struct buf mem;
	size_t part_cnt;
};

static int compare_part(void *ctx, unsigned int type, uint64_t key, uint32_t row_cnt,
			const struct buf *raw)
{
	struct comparing *c = ctx;
	struct derived_part p;
	const uint8_t *was;
	size_t i;
	int r;

	c->part_cnt++;
	r = derived_file_get(c->d, type, key, &p);
	if (r < 0)
		return r;
	if (r == 0 || p.row_cnt != row_cnt || p.raw_bytes != raw->len)
		return -ESTALE;
	r = derived_file_read(c->d, &p, &c->mem, &was);
	if (r < 0 || type != DERIVED_FILES)
		return r < 0 ? r : memcmp(was, raw->data, raw->len) ? -ESTALE : 0;
	/* the time of a file's change says nothing about its contents */
	for (i = 0; i < row_cnt; i++)
		if (memcmp(was + i * sizeof(struct disk_list_file),
			   raw->data + i * sizeof(struct disk_list_file),
			   offsetof(struct disk_list_file, changed_ns)))
			return -ESTALE;
	return 0;
}

int trace_lists_compare(struct trace *t, struct derived_file *d)
{
	struct comparing c = { .d = d };
	const struct derived_part *p;
	size_t had = 0, cnt;
	unsigned int type;
	int r = 0;

	for (type = DERIVED_LIST; r == 0 && type < DERIVED_CHECKPOINT; type++) {
		r = derived_file_parts(d, type, &p, &cnt);
		had += cnt;
	}
	if (r < 0 || !had)
		return r;
	r = make_all(t, compare_part, &c);
	buf_done(&c.mem);
	return r < 0 ? r : c.part_cnt != had ? -ESTALE : 0;
}
