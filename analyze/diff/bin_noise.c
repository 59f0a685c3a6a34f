/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The t distribution's tail is the regularised incomplete beta function, evaluated by its
 * continued fraction (DLMF 8.17.22) with the modified Lentz method.
 */
#include "analyze/diff/bin_noise.h"

#include <math.h>

double bin_noise_variance(const double *bins, size_t cnt)
{
	double sum = 0;
	size_t i;

	for (i = 1; i < cnt; i++)
		sum += (bins[i] - bins[i - 1]) * (bins[i] - bins[i - 1]);
	return cnt < 2 ? 0 : sum / (2.0 * (double)(cnt - 1));
}

static double degrees(size_t cnt)
{
	return cnt < 2 ? 1 : fmax(1, 2.0 * (double)(cnt - 1) / 3.0);
}

struct bin_estimate bin_estimate_sum(const double *bins, size_t cnt)
{
	struct bin_estimate e = { 0, bin_noise_variance(bins, cnt) * (double)cnt, degrees(cnt) };
	size_t i;

	for (i = 0; i < cnt; i++)
		e.value += bins[i];
	return e;
}

struct bin_estimate bin_estimate_max(const double *bins, size_t cnt)
{
	struct bin_estimate e = { 0, bin_noise_variance(bins, cnt), degrees(cnt) };
	size_t i;

	for (i = 0; i < cnt; i++)
		if (bins[i] > e.value)
			e.value = bins[i];
	return e;
}

static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f, m, step;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		f *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return f;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	/* the fraction converges fast on this side only */
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_p(double t, double df)
{
	if (isinf(t))
		return 0;
	return fmin(1, fmax(0, incomplete_beta(df / 2, 0.5, df / (df + t * t))));
}

double bin_compare(const struct bin_estimate *a, const struct bin_estimate *b)
{
	double v = a->variance + b->variance, diff = b->value - a->value;

	if (v <= 0)
		return diff == 0 ? 1 : 0;
	return student_p(diff / sqrt(v), v * v / (a->variance * a->variance / a->df +
						  b->variance * b->variance / b->df));
}

double bin_corrected(double p, size_t cnt)
{
	return fmin(1, p * (double)cnt);
}
