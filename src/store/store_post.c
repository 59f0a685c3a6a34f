/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_post: AF_UNIX datagrams. The path of a socket is limited to 107 bytes, that of a trace is not:
 * it is named through the directory's descriptor in /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/store_post.h"

struct store_post {
	int fd;
	int dir_fd;
	uid_t owner;
};

static struct sockaddr_un address_of(int dir_fd)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" STORE_POST_NAME, dir_fd);
	return a;
}

int store_post_open(struct store_post **ret, int dir_fd, uid_t owner, gid_t group)
{
	struct sockaddr_un a = address_of(dir_fd);
	struct store_post *p = calloc(1, sizeof(*p));
	int one = 1, err;

	if (!p)
		return -ENOMEM;
	p->dir_fd = dir_fd;
	p->owner = owner;
	p->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* the mode of the descriptor becomes that of the file: there is no moment in which it is open to all */
	if (p->fd < 0 || setsockopt(p->fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0 ||
	    fchmod(p->fd, 0600) < 0 || bind(p->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		goto fail;
	if (owner != (uid_t)-1 &&
	    fchownat(dir_fd, STORE_POST_NAME, owner, group, AT_SYMLINK_NOFOLLOW) < 0)
		goto fail;
	*ret = p;
	return 0;
fail:
	err = -errno;
	if (p->fd >= 0)
		close(p->fd);
	free(p);
	return err;
}

void store_post_close(struct store_post *p)
{
	if (!p)
		return;
	unlinkat(p->dir_fd, STORE_POST_NAME, 0);
	close(p->fd);
	free(p);
}

int store_post_fd(const struct store_post *p)
{
	return p->fd;
}

static bool is_trusted(const struct store_post *p, struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	struct ucred who;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
		return false;
	memcpy(&who, CMSG_DATA(c), sizeof(who));
	return !who.uid || who.uid == geteuid() || (p->owner != (uid_t)-1 && who.uid == p->owner);
}

int store_post_receive(struct store_post *p, uint64_t *ret_ts_ns, char text[STORE_POST_MAX])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char letter[STORE_POST_MAX + 1];
	struct iovec iov = { letter, STORE_POST_MAX };
	struct msghdr m;
	uint64_t ts_ns;
	ssize_t n;
	char *end;

	for (;;) {
		m = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				     .msg_controllen = sizeof(control) };
		n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return 0;
		letter[n] = '\0';
		if (!is_trusted(p, &m) || m.msg_flags & MSG_TRUNC || strlen(letter) != (size_t)n)
			continue;
		errno = 0;
		ts_ns = strtoull(letter, &end, 10);
		if (errno || letter[0] < '0' || letter[0] > '9' || end[0] != ' ' || !end[1])
			continue;
		*ret_ts_ns = ts_ns;
		strcpy(text, end + 1);
		return 1;
	}
}

static int connect_to(int dir_fd)
{
	struct sockaddr_un a = address_of(dir_fd);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;
	const struct timeval patience = { .tv_sec = 10 };

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int store_post_send(int dir_fd, uint64_t ts_ns, const char *text)
{
	char letter[STORE_POST_MAX + 1];
	int n, fd, err;

	n = snprintf(letter, sizeof(letter), "%" PRIu64 " %s", ts_ns, text);
	if (n > STORE_POST_MAX)
		return -E2BIG;
	fd = connect_to(dir_fd);
	if (fd < 0)
		return fd;
	do {
		err = send(fd, letter, (size_t)n, MSG_NOSIGNAL) < 0 ? -errno : 0;
	} while (err == -EINTR);
	close(fd);
	return err;
}

bool store_post_has_owner(int dir_fd)
{
	int fd = connect_to(dir_fd);

	if (fd >= 0)
		close(fd);
	/* there, but not for us: whoever may read a trace but not write to it */
	return fd >= 0 || fd == -EACCES;
}
