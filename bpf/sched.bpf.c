/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched: which task runs on which CPU, which task woke which, and which went to another CPU. The
 * programs run in the scheduler with interrupts off. They read a few fields and send one record.
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
	/*
	 * prev_state is an argument since 9c2136be0878 (5.18). A wake-up may already have changed
	 * the field that older kernels leave.
	 */
	if (conf_switch_state_arg)
		state = CTX_ARG(ctx, 3);
	else
		state = fix_task_state(prev);
	/*
	 * The kernel counts a switch as involuntary (nivcsw) when prev is still runnable. `preempt`
	 * is not set where prev's time was over when it returned to user space, or where prev
	 * yielded. The idle task gives way, which counts as neither.
	 */
	if (preempt || (!state && prev->pid))
		flags |= WIRE_F_PREEMPT;
	r = emit_begin(&e, WIRE_SWITCH, sizeof(*r), prev->pid, flags);
	if (!r)
		return 0;
	r->next_tid = next->pid;
	r->prev_state = preempt ? 0 : state;
	r->prev_prio = prev->prio;
	r->next_prio = next->prio;
	emit_submit(&e, r);
	return 0;
}

/* Reserves a record about task p, which need not be the current one. */
static __always_inline void *begin_about(struct emit *e, __u32 hook, __u64 size,
					 struct task_struct *p)
{
	__u64 id;

	if (!emit_open(e, hook))
		return NULL;
	id = fix_current_id(e->cnt);
	if (conf_only && !filter_is_target(p->tgid) && !filter_is_target(id >> 32))
		return NULL;
	return emit_reserve(e, size, id, fix_irq_flag(e->cnt));
}

static __always_inline int send_waking(struct task_struct *p, __u32 hook, __u8 is_new)
{
	struct wire_waking *r;
	struct emit e;

	r = begin_about(&e, hook, sizeof(*r), p);
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

/*
 * A thread goes from the run queue of one CPU to that of another: when it wakes up elsewhere, when
 * the balancer takes it, or when its affinity changes. The queue is locked.
 */
SEC("tp_btf/sched_migrate_task")
int sched_migrate(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	__u32 from = fix_task_cpu(p), to = ctx[1];
	struct wire_migrate *r;
	struct emit e;

	/* The tracepoint also fires for a thread that stays; the kernel does not count that. */
	if (from == to)
		return 0;
	r = begin_about(&e, WIRE_MIGRATE, sizeof(*r), p);
	if (!r)
		return 0;
	r->target_tid = p->pid;
	r->from_cpu = from;
	r->to_cpu = to;
	emit_submit(&e, r);
	return 0;
}
