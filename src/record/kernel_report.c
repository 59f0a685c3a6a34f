/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * kernel_report: session_hooks(), the list of programs with what this kernel offers for each, which
 * `doctor` prints; and session_privileges(), the same for capabilities.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/privilege.h"
#include "probe/kernel.h"
#include "probe/source.h"
#include "record/preload.h"
#include "record/session.h"

/* Without BTF this is unknown: assume that the right is needed. */
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
	/* the kernel accepts this capability for both purposes */
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
