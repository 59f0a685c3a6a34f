/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ranks: is one group of values larger than another, and by how much? Nothing is assumed of how the
 * values are distributed, and single outliers do not matter.
 *
 * The shift is the median of all differences b - a (Hodges and Lehmann 1963); its interval is that
 * of the Mann-Whitney test (Hollander and Wolfe, Nonparametric Statistical Methods, 4.3; Lehmann,
 * Nonparametrics, 2.5), and p is that test's, two-sided: of all ways to divide these values, ties
 * included, into groups of these sizes, exactly up to RANKS_EXACT_MAX values, and by the normal
 * distribution beyond.
 *
 * Threads: any. Errors: -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RANKS_EXACT_MAX 50
#define RANKS_LEVEL 0.90 /* of the interval */

struct ranks {
	double median[2];
	double shift, low, high;
	bool has_interval; /* false: there are too few values for one */
	double p, least_p; /* least_p: of groups of these sizes that do not overlap */
};

/* n > 0, m > 0; sorts a and b. */
int ranks_compare(double *a, size_t n, double *b, size_t m, struct ranks *ret);

/*
 * Changes each p to the least share of wrong ones at which it would be among those that are called
 * a change (Benjamini and Hochberg 1995).
 */
int ranks_correct(double *p, size_t cnt);
