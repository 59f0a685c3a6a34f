/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * task: the identity of tasks. Programs read names and parents at the event, because a short-lived
 * process may end before /proc can be read. This file also has the task iterator that makes the
 * snapshots, and the programs that user space runs to read single facts.
 */
#include "call.bpf.h"
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"
#include "sched_facts.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CGROUP_DEPTH_MAX 16
#define SIGNAL_GROUP_EXIT 0x4
#define CGROUP_ROOT 1	/* id of the root in each hierarchy */

static __always_inline __u8 task_flags(struct task_struct *t)
{
	__u8 flags = BPF_CORE_READ(t, flags) & TASK_PF_KTHREAD ? WIRE_F_KTHREAD : 0;

	if (conf_track && filter_is_target(BPF_CORE_READ(t, tgid)))
		flags |= WIRE_F_TARGET;
	return flags;
}

static __always_inline __u32 ns_nr(struct pid *pid)
{
	unsigned int level = BPF_CORE_READ(pid, level);
	__u32 nr = 0;

	/* The verifier cannot bound the index of numbers[], a flexible array: use a helper. */
	bpf_probe_read_kernel(&nr, sizeof(nr),
			      (void *)__builtin_preserve_access_index(&pid->numbers[0]) +
				      level * bpf_core_type_size(struct upid));
	return nr;
}

/* Returns the task's group of the CPU controller; NULL: the kernel has no such controller. */
static __always_inline struct cgroup *cpu_cgroup(struct task_struct *t)
{
	struct css_set *set = BPF_CORE_READ(t, cgroups);
	struct cgroup_subsys_state *css = NULL;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return NULL;
	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)__builtin_preserve_access_index(&set->subsys[0]) +
				      bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) *
					      sizeof(css));
	return BPF_CORE_READ(css, cgroup);
}

/*
 * Returns the id of the task's version 2 group. If this group is the root, the CPU controller may
 * have a separate version 1 hierarchy: then returns the id of the task's group in that hierarchy.
 */
static __always_inline __u64 cgroup_id_of(struct task_struct *t)
{
	__u64 id = BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id);
	__u64 cpu = id == CGROUP_ROOT ? BPF_CORE_READ(cpu_cgroup(t), kn, id) : 0;

	return cpu > CGROUP_ROOT ? cpu | WIRE_CGROUP_V1 : id;
}

/* Fills all fields of a wire_task except its header. */
static __always_inline void fill_task(struct wire_task *r, struct task_struct *t)
{
	r->tid = BPF_CORE_READ(t, pid);
	r->pid = BPF_CORE_READ(t, tgid);
	r->ppid = BPF_CORE_READ(t, real_parent, tgid);
	r->ns_tid = ns_nr(BPF_CORE_READ(t, thread_pid));
	r->ns_pid = ns_nr(BPF_CORE_READ(t, group_leader, thread_pid));
	r->uid = BPF_CORE_READ(t, real_cred, uid.val);
	r->start_ns = BPF_CORE_READ(t, start_time);
	r->cgroup_id = cgroup_id_of(t);
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	BPF_CORE_READ_STR_INTO(&r->comm, t, comm);
	r->policy = BPF_CORE_READ(t, policy);
	r->static_prio = BPF_CORE_READ(t, static_prio);
	r->rt_priority = BPF_CORE_READ(t, rt_priority);
	r->zero = 0;
	r->allowed_cnt = BPF_CORE_READ(t, nr_cpus_allowed);
	r->cpu_mask = BPF_CORE_READ(t, cpus_mask.bits[0]);
}

/*
 * Mask of sources that are off now (WIRE_MM_*): the task hooks do not send the state of maps for
 * them.
 */
__u32 mm_state_off = 0;

/* Sends the counters of a memory map that has just become the process's. */
static __always_inline void send_mm_state(struct mm_struct *mm, __u32 pid, __u32 tid)
{
	struct emit e;
	__u32 i;

	if (!mm)
		return;
	for (i = 0; conf_rss && !(mm_state_off & WIRE_MM_RSS) && i < WIRE_RSS_MEMBERS; i++) {
		__s64 pages = fix_rss_pages(mm, i);

		if (emit_open(&e, WIRE_RSS))
			send_rss(&e, tid, pid, i, pages);
	}
	if (conf_vm && !(mm_state_off & WIRE_MM_VM))
		send_vm(tid, pid, EVENT_VM_OTHER, 0, 0, BPF_CORE_READ(mm, total_vm));
}

SEC("tp_btf/task_newtask")
int task_newtask(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	__u64 clone_flags = ctx[1];
	__u64 id = bpf_get_current_pid_tgid();
	struct wire_task task = {};
	struct wire_task *r;
	struct emit e;

	if (conf_track && filter_is_target(id >> 32))
		filter_add_target(t->tgid);
	fill_task(&task, t);
	sched_facts_forget(t);
	r = emit_begin(&e, WIRE_TASK_NEW, sizeof(*r), id, task_flags(t));
	if (r) {
		__builtin_memcpy(&r->tid, &task.tid, sizeof(task) - sizeof(task.hdr));
		emit_submit(&e, r);
	}
	/* 0x100 is CLONE_VM: the child shares its parent's memory. */
	if (!(clone_flags & 0x100) && !filter_drops(t->tgid))
		send_mm_state(FIX_ARG(t)->mm, t->tgid, id);
	return 0;
}

/*
 * The record is too large for the BPF stack. The program does not interrupt itself, so one buffer
 * per CPU suffices.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_exec);
} exec_scratch SEC(".maps");

SEC("tp_btf/sched_process_exec")
int task_exec(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	struct mm_struct *mm = FIX_ARG(t)->mm;
	__u64 file_len, args_len, start, end;
	struct wire_exec *r;
	__u32 zero = 0;
	struct emit e;
	long n;

	r = bpf_map_lookup_elem(&exec_scratch, &zero);
	if (!r)
		return 0;
	r->hdr.flags = task_flags(t);
	r->hdr.tid = t->pid;
	r->tid = t->pid;
	r->pid = t->tgid;
	r->old_tid = ctx[1];
	r->uid = BPF_CORE_READ(t, real_cred, uid.val);
	r->cgroup_id = cgroup_id_of(t);
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	BPF_CORE_READ_STR_INTO(&r->comm, t, comm);
	r->zero = 0;
	r->args_cut = 0;

	n = bpf_probe_read_kernel_str(r->strings, WIRE_FILE_MAX, BPF_CORE_READ(bprm, filename));
	file_len = n > 0 ? n : 0;
	if (file_len > WIRE_FILE_MAX)
		file_len = WIRE_FILE_MAX;
	args_len = 0;
	if (mm) {
		start = BPF_CORE_READ(mm, arg_start);
		end = BPF_CORE_READ(mm, arg_end);
		args_len = end - start;
		if (args_len > WIRE_ARGS_MAX) {
			args_len = WIRE_ARGS_MAX;
			r->args_cut = 1;
		}
		/*
		 * exec has just written these pages, so they are present: no page fault is needed
		 */
		if (args_len &&
		    bpf_probe_read_user(r->strings + (file_len & (2 * WIRE_FILE_MAX - 1)), args_len,
					(void *)start))
			args_len = 0;
	}
	r->file_len = file_len;
	r->args_len = args_len;
	n = offsetof(struct wire_exec, strings) + ((file_len + args_len + 7) & ~7ULL);
	if (n < 0 || n > sizeof(*r))
		return 0;
	if (emit_open(&e, WIRE_TASK_EXEC))
		emit_output(&e, r, n);
	if (!filter_drops(t->tgid))
		send_mm_state(mm, t->tgid, t->pid);
	return 0;
}

SEC("tp_btf/task_rename")
int task_rename(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	const char *comm = (void *)ctx[1];
	char name[WIRE_COMM_LEN] = {};
	struct wire_rename *r;
	struct emit e;

	bpf_probe_read_kernel_str(name, sizeof(name), comm);
	r = emit_begin(&e, WIRE_TASK_RENAME, sizeof(*r), bpf_get_current_pid_tgid(), task_flags(t));
	if (!r)
		return 0;
	r->tid = t->pid;
	r->pid = t->tgid;
	__builtin_memcpy(r->comm, name, sizeof(name));
	emit_submit(&e, r);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int task_exit(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	__u32 pid = t->tgid;
	struct signal_struct *signal = FIX_ARG(t)->signal;
	__u32 group_dead = signal->live.counter == 0;
	__u32 group_code = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code + 1U : 0;
	__u64 sum_exec_ns = t->se.sum_exec_runtime;
	__u32 uid = BPF_CORE_READ(t, real_cred, uid.val);
	__u32 exit_code = t->exit_code;
	__u8 flags = task_flags(t);
	struct wire_exit *r;
	struct emit e;

	if (conf_track && group_dead) {
		__u8 ends = TARGET_ENDS;

		bpf_map_update_elem(&targets, &pid, &ends, BPF_EXIST);
	}
	r = emit_begin(&e, WIRE_TASK_EXIT, sizeof(*r), t->pid, flags);
	if (!r)
		return 0;
	r->tid = t->pid;
	r->pid = pid;
	r->exit_code = exit_code;
	r->group_dead = group_dead;
	r->sum_exec_ns = sum_exec_ns;
	r->uid = uid;
	r->group_code = group_code;
	emit_submit(&e, r);
	return 0;
}

/*
 * After sched_process_exit a process still frees memory and leaves its CPU. It remains a target
 * until it is freed. A new process may have got the same pid by then, and remains a target.
 */
SEC("tp_btf/sched_process_free")
int task_free(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	__u32 pid = t->tgid;
	__u8 *value;

	if (t->pid != t->tgid)
		return 0;
	value = bpf_map_lookup_elem(&targets, &pid);
	if (value && *value == TARGET_ENDS)
		bpf_map_delete_elem(&targets, &pid);
	return 0;
}

static __always_inline bool cgroup_is_under(struct cgroup *cg, __u64 id)
{
	struct cgroup_subsys_state *css = &cg->self;
	int i;

	for (i = 0; i < CGROUP_DEPTH_MAX && css; i++) {
		struct cgroup *c = BPF_CORE_READ(css, cgroup);

		if (BPF_CORE_READ(c, kn, id) == id)
			return true;
		css = BPF_CORE_READ(css, parent);
	}
	return false;
}

SEC("tp_btf/cgroup_attach_task")
int task_cgroup(u64 *ctx)
{
	struct cgroup *cg = (void *)ctx[0];
	struct task_struct *t = (void *)ctx[2];
	__u32 pid = t->tgid;
	struct wire_cgroup *r;
	struct emit e;

	if (conf_track && conf_cgroup_id) {
		if (cgroup_is_under(cg, conf_cgroup_id))
			filter_add_target(pid);
		else
			bpf_map_delete_elem(&targets, &pid);
	}
	/* The event also occurs for other hierarchies of cgroup version 1. */
	if (cg != BPF_CORE_READ(t, cgroups, dfl_cgrp) && cg != cpu_cgroup(t))
		return 0;
	r = emit_begin(&e, WIRE_TASK_CGROUP, sizeof(*r), bpf_get_current_pid_tgid(), task_flags(t));
	if (!r)
		return 0;
	r->tid = t->pid;
	r->pid = pid;
	r->cgroup_id = cgroup_id_of(t);
	r->whole_process = ctx[3] & 1;
	r->zero = 0;
	emit_submit(&e, r);
	return 0;
}

SEC("iter/task")
int task_snapshot(struct bpf_iter__task *ctx)
{
	/* read this before the code branches: see FIX_ARG() */
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *t = ctx->task;
	struct wire_snap s = {};
	struct mm_struct *mm;
	__u32 i;

	if (!t)
		return 0;
	s.task.hdr.ts_ns = bpf_ktime_get_ns();
	s.task.hdr.hook = WIRE_TASK_SNAP;
	s.task.hdr.flags = task_flags(t);
	s.task.hdr.cpu = bpf_get_smp_processor_id();
	s.task.hdr.tid = BPF_CORE_READ(t, pid);
	fill_task(&s.task, t);
	s.sum_exec_ns = BPF_CORE_READ(t, se.sum_exec_runtime);
	s.cpu = fix_task_cpu(t);
	s.on_cpu = BPF_CORE_READ(t, on_cpu) != 0;
	s.off_cpu_state = fix_off_cpu_state(t);
	s.off_cpu_call = s.off_cpu_state ? call_of(NULL, t, s.off_cpu_state > 1, false).call : 0;
	/*
	 * Events of the task before read_ns may be newer than this state; all later events are
	 * newer.
	 */
	s.read_ns = bpf_ktime_get_ns();
	mm = BPF_CORE_READ(t, mm);
	s.total_vm_pages = -1;
	for (i = 0; i < WIRE_RSS_MEMBERS; i++)
		s.rss_pages[i] = -1;
	/* Kernel threads may borrow the map of a process: skip them. */
	if (mm && !(s.task.hdr.flags & WIRE_F_KTHREAD)) {
		s.total_vm_pages = BPF_CORE_READ(mm, total_vm);
		for (i = 0; i < WIRE_RSS_MEMBERS; i++)
			s.rss_pages[i] = fix_rss_pages(mm, i);
	}
	bpf_seq_write(seq, &s, sizeof(s));
	return 0;
}

/*
 * Finds the area of each CPU's per-CPU variables. A kernel thread that is bound to a CPU leads to
 * the CPU's run queue, which is a per-CPU variable; BTF has the offsets of all per-CPU variables.
 * This is the only way on kernels without CONFIG_KALLSYMS_ALL.
 */
SEC("iter/task")
int find_cpu_area(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct wire_counters *c;
	__u64 area, offset = 0;
	__u32 cpu;
	struct rq *rq;

	if (!t || !(BPF_CORE_READ(t, flags) & TASK_PF_KTHREAD) ||
	    BPF_CORE_READ(t, nr_cpus_allowed) != 1)
		return 0;
	cpu = fix_task_cpu(t);
	rq = BPF_CORE_READ(t, se.cfs_rq, rq);
	if (!rq || BPF_CORE_READ(rq, cpu) != cpu)
		return 0;
	c = bpf_map_lookup_elem(&counters, &cpu);
	if (!c)
		return 0;
	area = (__u64)rq - conf_at_runqueues;
	if (conf_at_preempt_count) {
		c->preempt_at = area + conf_at_preempt_count;
		if (conf_at_current_task)
			c->current_at = area + conf_at_current_task;
	} else if (conf_at_pcpu_hot && bpf_core_type_exists(struct pcpu_hot)) {
		c->preempt_at = area + conf_at_pcpu_hot +
				bpf_core_field_offset(struct pcpu_hot, preempt_count);
		c->current_at = area + conf_at_pcpu_hot +
				bpf_core_field_offset(struct pcpu_hot, current_task);
	}
	if (conf_at_this_cpu_off &&
	    !bpf_probe_read_kernel(&offset, sizeof(offset), (void *)area + conf_at_this_cpu_off))
		c->percpu_offset = offset;
	if (conf_call) {
		/*
		 * Storing the pointer and reading it back turns it into a number: the verifier
		 * allows no arithmetic on typed pointers.
		 */
		*(volatile __u64 *)&c->regs_offset = (__u64)bpf_task_pt_regs(t);
		*(volatile __u64 *)&c->regs_offset -= (__u64)t->stack;
	}
	return 0;
}

/*
 * Reads the name and object size of the slab cache whose address is the argument. User space runs
 * this program with BPF_PROG_TEST_RUN when it finds a new cache.
 */
struct raw_args {
	__u64 args[1];
};

struct wire_fact fact = {};

SEC("raw_tp")
int read_fact(struct raw_args *ctx)
{
	struct kmem_cache *cache = (void *)ctx->args[0];

	__builtin_memset(&fact, 0, sizeof(fact));
	fact.value = BPF_CORE_READ(cache, object_size);
	bpf_probe_read_kernel_str(fact.text, sizeof(fact.text), BPF_CORE_READ(cache, name));
	return 0;
}

/*
 * Sends the records in a CPU's area. The argument is the CPU's number. Runs on that CPU or, if that
 * CPU is offline, on any other. Returns 1 on failure: a program is filling a record, or the ring is
 * full.
 */
SEC("raw_tp")
int flush_stage(struct raw_args *ctx)
{
	__u32 cpu = ctx->args[0];
	struct wire_stage *s = bpf_map_lookup_elem(&stages, &cpu);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	long err;

	if (!s || !ring)
		return 0;
	if (s->busy)
		return 1;
	s->busy = 1;
	barrier();
	err = emit_flush(s, ring);
	barrier();
	s->busy = 0;
	return err != 0;
}

/*
 * Stores in fact.text the name of the kernel function whose address is the argument. User space
 * runs this program in the same way as read_fact. bpf_snprintf() exists since 5.13.
 */
SEC("raw_tp")
int read_symbol(struct raw_args *ctx)
{
	static const char format[] = "%pS";
	__u64 addr = ctx->args[0];

	bpf_snprintf(fact.text, sizeof(fact.text), format, &addr, sizeof(addr));
	return 0;
}

/*
 * page_calibrate stores the struct page of each page that the recorder allocates. It is attached
 * briefly before the recording; user space knows the page frame numbers of these pages.
 */
struct wire_calib calib = {};

SEC("raw_tp/mm_page_alloc")
int page_calibrate(u64 *ctx)
{
	__u32 i = calib.cnt;

	if ((__u32)bpf_get_current_pid_tgid() != calib.tid || ctx[1] || i >= WIRE_CALIB_MAX)
		return 0;
	calib.page[i] = ctx[0];
	calib.cnt = i + 1;
	return 0;
}
