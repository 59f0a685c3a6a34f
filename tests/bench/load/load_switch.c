/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load_switch ROUNDS CPU: two threads bound to one CPU hand one byte to and fro through pipes.
 *
 * On one CPU neither can go on before the other has run: a round trip is two context switches and
 * two wake-ups, and nothing else of size. The kernel's own count of this process's switches is
 * printed so that a side that saw fewer is noticed.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "load.h"

struct side {
	int in, out;
	long rounds, cpu;
};

static void give(int fd)
{
	char byte = 'x';

	if (write(fd, &byte, 1) != 1)
		load_fail("write");
}

static void take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		load_fail("read");
}

static void *answer(void *arg)
{
	struct side *s = arg;
	long i;

	load_pin(s->cpu);
	for (i = 0; i < s->rounds; i++) {
		take(s->in);
		give(s->out);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = load_arg(argc, argv, 1, 200000), cpu = load_arg(argc, argv, 2, 0), warm, i;
	struct rusage before, after;
	int there[2], back[2];
	struct side other;
	pthread_t thread;
	uint64_t start_ns, end_ns, cpu_ns;

	warm = rounds / 10;
	if (pipe(there) != 0 || pipe(back) != 0)
		load_fail("pipe");
	other = (struct side){
		.in = there[0], .out = back[1], .rounds = warm + rounds, .cpu = cpu
	};
	load_pin(cpu);
	errno = pthread_create(&thread, NULL, answer, &other);
	if (errno)
		load_fail("pthread_create");
	for (i = 0; i < warm; i++) {
		give(there[1]);
		take(back[0]);
	}
	getrusage(RUSAGE_SELF, &before);
	cpu_ns = load_cpu_ns();
	start_ns = load_now_ns();
	for (i = 0; i < rounds; i++) {
		give(there[1]);
		take(back[0]);
	}
	end_ns = load_now_ns();
	cpu_ns = load_cpu_ns() - cpu_ns;
	getrusage(RUSAGE_SELF, &after);
	pthread_join(thread, NULL);
	printf("switches=%ld\nns_per_op=%.3f\ncpu_ns_per_op=%.3f\n",
	       after.ru_nvcsw - before.ru_nvcsw + after.ru_nivcsw - before.ru_nivcsw,
	       (double)(end_ns - start_ns) / (double)(2 * rounds),
	       (double)cpu_ns / (double)(2 * rounds));
	return 0;
}
