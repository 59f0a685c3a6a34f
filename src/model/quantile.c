/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * quantile: each value below 128 has its own bucket. Above, each power of two is divided into 128
 * equal buckets: bucket = 128 * (octave + 1) + the seven bits after the leading one.
 */
#include "model/quantile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SUB_BITS 7
#define SUB_CNT (1u << SUB_BITS)
#define SPARSE_MAX 512	/* pairs; above this, an array of counts is faster */
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

/* ---- counts by bucket ---- */

static int make_dense(struct quantile *q)
{
	uint64_t *counts = calloc(BUCKET_CNT, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; q->values && i < q->bucket_cnt; i++)
		counts[q->values[2 * i]] = q->values[2 * i + 1];
	free(q->values);
	q->values = counts;
	q->cap = BUCKET_CNT;
	q->form = QUANTILE_DENSE;
	return 0;
}

static int count(struct quantile *q, uint64_t bucket, uint64_t cnt)
{
	uint64_t *pair;
	size_t i;

	if (q->form == QUANTILE_SPARSE && q->bucket_cnt == SPARSE_MAX && make_dense(q) < 0)
		return -ENOMEM;
	if (q->form == QUANTILE_DENSE) {
		q->bucket_cnt += !q->values[bucket];
		q->values[bucket] += cnt;
		return 0;
	}
	/* merged buckets come in ascending order, mostly into an empty list */
	i = q->bucket_cnt;
	if (i && q->values && q->values[2 * (i - 1)] >= bucket)
		i = lower_bound_field(q->values, i, 2 * sizeof(*pair), 0, sizeof(*pair), bucket);
	if (array_reserve(&q->values, &q->cap, 2 * (q->bucket_cnt + 1)) < 0 || !q->values)
		return -ENOMEM;
	pair = &q->values[2 * i];
	if (i == q->bucket_cnt || pair[0] != bucket) {
		memmove(pair + 2, pair, (q->bucket_cnt++ - i) * 2 * sizeof(*pair));
		pair[0] = bucket;
		pair[1] = 0;
	}
	pair[1] += cnt;
	return 0;
}

/* Converts the values to counts, in the same memory. */
static int make_buckets(struct quantile *q)
{
	size_t first = bucket_of(q->min) / 64, last = bucket_of(q->max) / 64, n = 0, i;
	uint64_t used[BUCKET_CNT / 64];	/* bits of the used buckets, from word first to last */
	uint32_t counts[BUCKET_CNT];	/* of the used buckets */

	if (q->form != QUANTILE_VALUES)
		return 0;
	memset(&used[first], 0, (last - first + 1) * sizeof(*used));
	for (i = 0; i < q->cnt; i++) {
		unsigned int bucket = bucket_of(q->values[i]);
		uint64_t bit = 1ull << bucket % 64;

		if (!(used[bucket / 64] & bit)) {
			used[bucket / 64] |= bit;
			counts[bucket] = 0;
			n++;
		}
		counts[bucket]++;
	}
	if (array_reserve(&q->values, &q->cap, 2 * n) < 0)
		return -ENOMEM;
	q->form = QUANTILE_SPARSE;
	q->bucket_cnt = 0;
	for (i = first; i <= last; i++) {
		for (; used[i]; used[i] &= used[i] - 1) {
			size_t bucket = i * 64 + (size_t)__builtin_ctzll(used[i]);

			q->values[2 * q->bucket_cnt] = bucket;
			q->values[2 * q->bucket_cnt++ + 1] = counts[bucket];
		}
	}
	return n > SPARSE_MAX ? make_dense(q) : 0;
}

/*
 * Finds the next bucket with a count; the caller sets *i to 0 before the first call. False: no
 * more.
 */
static bool next_bucket(const struct quantile *q, size_t *i, uint64_t *ret_bucket,
			uint64_t *ret_cnt)
{
	if (q->form == QUANTILE_DENSE) {
		while (*i < BUCKET_CNT && !q->values[*i])
			++*i;
		if (*i == BUCKET_CNT)
			return false;
		*ret_bucket = *i;
		*ret_cnt = q->values[(*i)++];
		return true;
	}
	if (*i == q->bucket_cnt)
		return false;
	*ret_bucket = q->values[2 * *i];
	*ret_cnt = q->values[2 * (*i)++ + 1];
	return true;
}

static unsigned int bits_of(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

void quantile_count_powers(const struct quantile *q, uint64_t *ret)
{
	uint64_t bucket, cnt;

	for (size_t i = 0; q->form == QUANTILE_VALUES && i < q->cnt; i++)
		ret[bits_of(q->values[i])]++;
	for (size_t i = 0; q->form != QUANTILE_VALUES && next_bucket(q, &i, &bucket, &cnt);)
		ret[bits_of(bucket_mid((unsigned int)bucket))] += cnt;
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
	/* QUANTILE_EXACT values stay exact; one more value converts them to counts in buckets */
	if (q->form == QUANTILE_VALUES && q->cnt == QUANTILE_EXACT &&
	    (make_buckets(q) < 0 || (q->form == QUANTILE_SPARSE && make_dense(q) < 0)))
		return -ENOMEM;
	if (q->form == QUANTILE_VALUES) {
		if (array_reserve(&q->values, &q->cap, q->cnt + 1) < 0)
			return -ENOMEM;
		q->values[q->cnt] = value;
		q->sorted = false;
	} else if (q->form != QUANTILE_TOTALS && count(q, bucket_of(value), 1) < 0) {
		return -ENOMEM;
	}
	add_total(q, 1, value, value, value);
	return 0;
}

/* ---- writing and merging ---- */

void quantile_put(struct quantile *q, struct buf *out)
{
	uint64_t last = 0, bucket, cnt;
	size_t i = 0;

	packed_put(out, q->cnt);
	if (!q->cnt)
		return;
	packed_put(out, q->sum);
	packed_put(out, q->min);
	packed_put(out, q->max - q->min);
	if (make_buckets(q) < 0) {
		out->failed = true;
		return;
	}
	packed_put(out, q->bucket_cnt);
	for (; next_bucket(q, &i, &bucket, &cnt); last = bucket) {
		packed_put(out, bucket - last);
		packed_put(out, cnt);
	}
}

int quantile_merge(struct quantile *q, struct packed_in *in)
{
	uint64_t cnt = packed_get(in), sum, min, max, bucket = 0;
	/* a local copy stays in registers, because no other code can change it */
	struct packed_in at;
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
	ret = make_buckets(q);
	for (at = *in; n && !ret; n--) {
		uint64_t more;

		bucket += packed_get(&at);
		more = packed_get(&at);
		if (at.bad || bucket >= BUCKET_CNT)
			return -EBADMSG;
		ret = q->form == QUANTILE_TOTALS ? 0 : count(q, bucket, more);
	}
	*in = at;
	if (!ret)
		add_total(q, cnt, sum, min, max);
	return ret;
}

/* ---- queries ---- */

uint64_t quantile_get(struct quantile *q, double pct)
{
	uint64_t rank, seen = 0, bucket = 0, cnt, mid;
	size_t i = 0;

	if (!q->cnt)
		return 0;
	if (!(pct > 0))
		return q->min;
	if (pct >= 100)
		return q->max;
	/* ceil; subtracts 1e-9 because rounding must not turn 99 % of 100 values into rank 100 */
	rank = (uint64_t)ceil((double)q->cnt * pct / 100.0 - 1e-9);
	if (rank < 1)
		rank = 1;
	if (q->form == QUANTILE_VALUES) {
		if (!q->sorted)
			qsort(q->values, q->cnt, sizeof(*q->values), compare_u64);
		q->sorted = true;
		return q->values[rank - 1];
	}
	while (seen < rank && next_bucket(q, &i, &bucket, &cnt))
		seen += cnt;
	mid = bucket_mid((unsigned int)bucket);
	return mid < q->min ? q->min : mid > q->max ? q->max : mid;
}

void quantile_reset(struct quantile *q)
{
	if (q->form == QUANTILE_DENSE)
		quantile_done(q);
	*q = (struct quantile){ .values = q->values, .cap = q->cap };
}

void quantile_done(struct quantile *q)
{
	free(q->values);
	memset(q, 0, sizeof(*q));
}
