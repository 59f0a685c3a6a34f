/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Giving up capabilities: each thread does it for itself, and a forgotten thread is found. */
#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/privilege.h"
#include "tests/unit/unit_test.h"

/*
 * Runs an irreversible test in a child. Returns its exit status, the number of the first failed
 * step.
 */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(fn());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A thread that keeps its capabilities until the test asks it to drop them. */
struct late {
	pthread_t thread;
	pthread_barrier_t step;
	long tid;
	int result;
};

static void *late_main(void *ctx)
{
	struct late *l = ctx;

	l->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&l->step);
	pthread_barrier_wait(&l->step);
	l->result = privilege_drop(0, NULL);
	pthread_barrier_wait(&l->step);
	pthread_barrier_wait(&l->step);
	return NULL;
}

static int forget_a_thread(void)
{
	struct err e = { "" };
	struct late l = { .result = -1 };
	char name[32];

	pthread_barrier_init(&l.step, NULL, 2);
	if (pthread_create(&l.thread, NULL, late_main, &l))
		return 1;
	pthread_barrier_wait(&l.step);
	if (privilege_drop(0, NULL))
		return 2;
	snprintf(name, sizeof(name), "thread %ld ", l.tid);
	if (privilege_check_threads(0, &e) != -EPERM)
		return 3;
	if (!strstr(e.text, name))
		return 4;
	pthread_barrier_wait(&l.step);
	pthread_barrier_wait(&l.step);
	if (l.result)
		return 5;
	if (privilege_check_threads(0, &e))
		return 6;
	pthread_barrier_wait(&l.step);
	pthread_join(l.thread, NULL);
	return 0;
}

UNIT_TEST(test_privilege_finds_the_thread_that_was_forgotten)
{
#ifdef SANITIZED_thread
	skip(); /* it has a thread of its own, which takes no orders: nothing is checked */
#endif
	assert_int_equal(in_child(forget_a_thread), 0);
}

static int keep_one(void)
{
	struct err e = { "" };

	if (privilege_drop(PRIVILEGE_BIT(CAP_SYS_ADMIN), NULL))
		return 1;
	if (!privilege_has(CAP_SYS_ADMIN) || privilege_has(CAP_SYS_PTRACE) ||
	    privilege_has(CAP_SETPCAP))
		return 2;
	if (privilege_check_threads(PRIVILEGE_BIT(CAP_SYS_ADMIN), &e))
		return 3;
	return privilege_check_threads(0, &e) == -EPERM ? 0 : 4;
}

UNIT_TEST(test_privilege_keeps_what_is_asked_for_and_no_more)
{
	if (!privilege_has(CAP_SYS_ADMIN) || !privilege_has(CAP_SYS_PTRACE))
		skip();
#ifdef SANITIZED_thread
	skip();
#endif
	assert_int_equal(in_child(keep_one), 0);
}

UNIT_TESTS
