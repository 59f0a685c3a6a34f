/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq: begin and end of each interrupt that a CPU serves: handlers of interrupt lines, soft
 * interrupts and, on x86, the CPU's own vectors (local timer, calls from other CPUs), which have no
 * such handler. An interrupt takes the time of the current task.
 *
 * No program here can interrupt itself: handlers and vectors run with interrupts off, and a soft
 * interrupt waits until the current one ends.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"

static __always_inline int send_irq(__u32 hook, __u32 vector, __u32 type, __u32 handled)
{
	struct wire_irq *r;
	struct emit e;
	__u64 id;

	if (!emit_open(&e, hook))
		return 0;
	id = fix_current_id(e.cnt);
	if (filter_drops(id >> 32))
		return 0;
	r = emit_reserve(&e, sizeof(*r), id, WIRE_F_IRQ);
	if (!r)
		return 0;
	r->vector = vector;
	r->type = type;
	r->handled = handled;
	emit_submit(&e, r);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_entry(u64 *ctx)
{
	return send_irq(WIRE_IRQ_ENTRY, ctx[0], EVENT_IRQ_LINE, 0);
}

SEC("tp_btf/irq_handler_exit")
int irq_exit(u64 *ctx)
{
	return send_irq(WIRE_IRQ_EXIT, ctx[0], EVENT_IRQ_LINE, ctx[2]);
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	return send_irq(WIRE_SOFTIRQ_ENTRY, ctx[0], EVENT_IRQ_SOFT, 0);
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	return send_irq(WIRE_SOFTIRQ_EXIT, ctx[0], EVENT_IRQ_SOFT, 0);
}

/* Vectors are identified by name, because their numbers differ between kernel builds. */
/* clang-format off */
#define VECTOR(program, tracepoint, which)                                                    \
	SEC("tp_btf/" tracepoint "_entry")                                                    \
	int program##_in(u64 *ctx)                                                            \
	{                                                                                     \
		return send_irq(WIRE_VECTOR_ENTRY, which, EVENT_IRQ_LOCAL, 0);                 \
	}                                                                                     \
	SEC("tp_btf/" tracepoint "_exit")                                                     \
	int program##_out(u64 *ctx)                                                           \
	{                                                                                     \
		return send_irq(WIRE_VECTOR_EXIT, which, EVENT_IRQ_LOCAL, 0);                  \
	}
/* clang-format on */

VECTOR(vec_timer, "local_timer", EVENT_VECTOR_TIMER)
VECTOR(vec_resched, "reschedule", EVENT_VECTOR_RESCHEDULE)
VECTOR(vec_call, "call_function", EVENT_VECTOR_CALL)
VECTOR(vec_call1, "call_function_single", EVENT_VECTOR_CALL_SINGLE)
VECTOR(vec_work, "irq_work", EVENT_VECTOR_IRQ_WORK)
