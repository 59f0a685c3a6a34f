/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Buckets: values below 128 have one each; above, each power of two is cut into 128 equal
 * parts, so that bucket = 128 * (octave + 1) + the seven bits below the leading one.
 */
#include "analyze/fold/quantile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SUB_BITS 7
#define SUB_CNT (1u << SUB_BITS)
#define SPARSE_MAX 512	/* pairs: beyond that all buckets take as little */
#define BUCKET_CNT ((64 - SUB_BITS + 1) * SUB_CNT)

static unsigned int bucket_of(uint64_t v)
{
	unsigned int shift;

	if (v < SUB_CNT)
		return (unsigned int)v;
	shift = 63 - (unsigned int)__builtin_clzll(v) - SUB_BITS;
	return (shift + 1) * SUB_CNT + (unsigned int)((v >> shift) & (SUB_CNT - 1));
}

static uint64_t bucket_mid(unsigned int b)
{
	unsigned int shift;

	if (b < SUB_CNT)
		return b;
	shift = b / SUB_CNT - 1;
	return ((uint64_t)(SUB_CNT + b % SUB_CNT) << shift) + (((uint64_t)1 << shift) - 1) / 2;
}

static int compare_u64(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/* ---- forms ---- */

static int make_dense(struct quantile *q)
{
	uint64_t *counts = calloc(BUCKET_CNT, sizeof(*counts));
	size_t i;

	if (!counts)
		return -ENOMEM;
	if (q->form == QUANTILE_SPARSE)
		for (i = 0; i < q->pairs; i++)
			counts[q->values[2 * i]] = q->values[2 * i + 1];
	else
		for (i = 0; i < q->cnt; i++)
			counts[bucket_of(q->values[i])]++;
	free(q->values);
	q->values = counts;
	q->cap = q->pairs = 0;
	q->form = QUANTILE_DENSE;
	return 0;
}

static void sort_values(struct quantile *q)
{
	if (!q->sorted && q->cnt)
		qsort(q->values, q->cnt, sizeof(*q->values), compare_u64);
	q->sorted = true;
}

/* From values to pairs; many become dense. */
static int make_sparse(struct quantile *q)
{
	uint64_t *pairs;
	size_t i, n = 0;

	if (q->cnt > SPARSE_MAX)
		return make_dense(q);
	sort_values(q);
	pairs = malloc((q->cnt * 2 + 2) * sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	for (i = 0; i < q->cnt; i++) {
		unsigned int b = bucket_of(q->values[i]);

		if (!n || pairs[2 * n - 2] != b) {
			pairs[2 * n] = b;
			pairs[2 * n++ + 1] = 0;
		}
		pairs[2 * n - 1]++;
	}
	free(q->values);
	q->values = pairs;
	q->cap = q->cnt * 2 + 2;
	q->pairs = n;
	q->form = QUANTILE_SPARSE;
	return 0;
}

static void add_total(struct quantile *q, uint64_t cnt, uint64_t sum, uint64_t min, uint64_t max)
{
	if (!q->cnt || min < q->min)
		q->min = min;
	if (!q->cnt || max > q->max)
		q->max = max;
	q->sum += sum;
	q->cnt += cnt;
}

int quantile_add(struct quantile *q, uint64_t value)
{
	if (q->form == QUANTILE_SPARSE || (q->form == QUANTILE_VALUES && q->cnt == QUANTILE_EXACT))
		if (make_dense(q) < 0)
			return -ENOMEM;
	if (q->form == QUANTILE_VALUES) {
		if (array_reserve(&q->values, &q->cap, q->cnt + 1) < 0)
			return -ENOMEM;
		q->values[q->cnt] = value;
		q->sorted = false;
	} else {
		q->values[bucket_of(value)]++;
	}
	add_total(q, 1, value, value, value);
	return 0;
}

/* ---- writing and merging ---- */

void quantile_put(struct quantile *q, struct buf *out)
{
	uint64_t last = 0;
	size_t i, n = 0;

	packed_put(out, q->cnt);
	if (!q->cnt)
		return;
	packed_put(out, q->sum);
	packed_put(out, q->min);
	packed_put(out, q->max - q->min);
	if (q->form == QUANTILE_VALUES && make_sparse(q) < 0) {
		out->failed = true;
		return;
	}
	if (q->form == QUANTILE_SPARSE) {
		packed_put(out, q->pairs);
		for (i = 0; i < q->pairs; last = q->values[2 * i++]) {
			packed_put(out, q->values[2 * i] - last);
			packed_put(out, q->values[2 * i + 1]);
		}
		return;
	}
	for (i = 0; i < BUCKET_CNT; i++)
		n += q->values[i] != 0;
	packed_put(out, n);
	for (i = 0; i < BUCKET_CNT; i++) {
		if (!q->values[i])
			continue;
		packed_put(out, i - last);
		packed_put(out, q->values[i]);
		last = i;
	}
}

/* One more pair each, in order of bucket; false: the bytes are none. */
static bool next_pair(struct packed_in *in, uint64_t *bucket, uint64_t *cnt)
{
	*bucket += packed_get(in);
	*cnt = packed_get(in);
	return !in->bad && *bucket < BUCKET_CNT;
}

static int merge_dense(struct quantile *q, struct packed_in *in, size_t n)
{
	uint64_t bucket = 0, cnt;

	for (; n; n--) {
		if (!next_pair(in, &bucket, &cnt))
			return -EBADMSG;
		q->values[bucket] += cnt;
	}
	return 0;
}

static int merge_sparse(struct quantile *q, struct packed_in *in, size_t n)
{
	uint64_t *out = malloc((q->pairs + n) * 2 * sizeof(*out)), bucket = 0, cnt;
	size_t at = 0, k = 0;

	if (!out)
		return -ENOMEM;
	for (; n; n--) {
		if (!next_pair(in, &bucket, &cnt)) {
			free(out);
			return -EBADMSG;
		}
		for (; at < q->pairs && q->values[2 * at] < bucket; at++, k++)
			memcpy(&out[2 * k], &q->values[2 * at], 2 * sizeof(*out));
		out[2 * k] = bucket;
		out[2 * k + 1] = cnt;
		if (at < q->pairs && q->values[2 * at] == bucket)
			out[2 * k + 1] += q->values[2 * at++ + 1];
		k++;
	}
	for (; at < q->pairs; at++, k++)
		memcpy(&out[2 * k], &q->values[2 * at], 2 * sizeof(*out));
	free(q->values);
	q->values = out;
	q->pairs = k;
	q->cap = 2 * k;
	return 0;
}

int quantile_merge(struct quantile *q, struct packed_in *in)
{
	uint64_t cnt = packed_get(in), sum, min, max;
	size_t n;
	int ret;

	if (!cnt)
		return in->bad ? -EBADMSG : 0;
	sum = packed_get(in);
	min = packed_get(in);
	max = min + packed_get(in);
	n = packed_get_cnt(in);
	if (in->bad || !n || n > BUCKET_CNT)
		return -EBADMSG;
	ret = q->form == QUANTILE_VALUES ? make_sparse(q) : 0;
	if (!ret && q->form == QUANTILE_SPARSE && q->pairs + n > SPARSE_MAX)
		ret = make_dense(q);
	if (!ret)
		ret = q->form == QUANTILE_DENSE ? merge_dense(q, in, n) : merge_sparse(q, in, n);
	if (!ret)
		add_total(q, cnt, sum, min, max);
	return ret;
}

/* ---- asking ---- */

uint64_t quantile_get(struct quantile *q, double pct)
{
	uint64_t rank, seen = 0, mid;
	unsigned int b = 0;
	size_t i;

	if (!q->cnt)
		return 0;
	if (!(pct > 0))
		return q->min;
	if (pct >= 100)
		return q->max;
	/* ceil, but 99 % of 100 values must not become rank 100 through rounding of the product */
	rank = (uint64_t)ceil((double)q->cnt * pct / 100.0 - 1e-9);
	if (rank < 1)
		rank = 1;
	if (q->form == QUANTILE_VALUES) {
		sort_values(q);
		return q->values[rank - 1];
	}
	if (q->form == QUANTILE_DENSE) {
		for (b = 0; b < BUCKET_CNT - 1; b++) {
			seen += q->values[b];
			if (seen >= rank)
				break;
		}
	} else {
		for (i = 0; i < q->pairs && seen < rank; i++) {
			seen += q->values[2 * i + 1];
			b = (unsigned int)q->values[2 * i];
		}
	}
	mid = bucket_mid(b);
	return mid < q->min ? q->min : mid > q->max ? q->max : mid;
}

void quantile_reset(struct quantile *q)
{
	uint64_t *values = q->values;
	size_t cap = q->cap;

	if (q->form == QUANTILE_DENSE) {
		quantile_done(q);
		return;
	}
	memset(q, 0, sizeof(*q));
	q->values = values;
	q->cap = cap;
}

void quantile_done(struct quantile *q)
{
	free(q->values);
	memset(q, 0, sizeof(*q));
}
