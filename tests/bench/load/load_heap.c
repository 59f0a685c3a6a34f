/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load_heap PAIRS CPU: malloc and free in pairs, in the sizes small programs ask for, on one CPU.
 *
 * 64 objects are alive at any time, so that a free is not always of the last malloc. All sizes are
 * far below the threshold of mmap: the loop itself makes no system call.
 */
#include "load.h"

enum { ALIVE = 64 };

int main(int argc, char **argv)
{
	long pairs = load_arg(argc, argv, 1, 1000000), warm = pairs / 10, i;
	void *volatile alive[ALIVE] = { NULL };
	uint64_t start_ns = 0, cpu_ns = 0, end_ns;

	load_pin(load_arg(argc, argv, 2, 0));
	for (i = 0; i < warm + pairs; i++) {
		if (i == warm) {
			cpu_ns = load_cpu_ns();
			start_ns = load_now_ns();
		}
		free(alive[i % ALIVE]);
		alive[i % ALIVE] = malloc((size_t)(16 + (i * 48) % 1000));
		if (!alive[i % ALIVE])
			load_fail("malloc");
	}
	end_ns = load_now_ns();
	cpu_ns = load_cpu_ns() - cpu_ns;
	for (i = 0; i < ALIVE; i++)
		free(alive[i]);
	printf("pairs=%ld\nns_per_op=%.3f\ncpu_ns_per_op=%.3f\n", pairs,
	       (double)(end_ns - start_ns) / (double)pairs, (double)cpu_ns / (double)pairs);
	return 0;
}
