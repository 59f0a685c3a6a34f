/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * touch_memory MIB BEFORE_MS HOLD_MS AFTER_MS: maps MIB, writes to every page, keeps the memory,
 * unmaps it. Prints the instant of each step and the kernel's high-water mark (VmHWM) before and
 * after. slowest= is the longest time that 1/64 of the pages took; begin= is when the first such
 * part was done.
 */
#include "truth.h"

static long status_kib(const char *key)
{
	char line[256];
	long value = -1;
	FILE *f = fopen("/proc/self/status", "r");

	if (!f)
		truth_fail("/proc/self/status");
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
			value = strtol(line + strlen(key) + 1, NULL, 10);
	}
	fclose(f);
	return value;
}

int main(int argc, char **argv)
{
	size_t bytes = (size_t)truth_arg(argc, argv, 1, 300) << 20;
	unsigned int before_ms = (unsigned int)truth_arg(argc, argv, 2, 500);
	unsigned int hold_ms = (unsigned int)truth_arg(argc, argv, 3, 1000);
	unsigned int after_ms = (unsigned int)truth_arg(argc, argv, 4, 500);
	uint64_t start_ns, touched_ns, free_ns, freed_ns;
	long hwm_before, hwm_after, rss_held;
	uint64_t part_ns, slowest_ns = 0, begin_ns = 0;
	volatile char *p;
	size_t i, part = bytes / 4096 / 64 + 1;

	hwm_before = status_kib("VmHWM");
	truth_sleep_ms(before_ms);
	start_ns = truth_now_ns();
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		truth_fail("mmap");
	part_ns = start_ns;
	for (i = 0; i < bytes; i += 4096) {
		p[i] = 1;
		if ((i / 4096 + 1) % part == 0) {
			uint64_t now_ns = truth_now_ns();

			if (now_ns - part_ns > slowest_ns)
				slowest_ns = now_ns - part_ns;
			if (!begin_ns)
				begin_ns = now_ns;
			part_ns = now_ns;
		}
	}
	touched_ns = truth_now_ns();
	if (touched_ns - part_ns > slowest_ns)
		slowest_ns = touched_ns - part_ns;
	truth_sleep_ms(hold_ms);
	rss_held = status_kib("VmRSS");
	hwm_after = status_kib("VmHWM");
	free_ns = truth_now_ns();
	munmap((void *)p, bytes);
	freed_ns = truth_now_ns();
	truth_sleep_ms(after_ms);
	printf("pid=%d\nbytes=%zu\nstart=%llu\ntouched=%llu\nfree=%llu\nfreed=%llu\n",
	       (int)getpid(), bytes, (unsigned long long)start_ns, (unsigned long long)touched_ns,
	       (unsigned long long)free_ns, (unsigned long long)freed_ns);
	printf("begin=%llu\nslowest=%llu\n", (unsigned long long)begin_ns,
	       (unsigned long long)slowest_ns);
	printf("hwm_before_kib=%ld\nhwm_kib=%ld\nrss_held_kib=%ld\nrss_end_kib=%ld\nend=%llu\n",
	       hwm_before, hwm_after, rss_held, status_kib("VmRSS"),
	       (unsigned long long)truth_now_ns());
	return 0;
}
