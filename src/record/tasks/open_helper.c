/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * open_helper: a request goes over a socket; the answer is an error number and, with 0, a
 * descriptor. The recorder can ask for two kinds of files only, and by numbers: it sends no path.
 */
#include "record/tasks/open_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/privilege.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40	/* since 5.9 */
#endif

#define OPENER_NEEDS (PRIVILEGE_BIT(CAP_SYS_PTRACE) | PRIVILEGE_BIT(CAP_CHECKPOINT_RESTORE))

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

static void serve(int fd)
{
	struct request q;

	while (recv(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		int got = open_for(&q), r = send_answer(fd, got);

		if (got >= 0)
			close(got);
		if (r)
			break;
	}
}

int open_helper_start(struct helper *ret)
{
	*ret = (struct helper){ 0 };
	if (!privilege_has(CAP_SYS_PTRACE))
		return 0;
	return helper_start(ret, "ebpfrec-open", OPENER_NEEDS, SOCK_SEQPACKET, serve);
}

int open_helper_open(const struct helper *h, uint32_t pid, uint64_t start, uint64_t end)
{
	const struct request q = { .pid = pid, .start = start, .end = end };

	if (!h->pid)
		return open_for(&q);
	if (send(h->fd, &q, sizeof(q), MSG_NOSIGNAL) != (ssize_t)sizeof(q))
		return -errno;
	return receive_answer(h->fd);
}
