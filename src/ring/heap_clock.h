/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_clock: converts the processor's time-stamp counter to CLOCK_MONOTONIC, the clock of a trace.
 * Pairs of both clocks are read repeatedly; a counter value between two pairs is interpolated
 * linearly, so the conversion is monotonic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HEAP_CLOCK_PAIRS 256u

struct heap_clock_pair {
	uint64_t cycles, ns;
};

/* All zeros: no pairs. */
struct heap_clock {
	/* pair number i is at i % HEAP_CLOCK_PAIRS */
	struct heap_clock_pair pairs[HEAP_CLOCK_PAIRS];
	unsigned int cnt;
	uint64_t error_ns;	/* largest possible error of a pair */
};

/*
 * Returns whether this machine has such a counter: on all CPUs, used by the kernel as its clock,
 * and with an instruction that reads the counter and the CPU's number together.
 */
bool heap_clock_is_there(void);

/* Reads the next pair. */
void heap_clock_read(struct heap_clock *c);
/* Adds a pair, which must be later than all others. */
void heap_clock_add(struct heap_clock *c, struct heap_clock_pair pair);

/* Returns the cycles of the last pair; 0: no pair. */
uint64_t heap_clock_last(const struct heap_clock *c);

/*
 * Converts cycles to ns. 0: there are fewer than two pairs, or cycles are before the oldest pair or
 * after the newest by more than the span of the pairs.
 */
uint64_t heap_clock_ns(const struct heap_clock *c, uint64_t cycles);
