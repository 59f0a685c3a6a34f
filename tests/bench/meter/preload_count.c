/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * preload_count: counts calls of malloc and free inside the program, through LD_PRELOAD.
 *
 * The cheapest way there is to see an allocator from outside a program; it records nothing but two
 * counts, which it writes to the file named by PRELOAD_COUNT when the program ends.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *(*next_malloc)(size_t bytes);
static void (*next_free)(void *p);
static uint64_t malloc_cnt, free_cnt;

__attribute__((constructor)) static void find_next(void)
{
	if (!next_malloc)
		*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	if (!next_free)
		*(void **)&next_free = dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t bytes)
{
	if (!next_malloc)
		find_next();
	__atomic_fetch_add(&malloc_cnt, 1, __ATOMIC_RELAXED);
	return next_malloc(bytes);
}

void free(void *p)
{
	if (!next_free)
		find_next();
	__atomic_fetch_add(&free_cnt, 1, __ATOMIC_RELAXED);
	next_free(p);
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("PRELOAD_COUNT");
	char text[96];
	int fd, len;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	len = snprintf(text, sizeof(text), "mallocs=%llu\nfrees=%llu\n",
		       (unsigned long long)malloc_cnt, (unsigned long long)free_cnt);
	if (write(fd, text, (size_t)len) != len)
		unlink(path);
	close(fd);
}
