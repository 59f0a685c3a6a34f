/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_order: sorts the rows of one kind and CPU by time; equal instants keep their order of
 * arrival.
 *
 * A program reads the clock before it reserves room in the ring, and an interrupt may come in
 * between, so a record can be a place or two late. Insertion sorts that at almost no cost; rows
 * that are far out of order, which nothing should produce, are merge-sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/encode/block_state.h"

#define ORDER_INSERT_MAX 256	/* places that insertion may move a row by */

/* Moves the element of bytes each at from to the lower place to. */
static inline void move(void *v, size_t bytes, uint32_t from, uint32_t to)
{
	char *at;
	uint64_t x;

	if (!v)
		return;
	at = (char *)v + to * bytes;
	memcpy(&x, (char *)v + from * bytes, bytes);
	memmove(at + bytes, at, (from - to) * bytes);
	memcpy(at, &x, bytes);
}

/* Puts n elements from start on into order. */
static void apply(void *v, size_t bytes, uint32_t start, const uint32_t *order, uint32_t n,
		  char *scratch)
{
	char *first;
	uint32_t i;

	if (!v)
		return;
	first = (char *)v + start * bytes;
	for (i = 0; i < n; i++)
		memcpy(scratch + i * bytes, first + order[i] * bytes, bytes);
	memcpy(first, scratch, n * bytes);
}

/*
 * The indexes of n instants in order of time; equal instants keep their order of arrival, which
 * qsort() does not promise. a and b have room for n; the result is one of them.
 */
static uint32_t *order_by_time(const uint64_t *ts, uint32_t *a, uint32_t *b, uint32_t n)
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
	void *scratch = malloc((size_t)n * sizeof(uint64_t));
	const uint32_t *sorted;
	unsigned int c;
	int r = -ENOMEM;

	if (!order || !scratch)
		goto out;
	sorted = order_by_time(k->ts_ns + start, order, order + n, n);
#define APPLY(array) apply(array, sizeof(*(array)), start, sorted, n, scratch)
	APPLY(k->utid);
	APPLY(k->ref);
	APPLY(k->tuple);
	for (c = 0; c < EVENT_VALUES; c++)
		APPLY(k->val[c]);
	APPLY(k->ts_ns);
#undef APPLY
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
#define MOVE(array) move(array, sizeof(*(array)), i, lo)
		MOVE(k->utid);
		MOVE(k->ref);
		MOVE(k->tuple);
		for (c = 0; c < EVENT_VALUES; c++)
			MOVE(k->val[c]);
		MOVE(k->ts_ns);
#undef MOVE
	}
	return 0;
}

int block_steps_add(struct block_steps *s, const struct wire_hdr *h, uint32_t row)
{
	if (array_reserve(&s->v, &s->cap, s->cnt + 1) < 0)
		return -ENOMEM;
	s->v[s->cnt] = (struct task_step){ h->ts_ns, h, row, (uint32_t)s->cnt };
	s->cnt++;
	return 0;
}

/* At the same instant: paths, dirtyings, the others. */
static int step_rank(unsigned int hook)
{
	return hook == WIRE_PATH ? 0 : hook == WIRE_DIRTY ? 1 : 2;
}

static int step_cmp(const void *a, const void *b)
{
	const struct task_step *x = a, *y = b;
	int rank;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	rank = step_rank(x->h->hook) - step_rank(y->h->hook);
	if (rank)
		return rank;
	return x->number < y->number ? -1 : 1;
}

void block_steps_order(struct block_steps *s)
{
	/* without any step there may be no array to sort */
	if (s->cnt > 1)
		qsort(s->v, s->cnt, sizeof(*s->v), step_cmp);
}
