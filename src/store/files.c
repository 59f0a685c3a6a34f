/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* files: one system call per function of the kernel's table. */
#include "store/files.h"

#include <dirent.h>
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

#include "base/atomic_output.h"

static int result(int r)
{
	return r < 0 ? -errno : r;
}

static int kernel_make_dir(void *ctx, const char *path, mode_t mode)
{
	struct path_parent p;
	int r = path_parent_open(&p, path);

	if (r < 0)
		return r;
	r = result(mkdirat(p.dir_fd, p.name, mode));
	if (r == 0)
		path_parent_sync(&p);
	path_parent_close(&p);
	return r;
}

static int kernel_remove_dir(void *ctx, const char *path)
{
	struct path_parent p;
	int r = path_parent_open(&p, path);

	if (r < 0)
		return r;
	r = result(unlinkat(p.dir_fd, p.name, AT_REMOVEDIR));
	path_parent_close(&p);
	return r;
}

static int any_name(void *ctx, const char *name)
{
	return -ENOTEMPTY;
}

static int kernel_open_dir(void *ctx, const char *path, uid_t *ret_uid, mode_t *ret_mode)
{
	struct path_parent p;
	struct stat st;
	int r = path_parent_open(&p, path), fd;

	if (r < 0)
		return r;
	fd = result(openat(p.dir_fd, p.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	path_parent_close(&p);
	if (fd < 0)
		return fd;
	r = result(fstat(fd, &st)) ?: files_each(fd, any_name, NULL);
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_uid = st.st_uid;
	*ret_mode = st.st_mode & 07777;
	return fd;
}

static int kernel_create(void *ctx, int dir_fd, const char *name)
{
	return result(openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     0600));
}

static int kernel_set_owner(void *ctx, int fd, uid_t uid, gid_t gid)
{
	return result(fchown(fd, uid, gid));
}

static ssize_t kernel_write_at(void *ctx, int fd, const void *data, size_t bytes, uint64_t offset)
{
	ssize_t n;

	do {
		n = pwrite(fd, data, bytes, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int kernel_truncate(void *ctx, int fd, uint64_t bytes)
{
	return result(ftruncate(fd, (off_t)bytes));
}

static int kernel_sync(void *ctx, int fd)
{
	return result(fdatasync(fd));
}

static int kernel_sync_dir(void *ctx, int dir_fd)
{
	return result(fsync(dir_fd));
}

static int kernel_still_there(void *ctx, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_nlink ? 0 : -ENOENT;
}

static int kernel_rename(void *ctx, int dir_fd, const char *from, const char *to)
{
	return result(renameat(dir_fd, from, dir_fd, to));
}

static int kernel_unlink(void *ctx, int dir_fd, const char *name)
{
	return result(unlinkat(dir_fd, name, 0));
}

static int kernel_close(void *ctx, int fd)
{
	return result(close(fd));
}

const struct files files_kernel = {
	.make_dir = kernel_make_dir,
	.remove_dir = kernel_remove_dir,
	.open_dir = kernel_open_dir,
	.create = kernel_create,
	.set_owner = kernel_set_owner,
	.write_at = kernel_write_at,
	.truncate = kernel_truncate,
	.sync = kernel_sync,
	.sync_dir = kernel_sync_dir,
	.still_there = kernel_still_there,
	.rename = kernel_rename,
	.unlink = kernel_unlink,
	.close = kernel_close,
};

int files_write_all(const struct files *f, int fd, const void *data, size_t bytes, uint64_t offset)
{
	const uint8_t *p = data;
	ssize_t n;

	while (bytes) {
		n = f->write_at(f->ctx, fd, p, bytes, offset);
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		p += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int files_each(int dir_fd, int (*f)(void *ctx, const char *name), void *ctx)
{
	/* a new descriptor has its own position */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			r = f(ctx, entry->d_name);
	closedir(d);
	return r;
}

/*
 * control_socket: AF_UNIX datagrams. A socket's path has at most 107 bytes and a trace's path may
 * be longer, so the socket is addressed through the directory's descriptor in /proc.
 */

struct control_socket {
	int fd;
	int dir_fd;
	uid_t owner;
};

static struct sockaddr_un address_of(int dir_fd)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET_NAME, dir_fd);
	return a;
}

int control_socket_open(struct control_socket **ret, int dir_fd, uid_t owner, gid_t group)
{
	struct sockaddr_un a = address_of(dir_fd);
	struct control_socket *p = calloc(1, sizeof(*p));
	int one = 1, err;

	if (!p)
		return -ENOMEM;
	p->dir_fd = dir_fd;
	p->owner = owner;
	p->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/*
	 * bind() gives the file the descriptor's mode, so other users can never access the socket
	 */
	if (p->fd < 0 || setsockopt(p->fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0 ||
	    fchmod(p->fd, 0600) < 0 || bind(p->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		goto fail;
	if (owner != (uid_t)-1 &&
	    fchownat(dir_fd, CONTROL_SOCKET_NAME, owner, group, AT_SYMLINK_NOFOLLOW) < 0)
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

void control_socket_close(struct control_socket *p)
{
	if (!p)
		return;
	unlinkat(p->dir_fd, CONTROL_SOCKET_NAME, 0);
	close(p->fd);
	free(p);
}

int control_socket_fd(const struct control_socket *p)
{
	return p->fd;
}

static bool is_trusted(const struct control_socket *p, struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	struct ucred who;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
		return false;
	memcpy(&who, CMSG_DATA(c), sizeof(who));
	return !who.uid || who.uid == geteuid() || (p->owner != (uid_t)-1 && who.uid == p->owner);
}

int control_socket_receive(struct control_socket *p, uint64_t *ret_ts_ns,
			   char text[CONTROL_MESSAGE_MAX])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char message[CONTROL_MESSAGE_MAX + 1];
	struct iovec iov = { message, CONTROL_MESSAGE_MAX };
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
		message[n] = '\0';
		if (!is_trusted(p, &m) || m.msg_flags & MSG_TRUNC || strlen(message) != (size_t)n)
			continue;
		errno = 0;
		ts_ns = strtoull(message, &end, 10);
		if (errno || message[0] < '0' || message[0] > '9' || end[0] != ' ' || !end[1])
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

int control_socket_send(int dir_fd, uint64_t ts_ns, const char *text)
{
	char message[CONTROL_MESSAGE_MAX + 1];
	int n, fd, err;

	n = snprintf(message, sizeof(message), "%" PRIu64 " %s", ts_ns, text);
	if (n > CONTROL_MESSAGE_MAX)
		return -E2BIG;
	fd = connect_to(dir_fd);
	if (fd < 0)
		return fd;
	do {
		err = send(fd, message, (size_t)n, MSG_NOSIGNAL) < 0 ? -errno : 0;
	} while (err == -EINTR);
	close(fd);
	return err;
}

bool control_socket_has_owner(int dir_fd)
{
	int fd = connect_to(dir_fd);

	if (fd >= 0)
		close(fd);
	/* EACCES: the socket exists, but the caller may only read the trace */
	return fd >= 0 || fd == -EACCES;
}
