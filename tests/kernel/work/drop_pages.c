/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * drop_pages FILE: drops the file's pages from memory. The kernel keeps a page that somebody uses
 * at the moment, so this asks again until no page is left.
 */
#include <sys/stat.h>

#include "truth.h"

int main(int argc, char **argv)
{
	unsigned char in_memory[4096];
	size_t i, page = (size_t)sysconf(_SC_PAGESIZE), page_cnt, left = 1;
	struct stat st;
	void *map;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st) != 0)
		truth_fail("file");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	page_cnt = ((size_t)st.st_size + page - 1) / page;
	if (map == MAP_FAILED || page_cnt > sizeof(in_memory))
		truth_fail("mmap");
	while (left) {
		if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0 ||
		    mincore(map, (size_t)st.st_size, in_memory) != 0)
			truth_fail("mincore");
		for (left = 0, i = 0; i < page_cnt; i++)
			left += in_memory[i] & 1;
		if (left)
			truth_sleep_ms(1);
	}
	return 0;
}
