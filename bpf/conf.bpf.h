/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * conf.bpf.h: what user space decides before the programs are loaded. All of it is
 * .rodata, so that the verifier sees constants and drops the code not taken.
 * Facts about the kernel's prototypes come from its BTF (src/probe/kernel.c).
 */
#ifndef CONF_BPF_H
#define CONF_BPF_H

#include "vmlinux.h"
#include "wire.h"
#include <bpf/bpf_helpers.h>

/*
 * Argument n of a tracepoint, where which argument it is depends on the kernel: the compiler
 * would turn two such reads into one at a variable offset, which the verifier refuses.
 */
#define CTX_ARG(ctx, n)                                                                        \
	({                                                                                     \
		__u64 arg_;                                                                    \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(arg_) : "r"(ctx), "i"((n) * 8)); \
		arg_;                                                                          \
	})

/* What the recording is. */
const volatile __u32 conf_only __weak = 0;		/* keep just the target set */
const volatile __u32 conf_track __weak = 0; /* maintain the target set (only, or heap) */
const volatile __u64 conf_cgroup_id __weak = 0; /* the target set follows this cgroup; 0: none */
const volatile __u32 conf_wake_bytes __weak = 0;	/* wake the consumer beyond this fill */
const volatile __u32 conf_rss __weak = 0; /* alloc.rss picked: task hooks send baselines */
const volatile __u32 conf_page_bytes __weak = 4096;
const volatile __u64 conf_stacks_min __weak = 0; /* stacks of allocations of so many bytes and more; 0: none */
const volatile __u32 conf_stacks_every __weak = 0; /* stacks of every so-manieth allocation; 0: by size */
const volatile __u32 conf_vm __weak = 0;		/* alloc.vm picked */

/* How records travel; see struct wire_ring. */
const volatile __u32 conf_mapped __weak = 0;		/* through mapped rings, else through BPF ring buffers */
const volatile __u64 conf_ring_mask __weak = 0;		/* mapped: bytes of data - 1 */
const volatile __u64 conf_ring_room __weak = 0;		/* mapped: bytes that may wait */
const volatile __u64 conf_ring_key __weak = 0;
const volatile __u32 conf_copies __weak = 0; /* hooks that interrupts can nest have a second program */
/* Atomic operations give what was there (5.12); where not, adapt.c makes plain ones of them, which give nothing. */
const volatile __u32 conf_fetching __weak = 0;
const volatile __u32 conf_reentrant __weak = 0;	/* the kernel runs a program inside itself (until 6.0) */

/* What the kernel's tracepoints look like. */
const volatile __u32 conf_switch_state_arg __weak =
	0; /* sched_switch passes prev_state as argument 3 */
const volatile __u32 conf_rq_arg __weak = 0; /* block_rq_*: which argument is the request */
const volatile __u32 conf_kmalloc_cache_arg __weak =
	0; /* kmalloc has the cache before the sizes (5.19, 6.0) */
const volatile __u32 conf_cache_alloc_sizes __weak =
	0; /* kmem_cache_alloc: sizes are arguments 2, 3 (1) or 3, 4 (2) */
const volatile __u32 conf_cache_free_cache __weak =
	0; /* kmem_cache_free: argument 2 is the cache */
const volatile __u32 conf_rss_count_arg __weak = 0; /* rss_stat passes the count as argument 2 */
const volatile __u32 conf_rss_sum_cpus __weak =
	0; /* add the per-CPU parts of this many CPUs; 0: none */
const volatile __u32 conf_lock_write_arg __weak =
	0; /* mmap_lock_released: which argument is `write` */

/* The kernel lets any address be read as if it were typed, without a call (fd264ca020948, 6.2). */
const volatile __u32 conf_peek __weak = 0;

/* Where per-CPU variables are in a CPU's area (BTF's .data..percpu section); 0: not there. */
const volatile __u64 conf_at_runqueues __weak = 0;
const volatile __u64 conf_at_preempt_count __weak =
	0; /* x86: until 6.1, and from 6.15 (46e8fff6d45f) */
const volatile __u64 conf_at_pcpu_hot __weak = 0;	/* x86: between (64701838bf05) */
const volatile __u64 conf_at_this_cpu_off __weak = 0;
const volatile __u64 conf_at_current_task __weak = 0; /* x86: with __preempt_count */

/* Known only after loading (needs a program to read it): set before attaching. */
__u64 kernel_vmemmap __weak = 0;			/* address of struct page 0 */

#endif /* CONF_BPF_H */
