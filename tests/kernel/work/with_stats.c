/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * with_stats COMMAND...: runs COMMAND while the kernel counts every run of every BPF program and
 * its time. The exit status is COMMAND's. The kernel counts for as long as this process holds a
 * descriptor (BPF_ENABLE_STATS). So kernel.bpf_stats_enabled is never changed, even if this
 * process is killed or another one asks for the same. COMMAND does not get the descriptor, and
 * is killed when this process dies.
 */
#include <linux/bpf.h>

#include "truth.h"

int main(int argc, char **argv)
{
	union bpf_attr attr = { .enable_stats.type = BPF_STATS_RUN_TIME };
	pid_t self = getpid(), pid;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: with_stats COMMAND [ARG...]\n");
		return 9;
	}
	/* as all descriptors of BPF it is closed on exec */
	if (syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr)) < 0)
		truth_fail("BPF_ENABLE_STATS");
	pid = fork();
	if (pid < 0)
		truth_fail("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(9);
		execvp(argv[1], argv + 1);
		truth_fail(argv[1]);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			truth_fail("waitpid");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
