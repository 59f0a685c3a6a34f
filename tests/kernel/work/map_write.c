/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * map_write FILE BYTES: makes FILE that long and writes every page of it through a shared
 * mapping. It does not sync.
 */
#include "truth.h"

int main(int argc, char **argv)
{
	long bytes = truth_arg(argc, argv, 2, 4096), i;
	char *p;
	int fd;

	if (argc < 2)
		return 9;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, bytes) != 0)
		truth_fail(argv[1]);
	p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		truth_fail("mmap");
	for (i = 0; i < bytes; i += 4096)
		p[i] = 1;
	printf("map_pid=%d\nmap_bytes=%ld\n", getpid(), bytes);
	return 0;
}
