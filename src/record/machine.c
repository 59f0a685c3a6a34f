/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* machine: reads uname, /proc/cpuinfo and sysconf, and sets a manifest entry per fact. */
#include "record/machine.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "probe/kernel.h"
#include "probe/source.h"
#include "record/preload.h"
#include "record/session.h"

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
 * Lists file systems on disks and other machines: "8:1 / ext4 /dev/sda1, ...", with device number,
 * mount point (with the kernel's octal escapes), type and source. Entries that do not fit are
 * omitted.
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
				one); /* fails if the CPU is offline and therefore runs no thread */
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

/*
 * kernel_report: session_hooks() lists the programs and this kernel's support for each, for
 * `doctor`; session_privileges() does the same for capabilities.
 */

/* Returns true if rings count as locked memory, or if this is unknown without BTF. */
static bool rings_take_locked_memory(void)
{
	struct kernel_info *k = NULL;
	struct rlimit limit;
	bool ret;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur == RLIM_INFINITY)
		return false;
	ret = kernel_info_open(&k, NULL, NULL) < 0 || kernel_locks_map_memory(k);
	kernel_info_close(k);
	return ret;
}

#define CAPABILITY(c) .cap = (c), .name = #c

unsigned int session_privileges(const struct session_privilege **ret)
{
	static struct session_privilege rows[] = {
		{ CAPABILITY(CAP_BPF), .used_for = "recording at all", .is_needed = true },
		{ CAPABILITY(CAP_PERFMON), .used_for = "recording at all", .is_needed = true },
		{ CAPABILITY(CAP_SYS_ADMIN),
		  .used_for = "alloc.heap (on some kernels), page frame numbers in alloc.page, "
			      "what programs cost in `ebpfrec report cost`" },
		{ CAPABILITY(CAP_SYSLOG), .used_for = "names of kernel functions that allocate" },
		{ CAPABILITY(CAP_SETUID), .used_for = "record -u" },
		{ CAPABILITY(CAP_SETGID), .used_for = "record -u" },
		{ CAPABILITY(CAP_SYS_RESOURCE),
		  .used_for = "memory for the rings, which is locked memory on kernels before "
			      "5.11, unless `ulimit -l` is unlimited" },
	};
	unsigned int cnt = sizeof(rows) / sizeof(rows[0]), i;

	if (!rings_take_locked_memory())
		cnt--;
	for (i = 0; i < cnt; i++)
		rows[i].is_there = privilege_is_global() && privilege_has(rows[i].cap);
	/* CAP_SYS_ADMIN implies CAP_BPF and CAP_PERFMON */
	rows[0].is_there |= rows[2].is_there;
	rows[1].is_there |= rows[2].is_there;
	*ret = rows;
	return cnt;
}

unsigned int session_lacks(const struct session_lack **ret)
{
	static struct session_lack rows[4];
	struct kernel_info *k = NULL;
	unsigned int cnt = 0;

	if (kernel_info_open(&k, NULL, NULL) == 0) {
		if (!kernel_has_helper(k, "BPF_FUNC_task_pt_regs"))
			rows[cnt++] = (struct session_lack){
				"what threads wait for: calls and objects in `waits`, holders in "
				"`locks`", "Kernels from 5.15 on tell BPF the system call" };
		else if (!kernel_function_id(k, "bpf_rdonly_cast"))
			rows[cnt++] = (struct session_lack){
				"which file, socket or pipe a thread waits for",
				"Kernels from 6.2 on let BPF look at files" };
		if (!kernel_arg_is(k, "mark_victim", 0, "task_struct"))
			rows[cnt++] = (struct session_lack){
				"size and limit of processes that the OOM killer ends",
				"Kernels from 6.8 on tell them" };
	}
	kernel_info_close(k);
	if (!preload_has_library())
		rows[cnt++] = (struct session_lack){
			"ebpfrec_heap.so, the library of `record --heap`",
			"It is not beside the program; uprobes record the heap, which is slower" };
	*ret = rows;
	return cnt;
}

unsigned int session_hooks(const struct session_hook **ret)
{
	static struct session_hook *hooks;
	static char (*texts)[64];
	struct kernel_info *k = NULL;

	if (!hooks) {
		hooks = calloc(source_program_cnt, sizeof(*hooks));
		texts = calloc(source_program_cnt, sizeof(*texts));
	}
	if (!hooks || !texts)
		return 0;
	kernel_info_open(&k, NULL, NULL);
	for (unsigned int i = 0; i < source_program_cnt; i++) {
		const struct source_program *p = &source_programs[i];

		snprintf(texts[i], sizeof(texts[i]), "%s%s",
			 p->tracepoint ? "tracepoint " :
			 p->source == SOURCE_SAMPLE ? "perf event " : "uprobe ",
			 p->tracepoint ? p->tracepoint :
			 p->source == SOURCE_SAMPLE ? "cpu-clock" : p->program + strlen("heap_"));
		hooks[i] = (struct session_hook){
			.source = source_infos[p->source].name,
			.name = p->program,
			.hook = texts[i],
			.is_default = source_infos[p->source].is_default,
			.is_there = k && source_program_usable(p, k),
			.is_spare = k && p->tracepoint && !source_program_usable(p, k) &&
				    kernel_has_tracepoint(k, p->tracepoint),
			.used_for = p->used_for,
		};
	}
	kernel_info_close(k);
	*ret = hooks;
	return source_program_cnt;
}
