/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * busy_threads one|two|share|hop MS: threads that use all the CPU they can get.
 * busy_threads until FILE: like `one`, until FILE is gone. It prints said=CLOCK_MONOTONIC:CPU
 * time every 10 ms.
 *
 *   one    the main thread, not bound
 *   two    two threads, bound to the first two CPUs
 *   share  two threads, both bound to CPU 0
 *   hop    one thread that moves to the next CPU every 20 ms
 *
 * Every thread prints what the scheduler says it used between its own two clock readings. The
 * CPU clock is read inside the monotonic pair, so the true value lies within what the pair
 * allows.
 */
#include "truth.h"

struct burner {
	int cpu, hop, tid;
	long ms;
	uint64_t start_ns, end_ns, cpu_start_ns, cpu_end_ns;
	long moves;
	const char *until;	/* a file; NULL: until ms are over */
	uint64_t said_ns;
};

/* Prints the CPU time used so far. Returns true when the thread has to go on. */
static int burner_says(struct burner *b, uint64_t now_ns)
{
	if (now_ns < b->said_ns + 10000000)
		return 1;
	b->said_ns = now_ns;
	printf("said=%llu:%llu\n", (unsigned long long)now_ns, (unsigned long long)truth_cpu_ns());
	fflush(stdout);
	return access(b->until, F_OK) == 0;
}

static void *burner_run(void *arg)
{
	struct burner *b = arg;
	uint64_t next_move_ns, now_ns;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	truth_pin(b->cpu);
	b->tid = truth_tid();
	b->start_ns = truth_now_ns();
	b->cpu_start_ns = truth_cpu_ns();
	next_move_ns = b->start_ns + 20000000;
	do {
		volatile unsigned int i;

		for (i = 0; i < 20000; i++)
			;
		now_ns = truth_now_ns();
		if (b->hop && now_ns >= next_move_ns) {
			b->moves++;
			truth_pin((int)(b->moves % cpus));
			next_move_ns += 20000000;
		}
	} while (b->until ? burner_says(b, now_ns) :
			    now_ns < b->start_ns + (uint64_t)b->ms * 1000000u);
	b->cpu_end_ns = truth_cpu_ns();
	b->end_ns = truth_now_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "one";
	long ms = truth_arg(argc, argv, 2, 1000);
	uint64_t steal_ns = truth_steal_ns();
	struct burner burners[2];
	pthread_t threads[2];
	int cnt, i;

	memset(burners, 0, sizeof(burners));
	cnt = strcmp(mode, "two") == 0 || strcmp(mode, "share") == 0 ? 2 : 1;
	for (i = 0; i < cnt; i++) {
		burners[i].ms = ms;
		burners[i].cpu = strcmp(mode, "two") == 0 ? i : strcmp(mode, "share") == 0 ? 0 : -1;
		burners[i].hop = strcmp(mode, "hop") == 0;
	}
	burners[0].until = strcmp(mode, "until") == 0 ? argv[2] : NULL;
	if (cnt == 1)
		burner_run(&burners[0]);
	for (i = 0; cnt > 1 && i < cnt; i++) {
		if (pthread_create(&threads[i], NULL, burner_run, &burners[i]) != 0)
			truth_fail("pthread_create");
	}
	for (i = 0; cnt > 1 && i < cnt; i++)
		pthread_join(threads[i], NULL);

	printf("pid=%d\nthreads=%d\n", (int)getpid(), cnt);
	for (i = 0; i < cnt; i++) {
		const struct burner *b = &burners[i];

		printf("tid_%d=%d\nstart_%d=%llu\nend_%d=%llu\nused_%d=%llu\nmoves_%d=%ld\n", i,
		       b->tid, i, (unsigned long long)b->start_ns, i, (unsigned long long)b->end_ns,
		       i, (unsigned long long)(b->cpu_end_ns - b->cpu_start_ns), i, b->moves);
	}
	printf("steal=%llu\n", (unsigned long long)(truth_steal_ns() - steal_ns));
	printf("own_total=%llu\n", (unsigned long long)truth_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
