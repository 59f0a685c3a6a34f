/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_order: puts the rows of one kind and CPU into order of time, arrival among equals.
 *
 * A timestamp is taken before the ring has room for the record, and an interrupt may come in
 * between: a record can be a place or two late. Insertion does that at next to no cost; rows
 * that are far out of order, which nothing should produce, are merge-sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/block_state.h"

#define ORDER_INSERT_MAX 256	/* places a row may be moved by insertion */

static void move_u32(uint32_t *v, uint32_t from, uint32_t to)
{
	uint32_t x;

	if (!v)
		return;
	x = v[from];
	memmove(v + to + 1, v + to, (from - to) * sizeof(*v));
	v[to] = x;
}

static void move_u64(uint64_t *v, uint32_t from, uint32_t to)
{
	uint64_t x;

	if (!v)
		return;
	x = v[from];
	memmove(v + to + 1, v + to, (from - to) * sizeof(*v));
	v[to] = x;
}

static void apply_u32(uint32_t *v, const uint32_t *order, uint32_t n, uint64_t *scratch)
{
	uint32_t *s = (uint32_t *)scratch;
	uint32_t i;

	if (!v)
		return;
	for (i = 0; i < n; i++)
		s[i] = v[order[i]];
	memcpy(v, s, n * sizeof(*v));
}

static void apply_u64(uint64_t *v, const uint32_t *order, uint32_t n, uint64_t *scratch)
{
	uint32_t i;

	if (!v)
		return;
	for (i = 0; i < n; i++)
		scratch[i] = v[order[i]];
	memcpy(v, scratch, n * sizeof(*v));
}

static uint32_t *merge_order(const uint64_t *ts, uint32_t *a, uint32_t *b, uint32_t n)
{
	uint32_t *swap;
	uint64_t step, i;

	for (i = 0; i < n; i++)
		a[i] = (uint32_t)i;
	for (step = 1; step < n; step *= 2) {
		for (i = 0; i < n; i += 2 * step) {
			uint64_t mid = i + step < n ? i + step : n;
			uint64_t end = mid + step < n ? mid + step : n;
			uint64_t l = i, r = mid, o = i;

			while (l < mid && r < end)
				b[o++] = ts[a[l]] <= ts[a[r]] ? a[l++] : a[r++];
			while (l < mid)
				b[o++] = a[l++];
			while (r < end)
				b[o++] = a[r++];
		}
		swap = a;
		a = b;
		b = swap;
	}
	return a;
}

static int merge_rows(struct kind_rows *k, uint32_t start, uint32_t n)
{
	uint32_t *order = malloc((size_t)n * 2 * sizeof(*order));
	uint64_t *scratch = malloc((size_t)n * sizeof(*scratch));
	const uint32_t *sorted;
	unsigned int c;
	int r = -ENOMEM;

	if (!order || !scratch)
		goto out;
	sorted = merge_order(k->ts_ns + start, order, order + n, n);
	apply_u32(k->utid + start, sorted, n, scratch);
	apply_u32(k->ref ? k->ref + start : NULL, sorted, n, scratch);
	apply_u32(k->tuple + start, sorted, n, scratch);
	for (c = 0; c < EVENT_VALUES; c++)
		apply_u64(k->val[c] ? k->val[c] + start : NULL, sorted, n, scratch);
	apply_u64(k->ts_ns + start, sorted, n, scratch);
	r = 0;
out:
	free(order);
	free(scratch);
	return r;
}

int block_order_rows(struct kind_rows *k, uint32_t start, uint32_t end)
{
	const uint64_t *ts = k->ts_ns;
	uint32_t i, lo, hi;
	unsigned int c;

	for (i = start + 1; i < end; i++) {
		if (ts[i - 1] <= ts[i])
			continue;
		for (lo = start, hi = i; lo < hi;) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (k->ts_ns[mid] <= k->ts_ns[i])
				lo = mid + 1;
			else
				hi = mid;
		}
		if (i - lo > ORDER_INSERT_MAX)
			return merge_rows(k, start, end - start);
		move_u32(k->utid, i, lo);
		move_u32(k->ref, i, lo);
		move_u32(k->tuple, i, lo);
		for (c = 0; c < EVENT_VALUES; c++)
			move_u64(k->val[c], i, lo);
		move_u64(k->ts_ns, i, lo);
	}
	return 0;
}
