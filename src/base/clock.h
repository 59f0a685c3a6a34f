/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* clock: times of the system's clocks, in ns. Threads: any. */
#pragma once

#include <stdint.h>
#include <time.h>

uint64_t clock_ns(clockid_t id);	/* 0 if the clock does not exist */
uint64_t clock_mono_ns(void);	/* CLOCK_MONOTONIC: the clock of a trace */
uint64_t clock_real_ns(void);	/* CLOCK_REALTIME */
void clock_sleep_until(uint64_t mono_ns);	/* mono_ns: absolute, CLOCK_MONOTONIC */
struct timespec clock_after(clockid_t id, uint64_t dur_ns);	/* dur_ns from now */
/* Returns a timeout for poll(): the ms from now_ns to due_ns, rounded up, between 0 and most. */
int clock_poll_ms(uint64_t now_ns, uint64_t due_ns, int most);
