/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Rows lie in the order in which they came; a map finds them. Rows are kept for the memory they
 * own.
 */
#include "analyze/fold/fold_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void fold_sums_init(struct fold_sums *s, const struct fold_sums_def *def)
{
	*s = (struct fold_sums){ .def = def };
	s->row_bytes = sizeof(struct fold_row) + ((def->bytes + 7) & ~(size_t)7);
}

void fold_sums_done(struct fold_sums *s)
{
	size_t i;

	for (i = 0; i < s->used && s->def->done; i++)
		s->def->done(fold_sums_at(s, i)->sum);
	free(s->rows);
	hash_map_done(&s->map);
	*s = (struct fold_sums){ 0 };
}

void *fold_sums_find(struct fold_sums *s, uint64_t a, uint64_t b)
{
	struct fold_row *r;
	uint32_t i;
	int ret = hash_map_intern(&s->map, a, b, &i);

	if (ret < 0)
		return NULL;
	if (i >= s->cap && array_grow(&s->rows, &s->cap, i + 1, s->row_bytes) < 0) {
		/* the map knows a row that does not exist: nothing may be looked up any more */
		hash_map_clear(&s->map);
		return NULL;
	}
	r = fold_sums_at(s, i);
	if (ret) {
		if (i < s->used)
			s->def->reset(r->sum);
		else
			s->used = i + 1;
		r->a = a;
		r->b = b;
	}
	s->last = i;
	return r->sum;
}

void fold_sums_clear(struct fold_sums *s)
{
	hash_map_clear(&s->map);
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct fold_row *const *a = pa, *const *b = pb;

	if ((*a)->a != (*b)->a)
		return (*a)->a < (*b)->a ? -1 : 1;
	return (*a)->b < (*b)->b ? -1 : (*a)->b > (*b)->b;
}

static void swap_rows(struct fold_sums *s, size_t i, size_t k)
{
	uint64_t *x = (uint64_t *)fold_sums_at(s, i), *y = (uint64_t *)fold_sums_at(s, k), v;
	size_t n;

	for (n = 0; n < s->row_bytes / sizeof(v); n++) {
		v = x[n];
		x[n] = y[n];
		y[n] = v;
	}
}

/* Leaves the rows that are not below, in their order. Every row keeps memory of some row. */
static int keep_rest(struct fold_sums *s, uint64_t below_a)
{
	size_t cnt = s->map.cnt, kept = 0, i;
	uint32_t number;

	hash_map_clear(&s->map);
	for (i = 0; i < cnt; i++) {
		if (fold_sums_at(s, i)->a < below_a)
			continue;
		if (i != kept)
			swap_rows(s, i, kept);
		if (hash_map_intern(&s->map, fold_sums_at(s, kept)->a, fold_sums_at(s, kept)->b,
				    &number) < 0)
			return -ENOMEM;
		kept++;
	}
	s->last = 0;
	return 0;
}

int fold_sums_take(struct fold_sums *s, uint64_t below_a, bool by_number,
		   int (*give)(void *ctx, struct fold_row *r), void *ctx)
{
	size_t cnt = s->map.cnt, ready = 0, i;
	struct fold_row **order;
	int ret = 0;

	if (!cnt)
		return 0;
	order = malloc(cnt * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		if (fold_sums_at(s, i)->a < below_a)
			order[ready++] = fold_sums_at(s, i);
	if (by_number)
		qsort(order, ready, sizeof(*order), compare_rows);
	for (i = 0; i < ready && ret >= 0; i++)
		ret = give(ctx, order[i]);
	free(order);
	if (ret < 0)
		return ret;
	if (ready == cnt)
		hash_map_clear(&s->map);
	else if (ready)
		return keep_rest(s, below_a);
	return 0;
}
