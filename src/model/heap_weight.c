/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* heap_weight: see heap_weight.h. */
#include "model/heap_weight.h"

#include <math.h>

#define Z90 1.6448536269514722	/* quantile 0.95 of the normal distribution */

static double weight(uint64_t mean, uint64_t bytes)
{
	/* no allocation of 0 bytes is a sample */
	return mean && bytes ? -1 / expm1(-(double)bytes / (double)mean) : 1;
}

uint64_t heap_weight_cnt(uint64_t mean, uint64_t bytes)
{
	return (uint64_t)llround(weight(mean, bytes) * (double)heap_weight_unit(mean));
}

uint64_t heap_weight_bytes(uint64_t mean, uint64_t bytes)
{
	return mean ? (uint64_t)llround(weight(mean, bytes) * (double)bytes) : bytes;
}

uint64_t heap_weight_error(uint64_t mean, uint64_t bytes)
{
	double z2 = Z90 * Z90 * (double)mean;

	return (uint64_t)llround(z2 / 2 + sqrt(z2 * (double)bytes + z2 * z2 / 4));
}
