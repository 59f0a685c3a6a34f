/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_lists: the lists that opening a trace merges from all its blocks, in the derived file.
 *
 *     trace_load --lists--> [lists_make] --> derived_file --> [trace_lists] --> the same lists
 *
 * So opening a finished trace of thousands of blocks need not read the small sections of each. A
 * row is its fields in the order of row_codec.h, 8 bytes each; a string is its offset in the parts
 * of type DERIVED_STRINGS. Lists are read in three ways:
 *
 * - the small ones are unpacked when the trace is opened;
 * - of processes, threads, mm_resets and names the stored bytes are read and their checksums are
 *   looked at when the trace is opened; LISTS_ROWS rows at a time are unpacked when one of them is
 *   first asked for. That needs neither file nor memory, so it does not fail;
 * - trace_need() reads the others, which are long and rarely asked for.
 *
 * The lists hold for the trace when its chunk files are as long as they were and have not been
 * changed since. Of a file that may have been changed, or that was copied, every block's header
 * must still have the CRC it had, which covers all bytes of the block. A block's own bytes are
 * checked when it is opened.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "format/zpack.h"
#include "store/chunk_name.h"
#include "trace/lists_disk.h"

/* A list of which every part but the last has LISTS_ROWS rows, unpacked as they are asked for. */
struct lazy_list {
	const struct derived_part *parts;
	size_t part_cnt;
	uint8_t *stored;	/* the bytes of all parts, one after the other */
	size_t *stored_at;	/* by part */
	_Atomic uint8_t *ready;	/* by part: its rows are there */
};

struct trace_lists {
	struct derived_file *d;
	char *strings;
	size_t string_bytes;
	struct lazy_list lazy[TRACE_LAZY_CNT];
	struct zunpack *zunpack;	/* this and room: under drop_lock */
	uint8_t *room;			/* for one unpacked part */
	_Atomic unsigned int loaded;	/* of enum trace_need */
	struct trace *whole;	/* read from the blocks, when a list was damaged; else NULL */
};

/* ---- rows ---- */

/* Rows of one part being read. */
struct row_in {
	const struct trace_lists *l;
	const uint8_t *p;
	bool bad;
};

static uint64_t take_number(struct row_in *in)
{
	uint64_t v;

	memcpy(&v, in->p, sizeof(v));
	in->p += sizeof(v);
	return v;
}

static const char *take_string(struct row_in *in)
{
	uint64_t at = take_number(in);

	if (at < in->l->string_bytes)
		return in->l->strings + at;
	in->bad = true;
	return "";
}

#define TAKE_NUMBER(field)                      \
	v = take_number(in);                    \
	row->field = (__typeof__(row->field))v; \
	in->bad |= row->field != v;
#define TAKE_STRING(field) row->field = take_string(in);
#define X(id, type, name, of, list, fields)                       \
	static void take_##id(struct row_in *in, void *to)        \
	{                                                         \
		struct of *row = to;                              \
		uint64_t v;                                       \
		fields(TAKE_NUMBER, TAKE_NUMBER, TAKE_STRING)     \
	}
LISTS_OF_ROWS(X)
#undef X

enum {
#define X(id, type, name, of, list, fields) LISTS_##id,
	LISTS_OF_ROWS(X)
#undef X
};

#define X(id, type, name, of, list_, fields)                                          \
	{ .part = (type), .name_type = (name), .row_fields = LISTS_FIELD_CNT(fields), \
	  .item_bytes = sizeof(struct of), .list = offsetof(struct trace, list_),     \
	  .take = take_##id },

static const struct list_kind {
	unsigned int part, name_type;
	size_t row_fields, item_bytes;
	size_t list;		/* offset of the struct trace_list in struct trace */
	void (*take)(struct row_in *in, void *to);
} list_kinds[] = { LISTS_OF_ROWS(X) };
#undef X

/* Their places in list_kinds, which has names last, by type from 1. */
static const uint8_t lazy_kinds[TRACE_LAZY_CNT] = {
	[TRACE_LAZY_PROCESSES] = LISTS_process,
	[TRACE_LAZY_THREADS] = LISTS_thread,
	[TRACE_LAZY_MM_RESETS] = LISTS_mm_reset,
	[TRACE_LAZY_NAMES + TRACE_NAME_CACHE] = LISTS_cache,
	[TRACE_LAZY_NAMES + TRACE_NAME_DEVICE] = LISTS_device,
	[TRACE_LAZY_NAMES + TRACE_NAME_CGROUP] = LISTS_cgroup,
	[TRACE_LAZY_NAMES + TRACE_NAME_SYMBOL] = LISTS_symbol,
	[TRACE_LAZY_NAMES + TRACE_NAME_FILE] = LISTS_file,
	[TRACE_LAZY_NAMES + TRACE_NAME_IRQ] = LISTS_irq,
};

/* What the rows are in the order of. */
static uint64_t key_of(enum trace_lazy of, const void *row)
{
	switch (of) {
	case TRACE_LAZY_PROCESSES:
		return ((const struct trace_process *)row)->upid;
	case TRACE_LAZY_THREADS:
		return ((const struct trace_thread *)row)->utid;
	case TRACE_LAZY_MM_RESETS:
		return ((const struct trace_mm_reset *)row)->ts_ns;
	default:
		return ((const struct trace_name *)row)->id;
	}
}

#define LIST_KIND_CNT (sizeof(list_kinds) / sizeof(*list_kinds))

static struct trace_list *list_of(struct trace *t, const struct list_kind *k)
{
	return (struct trace_list *)((char *)t + k->list);
}

static void take_rows(struct trace *t, const struct list_kind *k, const uint8_t *raw, size_t first,
		      size_t cnt, bool *ret_bad)
{
	struct row_in in = { .l = t->lists, .p = raw };
	char *to = (char *)list_of(t, k)->v + first * k->item_bytes;

	for (; cnt; cnt--, to += k->item_bytes)
		k->take(&in, to);
	*ret_bad = in.bad;
}

static int take_part(struct trace *t, const struct list_kind *k, const struct derived_part *p,
		     struct buf *mem)
{
	struct trace_list *list = list_of(t, k);
	const uint8_t *raw;
	bool bad = false;
	int r = derived_file_read(t->lists->d, p, mem, &raw);

	if (r < 0)
		return r;
	take_rows(t, k, raw, list->cnt, p->row_cnt, &bad);
	list->cnt += p->row_cnt;
	return bad ? -EBADMSG : 0;
}

/* The parts of a list: those of its type, of names those of their type. */
static int find_parts(struct trace *t, const struct list_kind *k, const struct derived_part **ret,
		      size_t *ret_cnt, size_t *ret_rows)
{
	const struct derived_part *p;
	size_t cnt, i, first, rows = 0;
	int r = derived_file_parts(t->lists->d, k->part, &p, &cnt);

	if (r < 0)
		return r;
	first = lower_bound(p, cnt, key, (uint64_t)k->name_type << 32);
	for (i = first; i < cnt && p[i].key >> 32 == k->name_type; i++) {
		if (p[i].raw_bytes != p[i].row_cnt * k->row_fields * sizeof(uint64_t))
			return -EBADMSG;
		rows += p[i].row_cnt;
	}
	*ret = p + first;
	*ret_cnt = i - first;
	*ret_rows = rows;
	return 0;
}

/* Room for all rows of a list; pages that nobody touches take no memory. */
static int make_room(struct trace_list *list, const struct list_kind *k, size_t rows)
{
	free(list->v);
	*list = (struct trace_list){ .v = calloc(rows + 1, k->item_bytes), .cap = rows };
	return list->v ? 0 : -ENOMEM;
}

static int take_list(struct trace *t, const struct list_kind *k, struct buf *mem)
{
	const struct derived_part *p;
	size_t cnt, i, rows;
	int r = find_parts(t, k, &p, &cnt, &rows);

	if (r == 0)
		r = make_room(list_of(t, k), k, rows);
	for (i = 0; r == 0 && i < cnt; i++)
		r = take_part(t, k, &p[i], mem);
	return r;
}

/* ---- lists that are unpacked by the part ---- */

static int lazy_begin(struct trace *t, const struct list_kind *k, struct lazy_list *z)
{
	struct trace_list *list = list_of(t, k);
	size_t rows, i, bytes = 0;
	int r = find_parts(t, k, &z->parts, &z->part_cnt, &rows);

	if (r == 0)
		r = make_room(list, k, rows);
	if (r < 0)
		return r;
	z->stored_at = malloc((z->part_cnt + 1) * sizeof(*z->stored_at));
	z->ready = calloc(z->part_cnt + 1, 1);
	for (i = 0; z->stored_at && i < z->part_cnt; i++) {
		if (z->parts[i].row_cnt > LISTS_ROWS ||
		    (i + 1 < z->part_cnt && z->parts[i].row_cnt < LISTS_ROWS))
			return -EBADMSG;
		z->stored_at[i] = bytes;
		bytes += z->parts[i].stored_bytes;
	}
	z->stored = malloc(bytes + 1);
	if (!z->stored_at || !z->ready || !z->stored)
		return -ENOMEM;
	for (i = 0; r == 0 && i < z->part_cnt; i++)
		r = derived_file_read_stored(t->lists->d, &z->parts[i],
					     z->stored + z->stored_at[i]);
	list->cnt = rows;
	return r;
}

/* The rows of bytes that only their checksum vouches for: what does not unpack is nobody's. */
static void lazy_unpack(struct trace *t, enum trace_lazy of, size_t part)
{
	struct trace_lists *l = t->lists;
	struct lazy_list *z = &l->lazy[of];
	const struct derived_part *p = &z->parts[part];
	bool bad;

	pthread_mutex_lock(&t->drop_lock);
	if (!atomic_load(&z->ready[part])) {
		if (derived_part_unpack(p, l->zunpack, z->stored + z->stored_at[part], l->room) < 0)
			memset(l->room, 0, p->raw_bytes);
		take_rows(t, &list_kinds[lazy_kinds[of]], l->room, part * LISTS_ROWS, p->row_cnt,
			  &bad);
		atomic_store_explicit(&z->ready[part], 1, memory_order_release);
	}
	pthread_mutex_unlock(&t->drop_lock);
}

void trace_lists_row(const struct trace *t, enum trace_lazy of, size_t row)
{
	size_t part = row / LISTS_ROWS;

	if (!atomic_load_explicit(&t->lists->lazy[of].ready[part], memory_order_acquire))
		lazy_unpack((struct trace *)t, of, part);
}

void trace_lists_rows(const struct trace *t, enum trace_lazy of)
{
	size_t i;

	for (i = 0; i < t->lists->lazy[of].part_cnt; i++)
		trace_lists_row(t, of, i * LISTS_ROWS);
}

size_t trace_lists_lower_bound(const struct trace *t, enum trace_lazy of, uint64_t key)
{
	const struct list_kind *k = &list_kinds[lazy_kinds[of]];
	const struct trace_list *list = list_of((struct trace *)t, k);
	const struct lazy_list *z = &t->lists->lazy[of];
	size_t lo = 0, hi = list->cnt;

	/* parts of tasks say with which id they begin: the row is in the last that may have it */
	if (of == TRACE_LAZY_PROCESSES || of == TRACE_LAZY_THREADS) {
		lo = lower_bound(z->parts, z->part_cnt, key, key + 1);
		lo = lo ? (lo - 1) * LISTS_ROWS : 0;
		hi = lo + LISTS_ROWS < hi ? lo + LISTS_ROWS : hi;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		trace_lists_row(t, of, mid);
		if (key_of(of, (const char *)list->v + mid * k->item_bytes) < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < list->cnt)
		trace_lists_row(t, of, lo);
	return lo;
}

/* ---- blocks ---- */

/* The header that is there now is the one the lists were made of. */
static bool block_fits(struct trace *t, const struct trace_block *b,
		       const struct trace_block_more *m)
{
	struct disk_block head;
	struct chunk_io io;

	if (t->reader.fd < 0 || t->reader.fd_number != m->file) {
		if (t->reader.fd >= 0)
			trace_file_close(t, t->reader.fd);
		t->reader.fd = trace_file_open(t, m->file);
		t->reader.fd_number = m->file;
		if (t->reader.fd < 0) {
			t->reader.fd = -1;
			return false;
		}
	}
	io = (struct chunk_io){ t->reader.fd, b->offset };
	t->headers_read++;
	return chunk_io_read(&io, 0, &head, sizeof(head)) == 0 && head.head_crc == m->head_crc &&
	       crc32c(0, &head, offsetof(struct disk_block, head_crc)) == head.head_crc;
}

/* What is being read of the list of blocks. */
struct block_in {
	const uint8_t *p, *end;
	const uint64_t *numbers;	/* of the chunk files, ascending */
	const bool *changed;
	size_t file_cnt, file;		/* the file of the last block */
	const char *name;		/* its name */
};

static uint32_t *take_utids(struct block_in *in, uint32_t cnt)
{
	size_t bytes = (size_t)cnt * sizeof(uint32_t);
	uint32_t *v;

	if (bytes > (size_t)(in->end - in->p))
		return NULL;
	v = malloc(bytes + 1);
	if (v) {
		memcpy(v, in->p, bytes);
		in->p += bytes;
	}
	return v;
}

/* Blocks are in order of their files. */
static bool find_file(struct trace *t, struct block_in *in, uint64_t number)
{
	char name[CHUNK_NAME_BYTES];

	if (in->name && in->numbers[in->file] == number)
		return true;
	while (in->file < in->file_cnt && in->numbers[in->file] != number)
		in->file++;
	if (in->file == in->file_cnt)
		return false;
	chunk_name_format(name, number);
	in->name = strpool_put(t->strings, name);
	return in->name;
}

static int take_block(struct trace *t, struct block_in *in)
{
	struct trace_block *b = trace_list_add(&t->blocks, sizeof(*b));
	struct trace_block_more *m = trace_list_add(&t->more, sizeof(*m));
	struct disk_list_block d;
	unsigned int k;

	if (!b || !m)
		return -ENOMEM;
	if ((size_t)(in->end - in->p) < sizeof(d))
		return -EBADMSG;
	memcpy(&d, in->p, sizeof(d));
	in->p += sizeof(d);
	if (d.cpu_cnt > CHUNK_CPUS_MAX || !find_file(t, in, d.file))
		return -EBADMSG;
	*b = (struct trace_block){ .file = in->name, .offset = d.offset, .bytes = d.bytes,
				   .from_ns = d.from_ns, .to_ns = d.to_ns,
				   .first_ns = d.first_ns, .last_ns = d.last_ns };
	for (k = 0; k < EVENT_KIND_CNT; k++)
		b->kind_cnt[k] = d.kind_cnt[k];
	*m = (struct trace_block_more){ .file = d.file, .number = d.number,
					.front_bytes = d.front_bytes, .head_crc = d.head_crc,
					.carried = d.flags & LISTS_BLOCK_CARRIED,
					.rewritten = d.flags & LISTS_BLOCK_REWRITTEN,
					.cut = d.flags & LISTS_BLOCK_CUT, .cpu_cnt = d.cpu_cnt };
	m->running = take_utids(in, d.cpu_cnt);
	if (d.flags & LISTS_BLOCK_ENDS)
		m->ends = take_utids(in, d.cpu_cnt);
	if (!m->running || (d.flags & LISTS_BLOCK_ENDS && !m->ends))
		return -EBADMSG;
	if (m->cpu_cnt > t->cpu_cnt)
		t->cpu_cnt = m->cpu_cnt;
	if (b->to_ns < b->from_ns || (t->blocks.cnt > 1 && b->from_ns < b[-1].to_ns) ||
	    (in->changed[in->file] && !block_fits(t, b, m)))
		return -EBADMSG;
	return 0;
}

/*
 * The chunk files are there, as long as they were. ret_changed, by file: it may have been changed
 * all the same.
 */
static int files_fit(struct trace *t, const uint64_t *numbers, size_t cnt, struct buf *mem,
		     bool *ret_changed)
{
	const struct disk_list_file *f;
	struct derived_part p;
	char name[CHUNK_NAME_BYTES];
	const uint8_t *raw = NULL;
	struct stat st;
	size_t i;
	int r;

	r = derived_file_get(t->lists->d, DERIVED_FILES, 0, &p);
	if (r > 0)
		r = derived_file_read(t->lists->d, &p, mem, &raw);
	else if (r == 0)
		r = -ENOENT;
	if (r < 0)
		return r;
	f = (const struct disk_list_file *)raw;
	if (p.raw_bytes != cnt * sizeof(*f))
		return -ESTALE;
	for (i = 0; i < cnt; i++) {
		chunk_name_format(name, numbers[i]);
		if (f[i].number != numbers[i] ||
		    fstatat(t->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || (uint64_t)st.st_size != f[i].bytes)
			return -ESTALE;
		ret_changed[i] = !f[i].changed_ns || f[i].changed_ns != lists_changed_ns(&st);
	}
	return 0;
}

static int take_blocks(struct trace *t, const uint64_t *numbers, size_t cnt, struct buf *mem)
{
	struct block_in in = { .numbers = numbers, .file_cnt = cnt };
	bool *changed = calloc(cnt + 1, sizeof(*changed));
	const struct derived_part *p;
	size_t part_cnt, i;
	uint32_t rows;
	int r;

	in.changed = changed;
	r = changed ? files_fit(t, numbers, cnt, mem, changed) : -ENOMEM;
	if (r == 0)
		r = derived_file_parts(t->lists->d, DERIVED_BLOCKS, &p, &part_cnt);
	for (i = 0; r == 0 && i < part_cnt; i++) {
		r = derived_file_read(t->lists->d, &p[i], mem, &in.p);
		in.end = in.p + p[i].raw_bytes;
		for (rows = p[i].row_cnt; r == 0 && rows; rows--)
			r = take_block(t, &in);
		if (r == 0 && in.p != in.end)
			r = -EBADMSG;
	}
	free(changed);
	return r;
}

static int take_strings(struct trace_lists *l, struct buf *mem)
{
	size_t cnt, i, bytes = 0, at = 0;
	const struct derived_part *p;
	const uint8_t *raw;
	int r = derived_file_parts(l->d, DERIVED_STRINGS, &p, &cnt);

	for (i = 0; i < cnt; i++)
		bytes += p[i].raw_bytes;
	l->strings = malloc(bytes + 1);
	if (!l->strings)
		return -ENOMEM;
	for (i = 0; r == 0 && i < cnt; i++) {
		r = derived_file_read(l->d, &p[i], mem, &raw);
		if (r == 0)
			memcpy(l->strings + at, raw, p[i].raw_bytes);
		at += p[i].raw_bytes;
	}
	if (r == 0 && bytes && l->strings[bytes - 1])
		return -EBADMSG;
	l->string_bytes = bytes;
	return r;
}

/* ---- opening and closing ---- */

/* What list is read only when it is needed. */
static unsigned int need_of(const struct list_kind *k)
{
	switch (k->part) {
	case CHUNK_TASK_EVENTS:
		return TRACE_NEED_TASK_EVENTS;
	case CHUNK_COST:
		return TRACE_NEED_COSTS;
	case CHUNK_HOOK_STATS:
		return TRACE_NEED_HOOK_STATS;
	case CHUNK_RSS_SNAPS:
		return TRACE_NEED_RSS_SNAPS;
	case CHUNK_SITES:
		return TRACE_NEED_SITES;
	case CHUNK_FRAMES:
		return TRACE_NEED_FRAMES;
	default:
		return 0;
	}
}

/* What unpacking a part takes is taken now. */
static int make_unpacker(struct trace_lists *l)
{
	size_t i, k, bytes = 1;

	for (i = 0; i < TRACE_LAZY_CNT; i++)
		for (k = 0; k < l->lazy[i].part_cnt; k++)
			if (l->lazy[i].parts[k].raw_bytes > bytes)
				bytes = l->lazy[i].parts[k].raw_bytes;
	l->room = malloc(bytes);
	return l->room ? zunpack_new(&l->zunpack) : -ENOMEM;
}

static int load_now(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct buf mem = { 0 };
	int r = take_blocks(t, numbers, cnt, &mem);
	size_t i;

	if (r == 0)
		r = take_strings(t->lists, &mem);
	for (i = 0; r == 0 && i < LIST_KIND_CNT; i++)
		if (!need_of(&list_kinds[i]) && !lists_is_lazy(list_kinds[i].part))
			r = take_list(t, &list_kinds[i], &mem);
	for (i = 0; r == 0 && i < TRACE_LAZY_CNT; i++)
		if (i != TRACE_LAZY_NAMES)
			r = lazy_begin(t, &list_kinds[lazy_kinds[i]], &t->lists->lazy[i]);
	buf_done(&mem);
	if (r == 0)
		r = make_unpacker(t->lists);
	if (r == 0) {
		trace_finalize_blocks(t);
		r = trace_finalize_list(t, CHUNK_MARKS);
	}
	return r < 0 ? r : derived_file_bind(t->lists->d, t);
}

int trace_lists_load(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct trace_lists *l;
	size_t i;

	if (t->is_live || t->dir_fd < 0 || !trace_is_finished(t))
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return 0;
	t->lists = l;
	if (derived_file_open(&l->d, t, DERIVED_BESIDE | DERIVED_UNBOUND) == 0 &&
	    load_now(t, numbers, cnt) == 0)
		return 1;
	trace_blocks_done(t);
	t->cpu_cnt = 0;
	for (i = 0; i < LIST_KIND_CNT; i++)
		list_of(t, &list_kinds[i])->cnt = 0;
	trace_lists_close(t);
	return 0;
}

void trace_lists_close(struct trace *t)
{
	struct trace_lists *l = t->lists;
	unsigned int i;

	if (!l)
		return;
	for (i = 0; i < TRACE_LAZY_CNT; i++) {
		free(l->lazy[i].stored);
		free(l->lazy[i].stored_at);
		free((void *)l->lazy[i].ready);
	}
	zunpack_free(l->zunpack);
	free(l->room);
	derived_file_close(l->d);
	trace_close(l->whole);
	free(l->strings);
	free(l);
	t->lists = NULL;
}

uint64_t trace_lists_thread_hash(const struct trace *t)
{
	return derived_file_thread_hash(t->lists->d);
}

/* ---- when they are needed ---- */

static int index_frames(struct trace *t)
{
	const struct trace_frame *v = t->frames.v;
	size_t i;

	for (i = 0; i < t->frames.cnt; i++)
		if (v[i].nth == 0 &&
		    hash_map_put(&t->by_stack, v[i].stack, (void *)(uintptr_t)(i + 1)) < 0)
			return -ENOMEM;
	return 0;
}

/* The list from the blocks, after all; its strings belong to the trace that read them. */
static int take_from_blocks(struct trace *t, const struct list_kind *k)
{
	struct trace_lists *l = t->lists;
	struct trace_list *to = list_of(t, k), *from;
	int r;

	if (!l->whole) {
		derived_file_forget(l->d);
		r = trace_open(&l->whole, t->path, NULL);
		if (r < 0)
			return r;
	}
	if (l->whole->blocks.cnt != t->blocks.cnt ||
	    trace_blocks_hash(l->whole, t->blocks.cnt) != trace_blocks_hash(t, t->blocks.cnt))
		return -ESTALE;
	from = list_of(l->whole, k);
	free(to->v);
	*to = *from;
	*from = (struct trace_list){ 0 };
	return 0;
}

static int load_needed(struct trace *t, const struct list_kind *k, struct buf *mem)
{
	int r = t->lists->whole ? -EBADMSG : take_list(t, k, mem);

	if (r < 0 && r != -ENOMEM)
		r = take_from_blocks(t, k);
	if (r == 0 && k->part == CHUNK_FRAMES)
		r = index_frames(t);
	if (r == 0 && k->part == CHUNK_HOOK_STATS)
		r = trace_finalize_list(t, CHUNK_HOOK_STATS);
	if (r < 0)
		list_of(t, k)->cnt = 0;
	return r;
}

int trace_need(struct trace *t, unsigned int what, struct err *e)
{
	struct trace_lists *l = t->lists;
	struct buf mem = { 0 };
	unsigned int need;
	size_t i;
	int r = 0;

	if (!l || (atomic_load_explicit(&l->loaded, memory_order_acquire) & what) == what)
		return 0;
	pthread_mutex_lock(&t->drop_lock);
	for (i = 0; r == 0 && i < LIST_KIND_CNT; i++) {
		need = need_of(&list_kinds[i]) & what & ~atomic_load(&l->loaded);
		if (!need)
			continue;
		r = load_needed(t, &list_kinds[i], &mem);
		if (r == 0)
			atomic_fetch_or_explicit(&l->loaded, need, memory_order_release);
	}
	pthread_mutex_unlock(&t->drop_lock);
	buf_done(&mem);
	return r == 0 ? 0
	       : r == -ENOMEM
		       ? err_set(e, r, "out of memory")
		       : err_set(e, -EIO,
				 "the trace's %s is damaged, and its blocks are not what "
				 "they were: it was removed; ask again, and the blocks are read",
				 DERIVED_FILE_NAME);
}

bool trace_has(const struct trace *t, unsigned int what)
{
	return !t->lists ||
	       (atomic_load_explicit(&t->lists->loaded, memory_order_acquire) & what) == what;
}
