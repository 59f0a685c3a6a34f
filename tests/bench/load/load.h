/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load: what the load generators of the benchmark share.
 *
 * A generator does a fixed amount of work and prints key=value lines about it on stdout. Times are
 * CLOCK_MONOTONIC ns, taken inside the generator around the measured part only: the first tenth of
 * the work is done before the clock is read. A generator that could not do what it was asked exits
 * with 9 and says why on stderr, so that no number is ever taken from work that did not happen.
 */
#pragma once

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t load_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * CPU time of all threads of this process: what the load itself and the kernel on its way used,
 * whatever else ran meanwhile.
 */
static inline uint64_t load_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void load_fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(9);
}

/* Argument i as a number from 1 up; fallback when it is not there. */
static inline long load_arg(int argc, char **argv, int i, long fallback)
{
	char *end;
	long v;

	if (i >= argc)
		return fallback;
	errno = 0;
	v = strtol(argv[i], &end, 10);
	if (errno || *end || end == argv[i] || v < 0) {
		errno = EINVAL;
		load_fail(argv[i]);
	}
	return v;
}

/* Binds the calling thread to one CPU. */
static inline void load_pin(long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		load_fail("sched_setaffinity");
}
