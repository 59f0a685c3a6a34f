/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_sums: rows are stored in order of their first use, and found by a hash map. A removed row
 * keeps the memory of its sum for reuse.
 */
#include "analyze/fold/fold_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/quantile.h"
#include "base/array.h"

/* ---- one sum: quantiles, counts, other members ---- */

/* Empties a sum. Its memory may be kept for reuse. */
static void reset_sum(const struct fold_sums_def *def, void *sum)
{
	struct quantile *q = sum;
	unsigned int i;

	for (i = 0; i < def->quantile_cnt; i++)
		quantile_reset(&q[i]);
	memset(&q[i], 0, def->bytes - i * sizeof(*q));
}

void fold_sum_done(const struct fold_sums_def *def, void *sum)
{
	struct quantile *q = sum;

	for (unsigned int i = 0; i < def->quantile_cnt; i++)
		quantile_done(&q[i]);
}

void fold_sum_put(const struct fold_sums_def *def, void *sum, struct buf *out)
{
	struct quantile *q = sum;
	const uint64_t *counts = (const uint64_t *)&q[def->quantile_cnt];

	for (unsigned int i = 0; i < def->count_cnt; i++)
		packed_put(out, counts[i]);
	for (unsigned int i = 0; i < def->quantile_cnt; i++)
		quantile_put(&q[i], out);
}

int fold_sum_merge(const struct fold_sums_def *def, void *sum, struct packed_in *in)
{
	struct quantile *q = sum;
	uint64_t *counts = (uint64_t *)&q[def->quantile_cnt], more[FOLD_SUMS_COUNTS];
	int ret = 0;

	for (unsigned int i = 0; i < def->count_cnt; i++) {
		more[i] = packed_get(in);
		counts[i] += more[i];
	}
	if (def->merged)
		def->merged(sum, more);
	for (unsigned int i = 0; i < def->quantile_cnt && !ret; i++) {
		if (def->totals_only && !q[i].cnt)
			q[i].form = QUANTILE_TOTALS;
		ret = quantile_merge(&q[i], in);
	}
	return in->bad ? -EBADMSG : ret;
}

/* ---- names ---- */

static void tasks_of_thread(const struct dense_ids *d, const struct fold_key *key,
			    struct task_set *ret)
{
	ret->cnt = 2;
	ret->members[0] = (uint32_t)key->a;
	ret->members[1] = d->thread_cnt + dense_process_of(d, (uint32_t)key->a);
}

const struct fold_renames_def fold_thread_renames = {
	.at = FOLD_KEY_RENAMES, .bits = 64 - FOLD_KEY_RENAMES, .tasks = tasks_of_thread,
};

/* ---- adding ---- */

int fold_sum_at(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key, void **ret)
{
	uint64_t end;

	if (ts_ns < t->from_ns || ts_ns >= t->to_ns)
		return 0;
	return t->sum(t, ts_ns, key, ret, &end);
}

int fold_sum_add_time(struct fold_target *t, const struct fold_key *key, size_t offset,
		      uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = from_ns > t->from_ns ? from_ns : t->from_ns, end;
	uint64_t to = to_ns < t->to_ns ? to_ns : t->to_ns;
	void *sum;
	int ret = 0;

	for (; from < to && ret >= 0; from = end) {
		ret = t->sum(t, from, key, &sum, &end);
		end = end < to ? end : to;
		if (ret > 0)
			*(uint64_t *)((char *)sum + offset) += end - from;
	}
	return ret < 0 ? ret : 0;
}

/* ---- the table ---- */

void fold_sums_init(struct fold_sums *s, const struct fold_sums_def *def)
{
	*s = (struct fold_sums){ .def = def };
	s->row_bytes = sizeof(struct fold_row) + ((def->bytes + 7) & ~(size_t)7);
}

void fold_sums_done(struct fold_sums *s)
{
	for (size_t i = 0; i < s->used; i++)
		fold_sum_done(s->def, fold_sums_at(s, i)->sum);
	free(s->rows);
	free(s->order);
	hash_map_done(&s->map);
	*s = (struct fold_sums){ 0 };
}

void *fold_sums_find(struct fold_sums *s, uint64_t a, uint64_t b)
{
	uint32_t *recent = &s->recent[(a * 37 + b) % FOLD_SUMS_RECENT], i = *recent;
	struct fold_row *r;
	int ret;

	if (i < s->map.cnt) {
		r = fold_sums_at(s, i);
		if (r->a == a && r->b == b) {
			s->last = i;
			return r->sum;
		}
	}
	ret = hash_map_intern(&s->map, a, b, &i);
	if (ret < 0)
		return NULL;
	if (i >= s->cap && array_grow(&s->rows, &s->cap, i + 1, s->row_bytes) < 0) {
		/* the map has an entry without a row: clear the map, to prevent lookups */
		hash_map_clear(&s->map);
		return NULL;
	}
	r = fold_sums_at(s, i);
	if (ret) {
		if (i < s->used)
			reset_sum(s->def, r->sum);
		else
			s->used = i + 1;
		r->a = a;
		r->b = b;
	}
	s->last = *recent = i;
	return r->sum;
}

void fold_sums_clear(struct fold_sums *s)
{
	hash_map_clear(&s->map);
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct fold_row *const *a = pa, *const *b = pb;

	return compare_numbers((*a)->a, (*b)->a) ?: compare_numbers((*a)->b, (*b)->b);
}

static void swap_rows(struct fold_sums *s, size_t i, size_t k)
{
	uint64_t *x = (uint64_t *)fold_sums_at(s, i), *y = (uint64_t *)fold_sums_at(s, k), v;

	for (size_t n = 0; n < s->row_bytes / sizeof(v); n++) {
		v = x[n];
		x[n] = y[n];
		y[n] = v;
	}
}

/* Remaining rows may move: they swap memory with dropped rows. */
int fold_sums_drop(struct fold_sums *s, uint64_t below_a)
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

int fold_sums_order(struct fold_sums *s, uint64_t below_a, bool by_number)
{
	size_t i;

	free(s->order);
	s->order = malloc((s->map.cnt + 1) * sizeof(*s->order));
	s->ready = s->given = 0;
	if (!s->order)
		return -ENOMEM;
	for (i = 0; i < s->map.cnt; i++)
		if (fold_sums_at(s, i)->a < below_a)
			s->order[s->ready++] = fold_sums_at(s, i);
	/* rows often are in order already */
	for (i = 1; by_number && i < s->ready; i++)
		if (compare_rows(&s->order[i - 1], &s->order[i]) > 0) {
			qsort(s->order, s->ready, sizeof(*s->order), compare_rows);
			break;
		}
	return 0;
}

int fold_sums_each(struct fold_sums *s, bool by_number, fold_sums_give give, void *ctx)
{
	struct fold_row *r;
	int ret = fold_sums_order(s, UINT64_MAX, by_number);

	while (ret >= 0 && (r = fold_sums_next(s)))
		ret = give(ctx, r);
	return ret < 0 ? ret : 0;
}
