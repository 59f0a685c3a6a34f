/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * many_threads CNT [PROCESSES]: CNT idle threads, and PROCESSES idle processes, which share this
 * one's memory and so cost no more than threads. Prints pid=N, started=CNT and processes=CNT
 * when all are there, or as many as the system allows. All end when the standard input ends, or
 * when the program is killed.
 */
#include <stdatomic.h>

#include "truth.h"

#define STACK_BYTES 16384
/* a process that sleeps in one system call */
#define SMALL_STACK_BYTES 4096

/* number of tasks that have reached their final sleep */
static atomic_long there_cnt;

static void *idle(void *arg)
{
	atomic_fetch_add(&there_cnt, 1);
	for (;;)
		pause();
	return arg;
}

static int idle_process(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	idle(arg);
	return 0;
}

static long start_threads(long cnt)
{
	pthread_attr_t attr;
	pthread_t thread;
	long i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (i = 0; i < cnt; i++) {
		if (pthread_create(&thread, &attr, idle, NULL))
			break;
	}
	return i;
}

static long start_processes(long cnt)
{
	char *stacks;
	long i;

	if (!cnt)
		return 0;
	stacks = mmap(NULL, (size_t)cnt * SMALL_STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED)
		return 0;
	for (i = 0; i < cnt; i++) {
		if (clone(idle_process, stacks + (i + 1) * SMALL_STACK_BYTES,
			  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND, NULL) < 0)
			break;
	}
	return i;
}

int main(int argc, char **argv)
{
	long processes = start_processes(truth_arg(argc, argv, 2, 0));
	long threads = start_threads(truth_arg(argc, argv, 1, 1000));
	char c;

	while (atomic_load(&there_cnt) < processes + threads)
		truth_sleep_ms(5);
	printf("pid=%d\nprocesses=%ld\nstarted=%ld\n", (int)getpid(), processes, threads);
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
