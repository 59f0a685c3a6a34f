/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pagemap: see pagemap.h. Page frame n has its struct page at base + n * size. Each page that is
 * touched here gives one frame number, and each allocation that the program sees gives one struct
 * page. It is not known which belong together, because page tables are allocated in between. But
 * only the true base explains most of the pairs.
 */
#include "probe/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOUCHED 16
#define STRUCT_PAGE_BYTES 64	/* of every 64-bit kernel without debugging extras */
#define BASE_ALIGN (1ULL << 21)	/* the array is mapped by huge pages */

/* How many pairs (struct page, frame) a base explains. */
static unsigned int score(const volatile struct wire_calib *calib, const uint64_t *pfns,
			  uint64_t base)
{
	unsigned int hits = 0, i, j;

	for (i = 0; i < calib->cnt; i++) {
		for (j = 0; j < TOUCHED; j++)
			hits += calib->page[i] == base + pfns[j] * STRUCT_PAGE_BYTES;
	}
	return hits;
}

static int solve(const volatile struct wire_calib *calib, const uint64_t *pfns,
		 unsigned long long *ret_base)
{
	unsigned int i, j;

	for (i = 0; i < calib->cnt; i++) {
		for (j = 0; j < TOUCHED; j++) {
			uint64_t base = calib->page[i] - pfns[j] * STRUCT_PAGE_BYTES;

			if (base % BASE_ALIGN || score(calib, pfns, base) < TOUCHED / 2)
				continue;
			*ret_base = base;
			return 0;
		}
	}
	return -ENODATA;
}

int pagemap_find_base(volatile struct wire_calib *calib, unsigned long long *ret_base)
{
	long page = sysconf(_SC_PAGESIZE);
	uint64_t pfns[TOUCHED], entry;
	int err = 0, fd;
	unsigned int i;
	char *area;

	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	area = mmap(NULL, TOUCHED * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (area == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	madvise(area, TOUCHED * page, MADV_NOHUGEPAGE);
	for (i = 0; i < TOUCHED; i++)
		area[i * page] = 1;
	for (i = 0; i < TOUCHED && !err; i++) {
		if (pread(fd, &entry, sizeof(entry),
			  (uintptr_t)(area + i * page) / page * sizeof(entry)) != sizeof(entry))
			err = -EIO;
		pfns[i] = entry & ((1ULL << 55) - 1);
		if (!err && !pfns[i])
			err = -EPERM;
	}
	munmap(area, TOUCHED * page);
	close(fd);
	return err ? err : solve(calib, pfns, ret_base);
}
