/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* clock: brackets the other clocks between two readings of the monotonic one. */
#include <time.h>

#include "base/clock.h"

static uint64_t clock_ns(clockid_t id)
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

void clock_read_tuple(struct clock_tuple *ret)
{
	struct clock_tuple best = { .uncertainty_ns = UINT64_MAX };
	int i;

	for (i = 0; i < 5; i++) {
		struct clock_tuple t;
		uint64_t before, after;

		before = clock_ns(CLOCK_MONOTONIC);
		t.boot_ns = clock_ns(CLOCK_BOOTTIME);
		t.real_ns = clock_ns(CLOCK_REALTIME);
		t.tai_ns = clock_ns(CLOCK_TAI);
		after = clock_ns(CLOCK_MONOTONIC);
		t.uncertainty_ns = (after - before + 1) / 2;
		t.mono_ns = before + (after - before) / 2;
		if (t.uncertainty_ns < best.uncertainty_ns)
			best = t;
	}
	*ret = best;
}
