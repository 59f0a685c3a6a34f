/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A radix sort puts a run in order, byte by byte, beginning with the least significant byte. Bytes
 * that are the same in all keys are skipped, and keys of an index have few others. The sort is
 * stable, so rowids stay in order. A heap merges the runs.
 */
#include "analyze/bulk/key_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "store/files.h"

#define READ_KEYS 1024

/* As sorted: unsigned, and the first bit of rowid tells numbers from NULL. */
struct item {
	uint64_t value[2];
	uint64_t rowid;
};

#define NOT_NULL (1ull << 63)
#define SIGN (1ull << 63)

struct run {
	uint64_t at, end; /* items of the file */
	struct item *items; /* READ_KEYS */
	uint32_t item_at, item_cnt;
};

struct key_sort {
	char *dir;
	unsigned int col_cnt;
	struct item *items, *scratch;
	uint32_t cnt, at;
	int fd;
	bool merging;
	struct run *runs;
	uint32_t run_cnt;
	size_t run_cap;
	uint64_t written; /* items */
	uint32_t *heap; /* numbers of runs */
	uint32_t heap_cnt;
};

int key_sort_new(struct key_sort **ret, const char *dir, unsigned int col_cnt)
{
	struct key_sort *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->fd = -1;
	s->col_cnt = col_cnt;
	s->dir = strdup(dir);
	s->items = malloc(KEY_SORT_ROWS * sizeof(*s->items));
	s->scratch = malloc(KEY_SORT_ROWS * sizeof(*s->scratch));
	if (!s->dir || !s->items || !s->scratch) {
		key_sort_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void key_sort_free(struct key_sort *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->run_cnt; i++)
		free(s->runs[i].items);
	if (s->fd >= 0)
		close(s->fd);
	free(s->runs);
	free(s->heap);
	free(s->items);
	free(s->scratch);
	free(s->dir);
	free(s);
}

/* ---- one run ---- */

static uint64_t digits_of(const struct item *x, unsigned int column)
{
	return column < 2 ? x->value[column] : x->rowid & NOT_NULL;
}

/* Stable, by one byte of one column; 2 is the bit that tells NULL. */
static void sort_by_byte(struct key_sort *s, unsigned int column, unsigned int shift)
{
	uint32_t begin[256] = { 0 }, sum = 0, i, n;
	struct item *swap = s->items;

	for (i = 0; i < s->cnt; i++)
		begin[digits_of(&s->items[i], column) >> shift & 0xff]++;
	for (i = 0; i < 256; i++) {
		n = begin[i];
		begin[i] = sum;
		sum += n;
	}
	for (i = 0; i < s->cnt; i++)
		s->scratch[begin[digits_of(&s->items[i], column) >> shift & 0xff]++] = s->items[i];
	s->items = s->scratch;
	s->scratch = swap;
}

static void sort_items(struct key_sort *s)
{
	static const unsigned int columns[] = { 1, 0, 2 }; /* the last one counts most */
	uint64_t differ;
	uint32_t i;

	for (unsigned int c = 0; c < 3; c++) {
		for (differ = 0, i = 1; i < s->cnt; i++)
			differ |= digits_of(&s->items[i], columns[c]) ^
				  digits_of(&s->items[0], columns[c]);
		for (unsigned int shift = 0; shift < 64; shift += 8)
			if (differ >> shift & 0xff)
				sort_by_byte(s, columns[c], shift);
	}
}

/* ---- many ---- */

static int fail_io(const struct key_sort *s, int code, struct err *e)
{
	if (code == -ENOSPC || code == -EDQUOT)
		return err_set(
			e, code,
			"%s: no space left for sorting: free some, or export a shorter window",
			s->dir);
	return err_set(e, code, "%s: sorting: %s", s->dir, strerror(-code));
}

static int write_run(struct key_sort *s, struct err *e)
{
	int ret;

	if (s->fd < 0)
		s->fd = open(s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return fail_io(s, -errno, e);
	if (array_reserve(&s->runs, &s->run_cap, s->run_cnt + 1) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	sort_items(s);
	ret = files_write_all(&files_kernel, s->fd, s->items, s->cnt * sizeof(*s->items),
			      s->written * sizeof(*s->items));
	if (ret < 0)
		return fail_io(s, ret, e);
	s->runs[s->run_cnt++] = (struct run){ .at = s->written, .end = s->written + s->cnt };
	s->written += s->cnt;
	s->cnt = 0;
	return 0;
}

int key_sort_add(struct key_sort *s, const struct sort_key *key, struct err *e)
{
	struct item *x;
	int ret = 0;

	if (s->cnt == KEY_SORT_ROWS)
		ret = write_run(s, e);
	if (ret < 0)
		return ret;
	x = &s->items[s->cnt++];
	x->value[0] = key->is_null ? 0 : (uint64_t)key->value[0] ^ SIGN;
	x->value[1] = s->col_cnt > 1 ? (uint64_t)key->value[1] ^ SIGN : SIGN;
	x->rowid = key->rowid | (key->is_null ? 0 : NOT_NULL);
	return 0;
}

static bool item_before(const struct item *a, const struct item *b)
{
	if ((a->rowid ^ b->rowid) & NOT_NULL)
		return b->rowid & NOT_NULL;
	if (a->value[0] != b->value[0])
		return a->value[0] < b->value[0];
	if (a->value[1] != b->value[1])
		return a->value[1] < b->value[1];
	return a->rowid < b->rowid;
}

static const struct item *run_item(const struct run *r)
{
	return &r->items[r->item_at];
}

/* Reads on when nothing is left. 1: there is an item, 0: no more. */
static int run_read(const struct key_sort *s, struct run *r, struct err *e)
{
	uint64_t cnt = r->end - r->at;
	size_t bytes, done = 0;

	if (r->item_at < r->item_cnt)
		return 1;
	if (!cnt)
		return 0;
	if (cnt > READ_KEYS)
		cnt = READ_KEYS;
	bytes = cnt * sizeof(*r->items);
	while (done < bytes) {
		ssize_t n = pread(s->fd, (char *)r->items + done, bytes - done,
				  (off_t)(r->at * sizeof(*r->items) + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_io(s, n < 0 ? -errno : -EIO, e);
		done += (size_t)n;
	}
	r->at += cnt;
	r->item_at = 0;
	r->item_cnt = (uint32_t)cnt;
	return 1;
}

static void sift_down(struct key_sort *s, uint32_t at)
{
	uint32_t x = s->heap[at];

	for (;;) {
		uint32_t child = at * 2 + 1;

		if (child >= s->heap_cnt)
			break;
		if (child + 1 < s->heap_cnt && item_before(run_item(&s->runs[s->heap[child + 1]]),
							   run_item(&s->runs[s->heap[child]])))
			child++;
		if (!item_before(run_item(&s->runs[s->heap[child]]), run_item(&s->runs[x])))
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = x;
}

static int begin_merge(struct key_sort *s, struct err *e)
{
	int ret;

	s->merging = true;
	if (!s->run_cnt) {
		sort_items(s);
		return 0;
	}
	ret = write_run(s, e);
	if (ret < 0)
		return ret;
	s->heap = malloc(s->run_cnt * sizeof(*s->heap));
	for (uint32_t i = 0; i < s->run_cnt; i++) {
		s->runs[i].items = malloc(READ_KEYS * sizeof(*s->runs[i].items));
		if (!s->heap || !s->runs[i].items)
			return err_set(e, -ENOMEM, "out of memory");
		ret = run_read(s, &s->runs[i], e);
		if (ret < 0)
			return ret;
		s->heap[s->heap_cnt++] = i;
	}
	for (uint32_t i = s->heap_cnt / 2; i-- > 0;)
		sift_down(s, i);
	return 0;
}

static void give(struct sort_key *ret, const struct item *x)
{
	ret->is_null = !(x->rowid & NOT_NULL);
	ret->rowid = x->rowid & ~NOT_NULL;
	ret->value[0] = (int64_t)(x->value[0] ^ SIGN);
	ret->value[1] = (int64_t)(x->value[1] ^ SIGN);
}

int key_sort_next(struct key_sort *s, struct sort_key *ret, struct err *e)
{
	struct run *r;
	int more = s->merging ? 0 : begin_merge(s, e);

	if (more < 0)
		return more;
	if (!s->run_cnt) {
		if (s->at == s->cnt)
			return 0;
		give(ret, &s->items[s->at++]);
		return 1;
	}
	if (!s->heap_cnt)
		return 0;
	r = &s->runs[s->heap[0]];
	give(ret, run_item(r));
	r->item_at++;
	more = run_read(s, r, e);
	if (more < 0)
		return more;
	if (!more)
		s->heap[0] = s->heap[--s->heap_cnt];
	if (s->heap_cnt > 1)
		sift_down(s, 0);
	return 1;
}
