/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * delayed KIND SHAPE [without]: work that a cause of delay slows down, ten times about 20 ms; with
 * the third argument, the same work without the cause.
 *
 *   lock      the thread waits for the_lock, which another thread holds most of the time
 *   timeout   it polls a pipe into which nobody writes
 *   sleep     it sleeps
 *   peer      it asks the process "peer", which takes its time to answer
 *   cpu       it shares its CPU with the process "neighbour"
 *   function  it runs in slow_function()
 *
 *   serial    the thread is all there is
 *   parallel  beside it, another thread takes about half as long
 *   off       beside it, another thread takes longer, so that the cause delays nothing
 *   masking   beside it, another thread is delayed as much by another cause
 *
 * The program ends when both threads have. Prints how long that took.
 */
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "truth.h"

#define ROUNDS 10
#define WORK_MS 5
#define DELAY_MS 20

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_over, begun;
static bool without;
static const char *kind;
static int empty[2], peer[2];

static void burn(unsigned int ms)
{
	uint64_t end_ns = truth_cpu_ns() + ms * 1000000ull;

	while (truth_cpu_ns() < end_ns)
		;
}

static volatile unsigned int after;	/* so that the call below is not a jump */

static __attribute__((noinline)) void slow_function(unsigned int ms)
{
	burn(ms);
	after++;
}

/* No two delays one after the other are equal: that would be polling. */
static unsigned int delay_ms(unsigned int round)
{
	return DELAY_MS - 4 + 4 * (round % 3);
}

static void *hold(void *arg)
{
	begun = 1;
	for (unsigned int i = 0; !is_over; i++) {
		pthread_mutex_lock(&the_lock);
		truth_sleep_ms(delay_ms(i));
		pthread_mutex_unlock(&the_lock);
		truth_sleep_ms(1);	/* or it may have it again before the thread has run */
	}
	return arg;
}

static void delay(const char *by, unsigned int round)
{
	struct pollfd none = { .fd = empty[0], .events = POLLIN };
	pthread_mutex_t *lock = without ? &own_lock : &the_lock;
	char byte = (char)round;

	if (!strcmp(by, "lock")) {
		pthread_mutex_lock(lock);
		pthread_mutex_unlock(lock);
	} else if (!strcmp(by, "timeout") && !without) {
		poll(&none, 1, (int)delay_ms(round));
	} else if (!strcmp(by, "sleep") && !without) {
		truth_sleep_ms(delay_ms(round));
	} else if (!strcmp(by, "function") && !without) {
		slow_function(delay_ms(round));
	} else if (!strcmp(by, "peer")) {
		if (write(peer[0], &byte, 1) != 1 || read(peer[0], &byte, 1) != 1)
			truth_fail("peer");
	}
}

static void *work(void *by)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (by && !strcmp(by, "cpu") && sched_setaffinity(0, sizeof(one), &one))
		truth_fail("sched_setaffinity");
	for (unsigned int i = 0; i < ROUNDS; i++) {
		burn(WORK_MS);
		if (by)
			delay(by, i);
	}
	return by;
}

/* The other thread of the shapes: it is delayed by another cause, or just takes its time. */
static void *beside(void *shape)
{
	struct pollfd none = { .fd = empty[0], .events = POLLIN };

	if (!strcmp(shape, "masking"))
		return work(!strcmp(kind, "timeout") ? "sleep" : "timeout");
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int ms = !strcmp(shape, "off") ? 36 + 6 * (i % 2) : 12 + 2 * (i % 2);

		burn(1);
		if (strcmp(kind, "sleep"))
			truth_sleep_ms(ms);
		else
			poll(&none, 1, (int)ms);
	}
	return shape;
}

static pid_t start(const char *name, bool is_peer)
{
	pid_t pid = fork();
	cpu_set_t one;
	char byte;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (!is_peer && sched_setaffinity(0, sizeof(one), &one))
		truth_fail("sched_setaffinity");
	while (!is_peer)
		burn(1);
	while (read(peer[1], &byte, 1) == 1) {
		if (!without)
			truth_sleep_ms(delay_ms((unsigned int)byte));
		if (write(peer[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *shape = argc > 2 ? argv[2] : "serial";
	pthread_t slow, other, holder;
	uint64_t from_ns;
	pid_t child = 0;

	kind = argc > 1 ? argv[1] : "lock";
	without = argc > 3;
	if (pipe(empty) || socketpair(AF_UNIX, SOCK_STREAM, 0, peer))
		truth_fail("pipe");
	if (!strcmp(kind, "peer") || (!strcmp(kind, "cpu") && !without))
		child = start(!strcmp(kind, "peer") ? "peer" : "neighbour", !strcmp(kind, "peer"));
	if (!strcmp(kind, "lock") && pthread_create(&holder, NULL, hold, NULL))
		truth_fail("pthread_create");
	while (!strcmp(kind, "lock") && !begun)
		sched_yield();
	from_ns = truth_now_ns();
	if (pthread_create(&slow, NULL, work, (void *)kind) ||
	    (strcmp(shape, "serial") && pthread_create(&other, NULL, beside, (void *)shape)))
		truth_fail("pthread_create");
	pthread_join(slow, NULL);
	if (strcmp(shape, "serial"))
		pthread_join(other, NULL);
	printf("took=%llu\n", (unsigned long long)(truth_now_ns() - from_ns));
	fflush(stdout);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	_exit(0);
}
