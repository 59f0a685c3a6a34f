/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * waits: threads that wait off the CPU in functions of known names, and measure each wait.
 *
 *     nap_alpha(), called by nap_outer(): 5 nanosleep of 30 ms, then 50 of 1 ms
 *     lock_beta(), called by lock_outer(): 3 waits for a mutex that another thread, in
 *         hold_outer(), holds for about 40 ms
 *     read_gamma(), called by read_outer(): 4 reads of a pipe that another thread, in feed_delta(),
 *         called by feed_outer(), writes to about 25 ms after each read began
 *
 * System calls are made here, because a C library without frame pointers would hide who called it.
 */
#include "truth.h"

#define NOINLINE __attribute__((noinline))
#define NS_PER_MS 1000000LL

/*
 * a call is never the last statement of a function, so that it does not become a jump, and frames
 * stay
 */
static volatile int after;

static inline __attribute__((always_inline)) long call(long nr, long a, long b, long c)
{
#if defined(__x86_64__)
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
			 x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#endif
}

struct meter {
	uint64_t from_ns, cpu_ns;
};

static struct meter begin(void)
{
	return (struct meter){ truth_now_ns(), truth_cpu_ns() };
}

/* Prints when a wait began and ended, and how long the thread had no CPU in that time. */
static void end(struct meter m, const char *what, int i)
{
	uint64_t used_ns = truth_cpu_ns() - m.cpu_ns, to_ns = truth_now_ns();

	printf("%s_from_%d=%llu\n%s_to_%d=%llu\n%s_off_%d=%llu\n", what, i,
	       (unsigned long long)m.from_ns, what, i, (unsigned long long)to_ns, what, i,
	       (unsigned long long)(to_ns - m.from_ns - used_ns));
}

/* ---- sleep ---- */

static NOINLINE void nap_alpha(long ns)
{
	struct timespec t = { 0, ns };

	call(SYS_nanosleep, (long)&t, 0, 0);
	after++;
}

static NOINLINE void nap_outer(long ns)
{
	nap_alpha(ns);
	after++;
}

static void *naps(void *unused)
{
	struct meter m;

	printf("tid_nap=%d\n", truth_tid());
	for (int i = 0; i < 5; i++) {
		m = begin();
		nap_outer(30 * NS_PER_MS);
		end(m, "nap", i);
	}
	for (int i = 0; i < 50; i++)
		nap_outer(NS_PER_MS);
	return unused;
}

/* ---- a mutex ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static NOINLINE void lock_beta(void)
{
	pthread_mutex_lock(&lock);
	after++;
}

static NOINLINE void lock_outer(void)
{
	lock_beta();
	after++;
}

static void *locks(void *unused)
{
	struct meter m;

	printf("tid_lock=%d\n", truth_tid());
	for (int i = 0; i < 3; i++) {
		pthread_barrier_wait(&barrier);
		m = begin();
		lock_outer();
		end(m, "lock", i);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

static NOINLINE void hold_outer(void)
{
	struct timespec t = { 0, 40 * NS_PER_MS };

	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&barrier);
	nanosleep(&t, NULL);
	pthread_mutex_unlock(&lock);
	after++;
	pthread_barrier_wait(&barrier);
}

static void *holds(void *unused)
{
	printf("tid_hold=%d\n", truth_tid());
	for (int i = 0; i < 3; i++)
		hold_outer();
	return unused;
}

/* ---- a pipe ---- */

static int fds[2];
static pthread_barrier_t read_begins;

static NOINLINE void read_gamma(void)
{
	char c;

	call(SYS_read, fds[0], (long)&c, 1);
	after++;
}

static NOINLINE void read_outer(void)
{
	read_gamma();
	after++;
}

static void *reads(void *unused)
{
	struct meter m;

	printf("tid_read=%d\n", truth_tid());
	for (int i = 0; i < 4; i++) {
		pthread_barrier_wait(&read_begins);
		m = begin();
		read_outer();
		end(m, "read", i);
	}
	return unused;
}

static NOINLINE void feed_delta(void)
{
	char c = 'x';

	call(SYS_write, fds[1], (long)&c, 1);
	after++;
}

static NOINLINE void feed_outer(void)
{
	feed_delta();
	after++;
}

static void *feeds(void *unused)
{
	struct timespec t = { 0, 25 * NS_PER_MS };

	printf("tid_feed=%d\n", truth_tid());
	for (int i = 0; i < 4; i++) {
		pthread_barrier_wait(&read_begins);
		nanosleep(&t, NULL);
		feed_outer();
	}
	return unused;
}

int main(void)
{
	void *(*const all[])(void *) = { naps, locks, holds, reads, feeds };
	pthread_t threads[5];

	if (pipe(fds) || pthread_barrier_init(&barrier, NULL, 2) ||
	    pthread_barrier_init(&read_begins, NULL, 2))
		return 1;
	printf("pid=%d\n", getpid());
	for (int i = 0; i < 5; i++)
		if (pthread_create(&threads[i], NULL, all[i], NULL))
			return 1;
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
