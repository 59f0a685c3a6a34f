/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Which code of the library a test reaches (tests/mutate_operators.py): the compiler puts a call of
 * __sanitizer_cov_trace_pc() at the beginning of each block of code. The byte for where it came
 * from, a fourth of its place in the library, becomes 1 in the file that MUTATE_REACHED names. The
 * file is mapped and shared, so that processes add to it however they end.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
void __sanitizer_cov_trace_pc(void);

static unsigned char *mutate_reached;

__attribute__((constructor)) static void mutate_reached_open(void)
{
	const char *path = getenv("MUTATE_REACHED");
	size_t size = (size_t)(etext - __ehdr_start) / 4 + 1;
	int fd = path && *path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	void *at = MAP_FAILED;

	if (fd < 0)
		return;
	if (!ftruncate(fd, (off_t)size))
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		mutate_reached = at;
	close(fd);
}

void __sanitizer_cov_trace_pc(void)
{
	uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__ehdr_start;

	if (mutate_reached && at < (uintptr_t)(etext - __ehdr_start))
		mutate_reached[at / 4] = 1;
}
