/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_weight: the number of allocations and bytes that a sample of a sampled heap represents
 * (record --heap=SIZE).
 *
 * An allocation of s bytes is a sample with the probability p = 1 - exp(-s / mean), independent of
 * all others (src/preload/heap_share.h). It represents 1 / p allocations of s bytes each (Horvitz
 * and Thompson): the sums over samples have the right expected value. The variance of a sum of
 * bytes is the sum of s^2 (1 - p) / p over all allocations, and s (1 - p) / p is at most mean: the
 * variance is at most mean times the sum.
 *
 * mean: manifest's heap.sample_bytes; 0: all allocations are recorded, and each represents itself.
 */
#pragma once

#include <stdint.h>

/*
 * Returns the units per allocation in sums of weights: 1024, so that little is lost by rounding; 1
 * if the heap is not sampled.
 */
static inline uint64_t heap_weight_unit(uint64_t mean)
{
	return mean ? 1024 : 1;
}

/* Returns the number of allocations that a sample represents, in units of heap_weight_unit(). */
uint64_t heap_weight_cnt(uint64_t mean, uint64_t bytes);
/* Returns the number of bytes that a sample represents, rounded. */
uint64_t heap_weight_bytes(uint64_t mean, uint64_t bytes);
/*
 * Returns the possible error of an estimate of `bytes`, in bytes, with a confidence of at least
 * 90 %: the upper half of Wilson's interval for a Poisson count of bytes / mean.
 */
uint64_t heap_weight_error(uint64_t mean, uint64_t bytes);
