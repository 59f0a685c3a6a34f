/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A program reads the clock before it reserves room in the ring, and an interrupt may come in
 * between, so a record can be a place or two late. Insertion sorts such rows at almost no cost.
 * Rows far out of order (those of the heap, which arrive chunk by chunk) are sorted by radix.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/encode/block_state.h"

#define ORDER_INSERT_MAX 256	/* places that insertion may move a row by */
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

/* Moves the element at from (size: bytes) to the lower place to. */
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

/* Reorders n elements from start on. */
static void apply(void *v, size_t bytes, uint32_t start, const uint64_t *order, uint32_t n,
		  char *scratch)
{
	char *first;

	if (!v)
		return;
	first = (char *)v + start * bytes;
	for (uint32_t i = 0; i < n; i++)
		memcpy(scratch + i * bytes, first + (uint32_t)order[i] * bytes, bytes);
	memcpy(first, scratch, n * bytes);
}

/* Sorts by one digit. The sort is stable. */
static void sort_digit(uint64_t *to, const uint64_t *from, uint32_t n, unsigned int shift)
{
	uint32_t end[DIGITS + 1] = { 0 }, i;

	for (i = 0; i < n; i++)
		end[(from[i] >> shift) % DIGITS + 1]++;
	for (i = 1; i < DIGITS; i++)
		end[i] += end[i - 1];
	for (i = 0; i < n; i++)
		to[end[(from[i] >> shift) % DIGITS]++] = from[i];
}

/*
 * Sorts the places 0 .. n - 1 by time. The lower half of each result in *ret is a place, the upper
 * half the time since the first row, by whose digits it is sorted. v and *other are the halves of
 * one allocation.
 */
static int order_places(const uint64_t *ts, uint32_t n, uint64_t *v, uint64_t **ret,
			uint64_t **ret_other)
{
	uint64_t first = UINT64_MAX, last = 0, *from = v, *to = v + n, *swap;
	size_t *order;
	uint32_t i;

	for (i = 0; i < n; i++) {
		first = ts[i] < first ? ts[i] : first;
		last = ts[i] > last ? ts[i] : last;
	}
	*ret = from;
	*ret_other = to;
	if (last - first > UINT32_MAX) {	/* no slice is so long */
		order = array_order(ts, n, sizeof(*ts));
		for (i = 0; order && i < n; i++)
			from[i] = order[i];
		free(order);
		return order ? 0 : -ENOMEM;
	}
	for (i = 0; i < n; i++)
		from[i] = (ts[i] - first) << 32 | i;
	for (unsigned int shift = 32; shift < 64; shift += DIGIT_BITS) {
		sort_digit(to, from, n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	*ret = from;
	*ret_other = to;
	return 0;
}

static int sort_rows(struct kind_rows *k, uint32_t start, uint32_t n)
{
	uint64_t *places = malloc(2 * (size_t)n * sizeof(*places)), *sorted, *other;
	char *scratch;
	int r = places ? order_places(k->ts_ns + start, n, places, &sorted, &other) : -ENOMEM;

	if (r < 0)
		goto out;
	scratch = (char *)other;
#define APPLY(array) apply(array, sizeof(*(array)), start, sorted, n, scratch)
	APPLY(k->utid);
	APPLY(k->ref);
	APPLY(k->tuple);
	for (unsigned int c = 0; c < EVENT_VALUES; c++)
		APPLY(k->val[c]);
	APPLY(k->ts_ns);
#undef APPLY
out:
	free(places);
	return r;
}

int block_order_rows(struct kind_rows *k, uint32_t start, uint32_t end)
{
	const uint64_t *ts = k->ts_ns;
	uint32_t i, lo;

	for (i = start + 1; i < end; i++) {
		if (ts[i - 1] <= ts[i])
			continue;
		lo = start + (uint32_t)lower_bound_plain(ts + start, i - start, ts[i] + 1);
		if (i - lo > ORDER_INSERT_MAX)
			return sort_rows(k, start, end - start);
#define MOVE(array) move(array, sizeof(*(array)), i, lo)
		MOVE(k->utid);
		MOVE(k->ref);
		MOVE(k->tuple);
		for (unsigned int c = 0; c < EVENT_VALUES; c++)
			MOVE(k->val[c]);
		MOVE(k->ts_ns);
#undef MOVE
	}
	return 0;
}

int block_steps_add(struct block_steps *s, const struct wire_hdr *h, uint32_t row)
{
	struct task_step step = { h->ts_ns, h, row, (uint32_t)s->cnt };

	return array_add(&s->v, &s->cap, &s->cnt, step);
}

/* Order of steps at the same instant: paths, then dirtyings, then the others. */
static int step_rank(unsigned int hook)
{
	return hook == WIRE_PATH ? 0 : hook == WIRE_DIRTY ? 1 : 2;
}

static int step_cmp(const void *a, const void *b)
{
	const struct task_step *x = a, *y = b;

	return compare_numbers(x->ts_ns, y->ts_ns) ?:
	       step_rank(x->h->hook) - step_rank(y->h->hook) ?:
	       compare_numbers(x->number, y->number);
}

void block_steps_order(struct block_steps *s)
{
	/* without any step the array may be NULL */
	if (s->cnt > 1)
		qsort(s->v, s->cnt, sizeof(*s->v), step_cmp);
}
