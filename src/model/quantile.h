/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * quantile: order statistics of a stream of non-negative integers (latencies in ns).
 *
 * Exact for at most QUANTILE_EXACT values. More values are counted in buckets whose width is at
 * most 1/128 of their value, and a quantile is the middle of its bucket: an error of at most 0.4 %.
 * Count, sum, minimum and maximum stay exact.
 *
 * Quantiles use the nearest rank: quantile p is the smallest value v for which at least p percent
 * of all values are <= v. A struct of zeros is empty. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define QUANTILE_EXACT 65536

enum quantile_form {
	QUANTILE_VALUES = 0,	/* exact: every value */
	QUANTILE_SPARSE,	/* (bucket, count) pairs, by bucket */
	QUANTILE_DENSE,		/* a count per bucket */
	QUANTILE_TOTALS,	/* only cnt, sum, min and max; set this form while empty */
};

struct quantile {
	uint64_t cnt, sum, min, max;
	uint64_t *values;	/* layout depends on form */
	size_t cap;		/* capacity of values, in words */
	size_t bucket_cnt;	/* number of buckets with a count */
	uint8_t form;		/* enum quantile_form */
	bool sorted;
};

int quantile_add(struct quantile *q, uint64_t value);	/* 0 or -ENOMEM */
/* pct: 0 .. 100. Returns 0 if empty. */
uint64_t quantile_get(struct quantile *q, double pct);
/* Adds to ret[n] the exact number of values with n significant bits: 0, 1, 2 to 3, 4 to 7, ... */
#define QUANTILE_POWERS 65
void quantile_count_powers(const struct quantile *q, uint64_t *ret);
/*
 * quantile_put() appends count, sum, minimum, maximum and bucket counts; if memory is exhausted, it
 * sets out->failed. quantile_merge() adds what quantile_put() appended; quantiles then come from
 * buckets. 0, -ENOMEM or -EBADMSG.
 */
void quantile_put(struct quantile *q, struct buf *out);
int quantile_merge(struct quantile *q, struct packed_in *in);
void quantile_reset(struct quantile *q); /* removes all values; keeps the memory of exact values */
void quantile_done(struct quantile *q);
