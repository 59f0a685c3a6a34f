/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One page per level is being filled. A full one is written, and its number goes into the level
 * above with what tells it from the next: of a table's page its highest rowid, of an index's page
 * an entry that moves up. That entry is the last one of the full page, not the one that did not
 * fit, so that no page is ever empty. The level that is alone at the end is the root.
 */
#include "analyze/bulk/btree_fill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/files.h"

#define LEVEL_MAX 20
#define CELL_HEAD_MAX 22 /* a page number and two varints */
#define LOCK_BYTE 0x40000000u

enum page_type {
	PAGE_INDEX_INNER = 2,
	PAGE_TABLE_INNER = 5,
	PAGE_INDEX_LEAF = 10,
	PAGE_TABLE_LEAF = 13
};

struct level {
	uint8_t *page;
	uint32_t cell_cnt;
	uint32_t low, high; /* the free part: behind the pointers, before the cells */
};

struct btree_fill {
	struct db_file *f;
	uint32_t root;
	bool is_index;
	uint64_t last_rowid;
	unsigned int level_cnt;
	struct level levels[LEVEL_MAX];
	uint8_t *overflow; /* a page */
};

/* ---- numbers ---- */

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

size_t db_put_varint(uint8_t *dst, uint64_t v)
{
	uint8_t raw[9];
	size_t n = 0, i;

	if (v < 0x80) {
		dst[0] = (uint8_t)v;
		return 1;
	}
	if (v >> 56) { /* the ninth byte has all of its eight bits */
		dst[8] = (uint8_t)v;
		v >>= 8;
		for (i = 8; i-- > 0; v >>= 7)
			dst[i] = (uint8_t)(v & 0x7f) | 0x80;
		return 9;
	}
	for (; v; v >>= 7)
		raw[n++] = (uint8_t)(v & 0x7f) | 0x80;
	raw[0] &= 0x7f;
	for (i = 0; i < n; i++)
		dst[i] = raw[n - 1 - i];
	return n;
}

static const uint8_t int_bytes[] = { 0, 1, 2, 3, 4, 6, 8, 0, 0, 0 };

unsigned int db_int_type(int64_t v)
{
	uint64_t u = v < 0 ? ~(uint64_t)v : (uint64_t)v;

	if (u < 0x80)
		return v == 0 ? 8 : v == 1 ? 9 : 1;
	if (u < 0x8000)
		return 2;
	if (u < 0x800000)
		return 3;
	if (u < 0x80000000u)
		return 4;
	return u < 0x800000000000ull ? 5 : 6;
}

size_t db_put_int(uint8_t *dst, int64_t v, unsigned int type)
{
	size_t n = int_bytes[type], i;

	for (i = n; i-- > 0; v >>= 8)
		dst[i] = (uint8_t)v;
	return n;
}

/* ---- the file ---- */

/* The offsets are those of the database header, section 1.3. */
static bool is_known_header(const uint8_t *h)
{
	bool is_rollback = h[18] == 1 && h[19] == 1;
	bool has_free_pages = get32(h + 32) || get32(h + 36);
	bool is_auto_vacuum = get32(h + 52) || get32(h + 64);
	uint32_t reserved_bytes = h[20], schema_format = get32(h + 44), encoding = get32(h + 56);

	return memcmp(h, "SQLite format 3", 16) == 0 && is_rollback && !reserved_bytes &&
	       !has_free_pages && !is_auto_vacuum && schema_format == 4 && encoding == 1;
}

int db_file_open(struct db_file *f, const char *path, struct err *e)
{
	struct stat st;
	uint8_t h[100];

	memset(f, 0, sizeof(*f));
	f->path = path;
	f->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (pread(f->fd, h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return 0;
	f->page_bytes = get16(h + 16) == 1 ? 65536 : get16(h + 16);
	f->page_cnt = get32(h + 28);
	f->lock_page = f->page_bytes ? LOCK_BYTE / f->page_bytes + 1 : 0;
	return is_known_header(h) && f->page_bytes >= 4096 && f->page_cnt &&
	       (uint64_t)st.st_size == (uint64_t)f->page_bytes * f->page_cnt;
}

bool db_file_is_empty_leaf(const struct db_file *f, uint32_t number, bool is_index)
{
	off_t at = (off_t)((uint64_t)(number - 1) * f->page_bytes);
	uint8_t head[8];

	/* page 1 begins with the file's header, and is not a table of ours */
	return number > 1 && pread(f->fd, head, sizeof(head), at) == (ssize_t)sizeof(head) &&
	       head[0] == (is_index ? PAGE_INDEX_LEAF : PAGE_TABLE_LEAF) && !get16(head + 3);
}

static int put_bytes(const struct db_file *f, const uint8_t *data, size_t bytes, uint64_t offset,
		     struct err *e)
{
	int r = files_write_all(&files_kernel, f->fd, data, bytes, offset);

	if (r == -ENOSPC || r == -EDQUOT)
		return err_set(e, r, "%s: no space left: free some, or export a shorter window",
			       f->path);
	return r ? err_set(e, r, "%s: cannot be written: %s", f->path, strerror(-r)) : 0;
}

static int put_page(const struct db_file *f, uint32_t number, const uint8_t *page, struct err *e)
{
	return put_bytes(f, page, f->page_bytes, (uint64_t)(number - 1) * f->page_bytes, e);
}

/* 0: the file is as large as SQLite can have it. */
static uint32_t take_page(struct db_file *f)
{
	uint32_t n = atomic_fetch_add(&f->page_cnt, 1) + 1;

	if (n == f->lock_page)
		n = atomic_fetch_add(&f->page_cnt, 1) + 1;
	return n < 0xfffffffeu ? n : 0;
}

static int no_page(const struct db_file *f, struct err *e)
{
	return err_set(e, -EFBIG, "%s: SQLite has no larger files: export a shorter window",
		       f->path);
}

int db_file_finish(struct db_file *f, struct err *e)
{
	uint8_t h[100];
	uint32_t change;
	int ret;

	if (pread(f->fd, h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return err_set(e, -EIO, "%s: cannot be read", f->path);
	change = get32(h + 24) + 1;
	put32(h + 24, change);
	put32(h + 28, f->page_cnt);
	put32(h + 92, change); /* the number of pages counts only when these two are equal */
	ret = put_bytes(f, h, sizeof(h), 0, e);
	/* a last page that was taken but is SQLite's own */
	if (!ret && ftruncate(f->fd, (off_t)((uint64_t)f->page_cnt * f->page_bytes)) < 0)
		ret = err_set(e, -errno, "%s: cannot be written: %s", f->path, strerror(errno));
	return ret;
}

/* ---- pages ---- */

static bool is_inner(const struct btree_fill *b, const struct level *l)
{
	return l != &b->levels[0];
}

static void clear_page(const struct btree_fill *b, struct level *l)
{
	bool inner = is_inner(b, l);

	memset(l->page, 0, b->f->page_bytes);
	l->page[0] = b->is_index ? (inner ? PAGE_INDEX_INNER : PAGE_INDEX_LEAF)
				 : (inner ? PAGE_TABLE_INNER : PAGE_TABLE_LEAF);
	l->low = inner ? 12 : 8;
	l->high = b->f->page_bytes;
	l->cell_cnt = 0;
}

static int add_level(struct btree_fill *b, struct err *e)
{
	struct level *l = &b->levels[b->level_cnt];

	if (b->level_cnt == LEVEL_MAX)
		return no_page(b->f, e);
	l->page = malloc(b->f->page_bytes);
	if (!l->page)
		return err_set(e, -ENOMEM, "out of memory");
	b->level_cnt++;
	clear_page(b, l);
	return 0;
}

/* Writes the page of a level to number, with its last child, and begins a new one. */
static int write_level(struct btree_fill *b, struct level *l, uint32_t number, uint32_t last_child,
		       struct err *e)
{
	int ret;

	put16(l->page + 3, l->cell_cnt);
	put16(l->page + 5, l->high); /* 65536 is written as 0 */
	if (is_inner(b, l))
		put32(l->page + 8, last_child);
	ret = put_page(b->f, number, l->page, e);
	clear_page(b, l);
	return ret;
}

static uint8_t *room_for(struct level *l, size_t bytes)
{
	if (l->low + 2 + bytes > l->high)
		return NULL;
	l->high -= (uint32_t)bytes;
	put16(l->page + l->low, l->high);
	l->low += 2;
	l->cell_cnt++;
	return l->page + l->high;
}

/* Cells lie from the end of the page on, so the last one is at high. */
static size_t take_last_cell(const struct btree_fill *b, struct level *l, uint8_t *dst)
{
	uint32_t end = l->cell_cnt > 1 ? get16(l->page + l->low - 4) : b->f->page_bytes;
	size_t bytes = end - l->high;

	memcpy(dst, l->page + l->high, bytes);
	memset(l->page + l->high, 0, bytes);
	l->low -= 2;
	put16(l->page + l->low, 0);
	l->high = end;
	l->cell_cnt--;
	return bytes;
}

/* Puts a child, and what tells it from the next one, into the levels from `at` on. */
static int add_child(struct btree_fill *b, unsigned int at, uint32_t child, const uint8_t *key,
		     size_t key_bytes, struct err *e)
{
	uint8_t moved[CELL_HEAD_MAX + BTREE_ENTRY_MAX], kept[CELL_HEAD_MAX + BTREE_ENTRY_MAX];
	uint8_t *cell;
	int ret = 0;

	memcpy(kept, key, key_bytes);
	for (;; at++) {
		struct level *l = &b->levels[at];
		size_t moved_bytes;
		uint32_t number;

		if (at == b->level_cnt)
			ret = add_level(b, e);
		if (ret < 0)
			return ret;
		cell = room_for(l, 4 + key_bytes);
		if (cell) {
			put32(cell, child);
			memcpy(cell + 4, kept, key_bytes);
			return 0;
		}
		moved_bytes = take_last_cell(b, l, moved);
		number = take_page(b->f);
		if (!number)
			return no_page(b->f, e);
		ret = write_level(b, l, number, get32(moved), e);
		if (ret < 0)
			return ret;
		cell = room_for(l, 4 + key_bytes);
		put32(cell, child);
		memcpy(cell + 4, kept, key_bytes);
		/* one level up: the page just written, and the key of what was its last cell */
		child = number;
		key_bytes = moved_bytes - 4;
		memcpy(kept, moved + 4, key_bytes);
	}
}

int btree_fill_new(struct btree_fill **ret, struct db_file *f, uint32_t root, bool is_index)
{
	struct btree_fill *b = calloc(1, sizeof(*b));

	if (!b || root < 2) /* page 1 begins with the file's header: no table of ours is there */
		goto fail;
	b->f = f;
	b->root = root;
	b->is_index = is_index;
	b->overflow = malloc(f->page_bytes);
	if (!b->overflow || add_level(b, NULL) < 0)
		goto fail;
	*ret = b;
	return 0;
fail:
	btree_fill_free(b);
	return -ENOMEM;
}

void btree_fill_free(struct btree_fill *b)
{
	if (!b)
		return;
	for (unsigned int i = 0; i < b->level_cnt; i++)
		free(b->levels[i].page);
	free(b->overflow);
	free(b);
}

/* ---- leaves ---- */

/* Writes what does not fit into a row's own page. Returns the first page of it, 0: failed. */
static uint32_t put_overflow(struct btree_fill *b, const uint8_t *p, size_t bytes, struct err *e)
{
	uint32_t room = b->f->page_bytes - 4, first = take_page(b->f), number = first, next;

	while (number) {
		size_t n = bytes < room ? bytes : room;

		next = bytes > n ? take_page(b->f) : 0;
		if (bytes > n && !next)
			break;
		memset(b->overflow, 0, b->f->page_bytes);
		put32(b->overflow, next);
		memcpy(b->overflow + 4, p, n);
		if (put_page(b->f, number, b->overflow, e) < 0)
			return 0;
		if (!next)
			return first;
		p += n;
		bytes -= n;
		number = next;
	}
	no_page(b->f, e);
	return 0;
}

/* Returns how much of a table's record its own page keeps. */
static size_t local_bytes(const struct btree_fill *b, size_t bytes)
{
	size_t usable = b->f->page_bytes, max = usable - 35, min = (usable - 12) * 32 / 255 - 23, k;

	if (bytes <= max)
		return bytes;
	k = min + (bytes - min) % (usable - 4);
	return k <= max ? k : min;
}

/* Writes a leaf that is full, and puts what tells it from the next one into the level above. */
static int end_leaf(struct btree_fill *b, struct err *e)
{
	uint8_t key[CELL_HEAD_MAX + BTREE_ENTRY_MAX];
	struct level *leaf = &b->levels[0];
	size_t key_bytes = b->is_index ? take_last_cell(b, leaf, key)
				       : db_put_varint(key, b->last_rowid);
	uint32_t number = take_page(b->f);
	int ret;

	if (!number)
		return no_page(b->f, e);
	ret = write_level(b, leaf, number, 0, e);
	return ret < 0 ? ret : add_child(b, 1, number, key, key_bytes, e);
}

int btree_fill_row(struct btree_fill *b, uint64_t rowid, const uint8_t *record, size_t bytes,
		   struct err *e)
{
	size_t local = local_bytes(b, bytes), head_bytes, cell_bytes;
	struct level *leaf = &b->levels[0];
	uint8_t head[CELL_HEAD_MAX], *cell;
	uint32_t number;
	int ret;

	head_bytes = db_put_varint(head, bytes);
	head_bytes += db_put_varint(head + head_bytes, rowid);
	cell_bytes = head_bytes + local + (local < bytes ? 4 : 0);
	if (cell_bytes < 4)
		cell_bytes = 4;
	cell = room_for(leaf, cell_bytes);
	if (!cell) {
		ret = end_leaf(b, e);
		if (ret < 0)
			return ret;
		cell = room_for(leaf, cell_bytes);
	}
	memcpy(cell, head, head_bytes);
	memcpy(cell + head_bytes, record, local);
	b->last_rowid = rowid;
	if (local < bytes) {
		number = put_overflow(b, record + local, bytes - local, e);
		if (!number)
			return -EIO;
		put32(cell + head_bytes + local, number);
	}
	return 0;
}

int btree_fill_entry(struct btree_fill *b, const uint8_t *record, size_t bytes, struct err *e)
{
	size_t head_bytes;
	struct level *leaf = &b->levels[0];
	uint8_t head[CELL_HEAD_MAX], *cell;
	int ret;

	if (bytes > BTREE_ENTRY_MAX)
		return err_set(e, -EINVAL, "%s: an index entry that is too long", b->f->path);
	head_bytes = db_put_varint(head, bytes);
	cell = room_for(leaf, head_bytes + bytes);
	if (!cell) {
		ret = end_leaf(b, e);
		if (ret < 0)
			return ret;
		cell = room_for(leaf, head_bytes + bytes);
	}
	memcpy(cell, head, head_bytes);
	memcpy(cell + head_bytes, record, bytes);
	return 0;
}

int btree_fill_finish(struct btree_fill *b, struct err *e)
{
	uint32_t child = 0, number;
	unsigned int i;
	int ret;

	for (i = 0; i + 1 < b->level_cnt; i++) {
		number = take_page(b->f);
		if (!number)
			return no_page(b->f, e);
		ret = write_level(b, &b->levels[i], number, child, e);
		if (ret < 0)
			return ret;
		child = number;
	}
	return write_level(b, &b->levels[i], b->root, child, e);
}
