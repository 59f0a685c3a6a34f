/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fixes.bpf.h: functions for differences between kernels, one per difference; their comments name
 * the change in the kernel. No code checks a version number: CO-RE decides from the running
 * kernel's BTF.
 */
#pragma once

#include "emit.bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Bits of preempt_count that are set while an interrupt is served (include/linux/preempt.h). */
#define PREEMPT_SERVING_SOFTIRQ 0x100
#define PREEMPT_HARDIRQ_MASK 0x000f0000
#define PREEMPT_NMI_MASK 0x00f00000

#define TASK_PF_KTHREAD 0x00200000
#define TASK_WAKING 0x0200
#define TASK_ON_RQ_MIGRATING 2

/*
 * A helper that reads kernel memory costs tens of ns; a load whose type the verifier knows costs
 * almost nothing. The kernel function bpf_rdonly_cast() declares an address to be of a type; loads
 * from a bad address then return 0. src/probe/attach.c replaces each call of this number by a call
 * of that function, and each WIRE_CAST_* by the kernel's type id. CO-RE cannot insert these ids:
 * libbpf sees only the BTF that src/probe/kernel.c makes, whose ids differ.
 */
static void *(*const fix_cast)(const void *addr, __u32 btf_id) = (void *)WIRE_CALL_RDONLY_CAST;

/* clang-format off */
#define FIX_CAST(p)                                                  \
	((typeof(p))fix_cast(p, _Generic(*(p),                       \
		struct thread_info___word: WIRE_CAST_thread_info,    \
		struct task_struct: WIRE_CAST_task_struct,           \
		struct mm_struct: WIRE_CAST_mm_struct,               \
		struct percpu_counter: WIRE_CAST_percpu_counter,     \
		struct kmem_cache: WIRE_CAST_kmem_cache,             \
		struct address_space: WIRE_CAST_address_space,       \
		struct request: WIRE_CAST_request,                   \
		struct bio: WIRE_CAST_bio,                           \
		struct files_struct: WIRE_CAST_files_struct,         \
		struct fdtable: WIRE_CAST_fdtable,                   \
		struct file: WIRE_CAST_file,                         \
		struct inode: WIRE_CAST_inode,                       \
		struct pt_regs: WIRE_CAST_pt_regs,                   \
		struct rq: WIRE_CAST_rq)))
/* clang-format on */

/* Reads p->field, for an untyped p. */
#define PEEK(p, field) (conf_peek ? FIX_CAST(p)->field : BPF_CORE_READ(p, field))

/*
 * Use for an argument p of a program if pointers are read through p. For each pointer read from a
 * trusted structure, the verifier searches all types of the kernel for four names, which takes 2
 * ms. A cast pointer is less trusted: the verifier skips the search.
 */
#define FIX_ARG(p) (conf_peek ? FIX_CAST(p) : (p))

/*
 * Returns value, which becomes an unknown number for the verifier. Otherwise the verifier checks
 * the code that follows once per value that it has derived; loading then takes milliseconds.
 */
static __always_inline __u64 fix_forget(struct wire_counters *c, __u64 value)
{
	*(volatile __u64 *)&c->forget = value;
	return *(volatile __u64 *)&c->forget;
}

/*
 * Reads 8 bytes at a kernel address. Any structure whose first field has 8 bytes serves as type of
 * `word`.
 */
static __always_inline __u64 fix_peek(__u64 addr)
{
	struct thread_info___word *word = (void *)addr;

	return PEEK(word, flags);
}

/* Returns the preemption count; 0: unknown. */
static __always_inline __u32 fix_preempt_count(const struct wire_counters *c)
{
	__u32 count = 0;

#if defined(__TARGET_ARCH_x86)
	count = fix_peek(c->preempt_at);
#elif defined(__TARGET_ARCH_arm64)
	struct thread_info___arm64 {
		u64 preempt_count;
	} __attribute__((preserve_access_index));
	struct task_struct *task = (void *)bpf_get_current_task();
	struct thread_info___arm64 *ti = (void *)&task->thread_info;

	count = BPF_CORE_READ(ti, preempt_count);
#endif
	return count;
}

/* Returns this CPU's level, below WIRE_LEVELS; 0, the level of tasks, if unknown. */
static __always_inline __u32 fix_level(const struct wire_counters *c)
{
	__u32 count = fix_preempt_count(c);

	if (!(count & (PREEMPT_SERVING_SOFTIRQ | PREEMPT_HARDIRQ_MASK | PREEMPT_NMI_MASK)))
		return 0;
	return count & PREEMPT_NMI_MASK ? 3 : count & PREEMPT_HARDIRQ_MASK ? 2 : 1;
}

/* Returns whether the current interrupt interrupted a soft interrupt. */
static __always_inline bool fix_interrupted_softirq(const struct wire_counters *c)
{
	return fix_preempt_count(c) & PREEMPT_SERVING_SOFTIRQ;
}

/* Returns WIRE_F_IRQ if an interrupt, a softirq or an NMI is being served on this CPU, else 0. */
static __always_inline __u8 fix_irq_flag(const struct wire_counters *c)
{
	return fix_level(c) ? WIRE_F_IRQ : 0;
}

/* Returns what bpf_get_current_pid_tgid() returns, without that call if possible. */
static __always_inline __u64 fix_current_id(const struct wire_counters *c)
{
	if (conf_peek && c->current_at) {
		struct task_struct *task = (void *)fix_peek(c->current_at);

		return (__u64)PEEK(task, tgid) << 32 | (__u32)PEEK(task, pid);
	}
	return bpf_get_current_pid_tgid();
}

/*
 * Returns what bpf_get_current_task() returns. The helper that returns a typed pointer came with
 * 5.11.
 */
static __always_inline struct task_struct *fix_current(const struct wire_counters *c)
{
	return (void *)(conf_peek && c->current_at ? fix_peek(c->current_at) :
						     bpf_get_current_task());
}

/* Returns the task's state. task_struct.state became __state: 2f064a59a11f (5.14). */
static __always_inline __u32 fix_task_state(struct task_struct *task)
{
	struct task_struct___new_state *t_new = (void *)task;
	struct task_struct___old_state *t_old = (void *)task;

	if (bpf_core_field_exists(t_new->__state))
		return BPF_CORE_READ(t_new, __state);
	return BPF_CORE_READ(t_old, state);
}

/*
 * Returns 1 + the state of a task that has no CPU; the state is as in a switch, so 1 is a runnable
 * task. 0: the task has a CPU, or is being moved to a run queue.
 */
static __always_inline __u32 fix_off_cpu_state(struct task_struct *task)
{
	struct sched_entity___delayed *se = (void *)&task->se;
	int on_cpu = BPF_CORE_READ(task, on_cpu), on_rq = BPF_CORE_READ(task, on_rq);
	__u32 state = fix_task_state(task);
	bool is_delayed = bpf_core_field_exists(se->sched_delayed) &&
			  BPF_CORE_READ(se, sched_delayed);

	if (on_cpu || on_rq == TASK_ON_RQ_MIGRATING || state & TASK_WAKING)
		return 0;
	return on_rq && !is_delayed ? 1 : state + 1;
}

/*
 * Returns the task's CPU. task_struct.cpu moved into thread_info: bcf9033e5449 (5.16). task must be
 * an argument of a program: both reads are plain loads.
 */
static __always_inline __u32 fix_task_cpu(struct task_struct *task)
{
	struct task_struct___cpu *t_old = (void *)task;

	if (bpf_core_field_exists(t_old->cpu))
		return t_old->cpu;
	return task->thread_info.cpu;
}

/*
 * Returns this CPU's run queue, found through the current task; NULL: no CONFIG_FAIR_GROUP_SCHED.
 * The queue never moves; with conf_peek it is looked up once per CPU.
 */
static __always_inline struct rq *fix_rq(struct wire_counters *c, struct task_struct *task)
{
	struct rq *rq = (void *)c->rq_at;
	struct cfs_rq *cfs_rq = NULL;

	if (conf_peek && rq)
		return FIX_CAST(rq);
	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(cfs_rq->rq))
		return NULL;
	cfs_rq = FIX_ARG(task)->se.cfs_rq;
	rq = cfs_rq->rq;
	c->rq_at = (__u64)rq;
	return rq;
}

/*
 * Returns whether a hypervisor took time from this CPU since the last fix_stolen_ns():
 * prev_steal_time_rq has changed. Without this field the kernel does not subtract stolen time. The
 * change may exceed the time that the kernel subtracts: since 108ad0999085 (6.14) the field also
 * includes stolen time beyond the time that has passed.
 */
static __always_inline bool fix_steal_grew(const struct wire_counters *c, struct rq *rq)
{
	struct rq___steal *steal = (void *)rq;

	if (!bpf_core_field_exists(steal->prev_steal_time_rq))
		return false;
	return c->steal_seen1 != steal->prev_steal_time_rq + 1;
}

/*
 * Returns the time that a hypervisor took from this CPU since the last call, as the scheduler
 * counts it: the increase of the difference between the run queue's clock and its clock of tasks,
 * minus the time of interrupts if the scheduler subtracts this time, too.
 */
static __always_inline __u64 fix_stolen_ns(struct wire_counters *c, struct rq *rq)
{
	struct rq___steal *steal = (void *)rq;
	struct rq___irq *irq = (void *)rq;
	__u64 known = c->steal_seen1, away, more;

	if (!fix_steal_grew(c, rq))
		return 0;
	away = rq->clock - rq->clock_task;
	if (bpf_core_field_exists(irq->prev_irq_time))
		away -= irq->prev_irq_time;
	more = away - c->away_ns;
	c->steal_seen1 = steal->prev_steal_time_rq + 1;
	c->away_ns = away;
	return known && (__s64)more > 0 ? more : 0;
}

/*
 * Returns how long the task that leaves the CPU has had the CPU, by the run queue's clock; 0:
 * unknown, or the idle task, for which the kernel keeps no such time. The clock was read when the
 * scheduler began this switch, or at the wake-up that led to it.
 */
static __always_inline __u64 fix_stay_ns(struct rq *rq, struct task_struct *task)
{
	__u64 since = 0;

	if (task->pid && bpf_core_field_exists(task->sched_info.last_arrival))
		since = task->sched_info.last_arrival;
	return since && rq->clock > since ? rq->clock - since : 0;
}

/*
 * Returns one RSS counter, in pages. Since f1a7941243c1 (6.2) each is a per-CPU counter, whose
 * central part lags by up to a batch per CPU. Adding the parts of the first conf_rss_sum_cpus CPUs
 * makes the result exact on small machines.
 */
static __always_inline __s64 fix_rss_pages(struct mm_struct *mm, __u32 member)
{
	struct mm_struct___percpu_rss *m_new = (void *)mm;
	struct mm_struct___atomic_rss *m_old = (void *)mm;
	struct percpu_counter *fbc;
	__s64 pages;

	if (member >= WIRE_RSS_MEMBERS)
		return 0;
	/*
	 * The barriers keep each kernel's offset in its branch, which does not run on other
	 * kernels.
	 */
	if (!bpf_core_field_exists(m_new->rss_stat[0].count)) {
		long count = 0;

		barrier_var(m_old);
		bpf_probe_read_kernel(
			&count, sizeof(count),
			(void *)__builtin_preserve_access_index(&m_old->rss_stat.count[0]) +
				member * 8);
		return count;
	}
	barrier_var(m_new);
	fbc = (void *)__builtin_preserve_access_index(&m_new->rss_stat[0]) +
	      member * bpf_core_type_size(struct percpu_counter);
	pages = PEEK(fbc, count);
	if (conf_rss_sum_cpus) {
		__u64 parts = (__u64)PEEK(fbc, counters);
		__u32 cpu;

#pragma unroll
		for (cpu = 0; cpu < 4; cpu++) {
			struct wire_counters *c;
			__u32 key = cpu;
			if (cpu >= conf_rss_sum_cpus)
				break;
			c = bpf_map_lookup_elem(&counters, &key);
			if (!c || !c->percpu_offset)
				continue;
			pages += (__s32)fix_peek(parts + c->percpu_offset);
		}
	}
	return pages < 0 ? 0 : pages;
}

/*
 * Returns the tgid of the process that owns a memory map. 0: unknown, or the map is not in use yet.
 * A map that a fork is copying already belongs to the child, which still has its parent's ids; the
 * new map of an exec has its owner before the process uses the map. In both cases the owner has the
 * current task's ids, but the map is not the current task's map. The task hooks send the map's
 * counters when it is in use. cur: the current task.
 */
static __always_inline __u32 fix_mm_pid(struct task_struct *cur, struct mm_struct *mm)
{
	__u32 cur_pid = PEEK(cur, tgid), pid;

	if (bpf_core_field_exists(mm->owner)) {
		struct task_struct *owner = FIX_ARG(mm)->owner;

		if (!owner)
			return 0;
		pid = PEEK(owner, tgid);
		if (pid == cur_pid && PEEK(cur, mm) != mm)
			return 0;
		return pid;
	}
	return PEEK(cur, mm) == mm ? cur_pid : 0;
}

/*
 * Returns the device. request->rq_disk became request->q->disk: f3fa33acca9f (5.17); the queue has
 * its disk since 5.15.
 */
static __always_inline __u32 fix_rq_dev(struct request *rq)
{
	struct request___rq_disk *rq_old = (void *)rq;
	struct gendisk *disk;

	if (bpf_core_field_exists(rq_old->rq_disk)) {
		disk = rq_old->rq_disk;
	} else {
		struct request_queue___disk *q = (void *)rq->q;

		disk = q->disk;
	}
	if (!disk)
		return 0;
	return (__u32)disk->major << 20 | (__u32)disk->first_minor;
}

/*
 * Returns the partition's device. request->part is a block_device since 5.11 (8446fe9255be); 0 for
 * the older hd_struct.
 */
static __always_inline __u32 fix_rq_part(struct request *rq)
{
	struct request___part_bdev *r = (void *)rq;

	if (bpf_core_type_exists(struct block_device) &&
	    bpf_core_field_exists(((struct block_device *)0)->bd_dev)) {
		struct block_device *bd = r->part;

		return bd ? bd->bd_dev : 0;
	}
	return 0;
}
