/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * wait_kinds [FILE DIRECTORY]: waits 150 ms for each of several things in turn, all of which
 * another thread or process gives when it has slept, and prints the instants before and after each,
 * and the lock's address, inode numbers and ports.
 *
 *   lock    a mutex that a thread named holder has     pipe, socket, unix, tcp   data
 *   poll    an eventfd, by epoll_wait                  event               an eventfd, by read
 *   timer   nothing: it sleeps                         child               a process's end
 *   terminal   a line, of a pseudo terminal            thread              a thread's end
 *   polled     data of a pipe, by poll                 nothing            a poll of no descriptor
 *   condition, semaphore   a thread's signal           priority, robust, readers   other locks
 *   late_*     data or a signal that does not come before a timeout
 *   flock   the lock of FILE, which a thread named holder has; without arguments it waits for none
 *   directory, mutex   locks of the kernel, of DIRECTORY and of a pipe, which a thread named holder
 *           has: the page to which its call copies is missing until another thread gives it
 */
#include <arpa/inet.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "truth.h"

#define WAIT_MS 150

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begun;
static char data[8] = { 1 };	/* is one more for an eventfd, too */

static void *hold(void *arg)
{
	prctl(PR_SET_NAME, "holder");
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&begun);
	truth_sleep_ms(WAIT_MS);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *hold_file(void *path)
{
	int fd = open(path, O_RDONLY);

	prctl(PR_SET_NAME, "holder");
	if (fd < 0 || flock(fd, LOCK_EX))
		truth_fail(path);
	pthread_barrier_wait(&begun);
	truth_sleep_ms(WAIT_MS);
	close(fd);
	return NULL;
}

static void *end_later(void *arg)
{
	*(int *)arg = truth_tid();
	pthread_barrier_wait(&begun);
	truth_sleep_ms(WAIT_MS);
	return NULL;
}

/* A process that writes to fd when it has slept; with -1 it just ends then. */
static pid_t give_later(int fd)
{
	pid_t child = fork();

	if (child < 0)
		truth_fail("fork");
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	truth_sleep_ms(WAIT_MS);
	_exit(fd >= 0 && write(fd, data, sizeof(data)) != sizeof(data));
}

static void begin(const char *part)
{
	printf("%s_from=%llu\n", part, (unsigned long long)truth_now_ns());
}

static void end(const char *part)
{
	printf("%s_to=%llu\n", part, (unsigned long long)truth_now_ns());
}

static void take(const char *part, int from, int to)
{
	pid_t child = give_later(to);

	begin(part);
	if (read(from, data, sizeof(data)) <= 0)
		truth_fail("read");
	end(part);
	waitpid(child, NULL, 0);
}

static unsigned long long inode(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		truth_fail("fstat");
	return st.st_ino;
}

static void do_lock(void)
{
	pthread_t holder;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&holder, NULL, hold, NULL);
	pthread_barrier_wait(&begun);
	begin("lock");
	pthread_mutex_lock(&lock);
	end("lock");
	pthread_mutex_unlock(&lock);
	pthread_join(holder, NULL);
}

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int is_done;

static void *signal_later(void *arg)
{
	prctl(PR_SET_NAME, "signaller");
	truth_sleep_ms(WAIT_MS);
	pthread_mutex_lock(&lock);
	is_done = 1;
	/* first: or the waiter that wakes may have to wait for the lock as well */
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&condition);
	truth_sleep_ms(WAIT_MS);
	sem_post(&semaphore);
	return NULL;
}

static void do_condition(void)
{
	pthread_t thread;

	sem_init(&semaphore, 0, 0);
	pthread_create(&thread, NULL, signal_later, NULL);
	pthread_mutex_lock(&lock);
	begin("condition");
	while (!is_done)
		pthread_cond_wait(&condition, &lock);
	end("condition");
	pthread_mutex_unlock(&lock);
	begin("semaphore");
	sem_wait(&semaphore);
	end("semaphore");
	pthread_join(thread, NULL);
}

/* Locks whose calls resemble those for conditions: in value, or in clock. */
static pthread_mutex_t priority, robust;
static pthread_rwlock_t writers;

static void *hold_others(void *arg)
{
	pthread_mutex_lock(&priority);
	pthread_mutex_lock(&robust);
	pthread_rwlock_rdlock(&writers);
	pthread_barrier_wait(&begun);
	truth_sleep_ms(WAIT_MS);
	pthread_mutex_unlock(&priority);
	truth_sleep_ms(WAIT_MS);
	pthread_mutex_unlock(&robust);
	truth_sleep_ms(WAIT_MS);
	pthread_rwlock_unlock(&writers);
	return NULL;
}

static void *write_later(void *arg)
{
	pthread_rwlock_wrlock(&writers);
	pthread_rwlock_unlock(&writers);
	return NULL;
}

static void do_other_locks(void)
{
	struct timespec until;
	pthread_t holder, writer;
	pthread_mutexattr_t m;
	pthread_rwlockattr_t rw;

	pthread_mutexattr_init(&m);
	pthread_mutexattr_setprotocol(&m, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&priority, &m);
	pthread_mutexattr_setprotocol(&m, PTHREAD_PRIO_NONE);
	pthread_mutexattr_setrobust(&m, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &m);
	pthread_rwlockattr_init(&rw);
	pthread_rwlockattr_setkind_np(&rw, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&writers, &rw);
	pthread_create(&holder, NULL, hold_others, NULL);
	pthread_barrier_wait(&begun);
	pthread_create(&writer, NULL, write_later, NULL);
	begin("priority");
	pthread_mutex_lock(&priority);
	end("priority");
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	begin("robust");
	if (pthread_mutex_timedlock(&robust, &until))
		truth_fail("pthread_mutex_timedlock");
	end("robust");
	begin("readers");
	pthread_rwlock_rdlock(&writers);
	end("readers");
	pthread_join(holder, NULL);
	pthread_join(writer, NULL);
}

static void do_thread(void)
{
	pthread_t thread;
	int tid;

	pthread_create(&thread, NULL, end_later, &tid);
	pthread_barrier_wait(&begun);
	printf("thread_tid=%d\n", tid);
	begin("thread");
	pthread_join(thread, NULL);
	end("thread");
}

static void do_file_lock(char *path)
{
	int fd = open(path, O_RDONLY);
	pthread_t holder;

	pthread_create(&holder, NULL, hold_file, path);
	pthread_barrier_wait(&begun);
	begin("flock");
	if (flock(fd, LOCK_EX))
		truth_fail(path);
	end("flock");
	pthread_join(holder, NULL);
	close(fd);
}

#define PAGE_BYTES 65536

struct missing_page {
	int faults;		/* a userfaultfd */
	char *page;
	int directory, pipe;	/* the call; -1: not in this */
};

static void *hold_in_call(void *arg)
{
	const struct missing_page *m = arg;

	prctl(PR_SET_NAME, "holder");
	if (m->directory >= 0 && syscall(SYS_getdents64, m->directory, m->page, PAGE_BYTES) <= 0)
		truth_fail("getdents64");
	if (m->pipe >= 0 && write(m->pipe, m->page, 1) != 1)
		truth_fail("write");
	return NULL;
}

static void *give_page(void *arg)
{
	const struct missing_page *m = arg;
	struct uffdio_zeropage give = { .range = { (uintptr_t)m->page, PAGE_BYTES } };
	struct uffd_msg fault;

	if (read(m->faults, &fault, sizeof(fault)) != sizeof(fault))
		truth_fail("read a fault");
	pthread_barrier_wait(&begun);
	truth_sleep_ms(WAIT_MS);
	if (ioctl(m->faults, UFFDIO_ZEROPAGE, &give))
		truth_fail("UFFDIO_ZEROPAGE");
	return NULL;
}

static void do_kernel_locks(const char *directory)
{
	struct missing_page m = { .faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC) };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t holder, giver;
	int fds[2];

	m.directory = open(directory, O_RDONLY | O_DIRECTORY);
	if (m.faults < 0 || ioctl(m.faults, UFFDIO_API, &api) || m.directory < 0 || pipe(fds) ||
	    chdir(directory))
		truth_fail("userfaultfd");
	for (int part = 0; part < 2; part++) {
		m.page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		all.range = (struct uffdio_range){ (uintptr_t)m.page, PAGE_BYTES };
		if (m.page == MAP_FAILED || ioctl(m.faults, UFFDIO_REGISTER, &all))
			truth_fail("UFFDIO_REGISTER");
		m.pipe = part ? fds[1] : -1;
		pthread_create(&giver, NULL, give_page, &m);
		pthread_create(&holder, NULL, hold_in_call, &m);
		pthread_barrier_wait(&begun);
		begin(part ? "mutex" : "directory");
		if (part && write(fds[1], data, 1) != 1)
			truth_fail("write");
		if (!part && open("new", O_CREAT | O_EXCL | O_WRONLY, 0600) < 0)
			truth_fail("new");
		end(part ? "mutex" : "directory");
		pthread_join(holder, NULL);
		pthread_join(giver, NULL);
		close(m.directory);
		m.directory = -1;
	}
}

static void do_sockets(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);
	int pair[2], accepted;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || bind(server, (void *)&a, len) ||
	    listen(server, 1) || getsockname(server, (void *)&a, &len) ||
	    connect(client, (void *)&a, len))
		truth_fail("socket");
	printf("tcp_from_port=%d\n", ntohs(a.sin_port));
	accepted = accept(server, (void *)&a, &len);
	printf("tcp_to_port=%d\nsocket_ino=%llu\n", ntohs(a.sin_port), inode(pair[0]));
	take("socket", pair[0], pair[1]);
	take("tcp", accepted, client);
}

/* A peer at the end of a name, which is in no file system. */
static void do_unix(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "wait_kinds-%d", truth_tid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	if (bind(server, (void *)&a, len) || listen(server, 1) || connect(client, (void *)&a, len))
		truth_fail("unix socket");
	printf("unix_name=%s\n", a.sun_path + 1);
	take("unix", client, accept(server, NULL, NULL));
}

static void do_terminal(void)
{
	int other = posix_openpt(O_RDWR | O_NOCTTY), fd;

	if (other < 0 || grantpt(other) || unlockpt(other))
		truth_fail("posix_openpt");
	fd = open(ptsname(other), O_RDWR | O_NOCTTY);
	if (fd < 0)
		truth_fail("pty");
	printf("terminal=%s\n", ptsname(other));
	memcpy(data, "a line\n\n", sizeof(data));
	take("terminal", fd, other);
}

static void do_poll(int event)
{
	struct epoll_event e = { .events = EPOLLIN };
	int poll = epoll_create1(0);
	pid_t child;

	epoll_ctl(poll, EPOLL_CTL_ADD, event, &e);
	child = give_later(event);
	printf("poll_fd=%d\n", poll);
	begin("poll");
	epoll_wait(poll, &e, 1, -1);
	end("poll");
	waitpid(child, NULL, 0);
	if (read(event, data, sizeof(data)) != sizeof(data))
		truth_fail("read");
}

static void do_polled(const int fds[2])
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	pid_t child = give_later(fds[1]);

	begin("polled");
	poll(&p, 1, -1);
	end("polled");
	waitpid(child, NULL, 0);
	if (read(fds[0], data, sizeof(data)) != sizeof(data))
		truth_fail("read");
}

/* Waits that end because their time is up: nobody writes, posts or sends. */
static void do_timeouts(void)
{
	struct timeval length = { .tv_usec = WAIT_MS * 1000 };
	struct epoll_event event;
	struct pollfd p;
	struct timespec until;
	int fds[2], epoll = epoll_create1(0);
	fd_set set;

	if (epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		truth_fail("socketpair");
	p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	begin("late_poll");
	poll(&p, 1, WAIT_MS);
	end("late_poll");
	begin("late_epoll");
	epoll_wait(epoll, &event, 1, WAIT_MS);
	end("late_epoll");
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	begin("late_select");
	select(fds[0] + 1, &set, NULL, NULL, &length);
	end("late_select");
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	begin("late_semaphore");
	sem_timedwait(&semaphore, &until);
	end("late_semaphore");
	length = (struct timeval){ .tv_usec = WAIT_MS * 1000 };
	if (setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &length, sizeof(length)))
		truth_fail("setsockopt");
	begin("late_receive");
	recv(fds[0], data, sizeof(data), 0);
	end("late_receive");
	close(epoll);
	close(fds[0]);
	close(fds[1]);
}

int main(int argc, char **argv)
{
	/* A descriptor beyond the places that every table of files has. */
	int fds[2], event = fcntl(eventfd(0, 0), F_DUPFD, 100);
	pid_t child;

	printf("tid=%d\nevent_fd=%d\n", truth_tid(), event);
	do_lock();
	if (pipe(fds))
		truth_fail("pipe");
	printf("pipe_ino=%llu\n", inode(fds[0]));
	take("pipe", fds[0], fds[1]);
	do_sockets();
	do_polled(fds);
	begin("nothing");
	poll(NULL, 0, WAIT_MS);
	end("nothing");
	do_unix();
	do_poll(event);
	take("event", event, event);
	do_terminal();
	begin("timer");
	truth_sleep_ms(WAIT_MS);
	end("timer");
	child = give_later(-1);
	printf("child_pid=%d\n", child);
	begin("child");
	waitpid(child, NULL, 0);
	end("child");
	do_thread();
	do_condition();
	do_other_locks();
	do_timeouts();
	if (argc > 2) {
		do_file_lock(argv[1]);
		do_kernel_locks(argv[2]);
	}
	return 0;
}
