/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_clock: converts the processor's time-stamp counter to CLOCK_MONOTONIC, the clock of a trace.
 * The two clocks are read as a pair repeatedly, and a counter value between two pairs is
 * interpolated linearly: the conversion is monotonic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HEAP_CLOCK_PAIRS 256u

struct heap_clock_pair {
	uint64_t cycles, ns;
};

/* All zeros: no pair was read yet. */
struct heap_clock {
	struct heap_clock_pair pairs[HEAP_CLOCK_PAIRS];	/* number i at i % HEAP_CLOCK_PAIRS */
	unsigned int cnt;
	uint64_t error_ns;	/* largest possible error of a pair */
};

/*
 * Returns whether all CPUs have a counter that the kernel itself uses as its clock, and an
 * instruction that reads it together with the CPU's number.
 */
bool heap_clock_is_there(void);

/* Reads the next pair. */
void heap_clock_read(struct heap_clock *c);
/* Adds a pair, which must be later than all earlier ones. */
void heap_clock_add(struct heap_clock *c, struct heap_clock_pair pair);

/* Returns the cycles of the last pair; 0: there is none. */
uint64_t heap_clock_last(const struct heap_clock *c);

/*
 * Converts cycles to ns. 0: fewer than two pairs, or the time is farther before the oldest pair, or
 * after the newest, than the span of the pairs.
 */
uint64_t heap_clock_ns(const struct heap_clock *c, uint64_t cycles);
