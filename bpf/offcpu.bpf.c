/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * offcpu: waits of threads off the CPU that last at least conf_offcpu_ns, with the stacks of the
 * thread and of its waker. The user stack can be walked only while the thread is the current one.
 * Therefore the user frames are stored whenever a thread leaves its CPU. The kernel frames cost
 * more, but do not change during the wait: they are read when the thread gets a CPU again, if the
 * wait was long enough. Then the record is sent.
 *
 * A thread's storage is allocated where memory may be allocated: when the thread is created, or by
 * offcpu_seed. The scheduler must not allocate: an allocation may have to wake a thread that frees
 * memory, which takes a lock that the scheduler holds. The wait of a thread without storage is
 * lost, and counted.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"
#include "stacks.bpf.h"

#define FRAMES (WIRE_STACK_KERNEL + WIRE_STACK_USER)	/* of a kernel and a user stack */

/* A wire_offcpu without registers and copy of the stack. */
struct offcpu_frames {
	__u8 bytes[__builtin_offsetof(struct wire_offcpu, regs)];
};

/*
 * The record of a thread's wait, in the first or (with conf_copy_waits) the second map. left_ns 0:
 * the thread has a CPU, or no program saw it leave its CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct offcpu_frames);
} offcpu_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wire_offcpu);
} offcpu_copies SEC(".maps");

/* Waits that began before this time are not sent: not all programs were attached yet. */
__u64 offcpu_since_ns = 0;

static __always_inline bool is_wanted(struct task_struct *t)
{
	return t->pid && (!conf_offcpu_targets || filter_is_target(t->tgid));
}

static __always_inline struct wire_offcpu *place_of(struct task_struct *t, __u64 flags)
{
	struct wire_offcpu *p;

	if (!conf_copy_waits)
		return bpf_task_storage_get(&offcpu_places, t, NULL, flags);
	p = bpf_task_storage_get(&offcpu_copies, t, NULL, flags);
	/*
	 * without this barrier the compiler merges both calls, and the program uses the map that
	 * does not exist
	 */
	barrier_var(p);
	return p;
}

/* With a followed cgroup, all threads get storage: any process may move into the cgroup. */
static __always_inline void make_place(struct task_struct *t, __u32 parent_pid)
{
	if (conf_cgroup_id || is_wanted(t) || (conf_offcpu_targets && filter_is_target(parent_pid)))
		place_of(t, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

SEC("tp_btf/task_newtask")
int offcpu_new(u64 *ctx)
{
	make_place((void *)ctx[0], bpf_get_current_pid_tgid() >> 32);
	return 0;
}

SEC("iter/task")
int offcpu_seed(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;

	if (t)
		make_place(t, 0);
	return 0;
}

static __always_inline bool is_long(__u64 left_ns, __u64 now_ns)
{
	return left_ns && now_ns > left_ns && now_ns - left_ns >= conf_offcpu_ns;
}

/*
 * Walks the current stack and stores its frames from frames[at] on. Returns the index after the
 * last stored frame.
 */
static __always_inline __u32 walk_to(void *ctx, struct wire_offcpu *p, __u32 at, bool is_user)
{
	__u32 max = is_user ? WIRE_STACK_USER : WIRE_STACK_KERNEL;

	if (at > 2 * FRAMES - max)
		return at;
	return at + (is_user ? stack_walk_user(ctx, p->frames + at, max * 8) :
			       stack_walk(ctx, p->frames + at, max * 8, 0));
}

/*
 * Only one wake-up ends a wait, and the thread gets no CPU before this program has ended. The waker
 * may find a thread that is about to leave its CPU: the wake-up counts whether or not the thread
 * has left.
 */
SEC("tp_btf/sched_waking")
int offcpu_waking(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct wire_offcpu *p;
	__u32 level, at, end;
	struct emit e;

	if (!is_wanted(t))
		return 0;
	p = place_of(t, 0);
	if (!p || !emit_open(&e, WIRE_OFFCPU))
		return 0;
	level = fix_level(e.cnt);
	p->woken_ns = e.ts_ns;
	p->waker_tid = fix_current_id(e.cnt);
	p->waker_kind = level ? OFFCPU_WAKER_IRQ : OFFCPU_WAKER_THREAD;
	p->waker_kernel_cnt = 0;
	p->waker_user_cnt = 0;
	/*
	 * An atomic addition is a barrier: if left_ns is set, the stack of the thread is complete.
	 */
	if (!is_long(p->left_ns, e.ts_ns) || !__sync_fetch_and_add(&p->left_ns, 0))
		return 0;
	at = p->user_cnt;
	end = walk_to(ctx, p, at, false);
	p->waker_kernel_cnt = end - at;
	if (!level)
		p->waker_user_cnt = walk_to(ctx, p, end, true) - end;
	return 0;
}

static __always_inline void leave(u64 *ctx, struct emit *e, struct task_struct *prev)
{
	bool preempt = ctx[0];
	struct wire_offcpu *p;
	__u32 state;

	p = place_of(prev, 0);
	if (!p) {
		emit_count(WIRE_OFFCPU, &e->tally->attempted[WIRE_OFFCPU]);
		emit_count(WIRE_OFFCPU, &e->tally->lost_other[WIRE_OFFCPU]);
		return;
	}
	state = conf_switch_state_arg ? CTX_ARG(ctx, 3) : fix_task_state(prev);
	p->hdr.flags = preempt || !state ? WIRE_F_PREEMPT : 0;
	p->state = preempt ? 0 : state;
	p->user_cnt = walk_to(ctx, p, 0, true);
	if (conf_copy_waits)
		p->stack_bytes = stack_copy(prev, p->regs, p->stack, WIRE_WAIT_COPY, 2048);
	__sync_lock_test_and_set(&p->left_ns, e->ts_ns);
}

static __always_inline void come_back(struct emit *e, struct task_struct *next)
{
	struct wire_offcpu *p = place_of(next, 0);
	__u32 cnt, bytes;
	long n;

	if (!p)
		return;
	if (is_long(p->left_ns, e->ts_ns) && p->left_ns >= offcpu_since_ns) {
		cnt = p->user_cnt + p->waker_kernel_cnt + p->waker_user_cnt;
		if (cnt > 2 * FRAMES - WIRE_STACK_KERNEL)
			goto out;
		n = bpf_get_task_stack(next, p->frames + cnt, WIRE_STACK_KERNEL * 8, 0);
		p->kernel_cnt = n < 0 ? 0 : (__u32)n / 8;
		cnt += p->kernel_cnt;
		p->hdr.tid = next->pid;
		bytes = conf_copy_waits ? p->stack_bytes : 0;
		if (conf_copy_waits && bytes) {
			if (bytes <= WIRE_WAIT_COPY)
				emit_output(e, p, offsetof(struct wire_offcpu, stack) + bytes);
		} else if (cnt <= 2 * FRAMES)
			emit_output(e, p, offsetof(struct wire_offcpu, frames) + cnt * 8);
	}
out:
	p->left_ns = 0;
	p->waker_kind = OFFCPU_WAKER_NONE;
	p->waker_kernel_cnt = 0;
	p->waker_user_cnt = 0;
}

SEC("tp_btf/sched_switch")
int offcpu_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	bool prev_in = is_wanted(prev), next_in = is_wanted(next);
	struct emit e;

	if ((!prev_in && !next_in) || !emit_open(&e, WIRE_OFFCPU))
		return 0;
	if (prev_in)
		leave(ctx, &e, prev);
	if (next_in)
		come_back(&e, next);
	return 0;
}
