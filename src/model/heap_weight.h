/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_weight: what a sample of a sampled heap stands for (record --heap=SIZE).
 *
 * An allocation of s bytes is a sample with the probability p = 1 - exp(-s / mean), independent of
 * all others (src/preload/heap_share.h). So it stands for 1 / p allocations of s bytes each
 * (Horvitz and Thompson): the sums over samples have the right expected value. The variance of a
 * sum of bytes is the sum of s^2 (1 - p) / p over all allocations, and s (1 - p) / p is at most
 * mean: the variance is at most mean times the sum.
 *
 * mean: manifest's heap.sample_bytes; 0: all allocations are recorded, and each stands for itself.
 */
#pragma once

#include <stdint.h>

/* Weights are added up in this part of an allocation. Of a heap that is not sampled, it is 1. */
static inline uint64_t heap_weight_unit(uint64_t mean)
{
	return mean ? 1024 : 1;
}

/* Returns the number of allocations that a sample stands for, in heap_weight_unit(). */
uint64_t heap_weight_cnt(uint64_t mean, uint64_t bytes);
/* Returns the bytes that it stands for, rounded. */
uint64_t heap_weight_bytes(uint64_t mean, uint64_t bytes);
/*
 * Returns the half of an estimate's interval of at least 90 %, in bytes: the upper one of Wilson's
 * interval for a Poisson count of bytes / mean.
 */
uint64_t heap_weight_error(uint64_t mean, uint64_t bytes);
