/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load_getpid CALLS CPU: the shortest system call there is, in a loop, on one CPU. Shows what a
 * recorder costs that has hooks on the way into the kernel; the C library's wrapper is avoided.
 */
#include <sys/syscall.h>

#include "load.h"

int main(int argc, char **argv)
{
	long calls = load_arg(argc, argv, 1, 3000000), i;
	uint64_t start_ns, end_ns, cpu_ns;
	long pid = getpid();

	load_pin(load_arg(argc, argv, 2, 0));
	for (i = 0; i < calls / 10; i++)
		syscall(SYS_getpid);
	cpu_ns = load_cpu_ns();
	start_ns = load_now_ns();
	for (i = 0; i < calls; i++) {
		if (syscall(SYS_getpid) != pid)
			load_fail("getpid");
	}
	end_ns = load_now_ns();
	cpu_ns = load_cpu_ns() - cpu_ns;
	printf("calls=%ld\nns_per_op=%.3f\ncpu_ns_per_op=%.3f\n", calls,
	       (double)(end_ns - start_ns) / (double)calls, (double)cpu_ns / (double)calls);
	return 0;
}
