/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * causes CAUSE FILE OTHER: a thread named victim, and threads named culprit that slow it down:
 *
 *   mutex       it wants a mutex, with which culprit sleeps, writes to OTHER and syncs that
 *   condition   it waits for a condition variable, which culprit signals when it has slept
 *   idle        it serves what culprit asks every 30 ms, over a socket, and epolls in between
 *   loaded      the same, but culprit asks all at once, and each answer takes 5 ms of computing
 *   cpu         they share one CPU; in all other cases it gets one before everybody else
 *   mmap        culprit maps and unmaps memory, victim too
 *   mapped      it reads a mapped FILE that is not in memory, beside those that read OTHER
 *   read        the same with pread
 *   requests    threads req-0 to req-3 answer requests of 1 ms for a second, each under audit_lock,
 *               with which the thread audit sleeps for 60 of 80 ms
 *
 * Prints the thread's number, and the instants before and after its work; for the mutex also the
 * time until it got the mutex.
 */
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "truth.h"

#define ROUNDS 20
#define CULPRIT_MAX 6
#define STEP (256 * 1024)	/* beyond the read-ahead */
#define CHUNK (1 << 20)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int signalled;
static atomic_int is_over, begun;
static const char *file, *other;
static volatile long sum;	/* keeps the computation from being optimized away */

static void *hold_and_sync(void *arg)
{
	static char data[4096];
	int fd = open(other, O_WRONLY);

	begun++;
	while (!is_over) {
		pthread_mutex_lock(&mutex);
		truth_sleep_ms(4);
		/* for a millisecond, because one sync takes hardly any time on a quick disk */
		for (uint64_t end_ns = truth_now_ns() + 1000000; truth_now_ns() < end_ns;)
			if (pwrite(fd, data, sizeof(data), 0) != sizeof(data) || fsync(fd))
				truth_fail(other);
		pthread_mutex_unlock(&mutex);
		truth_sleep_ms(1);
	}
	close(fd);
	return NULL;
}

static void lock_often(void)
{
	uint64_t end_ns = truth_now_ns() + 500000000, from_ns, ns, waited_ns = 0;

	while ((from_ns = truth_now_ns()) < end_ns) {
		pthread_mutex_lock(&mutex);
		ns = truth_now_ns() - from_ns;
		if (ns > 500000)	/* the culprit had it */
			waited_ns += ns;
		pthread_mutex_unlock(&mutex);
	}
	printf("waited=%llu\n", (unsigned long long)waited_ns);
}

static void *signal_it(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		truth_sleep_ms(30);
		pthread_mutex_lock(&mutex);
		signalled++;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void wait_for_it(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		while (!signalled)
			pthread_cond_wait(&condition, &mutex);
		signalled--;
		pthread_mutex_unlock(&mutex);
	}
}

static int ends[2];	/* of a socket: victim's, and culprit's */

static void ask(size_t cnt)
{
	static const char asked[ROUNDS];

	if (write(ends[1], asked, cnt) != (ssize_t)cnt)
		truth_fail("write");
}

static void *ask_slowly(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		truth_sleep_ms(30);
		ask(1);
	}
	return NULL;
}

static void *ask_at_once(void *arg)
{
	ask(ROUNDS);
	return NULL;
}

static void serve(uint64_t busy_ns)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = epoll_create1(0), i;

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &ev))
		truth_fail("epoll");
	for (i = 0; i < ROUNDS; i++) {
		uint64_t end_ns;
		char c;

		if (epoll_wait(fd, &ev, 1, -1) != 1 || read(ends[0], &c, 1) != 1)
			truth_fail("epoll_wait");
		for (end_ns = truth_now_ns() + busy_ns; truth_now_ns() < end_ns;)
			;
	}
	close(fd);
}

static void serve_idle(void)
{
	serve(0);
}

static void serve_loaded(void)
{
	serve(5000000);
}

static void *burn(void *arg)
{
	begun++;
	while (!is_over)
		;
	return NULL;
}

static void count(void)
{
	long i;

	for (i = 0; i < 60000000; i++)
		sum += i;
}

static void *map_much(void *arg)
{
	const size_t bytes = 256u << 20;

	begun++;
	while (!is_over) {
		void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p == MAP_FAILED)
			truth_fail("mmap");
		munmap(p, bytes);
	}
	return NULL;
}

static void map_little(void)
{
	uint64_t end_ns = truth_now_ns() + 1000000000;

	while (truth_now_ns() < end_ns) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		if (p == MAP_FAILED || munmap(p, 4096))
			truth_fail("mmap");
	}
}

static void *read_much(void *arg)
{
	int fd = open(other, O_RDONLY | O_DIRECT);
	void *data = aligned_alloc(4096, CHUNK);
	off_t at = 0;

	begun++;
	while (!is_over) {
		ssize_t n = pread(fd, data, CHUNK, at);

		if (n < 0)
			truth_fail(other);
		at = n ? at + n : 0;
	}
	free(data);
	close(fd);
	return NULL;
}

static int open_cold(off_t *ret_bytes)
{
	int fd = open(file, O_RDONLY);

	*ret_bytes = lseek(fd, 0, SEEK_END);
	if (fd < 0 || *ret_bytes <= 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		truth_fail(file);
	return fd;
}

static void read_mapped(void)
{
	off_t bytes, at;
	int fd = open_cold(&bytes);
	char *p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED || madvise(p, (size_t)bytes, MADV_RANDOM))
		truth_fail("mmap");
	for (at = 0; at < bytes; at += STEP)
		sum += p[at];
}

static void read_plain(void)
{
	off_t bytes, at;
	int fd = open_cold(&bytes);
	char data[4096];

	for (at = 0; at < bytes; at += STEP)
		if (pread(fd, data, sizeof(data), at) < 0)
			truth_fail("pread");
}

static pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t requests_end_ns;

static void *audit(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "audit");
	while (truth_now_ns() < requests_end_ns) {
		pthread_mutex_lock(&audit_lock);
		truth_sleep_ms(60);
		pthread_mutex_unlock(&audit_lock);
		truth_sleep_ms(20);
	}
	return NULL;
}

static void *answer_requests(void *name)
{
	prctl(PR_SET_NAME, name);
	while (truth_now_ns() < requests_end_ns) {
		pthread_mutex_lock(&audit_lock);
		for (uint64_t end_ns = truth_now_ns() + 1000000; truth_now_ns() < end_ns;)
			;
		pthread_mutex_unlock(&audit_lock);
		truth_sleep_ms(2);
	}
	return NULL;
}

static void serve_requests(void)
{
	static char names[4][8] = { "req-0", "req-1", "req-2", "req-3" };
	pthread_t threads[5];

	requests_end_ns = truth_now_ns() + 1000000000;
	pthread_create(&threads[4], NULL, audit, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, answer_requests, names[i]);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
}

static const struct cause {
	const char *name;
	void *(*culprit)(void *arg);
	void (*victim)(void);
	int culprit_cnt;
	enum { SAME_CPU, VICTIM_FIRST, BOTH_FIRST, NOBODY_FIRST } how;
} causes[] = {
	{ "requests", NULL, serve_requests, 0, NOBODY_FIRST },
	{ "mutex", hold_and_sync, lock_often, 1, BOTH_FIRST },
	{ "condition", signal_it, wait_for_it, 1, VICTIM_FIRST },
	{ "idle", ask_slowly, serve_idle, 1, VICTIM_FIRST },
	{ "loaded", ask_at_once, serve_loaded, 1, VICTIM_FIRST },
	{ "cpu", burn, count, CULPRIT_MAX, SAME_CPU },
	{ "mmap", map_much, map_little, 1, BOTH_FIRST },
	{ "mapped", read_much, read_mapped, 4, BOTH_FIRST },
	{ "read", read_much, read_plain, 4, BOTH_FIRST },
};

/* Gets a CPU before all other threads, so that a busy machine is not another cause. */
static void come_first(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first) && setpriority(PRIO_PROCESS, 0, -20))
		truth_fail("setpriority");
}

int main(int argc, char **argv)
{
	const struct cause *c = causes;
	pthread_t threads[CULPRIT_MAX];
	cpu_set_t cpus;

	if (argc < 4)
		return 2;
	file = argv[2];
	other = argv[3];
	while (strcmp(c->name, argv[1]))
		c++;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		truth_fail("socketpair");
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (c->how == SAME_CPU && sched_setaffinity(0, sizeof(cpus), &cpus))
		truth_fail("sched_setaffinity");
	if (c->how == BOTH_FIRST)
		come_first();
	/* threads inherit their creator's name and priority */
	prctl(PR_SET_NAME, "culprit");
	for (int i = 0; i < c->culprit_cnt; i++)
		pthread_create(&threads[i], NULL, c->culprit, NULL);
	prctl(PR_SET_NAME, "victim");
	if (c->how == VICTIM_FIRST)
		come_first();
	while (c->how != VICTIM_FIRST && begun < c->culprit_cnt)
		truth_sleep_ms(1);
	printf("tid=%d\nfrom=%llu\n", truth_tid(), (unsigned long long)truth_now_ns());
	c->victim();
	printf("to=%llu\n", (unsigned long long)truth_now_ns());
	is_over = 1;
	for (int i = 0; i < c->culprit_cnt; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
