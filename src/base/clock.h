/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* clock: the machine's clocks in ns. Threads: any. */
#pragma once

#include <stdint.h>
#include <time.h>

uint64_t clock_ns(clockid_t id);	/* 0 if the clock does not exist */
uint64_t clock_mono_ns(void);	/* CLOCK_MONOTONIC: the clock of a trace */
uint64_t clock_real_ns(void);	/* CLOCK_REALTIME */
void clock_sleep_until(uint64_t mono_ns);	/* mono_ns: a time of CLOCK_MONOTONIC */
struct timespec clock_after(clockid_t id, uint64_t dur_ns);	/* a deadline, dur_ns from now */
/* Returns the ms from now to due, rounded up, between 0 and most: a timeout for poll(). */
int clock_poll_ms(uint64_t now_ns, uint64_t due_ns, int most);
