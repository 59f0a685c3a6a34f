/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * profile: threads that use the CPU in functions of known names, and measure how long by the
 * scheduler's own clock. Arguments: rounds (10), bytes that burn_outer() has on its stack (0), ms
 * of burn_beta() in a round (30). A round is of
 *
 *     thread user     burn_alpha() 60 ms, burn_beta() 30 ms, burn_gamma() 10 ms of CPU time, all
 *                     called by burn_outer()
 *     thread system   vfs_read(): reads of /dev/zero, 50 ms of CPU time
 *
 * and of thread idle, which sleeps all the time.
 */
#include "truth.h"

#include <alloca.h>

#define NOINLINE __attribute__((noinline))

/*
 * a call is never the last statement of a function, so that it does not become a jump, and frames
 * stay
 */
static volatile int after;
static volatile uint64_t burnt;

static long rounds, outer_bytes, beta_ms;

/* Each function burns by itself, in a way of its own: equal ones could become one function. */
#define BURN(name, step)                                                                           \
	static NOINLINE uint64_t name(uint64_t ms)                                                 \
	{                                                                                          \
		uint64_t from_ns = truth_cpu_ns(), now_ns;                                         \
		int i;                                                                             \
                                                                                                   \
		do {                                                                               \
			for (i = 0; i < 200000; i++)                                               \
				burnt += (uint64_t)i * step;                                       \
			now_ns = truth_cpu_ns();                                                   \
		} while (now_ns - from_ns < ms * 1000000);                                         \
		after++;                                                                           \
		return now_ns - from_ns;                                                           \
	}

BURN(burn_alpha, 3)
BURN(burn_beta, 5)
BURN(burn_gamma, 7)

static NOINLINE void burn_outer(uint64_t *ns)
{
	char *data = alloca((size_t)outer_bytes + 16);

	memset(data, 1, (size_t)outer_bytes + 16);
	ns[0] += burn_alpha(60);
	ns[1] += burn_beta((uint64_t)beta_ms);
	ns[2] += burn_gamma(10);
	after += data[outer_bytes];
}

static void tell(const char *what, uint64_t ns)
{
	printf("%s=%llu\n", what, (unsigned long long)ns);
}

static void *user(void *arg)
{
	uint64_t ns[3] = { 0 };
	long i;

	prctl(PR_SET_NAME, "user");
	for (i = 0; i < rounds; i++)
		burn_outer(ns);
	tell("alpha_ns", ns[0]);
	tell("beta_ns", ns[1]);
	tell("gamma_ns", ns[2]);
	tell("tid_user", (uint64_t)truth_tid());
	tell("cpu_user", truth_cpu_ns());
	return arg;
}

/* named as a function of the kernel that it leads to */
static NOINLINE void vfs_read(int fd)
{
	static char room[1 << 20];
	uint64_t from_ns = truth_cpu_ns();

	do {
		if (read(fd, room, sizeof(room)) != sizeof(room))
			truth_fail("read");
	} while (truth_cpu_ns() - from_ns < 50000000);
	after++;
}

static void *system_calls(void *arg)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	long i;

	prctl(PR_SET_NAME, "system");
	if (fd < 0)
		truth_fail("/dev/zero");
	for (i = 0; i < rounds; i++)
		vfs_read(fd);
	tell("tid_system", (uint64_t)truth_tid());
	tell("cpu_system", truth_cpu_ns());
	return arg;
}

static void *idle(void *arg)
{
	prctl(PR_SET_NAME, "idle");
	truth_sleep_ms((unsigned int)rounds * 50);
	tell("tid_idle", (uint64_t)truth_tid());
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const work[])(void *) = { user, system_calls, idle };
	pthread_t threads[3];

	rounds = truth_arg(argc, argv, 1, 10);
	outer_bytes = truth_arg(argc, argv, 2, 0);
	beta_ms = truth_arg(argc, argv, 3, 30);
	for (unsigned int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work[i], NULL))
			truth_fail("pthread_create");
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	tell("pid", (uint64_t)getpid());
	return 0;
}
