/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_sample: selects the allocations of a sampled recording (record --heap=SIZE), and keeps the
 * set of live samples.
 *
 * The bytes that a thread allocates form a line with random points on it, at exponentially
 * distributed distances with a mean of SIZE bytes. An allocation that contains a point is a sample:
 * an allocation of s bytes with the probability 1 - exp(-s / SIZE), independent of all others
 * (src/model/heap_weight.h). The distribution is memoryless: a new distance is drawn after a
 * sample, after fork() and in a nested allocator.
 *
 * The set of live samples is shared by all threads of a process and has no lock, so that signal
 * handlers and children of fork() may use it at any time. The hash of an address selects a row of
 * slots per level: if all of a row's slots are used, the next level's row is used. Counters of live
 * samples, by another hash, show with one load that a freed block is not a sample; neighbouring
 * blocks have neighbouring counters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HEAP_SAMPLE_MAX (1ULL << 30)	/* largest mean distance, bytes */

/* Returns ln(x) with an error below 1e-11. x: in (0, 1). */
static inline double heap_sample_ln(double x)
{
	union {
		double d;
		uint64_t bits;
	} m = { x };
	int exponent = (int)(m.bits >> 52) - 1022;
	double y, y2;

	m.bits = (m.bits & ((1ULL << 52) - 1)) | 1022ULL << 52;	/* m.d is in [0.5, 1) */
	if (m.d < 0.70710678118654752) {
		m.d *= 2;
		exponent--;
	}
	y = (m.d - 1) / (m.d + 1);	/* ln(m) = 2 artanh(y) */
	y2 = y * y;
	y *= 1 + y2 * (1.0 / 3 + y2 * (1.0 / 5 + y2 * (1.0 / 7 + y2 * (1.0 / 9 + y2 *
	     (1.0 / 11 + y2 * (1.0 / 13 + y2 / 15))))));
	return 2 * y + exponent * 0.69314718055994531;
}

/* Returns an initial value for *random. */
static inline uint64_t heap_sample_seed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return x ? x : 1;
}

/* Returns the number of bytes to the next point, at least 1. */
static inline int64_t heap_sample_distance(uint64_t *random, uint64_t mean)
{
	uint64_t x = *random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*random = x;
	x = x * 0x2545f4914f6cdd1dULL >> 12;	/* xorshift64* */
	return (int64_t)(-heap_sample_ln(((double)x + 0.5) * 0x1p-52) * (double)mean) + 1;
}

/* ---- the live samples ---- */

#define HEAP_SAMPLE_COUNTERS 16384u
#define HEAP_SAMPLE_SLOTS 65536u
#define HEAP_SAMPLE_ROW 16u
#define HEAP_SAMPLE_LEVELS 16u

struct heap_samples {
	uint8_t counters[HEAP_SAMPLE_COUNTERS];	/* a counter that reaches 255 keeps this value */
	unsigned int levels;	/* number of levels in use */
	uintptr_t slots[HEAP_SAMPLE_LEVELS][HEAP_SAMPLE_SLOTS + HEAP_SAMPLE_ROW]; /* 0: unused */
};

static inline unsigned int heap_sample_counter(uintptr_t p)
{
	return (p >> 4 ^ p >> 15) % HEAP_SAMPLE_COUNTERS;
}

static inline uintptr_t *heap_sample_row(struct heap_samples *s, unsigned int level, uintptr_t p)
{
	return &s->slots[level][(uint64_t)p * 0x9e3779b97f4a7c15ULL >> 48];
}

static inline void heap_sample_count(struct heap_samples *s, uintptr_t p, int step)
{
	uint8_t *c = &s->counters[heap_sample_counter(p)], n = __atomic_load_n(c, __ATOMIC_RELAXED);

	while (n < UINT8_MAX &&
	       !__atomic_compare_exchange_n(c, &n, (uint8_t)(n + step), true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

/* Adds an address. False: no room. */
static inline bool heap_sample_add(struct heap_samples *s, uintptr_t p)
{
	for (unsigned int i = 0; i < HEAP_SAMPLE_LEVELS * HEAP_SAMPLE_ROW; i++) {
		unsigned int level = i / HEAP_SAMPLE_ROW,
			     seen = __atomic_load_n(&s->levels, __ATOMIC_RELAXED);
		uintptr_t *slot = &heap_sample_row(s, level, p)[i % HEAP_SAMPLE_ROW], none = 0;

		while (seen <= level &&
		       !__atomic_compare_exchange_n(&s->levels, &seen, level + 1, true,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		if (__atomic_load_n(slot, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(slot, &none, p, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		heap_sample_count(s, p, 1);
		return true;
	}
	return false;
}

/* Removes an address, not 0. True: it was in the set; only one of several callers gets true. */
static inline bool heap_sample_remove(struct heap_samples *s, uintptr_t p)
{
	unsigned int cnt = __atomic_load_n(&s->levels, __ATOMIC_ACQUIRE) * HEAP_SAMPLE_ROW;

	for (unsigned int i = 0; i < cnt; i++) {
		uintptr_t *slot = &heap_sample_row(s, i / HEAP_SAMPLE_ROW, p)[i % HEAP_SAMPLE_ROW],
			  was = p;

		if (__atomic_load_n(slot, __ATOMIC_RELAXED) != p ||
		    !__atomic_compare_exchange_n(slot, &was, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		heap_sample_count(s, p, -1);
		return true;
	}
	return false;
}
