/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* clock: see clock.h. */

#include "base/clock.h"

#include <errno.h>

uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void clock_sleep_until(uint64_t mono_ns)
{
	struct timespec t = { .tv_sec = mono_ns / 1000000000, .tv_nsec = mono_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}
