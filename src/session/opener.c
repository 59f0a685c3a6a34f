/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * opener: a request goes over a socket, the answer is an error number, and with 0 a descriptor. The process can be
 * asked for nothing but those two files of a process, by numbers: no path comes from the recorder.
 */
#include "session/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/privilege.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40	/* since 5.9 */
#endif

#define OPENER_NEEDS (PRIVILEGE_BIT(CAP_SYS_PTRACE) | PRIVILEGE_BIT(CAP_CHECKPOINT_RESTORE))

struct opener {
	pid_t pid;	/* 0: no process; the caller opens itself */
	int fd;
};

struct request {
	uint64_t start, end;	/* 0, 0: the list of mappings */
	uint32_t pid, zero;
};

static int open_for(const struct request *q)
{
	char path[96];
	struct stat st;
	int fd;

	if (q->start || q->end)
		snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", q->pid,
			 (unsigned long long)q->start, (unsigned long long)q->end);
	else
		snprintf(path, sizeof(path), "/proc/%u/maps", q->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static int send_answer(int to, int fd)
{
	int error = fd < 0 ? -fd : 0;
	struct iovec iov = { &error, sizeof(error) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} u = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (!error) {
		msg.msg_control = u.bytes;
		msg.msg_controllen = sizeof(u.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(to, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(error) ? 0 : -errno;
}

static int receive_answer(int from)
{
	int error = 0, fd = -EIO;
	struct iovec iov = { &error, sizeof(error) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} u;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.bytes,
			      .msg_controllen = sizeof(u.bytes) };
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return -EIO;
	if (error)
		return error > 0 ? -error : -EIO;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void opener_main(int fd) __attribute__((noreturn));

static void opener_main(int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct request q;
	unsigned int i;

	/* Ctrl-C is for the recorder, whose end closes the socket */
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "ebpfrec-open", 0, 0, 0);
	fds_close_others(fd);
	if (privilege_drop(OPENER_NEEDS, NULL))
		_exit(1);
	while (recv(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		int got = open_for(&q), r = send_answer(fd, got);

		if (got >= 0)
			close(got);
		if (r)
			break;
	}
	_exit(0);
}

int opener_start(struct opener **ret)
{
	struct opener *o = calloc(1, sizeof(*o));
	int fds[2], err;

	if (!o)
		return -ENOMEM;
	o->fd = -1;
	*ret = o;
	if (!privilege_has(CAP_SYS_PTRACE))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		goto fail;
	o->pid = fork();
	if (!o->pid)
		opener_main(fds[1]);
	if (o->pid < 0) {
		close(fds[0]);
		close(fds[1]);
		goto fail;
	}
	close(fds[1]);
	o->fd = fds[0];
	return 0;
fail:
	err = -errno;
	free(o);
	*ret = NULL;
	return err;
}

void opener_end(struct opener *o)
{
	if (!o)
		return;
	if (o->fd >= 0)
		close(o->fd);
	while (o->pid && waitpid(o->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(o);
}

pid_t opener_pid(const struct opener *o)
{
	return o ? o->pid : 0;
}

static int ask(struct opener *o, const struct request *q)
{
	if (o->fd < 0)
		return open_for(q);
	if (send(o->fd, q, sizeof(*q), MSG_NOSIGNAL) != (ssize_t)sizeof(*q))
		return -errno;
	return receive_answer(o->fd);
}

int opener_open_maps(struct opener *o, uint32_t pid)
{
	return ask(o, &(struct request){ .pid = pid });
}

int opener_open_mapped(struct opener *o, uint32_t pid, uint64_t start, uint64_t end)
{
	return ask(o, &(struct request){ .pid = pid, .start = start, .end = end });
}
