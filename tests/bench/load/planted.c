/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * planted PARSE_PCT SYNCS HEAP_PCT FILE: a server's twelve requests. Each computes in parse() and
 * in other(), allocates and keeps memory, and writes to FILE and syncs it. The arguments plant a
 * slowdown: how much more of parse(), how many more syncs of each request, how much more heap.
 * It is for diff_groups.py.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUESTS 12
#define STEPS 20000000u
#define BLOCKS 20
#define BLOCK_BYTES 40000

static volatile unsigned long result;

static __attribute__((noinline)) void parse(unsigned long steps)
{
	for (unsigned long i = 0; i < steps; i++)
		result = result * 6364136223846793005u + i;
}

static __attribute__((noinline)) void other(unsigned long steps)
{
	for (unsigned long i = 0; i < steps; i++)
		result = result * 2862933555777941757u + i;
}

int main(int argc, char **argv)
{
	unsigned long parse_pct, heap_pct, syncs;
	char buf[4096] = "";
	int fd;

	if (argc != 5)
		return 2;
	parse_pct = strtoul(argv[1], NULL, 10);
	syncs = strtoul(argv[2], NULL, 10);
	heap_pct = strtoul(argv[3], NULL, 10);
	fd = open(argv[4], O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (fd < 0)
		return 1;
	for (int request = 0; request < REQUESTS; request++) {
		parse(STEPS / 100 * (100 + parse_pct));
		other(STEPS / 8);
		for (unsigned long i = 0; i < BLOCKS * (100 + heap_pct) / 100; i++) {
			char *kept = malloc(BLOCK_BYTES);

			if (!kept)
				return 1;
			memset(kept, 1, BLOCK_BYTES);
			result += (unsigned char)kept[request];
		}
		for (unsigned long i = 0; i <= syncs; i++)
			if (write(fd, buf, sizeof(buf)) != sizeof(buf) || fdatasync(fd))
				return 1;
	}
	unlink(argv[4]);
	return 0;
}
