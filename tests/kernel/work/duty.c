/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * duty NAME PERCENT SECONDS: renames itself to NAME. In every 20 ms it is busy for PERCENT of them,
 * by its own CPU clock, then sleeps until the 20 ms are over.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define PERIOD_NS 20000000ll

static int64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	int64_t busy_ns, next, end, until;

	if (argc != 4)
		return 2;
	prctl(PR_SET_NAME, argv[1]);
	busy_ns = (int64_t)(PERIOD_NS * atof(argv[2]) / 100);
	next = now(CLOCK_MONOTONIC);
	end = next + (int64_t)(atof(argv[3]) * 1e9);
	while (next < end) {
		struct timespec ts;

		until = now(CLOCK_PROCESS_CPUTIME_ID) + busy_ns;
		while (now(CLOCK_PROCESS_CPUTIME_ID) < until)
			;
		next += PERIOD_NS;
		ts = (struct timespec){ next / 1000000000, next % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
	printf("cpu_ns=%lld\n", (long long)now(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
