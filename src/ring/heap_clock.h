/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_clock: instants of the processor's time-stamp counter as CLOCK_MONOTONIC, the clock of a
 * trace. Both clocks are read one after the other again and again, and an instant between two such
 * pairs lies on the line between them: later instants are never given earlier ones.
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
	uint64_t error_ns;	/* the most that a pair may be wrong by */
};

/*
 * Returns whether all CPUs have a counter that the kernel itself takes the time from, and
 * instructions that read it together with the CPU's number.
 */
bool heap_clock_is_there(void);

/* Reads the next pair. */
void heap_clock_read(struct heap_clock *c);
/* Adds a pair, which has to be later than all before. */
void heap_clock_add(struct heap_clock *c, struct heap_clock_pair pair);

/* The cycles of the pair that was added last; 0: there is none. */
uint64_t heap_clock_last(const struct heap_clock *c);

/*
 * An instant in ns. 0: there are no two pairs yet, or the instant lies further before the oldest
 * pair, or after the newest, than the pairs reach.
 */
uint64_t heap_clock_ns(const struct heap_clock *c, uint64_t cycles);
