/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stats_helper: a process that turns the kernel's statistics of BPF programs on and off, for
 * probe_stats_start() and probe_stats_switch() of probe.h.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/privilege.h"
#include "probe/probe.h"

/*
 * Serves requests: '1' or '0' turns the statistics on or off; the answer is a byte. The statistics
 * are on while the descriptor that turned them on is open: they are off when the helper has ended,
 * for any reason.
 */
static void serve_stats(int fd)
{
	int stats_fd = -1;
	char c;

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
}

int probe_stats_start(struct helper *ret)
{
	if (!privilege_has(CAP_SYS_ADMIN))
		return -EPERM;
	return helper_start(ret, "ebpfrec-stats", PRIVILEGE_BIT(CAP_SYS_ADMIN), SOCK_STREAM,
			    serve_stats);
}

int probe_stats_switch(const struct helper *h, bool on)
{
	char c = on ? '1' : '0';
	ssize_t n;

	if (send(h->fd, &c, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	do {
		n = read(h->fd, &c, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1 && c != 'e' ? 0 : -EIO;
}
