/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * conf.bpf.h: settings that user space makes before it loads the programs. All except
 * kernel_vmemmap are in .rodata: the verifier sees constants and drops unused code.
 * src/probe/kernel.c reads the facts about the kernel's prototypes from the kernel's BTF.
 */
#pragma once

#include "vmlinux.h"
#include "wire.h"
#include <bpf/bpf_helpers.h>

/*
 * Argument n of a tracepoint, if n depends on the kernel. Without the assembler, the compiler would
 * merge two such reads into one at a variable offset, which the verifier refuses.
 */
#define CTX_ARG(ctx, n)                                                                        \
	({                                                                                     \
		__u64 arg_;                                                                    \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(arg_) : "r"(ctx), "i"((n) * 8)); \
		arg_;                                                                          \
	})

/* The constants below describe the recording. */
/* Keep only events of the target set. */
const volatile __u32 conf_only __weak = 0;
/* Maintain the target set, for conf_only or for heap sources. */
const volatile __u32 conf_track __weak = 0;
/* The target set follows this cgroup; 0: none. */
const volatile __u64 conf_cgroup_id __weak = 0;
/* A program wakes the reader if its ring holds more bytes than this. */
const volatile __u32 conf_wake_bytes __weak = 0;
/* alloc.rss or alloc.vm is recorded, so task hooks send the state of a new memory map. */
const volatile __u32 conf_rss __weak = 0;
const volatile __u32 conf_vm __weak = 0;
const volatile __u32 conf_page_bytes __weak = 4096;
/* Record the stacks of allocations of at least this size; 0: none. */
const volatile __u64 conf_stacks_min __weak = 0;
/* Record the stack of every n-th allocation instead; 0: select by size. */
const volatile __u32 conf_stacks_every __weak = 0;
/* Samples include a copy of the user stack. */
const volatile __u32 conf_copy_stacks __weak = 0;
/* Waits include a copy of the user stack, too, made when the thread leaves its CPU. */
const volatile __u32 conf_copy_waits __weak = 0;
/*
 * Send waits off the CPU that last at least this long; with conf_offcpu_targets, only waits of the
 * target set.
 */
const volatile __u64 conf_offcpu_ns __weak = 0;
const volatile __u32 conf_offcpu_targets __weak = 0;

/* The constants below describe how the kernel runs the programs. */
/* Hooks that can be interrupted by themselves have a second program. */
const volatile __u32 conf_copies __weak = 0;
/*
 * Atomic additions can return the old value (5.12). On other kernels src/probe/attach.c replaces
 * them by additions without a result.
 */
const volatile __u32 conf_fetching __weak = 0;
/* Tasks cannot preempt a program, so small records may wait in an area of their CPU. */
const volatile __u32 conf_stage __weak = 0;
/* The kernel may re-enter a program (until 6.0). */
const volatile __u32 conf_reentrant __weak = 0;

/* The constants below describe the kernel's tracepoints. */
/* sched_switch passes prev_state as argument 3. */
const volatile __u32 conf_switch_state_arg __weak = 0;
/* The registers with which a task entered the kernel can be read (bpf_task_pt_regs, 5.15). */
const volatile __u32 conf_call __weak = 0;
/* block_rq_*: index of the argument with the request. */
const volatile __u32 conf_rq_arg __weak = 0;
/* block_bio_queue and block_bio_remap have the queue before the bio (until 5.10). */
const volatile __u32 conf_bio_arg __weak = 0;
/*
 * block_bio_backmerge and _frontmerge have the queue and the request before the bio (until 5.10).
 */
const volatile __u32 conf_merge_arg __weak = 0;
/* kmalloc has the cache before the sizes (only 5.19 and 6.0). */
const volatile __u32 conf_kmalloc_cache_arg __weak = 0;
/*
 * kmem_cache_alloc has the sizes as arguments 2 and 3 (value 1), as 3 and 4 (2), or not at all (0).
 */
const volatile __u32 conf_cache_alloc_sizes __weak = 0;
/* kmem_cache_free has the cache as argument 2. */
const volatile __u32 conf_cache_free_cache __weak = 0;
/* rss_stat passes the count as argument 2. */
const volatile __u32 conf_rss_count_arg __weak = 0;
/* Add the per-CPU parts of an RSS counter for this many CPUs; 0: use only the central part. */
const volatile __u32 conf_rss_sum_cpus __weak = 0;
/* mark_victim passes the task, not its number (6.8). */
const volatile __u32 conf_oom_task __weak = 0;
/* mmap_lock_released: index of the argument `write`. */
const volatile __u32 conf_lock_write_arg __weak = 0;

/* A program can read any address as a typed pointer, without a helper call (fd264ca020948, 6.2). */
const volatile __u32 conf_peek __weak = 0;

/* Offsets of variables in the per-CPU section (BTF's .data..percpu); 0: no such variable. */
const volatile __u64 conf_at_runqueues __weak = 0;
/*
 * x86, until 6.1 and since 6.15 (46e8fff6d45f): the preemption count and the current task are
 * separate variables.
 */
const volatile __u64 conf_at_preempt_count __weak = 0;
const volatile __u64 conf_at_current_task __weak = 0;
/* x86, from 6.2 (64701838bf05) to 6.14: both are fields of pcpu_hot. */
const volatile __u64 conf_at_pcpu_hot __weak = 0;
const volatile __u64 conf_at_this_cpu_off __weak = 0;

/*
 * Address of struct page 0. User space finds it by means of a loaded program (page_calibrate), so
 * it is set after loading and before attaching.
 */
__u64 kernel_vmemmap __weak = 0;
