/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * same_pid MS1 MS2: two processes, one after the other, with the same pid (clone3 with set_tid),
 * named "first" and "second"; they burn MS1 and MS2 of wall time. Exit 77: the kernel refuses
 * set_tid or the pid was taken in between.
 */
#include <linux/sched.h>

#include "truth.h"

static pid_t clone_as(pid_t want)
{
	struct clone_args args;

	memset(&args, 0, sizeof(args));
	args.exit_signal = SIGCHLD;
	if (want) {
		args.set_tid = (uint64_t)(uintptr_t)&want;
		args.set_tid_size = 1;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void burn(const char *name, long ms, int fd)
{
	uint64_t end_ns = truth_now_ns() + (uint64_t)ms * 1000000u;
	uint64_t used_ns;

	prctl(PR_SET_NAME, name);
	while (truth_now_ns() < end_ns)
		;
	used_ns = truth_cpu_ns();
	if (write(fd, &used_ns, sizeof(used_ns)) != sizeof(used_ns))
		_exit(9);
	_exit(0);
}

int main(int argc, char **argv)
{
	static const char *const names[2] = { "first", "second" };
	uint64_t steal_ns = truth_steal_ns();
	pid_t pid = 0;
	int fds[2], i;

	if (pipe(fds) != 0)
		truth_fail("pipe");
	for (i = 0; i < 2; i++) {
		uint64_t used_ns = 0;
		pid_t got = clone_as(pid);

		if (got == 0)
			burn(names[i], truth_arg(argc, argv, 1 + i, 200), fds[1]);
		if (got < 0)
			return 77;
		pid = got;
		waitpid(pid, NULL, 0);
		if (read(fds[0], &used_ns, sizeof(used_ns)) != sizeof(used_ns))
			truth_fail("read");
		printf("used_%s=%llu\n", names[i], (unsigned long long)used_ns);
	}
	printf("pid=%d\nsteal=%llu\n", (int)pid, (unsigned long long)(truth_steal_ns() - steal_ns));
	return 0;
}
