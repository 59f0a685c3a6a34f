/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* page_out BYTES: makes the kernel write this process's memory to swap. */
#include "truth.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

int main(int argc, char **argv)
{
	long bytes = truth_arg(argc, argv, 1, 4096), i;
	volatile char *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		truth_fail("mmap");
	for (i = 0; i < bytes; i++)
		p[i] = (char)(i * 31 + i / 4096);	/* no page is like another, or zero */
	if (madvise((void *)p, (size_t)bytes, MADV_PAGEOUT) != 0)
		truth_fail("madvise");
	truth_sleep_ms(200);
	printf("swap_pid=%d\nswap_bytes=%ld\n", getpid(), bytes);
	return 0;
}
