/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load: the common part of the benchmark's load generators.
 *
 * A generator does a fixed amount of work and prints key=value lines about it on stdout. Times are
 * CLOCK_MONOTONIC ns, taken inside the generator around the measured part only: the first tenth of
 * the work is done before the clock is read. A generator that could not do the requested work exits
 * with 9 and a message on stderr, so that work that did not happen never produces a number.
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
 * CPU time of all threads of this process: time of the load itself and of the kernel on its
 * behalf, independent of other work on the machine.
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
