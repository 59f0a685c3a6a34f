/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * states DEVICE|-: spends known times in each state, one after the other, and prints for each the
 * instants it began and ended, its CPU time, and how long the scheduler says it waited for a CPU.
 *
 *   run      200 ms of CPU time              preempt  beside a busy process on the same CPU
 *   sleep    300 ms                          disk     reads of DEVICE without the page cache
 *   stop     SIGSTOP, until another process sends SIGCONT after 250 ms
 */
#include "truth.h"

#define MS 1000000u
#define READ_BYTES 65536

static uint64_t waited_ns(void)
{
	unsigned long long ran = 0, waited = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f && fscanf(f, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	if (f)
		fclose(f);
	return waited;
}

static void busy(uint64_t cpu_ns)
{
	uint64_t until = truth_cpu_ns() + cpu_ns;

	while (truth_cpu_ns() < until)
		;
}

/* The child does its part until it is killed. */
static pid_t child_of(void (*work)(pid_t parent))
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		truth_fail("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(parent);
		_exit(0);
	}
	return child;
}

static void hog(pid_t parent)
{
	for (;;)
		busy(1000 * MS);
}

static void wake_up(pid_t parent)
{
	truth_sleep_ms(250);
	kill(parent, SIGCONT);
}

static void do_run(const char *device)
{
	busy(200 * MS);
}

static void do_sleep(const char *device)
{
	truth_sleep_ms(300);
}

static void do_preempt(const char *device)
{
	pid_t other = child_of(hog);

	busy(200 * MS);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void do_disk(const char *device)
{
	static char buffer[READ_BYTES] __attribute__((aligned(4096)));
	uint64_t until = truth_now_ns() + 400 * MS;
	unsigned long reads = 0;
	int fd = open(device, O_RDONLY | O_DIRECT);

	if (fd < 0)
		truth_fail(device);
	for (; truth_now_ns() < until; reads++)
		if (pread(fd, buffer, READ_BYTES, (off_t)(reads % 256) * READ_BYTES) != READ_BYTES)
			truth_fail("pread");
	close(fd);
	printf("disk_reads=%lu\n", reads);
}

static void do_stop(const char *device)
{
	pid_t other = child_of(wake_up);

	raise(SIGSTOP);
	waitpid(other, NULL, 0);
}

static void tell(const char *part, const char *what, uint64_t ns)
{
	printf("%s_%s=%llu\n", part, what, (unsigned long long)ns);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*work)(const char *device);
	} parts[] = { { "run", do_run }, { "sleep", do_sleep }, { "preempt", do_preempt },
		      { "disk", do_disk }, { "stop", do_stop } };
	uint64_t from_ns, cpu_ns, wait_ns;

	if (argc != 2)
		return 2;
	truth_pin(0);
	printf("tid=%d\n", truth_tid());
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].work == do_disk && !strcmp(argv[1], "-"))
			continue;
		wait_ns = waited_ns();
		cpu_ns = truth_cpu_ns();
		from_ns = truth_now_ns();
		parts[i].work(argv[1]);
		tell(parts[i].name, "to", truth_now_ns());
		tell(parts[i].name, "from", from_ns);
		tell(parts[i].name, "cpu", truth_cpu_ns() - cpu_ns);
		tell(parts[i].name, "wait", waited_ns() - wait_ns);
	}
	return 0;
}
