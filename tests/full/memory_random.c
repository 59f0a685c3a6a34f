/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * memory_random SEED [DEPTH]: a random program that touches and gives back memory: private and
 * shared mappings, malloc and pages that a thread touches, in itself and in children that fork, or
 * fork and exec. Each process prints what it counted: proc=PID,BASE,TOUCHED,HIGHEST: resident bytes
 * at its start, bytes it touched, and the most of them at one time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 16
#define MIB (1ul << 20)

static struct {
	char *at;
	size_t bytes;
} blocks[BLOCKS];
static size_t base, touched, level, highest;
static unsigned long state;

static unsigned long below(unsigned long n)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (state >> 33) % n;
}

static size_t resident(void)
{
	unsigned long all = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu", &all, &pages) != 2)
		exit(1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void *touch(void *block)
{
	unsigned long i = (unsigned long)block;

	memset(blocks[i].at, 1, blocks[i].bytes);
	return NULL;
}

static void get(unsigned long i)
{
	int shared = below(3) ? MAP_PRIVATE : MAP_SHARED;
	pthread_t t;

	blocks[i].bytes = (1 + below(24)) * MIB;
	blocks[i].at = mmap(NULL, blocks[i].bytes, PROT_READ | PROT_WRITE, shared | MAP_ANONYMOUS,
			    -1, 0);
	if (blocks[i].at == MAP_FAILED)
		exit(1);
	if (below(2))
		touch((void *)i);
	else if (pthread_create(&t, NULL, touch, (void *)i) || pthread_join(t, NULL))
		exit(1);
	touched += blocks[i].bytes;
	level += blocks[i].bytes;
	highest = level > highest ? level : highest;
}

static void give(unsigned long i)
{
	munmap(blocks[i].at, blocks[i].bytes);
	level -= blocks[i].bytes;
	blocks[i].at = NULL;
}

static void begin(void)
{
	base = resident();
	touched = level = highest = 0;
	memset(blocks, 0, sizeof(blocks));	/* what the parent has stays as it is */
}

static void child(char **argv, unsigned int depth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", depth + 1);
	if (below(2)) {
		execl("/proc/self/exe", argv[0], argv[1], text, (char *)NULL);
		_exit(1);
	}
	state += depth + 1;
	begin();
}

int main(int argc, char **argv)
{
	unsigned int depth = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;

	state = (unsigned long)atol(argv[1]) * 1000003 + depth;
	begin();
	for (unsigned long steps = 3 + below(8); steps > 0; steps--) {
		unsigned long i = below(BLOCKS);

		if (blocks[i].at)
			give(i);
		else
			get(i);
		usleep((useconds_t)below(3000));
		if (depth < 2 && !below(4) && !fork())
			child(argv, depth++);
	}
	while (wait(NULL) > 0)
		;
	printf("proc=%d,%zu,%zu,%zu\n", getpid(), base, touched, highest);
	return 0;
}
