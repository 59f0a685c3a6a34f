/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * leftover: the signals are blocked everywhere but in sigwait(). The thread keeps the lock once it has a signal, so that
 * a command that would put its result in place, or say that its files have vanished, waits for its end instead.
 */
#include "cmd/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/remove_tree.h"

/* The command goes on making files while they are removed; it cannot once their directory is gone. */
#define TRIES 1000
#define TRY_WAIT_NS 1000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *leftover; /* NULL: none */
static struct stat what; /* it is, so that nothing of somebody else's goes that has its name */
static bool is_watching;
static bool has_begun; /* the lock is the command's */

static void remove_leftover(void)
{
	const struct timespec wait = { .tv_nsec = TRY_WAIT_NS };
	struct stat st;
	int i;

	if (!leftover || lstat(leftover, &st) < 0 || st.st_dev != what.st_dev ||
	    st.st_ino != what.st_ino)
		return;
	if (!S_ISDIR(st.st_mode)) {
		(void)unlink(leftover);
		return;
	}
	for (i = 0; i < TRIES && remove_tree(AT_FDCWD, leftover) == -ENOTEMPTY; i++)
		nanosleep(&wait, NULL);
}

static void *take_signals(void *ctx)
{
	sigset_t *set = ctx, mine;
	int number;

	if (sigwait(set, &number))
		return NULL;
	pthread_mutex_lock(&lock);
	/* Nothing is said any more: what went wrong now is that it was interrupted. */
	(void)ftrylockfile(stderr);
	remove_leftover();
	signal(number, SIG_DFL);
	sigemptyset(&mine);
	sigaddset(&mine, number);
	pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
	kill(getpid(), number);
	return NULL;
}

static int start(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	static sigset_t set;
	struct sigaction old;
	pthread_t thread;
	size_t i;
	int r;

	sigemptyset(&set);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaddset(&set, numbers[i]);
	r = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (r)
		return -r;
	r = pthread_create(&thread, NULL, take_signals, &set);
	if (r) {
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		return -r;
	}
	pthread_detach(thread);
	/* nor does somebody who has read enough of stdout, or a file that reaches `ulimit -f` */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	is_watching = true;
	return 0;
}

void leftover_hold(void)
{
	pthread_mutex_lock(&lock);
}

void leftover_release(void)
{
	pthread_mutex_unlock(&lock);
}

int leftover_begin(void)
{
	int r = is_watching ? 0 : start();

	if (r)
		return r;
	leftover_hold();
	has_begun = true;
	return 0;
}

int leftover_watch(const char *path)
{
	char *copy = strdup(path);
	int r = copy ? 0 : -ENOMEM;

	if (r == 0 && lstat(path, &what) < 0)
		r = -errno;
	free(leftover);
	leftover = r ? NULL : copy;
	if (r)
		free(copy);
	has_begun = false;
	leftover_release();
	return r;
}

void leftover_forget(void)
{
	if (!has_begun)
		leftover_hold();
	has_begun = false;
	free(leftover);
	leftover = NULL;
	leftover_release();
}

/* Without the watch a killed export leaves what the next one begins anew: no reason not to go on. */
void leftover_of_export(void *ctx, const char *part)
{
	(void)ctx;
	if (part && has_begun)
		(void)leftover_watch(part);
	else if (!part)
		(void)leftover_begin();
}

void leftover_of_export_done(void *ctx)
{
	(void)ctx;
	leftover_forget();
}
