// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * sched: who runs on which CPU, and who woke whom. These run in the scheduler with
 * interrupts off: they read a few fields and send one record.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	__u8 flags = 0;
	struct wire_switch *r;
	struct emit e;
	__u32 state;

	if (conf_only) {
		bool next_in = filter_is_target(next->tgid);

		if (!next_in && !filter_is_target(prev->tgid))
			return 0;
		if (!next_in)
			flags |= WIRE_F_NEXT_OUT;
	}
	/* prev_state is an argument since 9c2136be0878 (5.18); a wake-up may already have changed the field */
	if (conf_switch_state_arg)
		state = CTX_ARG(ctx, 3);
	else
		state = fix_task_state(prev);
	/*
	 * Involuntary as the kernel counts it (nivcsw): still runnable. Where its time was over when it
	 * returned to user space, or it yielded, `preempt` is not set. Idle gives way, which is neither.
	 */
	if (preempt || (!state && prev->pid))
		flags |= WIRE_F_PREEMPT;
	if (!emit_open(&e, WIRE_SWITCH))
		return 0;
	r = emit_reserve(&e, sizeof(*r), prev->pid, flags);
	if (!r)
		return 0;
	r->next_tid = next->pid;
	r->prev_state = preempt ? 0 : state;
	r->prev_prio = prev->prio;
	r->next_prio = next->prio;
	emit_submit(&e, r);
	return 0;
}

static __always_inline int send_waking(struct task_struct *p, __u32 hook, __u8 is_new)
{
	struct wire_waking *r;
	struct emit e;
	__u64 id;

	if (!emit_open(&e, hook))
		return 0;
	id = fix_current_id(e.cnt);
	if (conf_only && !filter_is_target(p->tgid) && !filter_is_target(id >> 32))
		return 0;
	r = emit_reserve(&e, sizeof(*r), id, fix_irq_flag(e.cnt));
	if (!r)
		return 0;
	r->target_tid = p->pid;
	r->target_cpu = fix_task_cpu(p);
	r->prio = p->prio;
	r->is_new = is_new;
	emit_submit(&e, r);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	return send_waking((void *)ctx[0], WIRE_WAKING, 0);
}

SEC("tp_btf/sched_wakeup_new")
int sched_wake_new(u64 *ctx)
{
	return send_waking((void *)ctx[0], WIRE_WAKEUP_NEW, 1);
}
