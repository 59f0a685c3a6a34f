/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * run_meter OUT COMMAND...: runs COMMAND and writes to OUT what it used. The exit status is
 * COMMAND's.
 *
 * It is used twice in one run: around a tool, and by the tool around the workload. The two files
 * tell what the tool used from the workload's first instruction until the tool's file was
 * closed:
 *
 *     tool CPU = outer user + sys - inner user + sys
 *                - what the tool had used when the workload began
 *     machine's busy time = CPUs x (outer end - inner start) - idle time between the two
 *
 * wall_ns, user_ns, sys_ns: of COMMAND and its descendants. start_ns, end_ns: CLOCK_MONOTONIC.
 * idle_start_ns, idle_end_ns: idle and iowait time of all CPUs, which tickless kernels keep
 * exactly (read with a resolution of one USER_HZ tick). steal_ns: what the hypervisor took in
 * between.
 * max_rss_bytes: the most memory COMMAND, or any one of its descendants, had resident at a time.
 * parent_user_ns, parent_sys_ns: what the caller and its descendants had used when COMMAND
 * started. Their sum is exactly the caller's CPU clock.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct machine {
	uint64_t now_ns, idle_ns, steal_ns;
};

static uint64_t tick_ns(unsigned long long ticks)
{
	return ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void die(const char *what)
{
	fprintf(stderr, "run_meter: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void machine_read(struct machine *m)
{
	unsigned long long user, nice, sys, idle, iowait, irq, softirq, steal;
	FILE *f = fopen("/proc/stat", "re");
	struct timespec ts;

	if (!f)
		die("/proc/stat");
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle,
		   &iowait, &irq, &softirq, &steal) != 8)
		die("/proc/stat: its first line");
	fclose(f);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	m->now_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	m->idle_ns = tick_ns(idle + iowait);
	m->steal_ns = tick_ns(steal);
}

static uint64_t process_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) != 0)
		die("the CPU clock of the caller");
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * CPU time of the parent, of all its threads and of its children that have been waited for.
 *
 * /proc has whole ticks of 10 ms, and truncates the rest. With ticks alone, a recorder would later
 * be charged for up to two ticks of earlier use, one on average. The parent's CPU clock is exact:
 * its excess over the ticks is divided equally between user and system time.
 */
static void parent_cpu(uint64_t *ret_user_ns, uint64_t *ret_sys_ns)
{
	unsigned long long user = 0, sys = 0, child_user = 0, child_sys = 0;
	uint64_t ticks, all, more;
	char path[64], text[1024], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	f = fopen(path, "re");
	if (!f)
		die(path);
	if (!fgets(text, sizeof(text), f))
		die(path);
	fclose(f);
	/* The name may hold anything: count from its closing bracket. */
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
			 &user, &sys, &child_user, &child_sys) != 4)
		die(path);
	all = process_ns(getppid());
	ticks = tick_ns(user) + tick_ns(sys);
	more = all > ticks ? all - ticks : 0;
	*ret_user_ns = tick_ns(user + child_user) + more / 2;
	*ret_sys_ns = tick_ns(sys + child_sys) + more - more / 2;
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000u + (uint64_t)tv.tv_usec * 1000u;
}

int main(int argc, char **argv)
{
	uint64_t parent_user_ns, parent_sys_ns;
	struct machine before, after;
	struct rusage used;
	int status;
	pid_t pid;
	FILE *out;

	if (argc < 3) {
		fprintf(stderr, "usage: run_meter OUT COMMAND [ARG...]\n");
		return 125;
	}
	out = fopen(argv[1], "we");
	if (!out)
		die(argv[1]);
	/* Ctrl-C is for the tool and the workload; their times are still written. */
	signal(SIGINT, SIG_IGN);
	parent_cpu(&parent_user_ns, &parent_sys_ns);
	machine_read(&before);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		execvp(argv[2], argv + 2);
		die(argv[2]);
	}
	if (wait4(pid, &status, 0, NULL) < 0)
		die("wait4");
	machine_read(&after);
	getrusage(RUSAGE_CHILDREN, &used);
	fprintf(out, "start_ns=%llu\nend_ns=%llu\nwall_ns=%llu\n",
		(unsigned long long)before.now_ns, (unsigned long long)after.now_ns,
		(unsigned long long)(after.now_ns - before.now_ns));
	fprintf(out, "user_ns=%llu\nsys_ns=%llu\n", (unsigned long long)timeval_ns(used.ru_utime),
		(unsigned long long)timeval_ns(used.ru_stime));
	fprintf(out, "idle_start_ns=%llu\nidle_end_ns=%llu\nsteal_ns=%llu\n",
		(unsigned long long)before.idle_ns, (unsigned long long)after.idle_ns,
		(unsigned long long)(after.steal_ns - before.steal_ns));
	fprintf(out, "max_rss_bytes=%llu\n", (unsigned long long)used.ru_maxrss * 1024);
	fprintf(out, "parent_user_ns=%llu\nparent_sys_ns=%llu\n",
		(unsigned long long)parent_user_ns, (unsigned long long)parent_sys_ns);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	fprintf(out, "status=%d\n", status);
	if (fclose(out) != 0)
		die(argv[1]);
	return status;
}
