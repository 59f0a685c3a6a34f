// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * run_stats: '1' or '0' goes to the helper, the result of it comes back as one byte. The
 * statistics are on as long as the descriptor that turned them on is open, so they are off when the
 * helper ends, however it ends.
 */
#include "probe/run_stats.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/privilege.h"

struct run_stats {
	pid_t pid;
	int fd;
};

static void helper_main(int fd) __attribute__((noreturn));

static void helper_main(int fd)
{
	int stats_fd = -1;
	char c;

	/* Ctrl-C is for the recorder, whose end closes the socket */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	prctl(PR_SET_NAME, "ebpfrec-stats", 0, 0, 0);
	fds_close_others(fd);
	if (privilege_drop(PRIVILEGE_BIT(CAP_SYS_ADMIN), NULL))
		_exit(1);
	while (read(fd, &c, 1) == 1) {
		if (c == '1' && stats_fd < 0) {
			stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
			c = stats_fd < 0 ? 'e' : '1';
		} else if (c == '0' && stats_fd >= 0) {
			close(stats_fd);
			stats_fd = -1;
		}
		if (send(fd, &c, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

int run_stats_start(struct run_stats **ret)
{
	struct run_stats *r;
	int fds[2], err;

	if (!privilege_has(CAP_SYS_ADMIN))
		return -EPERM;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		err = -errno;
		free(r);
		return err;
	}
	r->pid = fork();
	if (r->pid < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		free(r);
		return err;
	}
	if (!r->pid)
		helper_main(fds[1]);
	close(fds[1]);
	r->fd = fds[0];
	*ret = r;
	return 0;
}

void run_stats_end(struct run_stats *r)
{
	if (!r)
		return;
	close(r->fd);
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(r);
}

pid_t run_stats_pid(const struct run_stats *r)
{
	return r ? r->pid : 0;
}

int run_stats_switch(struct run_stats *r, int on)
{
	char c = on ? '1' : '0';
	ssize_t n;

	if (send(r->fd, &c, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	do {
		n = read(r->fd, &c, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1 && c != 'e' ? 0 : -EIO;
}
