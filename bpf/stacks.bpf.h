/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stacks.bpf.h: the stack of an allocation, in a record of its own after the allocation's. Stacks
 * are taken of allocations that are large enough, or of every n-th of a hook on a CPU. If stacks
 * are off, the code for them is removed, because conf_stacks_* are constants.
 *
 * The stack is walked into a separate buffer, because a record reserved during the walk would hide
 * all later ones. There is one buffer per CPU and level. If the kernel lets programs be preempted,
 * two programs may need the same buffer; the second stack is lost and counted. The kernel walks
 * user space by frame pointers only. On request, samples and waits include a copy of the stack,
 * which the recorder unwinds.
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
 * Walks the stack in user space. Names of frames are looked up one byte before a return address.
 * The instruction at which the thread continues is not one, and may be its function's first: it
 * gets one byte more.
 */
static __always_inline __u32 stack_walk_user(void *ctx, __u64 *frames, __u32 bytes)
{
	__u32 cnt = stack_walk(ctx, frames, bytes, BPF_F_USER_STACK);

	if (cnt)
		frames[0]++;
	return cnt;
}

/*
 * Copies the registers of user space to regs[WIRE_REGS], and the stack from its pointer on to
 * stack[max], step by step until a page is missing. The first step ends at a multiple of `step`;
 * then whole steps are copied while they fit. `task` is the current one. Any interruption of user
 * space saves its registers in the same place as a system call. Returns the number of bytes.
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
 * A plain read suffices if atomic additions return nothing. Kernels that old run programs with
 * preemption off, and an interrupt runs on another level, which has another buffer.
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

/* Call after the allocation was submitted. It overwrites e. */
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
