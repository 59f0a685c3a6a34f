/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bin_noise: is the difference of two series larger than the variation from bin to bin?
 *
 * A series is one figure (CPU time, bytes, ...) in consecutive bins of equal length. Its noise is
 * estimated from neighbouring bins, s^2 = sum (x[i+1] - x[i])^2 / (2 (n - 1)) (von Neumann 1941),
 * so a workload's phases do not count as noise. Welch's t-test then compares two series, each with
 * 2 (n - 1) / 3 degrees of freedom: on pure noise, this estimate is worth two thirds of the usual
 * one.
 *
 * Threads: any. Nothing here fails.
 */
#pragma once

#include <stddef.h>

/* Variance of one bin. 0 with fewer than two bins. */
double bin_noise_variance(const double *bins, size_t cnt);

/*
 * One side of a comparison: a value, the variance of that value, and that estimate's degrees of
 * freedom.
 */
struct bin_estimate {
	double value, variance, df;
};
/* The sum of a series: its variance is cnt times that of a bin. */
struct bin_estimate bin_estimate_sum(const double *bins, size_t cnt);
/* The largest bin of a series: its variance is that of a bin. */
struct bin_estimate bin_estimate_max(const double *bins, size_t cnt);

/* Two-sided p of Student's t, 0 <= p <= 1. df > 0; t may be infinite. */
double student_p(double t, double df);

/* Two-sided p of "both are the same" (Welch). 1 when neither side has noise and they are equal. */
double bin_compare(const struct bin_estimate *a, const struct bin_estimate *b);

/*
 * A p of one of cnt comparisons, as the probability that noise alone makes any of them differ so
 * much is at most this (Bonferroni). Of comparisons of 60 figures in which nothing changed, 45 %
 * would show a change at a level of 1 % without it, and 1 % do so.
 */
double bin_corrected(double p, size_t cnt);
