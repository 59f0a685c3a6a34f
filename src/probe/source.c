// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * source: the tables behind `-e` and `doctor`, and the rules that pick a program when
 * kernels differ.
 */
#include "probe/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/wire.h"
#include "probe/kernel.h"

const struct source_info source_infos[SOURCE_CNT] = {
	[SOURCE_TASK] = { "task", true, "fork, exec, rename, exit, cgroup moves (always on)" },
	[SOURCE_SWITCH] = { "sched.switch", true, "context switches: CPU time" },
	[SOURCE_WAKEUP] = { "sched.wakeup", true, "wake-ups: run-queue latency" },
	[SOURCE_SLAB] = { "alloc.slab", true,
			  "kernel slab objects: kmalloc, kmem_cache_alloc and their frees" },
	[SOURCE_PAGE] = { "alloc.page", true, "page allocator" },
	[SOURCE_RSS] = { "alloc.rss", true, "resident memory of processes" },
	[SOURCE_VM] = { "alloc.vm", true, "mapped memory of processes" },
	[SOURCE_HEAP] = { "alloc.heap", false,
			  "the C library's malloc and free, workload only (uprobes: costly)" },
	[SOURCE_BLOCK] = { "block", true, "block I/O requests" },
	[SOURCE_DIRTY] = { "block.dirty", true,
			   "who dirties the pages that are written back later: owners of requests" },
	[SOURCE_IRQ] = { "sched.irq", false, "interrupts and soft interrupts: whose time they took" },
};

#define SOFTIRQS "time in soft interrupts (not on PREEMPT_RT)"
#define VECTOR(program, tracepoint, used_for)                                                    \
	{ program "_in", tracepoint "_entry", SOURCE_IRQ, WIRE_VECTOR_ENTRY, true, used_for },   \
	{                                                                                        \
		program "_out", tracepoint "_exit", SOURCE_IRQ, WIRE_VECTOR_EXIT, true, used_for \
	}
#define NESTED "what interrupts a program of the same hook"

/* A second program comes after the first: that is the order in which the kernel runs them. */
const struct source_program source_programs[] = {
	{ "task_newtask", "task_newtask", SOURCE_TASK, WIRE_TASK_NEW, false,
	  "new processes and threads" },
	{ "task_exec", "sched_process_exec", SOURCE_TASK, WIRE_TASK_EXEC, false,
	  "programs started, command lines" },
	{ "task_rename", "task_rename", SOURCE_TASK, WIRE_TASK_RENAME, false, "names" },
	{ "task_exit", "sched_process_exit", SOURCE_TASK, WIRE_TASK_EXIT, false,
	  "ends, exit codes" },
	{ "task_free", "sched_process_free", SOURCE_TASK, 0, true,
	  "which processes are the workload's (--only, alloc.heap)" },
	{ "task_cgroup", "cgroup_attach_task", SOURCE_TASK, WIRE_TASK_CGROUP, true,
	  "moves between cgroups" },
	{ "sched_switch", "sched_switch", SOURCE_SWITCH, WIRE_SWITCH, false,
	  "CPU time, preemptions" },
	{ "sched_waking", "sched_waking", SOURCE_WAKEUP, WIRE_WAKING, false, "run-queue latency" },
	{ "sched_wake_new", "sched_wakeup_new", SOURCE_WAKEUP, WIRE_WAKEUP_NEW, false,
	  "run-queue latency of new tasks" },
	{ "kmalloc", "kmalloc", SOURCE_SLAB, WIRE_KMALLOC, false, "slab allocations" },
	{ "kmalloc_2", "kmalloc", SOURCE_SLAB, WIRE_KMALLOC, true, NESTED,
	  SOURCE_SECOND_WHEN_SKIPPED },
	{ "kmalloc_node", "kmalloc_node", SOURCE_SLAB, WIRE_KMALLOC_NODE, true,
	  "the same, kernels until 6.0" },
	{ "cache_alloc", "kmem_cache_alloc", SOURCE_SLAB, WIRE_CACHE_ALLOC, false,
	  "slab allocations" },
	{ "cache_alloc_2", "kmem_cache_alloc", SOURCE_SLAB, WIRE_CACHE_ALLOC, true, NESTED,
	  SOURCE_SECOND_WHEN_SKIPPED },
	{ "cache_alloc_nod", "kmem_cache_alloc_node", SOURCE_SLAB, WIRE_CACHE_ALLOC_NODE, true,
	  "the same, kernels until 6.0" },
	{ "kfree", "kfree", SOURCE_SLAB, WIRE_KFREE, false, "slab frees" },
	{ "kfree_2", "kfree", SOURCE_SLAB, WIRE_KFREE, true, NESTED, SOURCE_SECOND },
	{ "cache_free", "kmem_cache_free", SOURCE_SLAB, WIRE_CACHE_FREE, false, "slab frees" },
	{ "cache_free_2", "kmem_cache_free", SOURCE_SLAB, WIRE_CACHE_FREE, true, NESTED, SOURCE_SECOND },
	{ "page_alloc", "mm_page_alloc", SOURCE_PAGE, WIRE_PAGE_ALLOC, false, "page allocations" },
	{ "page_alloc_2", "mm_page_alloc", SOURCE_PAGE, WIRE_PAGE_ALLOC, true, NESTED,
	  SOURCE_SECOND_WHEN_SKIPPED },
	{ "page_free", "mm_page_free", SOURCE_PAGE, WIRE_PAGE_FREE, false, "page frees" },
	{ "page_free_2", "mm_page_free", SOURCE_PAGE, WIRE_PAGE_FREE, true, NESTED, SOURCE_SECOND },
	{ "rss_stat", "rss_stat", SOURCE_RSS, WIRE_RSS, false, "resident memory over time" },
	{ "vm_released", "mmap_lock_released", SOURCE_VM, WIRE_VM, true,
	  "mapped memory over time" },
	{ "vm_area", "vm_unmapped_area", SOURCE_VM, 0, true, "addresses of new mappings" },
	{ "vm_sys_exit", "sys_exit", SOURCE_VM, WIRE_VM, true,
	  "mapped memory where mmap_lock_released is missing (slows every system call)" },
	{ "rq_insert", "block_rq_insert", SOURCE_BLOCK, WIRE_BLOCK_INSERT, false,
	  "requests queued" },
	{ "rq_issue", "block_rq_issue", SOURCE_BLOCK, WIRE_BLOCK_ISSUE, false,
	  "requests sent to the device" },
	{ "rq_complete", "block_rq_complete", SOURCE_BLOCK, WIRE_BLOCK_COMPLETE, false,
	  "requests completed" },
	{ "rq_requeue", "block_rq_requeue", SOURCE_BLOCK, WIRE_BLOCK_REQUEUE, false,
	  "requests put back" },
	{ "rq_error", "block_rq_error", SOURCE_BLOCK, WIRE_BLOCK_ERROR, true, "failed requests" },
	{ "rq_merge", "block_rq_merge", SOURCE_BLOCK, WIRE_BLOCK_MERGE, true, "merges" },
	{ "io_start", "block_io_start", SOURCE_BLOCK, WIRE_BLOCK_START, true,
	  "true submitter of a request" },
	{ "io_done", "block_io_done", SOURCE_BLOCK, WIRE_BLOCK_DONE, true,
	  "the count diskstats make" },
	{ "dirty_folio", "writeback_dirty_folio", SOURCE_DIRTY, WIRE_DIRTY, true,
	  "owners of written-back pages" },
	{ "dirty_page", "writeback_dirty_page", SOURCE_DIRTY, WIRE_DIRTY, true,
	  "the same, kernels until 5.17" },
	{ "irq_entry", "irq_handler_entry", SOURCE_IRQ, WIRE_IRQ_ENTRY, false,
	  "time in interrupt handlers" },
	{ "irq_exit", "irq_handler_exit", SOURCE_IRQ, WIRE_IRQ_EXIT, false,
	  "time in interrupt handlers" },
	{ "softirq_entry", "softirq_entry", SOURCE_IRQ, WIRE_SOFTIRQ_ENTRY, true, SOFTIRQS },
	{ "softirq_exit", "softirq_exit", SOURCE_IRQ, WIRE_SOFTIRQ_EXIT, true, SOFTIRQS },
	VECTOR("vec_timer", "local_timer", "the CPU's own timer (x86)"),
	VECTOR("vec_resched", "reschedule", "wake-ups from other CPUs (x86)"),
	VECTOR("vec_call", "call_function", "calls from other CPUs (x86)"),
	VECTOR("vec_call1", "call_function_single", "calls from other CPUs (x86)"),
	VECTOR("vec_work", "irq_work", "work a CPU defers to itself (x86)"),
	{ "heap_malloc", NULL, SOURCE_HEAP, 0, true, "malloc" },
	{ "heap_calloc", NULL, SOURCE_HEAP, 0, true, "calloc" },
	{ "heap_realloc", NULL, SOURCE_HEAP, 0, true, "realloc" },
	{ "heap_reallocarr", NULL, SOURCE_HEAP, 0, true, "reallocarray" },
	{ "heap_aligned", NULL, SOURCE_HEAP, 0, true, "memalign, aligned_alloc" },
	{ "heap_posix", NULL, SOURCE_HEAP, 0, true, "posix_memalign" },
	{ "heap_return", NULL, SOURCE_HEAP, WIRE_HEAP_ALLOC, true, "results of all of them" },
	{ "heap_free", NULL, SOURCE_HEAP, WIRE_HEAP_FREE, true, "free" },
};

const unsigned int source_program_cnt = sizeof(source_programs) / sizeof(source_programs[0]);

bool source_skips_nested(const struct kernel_info *k)
{
	/* it counts what it skips, by a function of its own since the change that skips tracepoint programs */
	return kernel_function_id(k, "bpf_prog_inc_misses_counter") != 0;
}

static bool is_realtime(void)
{
	return !access("/sys/kernel/realtime", F_OK);
}

bool source_has_seconds(const struct kernel_info *k)
{
	return source_skips_nested(k) && !is_realtime();
}

bool source_program_usable(const struct source_program *p, const struct kernel_info *k)
{
	bool cheap_vm;

	if (!p->tracepoint)
		return true;
	if (!kernel_has_tracepoint(k, p->tracepoint))
		return false;
	if (p->copy)
		return source_has_seconds(k);
	/* there another task may run in the middle of one: it is no interruption then */
	if (p->hook == WIRE_SOFTIRQ_ENTRY || p->hook == WIRE_SOFTIRQ_EXIT)
		return !is_realtime();
	if (p->source != SOURCE_VM)
		return true;
	/* one of two ways to the mapped size; the cheap one reads the caller's registers */
	cheap_vm = kernel_has_tracepoint(k, "mmap_lock_released") &&
		   kernel_has_helper(k, "BPF_FUNC_task_pt_regs");
	return !strcmp(p->program, "vm_sys_exit") ? !cheap_vm : cheap_vm;
}

/* Sources whose name is word, or whose class (the part before the dot) is. */
static uint32_t match(const char *word, size_t len)
{
	uint32_t mask = 0;
	unsigned int i;

	if (len == 3 && !memcmp(word, "all", 3))
		return SOURCE_BIT(SOURCE_CNT) - 1;
	for (i = 0; i < SOURCE_CNT; i++) {
		const char *name = source_infos[i].name;
		const char *dot = strchr(name, '.');

		if (strlen(name) == len && !memcmp(name, word, len))
			mask |= SOURCE_BIT(i);
		else if (dot && (size_t)(dot - name) == len && !memcmp(name, word, len) &&
			 source_infos[i].is_default)
			mask |= SOURCE_BIT(i);
	}
	return mask;
}

int source_parse(const char *list, uint32_t *ret_mask, struct err *e)
{
	uint32_t mask = SOURCE_BIT(SOURCE_TASK), hit;
	unsigned int i;
	size_t len;

	if (!list) {
		for (i = 0; i < SOURCE_CNT; i++) {
			if (source_infos[i].is_default)
				mask |= SOURCE_BIT(i);
		}
		*ret_mask = mask;
		return 0;
	}
	for (;; list += len + 1) {
		len = strcspn(list, ",");
		hit = match(list, len);
		if (!hit)
			return err_set(e, -EINVAL,
				       "unknown event '%.*s': pick from sched, alloc, block, task, "
				       "sched.switch, "
				       "sched.wakeup, sched.irq, alloc.slab, alloc.page, alloc.rss, alloc.vm, "
				       "alloc.heap, block.dirty or all",
				       (int)len, list);
		mask |= hit;
		if (!list[len])
			break;
	}
	*ret_mask = mask;
	return 0;
}
