/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* clock: reads clocks, converts times and waits. */

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

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

struct timespec clock_after(clockid_t id, uint64_t dur_ns)
{
	return timespec_of(clock_ns(id) + dur_ns);
}

int clock_poll_ms(uint64_t now_ns, uint64_t due_ns, int most)
{
	uint64_t ms = due_ns > now_ns ? (due_ns - now_ns) / 1000000 + 1 : 0;

	return ms < (uint64_t)most ? (int)ms : most;
}

void clock_sleep_until(uint64_t mono_ns)
{
	struct timespec t = timespec_of(mono_ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}
