/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_user COUNT BYTES KEEP [LOCK]: COUNT malloc(BYTES), then frees all but KEEP of them, through
 * the C library's allocator. Prints its counts and two instants around them. LOCK 1: then locks its
 * memory, and prints whether it could.
 */
#include "truth.h"

int main(int argc, char **argv)
{
	long cnt = truth_arg(argc, argv, 1, 1000);
	size_t bytes = (size_t)truth_arg(argc, argv, 2, 1000);
	long keep = truth_arg(argc, argv, 3, 100);
	void **blocks = calloc((size_t)cnt, sizeof(*blocks));
	uint64_t start_ns;
	long i;

	if (!blocks)
		truth_fail("calloc");
	setvbuf(stdout, NULL, _IONBF, 0);
	start_ns = truth_now_ns();
	for (i = 0; i < cnt; i++) {
		blocks[i] = malloc(bytes);
		if (!blocks[i])
			truth_fail("malloc");
		*(volatile char *)blocks[i] = 1;
	}
	for (i = keep; i < cnt; i++)
		free(blocks[i]);
	printf("pid=%d\nallocs=%ld\nfrees=%ld\nbytes=%zu\nstart=%llu\nend=%llu\n", (int)getpid(),
	       cnt, cnt - keep, bytes, (unsigned long long)start_ns,
	       (unsigned long long)truth_now_ns());
	if (truth_arg(argc, argv, 4, 0))
		printf("locked=%d\n", !mlockall(MCL_CURRENT));
	return 0;
}
