/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* clock: the machine's clocks in ns. Threads: any. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

uint64_t clock_mono_ns(void);	/* CLOCK_MONOTONIC: the clock of a trace */
uint64_t clock_real_ns(void);	/* CLOCK_REALTIME */

/* The clocks at one instant: mono_ns is midway between two readings uncertainty_ns * 2 apart. */
struct clock_tuple {
	uint64_t mono_ns, boot_ns, real_ns, tai_ns;
	uint64_t uncertainty_ns;
};

/* Tries a few times and keeps the tightest. */
void clock_read_tuple(struct clock_tuple *ret);

#endif /* CLOCK_H */
