/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pingpong ROUNDS CPU thread|process: two tasks bound to one CPU hand one byte to and fro.
 *
 * On one CPU neither side can go on before the other has run, so every round trip is two
 * switches between them. The kernel's own counts (getrusage RUSAGE_THREAD, voluntary and
 * involuntary) around the exchange are printed next to it: they include switches that another
 * task on that CPU caused.
 */
#include <sys/resource.h>

#include "truth.h"

struct side {
	int in, out, tid, cpu;
	int first;
	long rounds;
	uint64_t start_ns, end_ns;
	long voluntary, involuntary;
};

static void side_exchange(struct side *s)
{
	struct rusage before, after;
	char byte = 'x';
	long i;

	truth_pin(s->cpu);
	s->tid = truth_tid();
	/* One exchange to meet: both sides are bound and running when counting starts. */
	if (s->first && write(s->out, &byte, 1) != 1)
		truth_fail("write");
	if (read(s->in, &byte, 1) != 1)
		truth_fail("read");
	if (!s->first && write(s->out, &byte, 1) != 1)
		truth_fail("write");

	getrusage(RUSAGE_THREAD, &before);
	s->start_ns = truth_now_ns();
	for (i = 0; i < s->rounds; i++) {
		if (s->first && write(s->out, &byte, 1) != 1)
			truth_fail("write");
		if (read(s->in, &byte, 1) != 1)
			truth_fail("read");
		if (!s->first && write(s->out, &byte, 1) != 1)
			truth_fail("write");
	}
	s->end_ns = truth_now_ns();
	getrusage(RUSAGE_THREAD, &after);
	s->voluntary = after.ru_nvcsw - before.ru_nvcsw;
	s->involuntary = after.ru_nivcsw - before.ru_nivcsw;
}

static void side_print(const struct side *s, char name)
{
	printf("tid_%c=%d\nstart_%c=%llu\nend_%c=%llu\nvoluntary_%c=%ld\ninvoluntary_%c=%ld\n",
	       name, s->tid, name, (unsigned long long)s->start_ns, name,
	       (unsigned long long)s->end_ns, name, s->voluntary, name, s->involuntary);
	fflush(stdout);
}

static void *side_thread(void *arg)
{
	side_exchange(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = truth_arg(argc, argv, 1, 100000);
	int cpu = (int)truth_arg(argc, argv, 2, 0);
	int processes = argc > 3 && strcmp(argv[3], "process") == 0;
	int there[2], back[2];
	struct side a, b;

	if (pipe(there) != 0 || pipe(back) != 0)
		truth_fail("pipe");
	memset(&a, 0, sizeof(a));
	a.in = back[0], a.out = there[1], a.cpu = cpu, a.first = 1, a.rounds = rounds;
	memset(&b, 0, sizeof(b));
	b.in = there[0], b.out = back[1], b.cpu = cpu, b.rounds = rounds;

	printf("rounds=%ld\ncpu=%d\n", rounds, cpu);
	fflush(stdout);
	if (processes) {
		pid_t child = fork();

		if (child < 0)
			truth_fail("fork");
		if (child == 0) {
			side_exchange(&b);
			side_print(&b, 'b');
			_exit(0);
		}
		side_exchange(&a);
		waitpid(child, NULL, 0);
	} else {
		pthread_t thread;

		if (pthread_create(&thread, NULL, side_thread, &b) != 0)
			truth_fail("pthread_create");
		side_exchange(&a);
		pthread_join(thread, NULL);
		side_print(&b, 'b');
	}
	side_print(&a, 'a');
	return 0;
}
