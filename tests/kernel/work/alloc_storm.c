/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * alloc_storm STORM_MS QUIET_MS: kernel allocations without a pause (pipes opened and closed) on one
 * CPU, then one pipe a millisecond. Prints storm=, quiet= and end=, CLOCK_MONOTONIC ns, where the
 * phases begin and end.
 */
#include <time.h>
#include <unistd.h>

#include "truth.h"

static void one_pipe(void)
{
	int fds[2];

	if (pipe(fds))
		truth_fail("pipe");
	close(fds[0]);
	close(fds[1]);
}

int main(int argc, char **argv)
{
	unsigned long long storm_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	unsigned long long quiet_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1000) * 1000000;
	struct timespec ms = { .tv_nsec = 1000000 };
	unsigned long long until_ns;

	printf("storm=%llu\n", (unsigned long long)truth_now_ns());
	until_ns = truth_now_ns() + storm_ns;
	while (truth_now_ns() < until_ns)
		one_pipe();
	printf("quiet=%llu\n", (unsigned long long)truth_now_ns());
	until_ns = truth_now_ns() + quiet_ns;
	while (truth_now_ns() < until_ns) {
		one_pipe();
		nanosleep(&ms, NULL);
	}
	printf("end=%llu\n", (unsigned long long)truth_now_ns());
	return 0;
}
