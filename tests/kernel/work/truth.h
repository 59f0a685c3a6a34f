/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * truth: figures that a test workload knows about itself, printed as key=value lines.
 *
 * Instants are CLOCK_MONOTONIC ns, the clock of a trace. CPU times are the scheduler's own
 * (CLOCK_THREAD_CPUTIME_ID). A workload that cannot do the requested work prints an error on stderr
 * and exits 9, so that a test never compares a recording with work that did not happen.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t truth_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t truth_now_ns(void)
{
	return truth_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t truth_cpu_ns(void)
{
	return truth_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void truth_sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
}

static inline int truth_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/*
 * Time that the hypervisor took from all of this machine's CPUs together since boot, in whole
 * clock ticks.
 */
static inline uint64_t truth_steal_ns(void)
{
	unsigned long long v[8] = { 0 };
	FILE *f = fopen("/proc/stat", "r");

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]) != 8)
		v[7] = 0;
	fclose(f);
	return v[7] * (1000000000u / (unsigned long)sysconf(_SC_CLK_TCK));
}

static inline void truth_fail(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(9);
}

/* Binds the calling thread to one CPU; a negative number leaves it alone. */
static inline void truth_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		truth_fail("sched_setaffinity");
}

static inline long truth_arg(int argc, char **argv, int i, long otherwise)
{
	return argc > i ? strtol(argv[i], NULL, 0) : otherwise;
}
