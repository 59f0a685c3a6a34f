// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * many_threads CNT: that many threads that do nothing. Prints pid=N and started=CNT when all are there, and
 * ends when its standard input does. Fewer than CNT, when the system allows no more: exit status 3.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 1000, i;
	pthread_attr_t attr;
	pthread_t thread;
	char c;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (i = 0; i < cnt; i++) {
		if (pthread_create(&thread, &attr, idle, NULL))
			break;
	}
	printf("pid=%d\nstarted=%d\n", (int)getpid(), i);
	fflush(stdout);
	if (i < cnt)
		return 3;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
