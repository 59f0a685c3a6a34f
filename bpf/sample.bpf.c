/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sample: the stack of the thread that is running when the sampling clock of its CPU fires. The
 * program runs in the clock's interrupt, with interrupts off: one buffer per CPU suffices.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"
#include "stacks.bpf.h"

/* User space sets the number of buffers: one per CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_sample);
} sample_places SEC(".maps");

SEC("perf_event")
int cpu_sample(void *ctx)
{
	struct wire_sample *s;
	__u32 at, kernel_cnt, user_cnt;
	struct emit e;
	__u64 id;

	if (!emit_open(&e, WIRE_SAMPLE))
		return 0;
	id = fix_current_id(e.cnt);
	at = e.cpu;
	s = bpf_map_lookup_elem(&sample_places, &at);
	if (!id || !s || filter_drops(id >> 32))
		return 0;
	kernel_cnt = stack_walk(ctx, s->frames, WIRE_STACK_KERNEL * 8, 0);
	if (kernel_cnt > WIRE_STACK_KERNEL)
		kernel_cnt = WIRE_STACK_KERNEL;
	user_cnt = stack_walk_user(ctx, s->frames + kernel_cnt, WIRE_STACK_USER * 8);
	s->kernel_cnt = kernel_cnt;
	s->user_cnt = user_cnt;
	s->stack_bytes = 0;
	if (conf_copy_stacks)
		s->stack_bytes = stack_copy(bpf_get_current_task_btf(), s->regs, s->stack,
					    WIRE_STACK_COPY, 4096);
	s->hdr.tid = id;
	s->hdr.flags = fix_interrupted_softirq(e.cnt) ? WIRE_F_IRQ : 0;
	at = s->stack_bytes;
	if (conf_copy_stacks && at) {
		if (at <= WIRE_STACK_COPY)
			emit_output(&e, s, offsetof(struct wire_sample, stack) + at);
		return 0;
	}
	kernel_cnt += user_cnt;
	/*
	 * The verifier of 5.10 needs the following check, which the compiler would remove as
	 * redundant.
	 */
	barrier_var(kernel_cnt);
	if (kernel_cnt <= WIRE_STACK_KERNEL + WIRE_STACK_USER)
		emit_output(&e, s, offsetof(struct wire_sample, frames) + kernel_cnt * 8);
	return 0;
}
