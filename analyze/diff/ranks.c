/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* ranks: sums of ranks are counted twice, so that those of ties are whole numbers. */
#include "analyze/diff/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"

#define ROUNDING 1e-9

static double median_of(const double *v, size_t cnt)
{
	return cnt % 2 ? v[cnt / 2] : (v[cnt / 2 - 1] + v[cnt / 2]) / 2;
}

/*
 * ways[k * (most + 1) + s]: in how many ways k of the ranks add up to s. malloc'ed, or NULL.
 */
static double *count_ways(const unsigned int *twice, size_t cnt, size_t n, size_t most)
{
	double *ways = calloc((n + 1) * (most + 1), sizeof(*ways));

	if (!ways)
		return NULL;
	ways[0] = 1;
	for (size_t i = 0; i < cnt; i++)
		for (size_t k = n; k-- > 0;)
			for (size_t s = twice[i]; s <= most; s++)
				ways[(k + 1) * (most + 1) + s] +=
					ways[k * (most + 1) + s - twice[i]];
	return ways;
}

static double upper_tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

/* The share of all divisions whose sum of ranks is as far from the middle as sum. */
static int find_p(const unsigned int *twice, size_t cnt, size_t n, size_t sum, double *ret)
{
	double middle = (double)n * (double)(cnt + 1), far = 0, all = 0, variance = 0, *ways;
	size_t most = cnt * (cnt + 1);

	if (cnt > RANKS_EXACT_MAX) {
		for (size_t i = 0; i < cnt; i++)
			variance += ((double)twice[i] - (double)(cnt + 1)) *
				    ((double)twice[i] - (double)(cnt + 1));
		variance *= (double)n * (double)(cnt - n) / (double)cnt / (double)(cnt - 1);
		*ret = variance > 0 ? 2 * upper_tail(fabs((double)sum - middle) / sqrt(variance)) :
				      1;
		return 0;
	}
	ways = count_ways(twice, cnt, n, most);
	if (!ways)
		return -ENOMEM;
	for (size_t s = 0; s <= most; s++) {
		double w = ways[n * (most + 1) + s];

		all += w;
		if (fabs((double)s - middle) >= fabs((double)sum - middle) - ROUNDING)
			far += w;
	}
	free(ways);
	*ret = far / all;
	return 0;
}

/* Twice the rank of each value of both groups together, and the sum of those of a. */
static size_t rank_all(const double *a, size_t n, const double *b, size_t m, unsigned int *twice)
{
	size_t i = 0, k = 0, at = 0, sum = 0;

	while (i < n || k < m) {
		double v = i < n && (k == m || a[i] <= b[k]) ? a[i] : b[k];
		size_t from = at, of_a = i;

		for (; i < n && a[i] == v; i++)
			at++;
		of_a = i - of_a;
		for (; k < m && b[k] == v; k++)
			at++;
		/* ranks from + 1 to at: their mean, twice */
		for (size_t j = from; j < at; j++)
			twice[j] = (unsigned int)(from + at + 1);
		sum += of_a * (from + at + 1);
	}
	return sum;
}

/*
 * The place, from 1, of the difference that begins the interval: the number of differences that lie
 * below the true shift is beyond it in at most half of what the level leaves. 0: there is none.
 */
static int find_place(size_t n, size_t m, size_t *ret)
{
	double tail = (1 - RANKS_LEVEL) / 2, sum = 0, all = 0, *ways, z = 1.6448536269514722;
	double nm = (double)n * (double)m;
	size_t cnt = n + m, most = cnt * (cnt + 1), least = n * (n + 1);
	unsigned int twice[RANKS_EXACT_MAX];

	*ret = 0;
	if (cnt > RANKS_EXACT_MAX) {
		*ret = (size_t)fmax(0, floor(nm / 2 - z * sqrt(nm * (double)(cnt + 1) / 12)));
		return 0;
	}
	for (size_t i = 0; i < cnt; i++)
		twice[i] = 2 * (unsigned int)(i + 1);
	ways = count_ways(twice, cnt, n, most);
	if (!ways)
		return -ENOMEM;
	for (size_t s = 0; s <= most; s++)
		all += ways[n * (most + 1) + s];
	for (size_t u = 0; u <= n * m; u++) {
		sum += ways[n * (most + 1) + least + 2 * u] / all;
		if (sum > tail + ROUNDING)
			break;
		*ret = u + 1;
	}
	free(ways);
	return 0;
}

int ranks_compare(double *a, size_t n, double *b, size_t m, struct ranks *ret)
{
	double *d = malloc(n * m * sizeof(*d)), ways = 1;
	unsigned int *twice = malloc((n + m) * sizeof(*twice));
	size_t place = 0;
	int r = d && twice ? 0 : -ENOMEM;

	if (r)
		goto out;
	qsort(a, n, sizeof(*a), compare_double);
	qsort(b, m, sizeof(*b), compare_double);
	*ret = (struct ranks){ .median = { median_of(a, n), median_of(b, m) } };
	for (size_t i = 0; i < n * m; i++)
		d[i] = b[i % m] - a[i / m];
	qsort(d, n * m, sizeof(*d), compare_double);
	ret->shift = median_of(d, n * m);
	r = find_p(twice, n + m, n, rank_all(a, n, b, m, twice), &ret->p);
	if (!r)
		r = find_place(n, m, &place);
	ret->has_interval = place > 0;
	if (place) {
		ret->low = d[place - 1];
		ret->high = d[n * m - place];
	}
	for (size_t i = 1; i <= n; i++)
		ways *= (double)(m + i) / (double)i;
	ret->least_p = fmin(1, 2 / ways);
out:
	free(twice);
	free(d);
	return r;
}

struct place {
	double p;
	size_t at;
};

int ranks_correct(double *p, size_t cnt)
{
	struct place *order = malloc((cnt + 1) * sizeof(*order));
	double least = 1;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		order[i] = (struct place){ p[i], i };
	qsort(order, cnt, sizeof(*order), compare_double);
	for (size_t i = cnt; i-- > 0;) {
		least = fmin(least, order[i].p * (double)cnt / (double)(i + 1));
		p[order[i].at] = least;
	}
	free(order);
	return 0;
}
