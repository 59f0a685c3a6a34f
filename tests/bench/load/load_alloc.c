/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load_alloc ROUNDS CPU: makes the kernel allocate and free, on one CPU.
 *
 * A round opens and closes a file and a pipe (slab objects of several caches) and maps, touches
 * and unmaps eight pages (page allocator, page tables, mapped memory, resident memory).
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "load.h"

enum { PAGES = 8 };

static void one_round(long page_bytes)
{
	int fd, ends[2];
	char *p;
	int i;

	fd = open("/dev/null", O_RDONLY);
	if (fd < 0)
		load_fail("/dev/null");
	if (pipe(ends) != 0)
		load_fail("pipe");
	p = mmap(NULL, (size_t)(PAGES * page_bytes), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		load_fail("mmap");
	for (i = 0; i < PAGES; i++)
		p[i * page_bytes] = 1;
	munmap(p, (size_t)(PAGES * page_bytes));
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

int main(int argc, char **argv)
{
	long rounds = load_arg(argc, argv, 1, 100000), page_bytes = sysconf(_SC_PAGESIZE), i;
	uint64_t start_ns, end_ns, cpu_ns;

	load_pin(load_arg(argc, argv, 2, 0));
	for (i = 0; i < rounds / 10; i++)
		one_round(page_bytes);
	cpu_ns = load_cpu_ns();
	start_ns = load_now_ns();
	for (i = 0; i < rounds; i++)
		one_round(page_bytes);
	end_ns = load_now_ns();
	cpu_ns = load_cpu_ns() - cpu_ns;
	printf("rounds=%ld\nns_per_op=%.3f\ncpu_ns_per_op=%.3f\n", rounds,
	       (double)(end_ns - start_ns) / (double)rounds, (double)cpu_ns / (double)rounds);
	return 0;
}
