/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * short_lived exec DIR COUNT MS: runs DIR/sl_000, DIR/sl_001, ... COUNT of them spread over MS.
 * short_lived rename COUNT MS:   forks COUNT children that call themselves rn_000, ... and end.
 * short_lived storm MS:          forks children that end at once, as many as it can.
 *
 * Each child lives well under a millisecond: a reader of /proc finds nothing. Child i exits with
 * status i % 100. Prints the parent's pid and one child=INDEX:PID line each (storm: the number).
 */
#include "truth.h"

static pid_t spawn_one(const char *dir, long i)
{
	char path[4096], status[16];
	pid_t pid = fork();

	if (pid < 0)
		truth_fail("fork");
	if (pid != 0)
		return pid;
	if (dir) {
		snprintf(path, sizeof(path), "%s/sl_%03ld", dir, i);
		snprintf(status, sizeof(status), "exit %ld", i % 100);
		execl(path, path, "-c", status, (char *)NULL);
		_exit(99);
	}
	snprintf(path, sizeof(path), "rn_%03ld", i);
	prctl(PR_SET_NAME, path);
	_exit((int)(i % 100));
}

static int storm(long ms)
{
	uint64_t end_ns = truth_now_ns() + (uint64_t)ms * 1000000u;
	long cnt = 0;

	while (truth_now_ns() < end_ns) {
		pid_t pid = fork();

		if (pid < 0)
			truth_fail("fork");
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		cnt++;
	}
	printf("pid=%d\nforks=%ld\n", (int)getpid(), cnt);
	return 0;
}

int main(int argc, char **argv)
{
	int is_exec = argc > 1 && strcmp(argv[1], "exec") == 0;
	const char *dir = is_exec && argc > 2 ? argv[2] : NULL;
	long cnt, ms, i;
	uint64_t start_ns;

	if (argc > 2 && strcmp(argv[1], "storm") == 0)
		return storm(truth_arg(argc, argv, 2, 500));
	cnt = truth_arg(argc, argv, is_exec ? 3 : 2, 200);
	ms = truth_arg(argc, argv, is_exec ? 4 : 3, 2000);
	printf("pid=%d\n", (int)getpid());
	fflush(stdout);
	start_ns = truth_now_ns();
	for (i = 0; i < cnt; i++) {
		uint64_t due_ns = start_ns + (uint64_t)ms * 1000000u * (uint64_t)i / (uint64_t)cnt;
		uint64_t now_ns = truth_now_ns();
		pid_t pid;
		int status;

		if (now_ns < due_ns)
			truth_sleep_ms((unsigned int)((due_ns - now_ns) / 1000000u));
		pid = spawn_one(dir, i);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != i % 100) {
			fprintf(stderr, "workload: child %ld did not run as told, status 0x%x\n", i,
				status);
			return 9;
		}
		printf("child=%ld:%d\n", i, (int)pid);
	}
	printf("start=%llu\nend=%llu\n", (unsigned long long)start_ns,
	       (unsigned long long)truth_now_ns());
	return 0;
}
