/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_causes CAUSE DIR: 200 requests GET of about 0.3 ms, by the thread server; each 50th is
 * slow by one cause:
 *
 *   lock       audit_lock, with which the thread audit syncs DIR/audit.log
 *   disk       it reads DIR/cold directly, beside the process neighbour, which reads DIR/other
 *   cpu        the thread hog, of a real-time class, takes the server's CPU
 *   quota      none of these: the process burns CPU time, and its control group has a quota
 *   peer       it asks the thread peer over a socket, which sleeps before it answers
 *   faults     it reads a mapped DIR/cold, of which nothing is in memory
 *   burst      it allocates and fills 64 MiB
 *   stop       the process stopper stops the server's process for 20 ms
 *   datagram   it asks peer with datagrams, which ignores one; the server asks again after 20 ms
 *   function   it runs slow_path()
 */
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>

#include "../../../cmd/ebpfrec.h"
#include "truth.h"

#define REQUESTS 200
#define SLOW_EACH 50
#define SLOW_MS 20
#define BURST_BYTES (64u << 20)
#define COLD_BYTES (16u << 20)

static pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted, begun;
static const char *dir;
static int ends[2];
static volatile uint64_t sum;	/* keeps the computation from being optimized away */

static int open_file(const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags, 0600);
	if (fd < 0)
		truth_fail(path);
	return fd;
}

static __attribute__((noinline)) void burn(uint64_t us)
{
	for (uint64_t end_ns = truth_cpu_ns() + us * 1000; truth_cpu_ns() < end_ns;)
		for (int i = 0; i < 1000; i++)
			sum += (uint64_t)i;
}

static __attribute__((noinline)) void slow_path(void)
{
	for (uint64_t end_ns = truth_cpu_ns() + SLOW_MS * 1000000ull; truth_cpu_ns() < end_ns;)
		for (int i = 0; i < 100000; i++)
			sum += (uint64_t)i;
}

static void *audit(void *arg)
{
	static char data[1 << 20];
	int fd = open_file("audit.log", O_WRONLY | O_CREAT);

	prctl(PR_SET_NAME, "audit");
	for (;;) {
		sem_wait(&wanted);
		pthread_mutex_lock(&audit_lock);
		sem_post(&begun);
		for (uint64_t end_ns = truth_now_ns() + SLOW_MS * 1000000; truth_now_ns() < end_ns;)
			if (pwrite(fd, data, sizeof(data), 0) != sizeof(data) || fsync(fd))
				truth_fail("audit.log");
		pthread_mutex_unlock(&audit_lock);
	}
	return arg;
}

static void *hog(void *arg)
{
	struct sched_param high = { .sched_priority = 10 };

	prctl(PR_SET_NAME, "hog");
	truth_pin(0);
	if (sched_setscheduler(0, SCHED_FIFO, &high))
		truth_fail("sched_setscheduler");
	for (;;) {
		sem_wait(&wanted);
		for (uint64_t end_ns = truth_now_ns() + SLOW_MS * 1000000; truth_now_ns() < end_ns;)
			sum++;
	}
	return arg;
}

/* Answers requests: 's' after a sleep, 'l' never. */
static void *peer(void *arg)
{
	char c;

	prctl(PR_SET_NAME, "peer");
	while (recv(ends[1], &c, 1, 0) == 1) {
		if (c == 's')
			truth_sleep_ms(SLOW_MS);
		if (c != 'l' && send(ends[1], &c, 1, 0) != 1)
			truth_fail("send");
	}
	return arg;
}

static void ask(char c)
{
	struct pollfd p = { ends[0], POLLIN, 0 };

	do {
		if (send(ends[0], &c, 1, 0) != 1)
			truth_fail("send");
		c = 'a';
	} while (!poll(&p, 1, SLOW_MS));
	if (recv(ends[0], &c, 1, 0) != 1)
		truth_fail("recv");
}

static void ask_slow(char c)
{
	if (send(ends[0], &c, 1, 0) != 1 || recv(ends[0], &c, 1, 0) != 1)
		truth_fail("send");
}

/* Reads DIR/other on and on, in its own process. */
static pid_t neighbour(void)
{
	static char data[1 << 20] __attribute__((aligned(4096)));
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, "neighbour");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open_file("other", O_RDONLY | O_DIRECT);
	for (;;)
		if (pread(fd, data, sizeof(data), 0) != sizeof(data))
			truth_fail("other");
}

static void read_cold(void)
{
	static char data[1 << 16] __attribute__((aligned(4096)));
	static off_t at;
	int fd = open_file("cold", O_RDONLY | O_DIRECT);

	for (uint64_t end_ns = truth_now_ns() + SLOW_MS * 1000000; truth_now_ns() < end_ns;
	     at = (at + (off_t)sizeof(data)) % COLD_BYTES)
		if (pread(fd, data, sizeof(data), at) != sizeof(data))
			truth_fail("cold");
	close(fd);
}

static void fault_in(void)
{
	int fd = open_file("cold", O_RDONLY);
	char *p;

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = mmap(NULL, COLD_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		truth_fail("mmap");
	madvise(p, COLD_BYTES, MADV_RANDOM);
	for (size_t i = 0; i < COLD_BYTES; i += 1 << 16)
		sum += (uint64_t)p[i];
	munmap(p, COLD_BYTES);
	close(fd);
}

static void burst(void)
{
	char *p = malloc(BURST_BYTES);

	if (!p)
		truth_fail("malloc");
	memset(p, 1, BURST_BYTES);
	sum += (uint64_t)p[sum % BURST_BYTES];
	free(p);
}

static void stop(void)
{
	pid_t server = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "stopper");
		kill(server, SIGSTOP);
		truth_sleep_ms(SLOW_MS);
		kill(server, SIGCONT);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void slow(const char *cause)
{
	if (!strcmp(cause, "lock")) {
		sem_post(&wanted);
		sem_wait(&begun);
		pthread_mutex_lock(&audit_lock);
		pthread_mutex_unlock(&audit_lock);
	} else if (!strcmp(cause, "disk")) {
		pid_t pid = neighbour();

		read_cold();
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	} else if (!strcmp(cause, "cpu")) {
		sem_post(&wanted);
	} else if (!strcmp(cause, "peer")) {
		ask_slow('s');
	} else if (!strcmp(cause, "faults")) {
		fault_in();
	} else if (!strcmp(cause, "burst")) {
		burst();
	} else if (!strcmp(cause, "stop")) {
		stop();
	} else if (!strcmp(cause, "datagram")) {
		ask('l');
	} else if (!strcmp(cause, "function")) {
		slow_path();
	}
}

int main(int argc, char **argv)
{
	bool is_quota;
	pthread_t t;

	if (argc != 3)
		return 2;
	dir = argv[2];
	is_quota = !strcmp(argv[1], "quota");
	prctl(PR_SET_NAME, "server");
	sem_init(&wanted, 0, 0);
	sem_init(&begun, 0, 0);
	if (socketpair(AF_UNIX, strcmp(argv[1], "datagram") ? SOCK_STREAM : SOCK_DGRAM, 0, ends))
		truth_fail("socketpair");
	if (!strcmp(argv[1], "lock"))
		pthread_create(&t, NULL, audit, NULL);
	if (!strcmp(argv[1], "peer") || !strcmp(argv[1], "datagram"))
		pthread_create(&t, NULL, peer, NULL);
	if (!strcmp(argv[1], "cpu")) {
		pthread_create(&t, NULL, hog, NULL);
		truth_pin(0);
	}
	truth_sleep_ms(50);
	for (uint64_t i = 1; i <= REQUESTS; i++) {
		ebpfrec_begin("GET", i);
		burn(is_quota ? 2000 : 300);
		if (i % SLOW_EACH == 0)
			slow(argv[1]);
		ebpfrec_end(i);
		if (!is_quota)
			truth_sleep_ms(1);
	}
	_exit(0);
}
