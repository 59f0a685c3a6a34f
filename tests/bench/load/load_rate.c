/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load_rate UNITS_PER_S SECONDS [THREADS [dense|heap]]: recorded work at a steady rate, on all
 * CPUs.
 *
 * A unit is one round trip between two threads bound to the CPU (switches, wake-ups), four path
 * look-ups that fail at once (each one slab object), and a page mapped, touched and unmapped (page,
 * page tables, resident and mapped memory): about 25 events; how many exactly depends on the
 * kernel and is measured by the caller. With "dense" a unit is 16 such look-ups and nothing else,
 * which is as many events in as little time as a program can cause. With "heap" it is 16 pairs of
 * malloc and free. The rate is shared evenly by
 * the threads (one per CPU, unless told) and those by the CPUs. Each works off what is due and then
 * sleeps up to 1 ms; one that has fallen behind does not sleep. The rate reached is printed: it is
 * below the one asked for when there was not enough CPU.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "load.h"

enum { THREADS_MAX = 4096, DENSE_LOOKUPS = 16, HEAP_PAIRS = 16 };

struct worker {
	pthread_t thread, partner;
	int there[2], back[2];
	long cpu;
	double units_per_ns;
	uint64_t start_ns, end_ns;
	uint64_t units;
	void (*unit)(struct worker *w);
};

/* Runs until the worker closes its end. */
static void *partner_main(void *arg)
{
	struct worker *w = arg;
	char byte;

	load_pin(w->cpu);
	while (read(w->there[0], &byte, 1) == 1) {
		if (write(w->back[1], &byte, 1) != 1)
			load_fail("write");
	}
	return NULL;
}

static void look_up(int times)
{
	while (times--) {
		if (access("", F_OK) == 0)
			load_fail("access");
	}
}

static void dense_unit(struct worker *w)
{
	look_up(DENSE_LOOKUPS);
}

static void heap_unit(struct worker *w)
{
	void *volatile object;
	int i;

	for (i = 0; i < HEAP_PAIRS; i++) {
		object = malloc((size_t)(16 + i * 48));
		free(object);
	}
}

static void mixed_unit(struct worker *w)
{
	char byte = 'x', *p;

	if (write(w->there[1], &byte, 1) != 1 || read(w->back[0], &byte, 1) != 1)
		load_fail("pipe");
	look_up(4);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		load_fail("mmap");
	*p = 1;
	munmap(p, 4096);
}

static void *worker_main(void *arg)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	struct worker *w = arg;
	uint64_t now, due;

	load_pin(w->cpu);
	while ((now = load_now_ns()) < w->end_ns) {
		if (now < w->start_ns) {
			nanosleep(&pause, NULL);
			continue;
		}
		due = (uint64_t)((double)(now - w->start_ns) * w->units_per_ns);
		if (w->units >= due) {
			nanosleep(&pause, NULL);
			continue;
		}
		/* Not all that is due at once: the end of the time must be noticed. */
		for (due = due - w->units > 200 ? w->units + 200 : due; w->units < due; w->units++)
			w->unit(w);
	}
	close(w->there[1]);
	return NULL;
}

int main(int argc, char **argv)
{
	long rate = load_arg(argc, argv, 1, 20000), seconds = load_arg(argc, argv, 2, 1);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), threads = load_arg(argc, argv, 3, cpus), i;
	const char *kind = argc > 4 ? argv[4] : "mixed";
	static struct worker workers[THREADS_MAX];
	uint64_t units = 0, start_ns;
	cpu_set_t allowed;
	long cpu = -1;

	void (*unit)(struct worker *w) = !strcmp(kind, "dense") ? dense_unit :
					 !strcmp(kind, "heap") ? heap_unit :
					 !strcmp(kind, "mixed") ? mixed_unit : NULL;

	if (threads < 1 || threads > THREADS_MAX || !unit) {
		errno = EINVAL;
		load_fail("arguments");
	}
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		load_fail("sched_getaffinity");
	start_ns = load_now_ns() + 20000000;
	for (i = 0; i < threads; i++) {
		struct worker *w = &workers[i];

		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET((size_t)cpu, &allowed));
		w->cpu = cpu;
		w->unit = unit;
		w->units_per_ns = (double)rate / (double)threads / 1e9;
		w->start_ns = start_ns;
		w->end_ns = start_ns + (uint64_t)seconds * 1000000000u;
		if (pipe(w->there) != 0 || pipe(w->back) != 0)
			load_fail("pipe");
		errno = pthread_create(&w->partner, NULL, partner_main, w);
		errno = errno ? errno : pthread_create(&w->thread, NULL, worker_main, w);
		if (errno)
			load_fail("pthread_create");
	}
	for (i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		pthread_join(workers[i].partner, NULL);
		units += workers[i].units;
	}
	printf("cpus=%ld\nunits=%llu\nseconds=%.6f\nunits_per_s=%.1f\n",
	       threads < cpus ? threads : cpus, (unsigned long long)units,
	       (double)(load_now_ns() - start_ns) / 1e9,
	       (double)units * 1e9 / (double)(load_now_ns() - start_ns));
	return 0;
}
