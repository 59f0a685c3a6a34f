/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * growth COUNT: allocates COUNT blocks of 10,000 bytes, one each 2 ms, and keeps every third;
 * before that 1 MiB at once, which it keeps. Prints when it began and ended with the blocks.
 */
#include "truth.h"

__attribute__((noinline)) static char *parse_header(void)
{
	char *block = malloc(10000);

	if (!block)
		truth_fail("malloc");
	*block = 1;
	return block;
}

int main(int argc, char **argv)
{
	long cnt = truth_arg(argc, argv, 1, 500), i;
	char *table = malloc(1 << 20), *block;

	if (!table)
		truth_fail("malloc");
	*table = 1;
	setbuf(stdout, NULL);	/* printf() must not allocate during the test */
	printf("start=%llu\n", (unsigned long long)truth_now_ns());
	for (i = 0; i < cnt; i++) {
		block = parse_header();
		truth_sleep_ms(2);
		if (i % 3)
			free(block);
	}
	printf("end=%llu\ntable=%d\n", (unsigned long long)truth_now_ns(), *table);
	return 0;
}
