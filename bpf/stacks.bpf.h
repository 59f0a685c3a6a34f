/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stacks.bpf.h: sends the stack of an allocation, in a separate record after the allocation's.
 * Stacks are recorded for allocations above a size, or for every n-th allocation of a hook on a
 * CPU. If stacks are off, the verifier removes this code, because conf_stacks_* are constants.
 *
 * The stack is walked into a separate buffer, because a record reserved during the walk would hide
 * all later records in the ring. There is one buffer per CPU and level. If a program finds its
 * buffer in use, because it has preempted another program, its stack is lost and counted. The
 * kernel walks user space by frame pointers only. On request, samples and waits include a copy of
 * the stack, which the recorder unwinds.
 */
#pragma once

#include "emit.bpf.h"
#include "fixes.bpf.h"

#ifndef BPF_F_USER_STACK
#define BPF_F_USER_STACK (1ULL << 8)
#endif

struct stack_place {
	__u64 busy;
	struct wire_stack stack;
};

/* User space sets the number of buffers: one per CPU and level, or 1 if stacks are off. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_place);
} stack_places __weak SEC(".maps");

static __always_inline bool stack_is_wanted(struct emit *e, __u64 bytes)
{
	if (conf_stacks_every)
		return e->tally->attempted[e->hook] % conf_stacks_every == 0;
	return conf_stacks_min && bytes >= conf_stacks_min;
}

static __always_inline __u32 stack_walk(void *ctx, __u64 *frames, __u32 bytes, __u64 flags)
{
	long n = bpf_get_stack(ctx, frames, bytes, flags);

	if (n < 0)
		return 0;
	n /= 8;
	return n > bytes / 8 ? bytes / 8 : n;
}

/*
 * Walks the user stack. Names of frames are looked up one byte before the address, because frames
 * are return addresses. The innermost frame is the address of the next instruction instead,
 * possibly the first one of its function: it is stored plus 1.
 */
static __always_inline __u32 stack_walk_user(void *ctx, __u64 *frames, __u32 bytes)
{
	__u32 cnt = stack_walk(ctx, frames, bytes, BPF_F_USER_STACK);

	if (cnt)
		frames[0]++;
	return cnt;
}

/*
 * Copies the user registers to regs[WIRE_REGS], and the user stack, from the stack pointer on, to
 * stack[max]. The first step ends at a multiple of `step`; the following steps have `step` bytes.
 * Stops at a missing page, or if the next step may not fit. task: the current one; the registers
 * are valid after any entry to the kernel, not only in system calls. Returns the bytes of stack
 * copied.
 */
static __always_inline __u32 stack_copy(struct task_struct *task, __u64 *regs, __u8 *stack,
					__u32 max, __u32 step)
{
	__u32 at = 0, n, i;
	__u64 from;

	if (task->flags & TASK_PF_KTHREAD || !task->mm ||
	    bpf_probe_read_kernel(regs, WIRE_REGS * sizeof(*regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	from = regs[WIRE_REG_SP];
	for (i = 0; i < max / step; i++) {
		n = step - (from & (step - 1));
		if (at > max - step || bpf_probe_read_user(stack + at, n, (void *)from))
			break;
		at += n;
		from += n;
	}
	return at;
}

/*
 * Without conf_fetching, a plain read suffices: kernels without atomic "fetch" operations run
 * programs with preemption off, and an interrupt has another level, and therefore another buffer.
 */
static __always_inline bool stack_place_take(struct stack_place *p)
{
	__u64 was = conf_fetching ? __sync_fetch_and_add(&p->busy, 1) : p->busy;

	if (!conf_fetching)
		__sync_fetch_and_add(&p->busy, 1);
	if (!was)
		return true;
	__sync_fetch_and_add(&p->busy, -1);
	return false;
}

/* Call this after the allocation was submitted. Overwrites e. */
static __always_inline void stack_send(void *ctx, struct emit *e, __u64 addr, __u64 bytes,
				       __u64 call_site, bool user_only)
{
	__u32 level, at, kernel_cnt = 0, user_cnt;
	struct stack_place *p;
	struct wire_stack *s;

	if (!stack_is_wanted(e, bytes))
		return;
	level = fix_level(e->cnt);
	at = e->cpu * WIRE_LEVELS + (level & (WIRE_LEVELS - 1));
	p = bpf_map_lookup_elem(&stack_places, &at);
	if (!p)
		return;
	s = &p->stack;
	s->of = e->hook;
	e->hook = WIRE_STACK;
	if (!stack_place_take(p)) {
		emit_count(WIRE_STACK, &e->tally->attempted[WIRE_STACK]);
		emit_count(WIRE_STACK, &e->tally->lost_other[WIRE_STACK]);
		return;
	}
	if (!user_only)
		kernel_cnt = stack_walk(ctx, s->frames, WIRE_STACK_KERNEL * 8, 0);
	if (kernel_cnt > WIRE_STACK_KERNEL)
		kernel_cnt = WIRE_STACK_KERNEL;
	user_cnt = level ? 0 : stack_walk_user(ctx, s->frames + kernel_cnt, WIRE_STACK_USER * 8);
	s->addr = addr;
	s->bytes = bytes;
	s->call_site = call_site;
	s->kernel_cnt = kernel_cnt;
	s->user_cnt = user_cnt;
	s->zero = 0;
	s->hdr.tid = fix_current_id(e->cnt);
	s->hdr.flags = level ? WIRE_F_IRQ : 0;
	kernel_cnt += user_cnt;
	if (kernel_cnt <= WIRE_STACK_KERNEL + WIRE_STACK_USER)
		emit_output(e, s, offsetof(struct wire_stack, frames) + kernel_cnt * 8);
	__sync_fetch_and_add(&p->busy, -1);
}
