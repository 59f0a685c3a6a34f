/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * helper: forks without exec. Other descriptors are closed by close_range() if the kernel has it
 * (5.9), otherwise one by one.
 */
#include "base/helper.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/privilege.h"

static void close_others(int keep)
{
	int fd, max = (int)sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
	if ((!keep || !syscall(SYS_close_range, 0, keep - 1, 0)) &&
	    !syscall(SYS_close_range, keep + 1, ~0U, 0))
		return;
#endif
	for (fd = 0; fd < max; fd++) {
		if (fd != keep)
			close(fd);
	}
}

static void become_helper(const char *name, uint64_t caps, int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

	/* Ctrl-C is meant for the recorder; the recorder's end closes the socket. */
	for (unsigned int i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, name, 0, 0, 0);
	close_others(fd);
	if (privilege_drop(caps, NULL))
		_exit(1);
}

int helper_start(struct helper *ret, const char *name, uint64_t caps, int socket_type,
		 void (*serve)(int fd))
{
	int fds[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, socket_type | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (!pid) {
		become_helper(name, caps, fds[1]);
		serve(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	*ret = (struct helper){ .pid = pid, .fd = fds[0] };
	return 0;
}

void helper_end(const struct helper *h)
{
	if (!h->pid)
		return;
	close(h->fd);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
