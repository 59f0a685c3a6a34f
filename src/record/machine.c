/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* machine: reads uname, /proc/cpuinfo and sysconf; one manifest entry per fact. */
#include "record/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"

static void cpu_model(char *model, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *value;

	snprintf(model, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10) && strncmp(line, "CPU implementer", 15))
			continue;
		value = strchr(line, ':');
		if (!value)
			continue;
		value[strcspn(value, "\n")] = 0;
		snprintf(model, size, "%s", value + 1 + (value[1] == ' '));
		break;
	}
	if (f)
		fclose(f);
}

/*
 * Lists mounted file systems on disks and other machines, "8:1 / ext4 /dev/sda1, ...": device
 * number, directory (with the kernel's octal escapes), type, source. Leaves out whole entries that
 * do not fit.
 */
static void mounts(char *text, size_t size)
{
	char line[4096], dev[16], dir[1024], type[64], source[1024];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t at = 0;
	char *rest;
	int n;

	*text = 0;
	while (f && fgets(line, sizeof(line), f)) {
		rest = strstr(line, " - ");
		if (!rest || sscanf(line, "%*d %*d %15s %*s %1023s", dev, dir) != 2 ||
		    sscanf(rest, " - %63s %1023s", type, source) != 2 ||
		    (*source != '/' && !strstr(source, ":/")))
			continue;
		n = snprintf(text + at, size - at, "%s%s %s %s %s", at ? ", " : "", dev, dir, type,
			     source);
		if (n < 0 || (size_t)n >= size - at) {
			text[at] = 0;
			break;
		}
		at += (size_t)n;
	}
	if (f)
		fclose(f);
}

void machine_describe(struct store_writer *w)
{
	long page_bytes = sysconf(_SC_PAGESIZE);
	struct utsname u;
	char model[256], text[8192];

	uname(&u);
	cpu_model(model, sizeof(model));
	store_writer_set(w, "host", u.nodename);
	store_writer_set(w, "kernel.release", u.release);
	store_writer_set(w, "kernel.version", u.version);
	store_writer_set(w, "machine", u.machine);
	store_writer_set(w, "cpu.model", model);
	store_writer_set_number(w, "cpu.possible", sysconf(_SC_NPROCESSORS_CONF));
	store_writer_set_number(w, "cpu.online", sysconf(_SC_NPROCESSORS_ONLN));
	store_writer_set_number(w, "mem.bytes",
				(unsigned long long)sysconf(_SC_PHYS_PAGES) * page_bytes);
	store_writer_set_number(w, "page_bytes", page_bytes);
	mounts(text, sizeof(text));
	if (*text)
		store_writer_set(w, "mounts", text);
	store_writer_set(w, "recorder.version", EBPFREC_VERSION);
}

void machine_online_cpus(bool *online, unsigned int cpu_cnt)
{
	unsigned int from, to;
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	int n;

	/* a list of ranges: "0-3,6" */
	while (f && (n = fscanf(f, "%u-%u", &from, &to)) >= 1) {
		for (to = n == 1 ? from : to; from <= to && from < cpu_cnt; from++)
			online[from] = true;
		if (fgetc(f) != ',')
			break;
	}
	if (f)
		fclose(f);
}

void machine_visit_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), cpu;
	size_t bytes = CPU_ALLOC_SIZE(cpus);
	cpu_set_t *before = CPU_ALLOC(cpus), *one = CPU_ALLOC(cpus);

	if (before && one && !sched_getaffinity(0, bytes, before)) {
		for (cpu = 0; cpu < cpus; cpu++) {
			CPU_ZERO_S(bytes, one);
			CPU_SET_S(cpu, bytes, one);
			sched_setaffinity(
				0, bytes,
				one); /* fails for an offline CPU, on which no thread runs */
		}
		sched_setaffinity(0, bytes, before);
	}
	CPU_FREE(before);
	CPU_FREE(one);
}

void machine_read_clocks(struct trace_clock *ret)
{
	struct trace_clock best = { .uncertainty_ns = UINT64_MAX };

	for (int i = 0; i < 5; i++) {
		struct trace_clock t;
		uint64_t before, after;

		before = clock_ns(CLOCK_MONOTONIC);
		t.boot_ns = clock_ns(CLOCK_BOOTTIME);
		t.real_ns = clock_ns(CLOCK_REALTIME);
		t.tai_ns = clock_ns(CLOCK_TAI);
		after = clock_ns(CLOCK_MONOTONIC);
		t.uncertainty_ns = (after - before + 1) / 2;
		t.mono_ns = before + (after - before) / 2;
		if (t.uncertainty_ns < best.uncertainty_ns)
			best = t;
	}
	*ret = best;
}
