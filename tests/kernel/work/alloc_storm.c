/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * alloc_storm STORM_MS QUIET_MS [STORM_FILE QUIET_FILE]: kernel allocations without a pause (it
 * opens and closes pipes) on one CPU, then one pipe a millisecond. A phase goes on while its
 * file exists. Prints when the phases begin and end, as storm=, quiet= and end=
 * (CLOCK_MONOTONIC, ns).
 */
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
	const char *storm_file = argc > 4 ? argv[3] : "", *quiet_file = argc > 4 ? argv[4] : "";
	unsigned long long until_ns;
	unsigned int i = 0;

	printf("storm=%llu\n", (unsigned long long)truth_now_ns());
	until_ns = truth_now_ns() + storm_ns;
	while (truth_now_ns() < until_ns ||
	       (i++ % 1000 == 0 ? access(storm_file, F_OK) == 0 : i % 1000))
		one_pipe();
	printf("quiet=%llu\n", (unsigned long long)truth_now_ns());
	until_ns = truth_now_ns() + quiet_ns;
	while (truth_now_ns() < until_ns || access(quiet_file, F_OK) == 0) {
		one_pipe();
		nanosleep(&ms, NULL);
	}
	printf("end=%llu\n", (unsigned long long)truth_now_ns());
	return 0;
}
