/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap: calls of the C library's allocator, by uprobes. They are recorded only on request, and only
 * for the workload's processes.
 *
 * The probe at a function's entry stores the request by thread; the probe at its return sends the
 * record. Only the outermost call counts: realloc(NULL, n) calls malloc, which is one allocation.
 * If a call's stack pointer is not below that of the outermost call, the return of the outermost
 * call was missed, which counts as a lost allocation. Return probes are attached before entry
 * probes: every recorded entry has its return. A uprobe runs in task context, where a program may
 * update a hash map; this costs little compared with the probe's trap of hundreds of ns.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "stacks.bpf.h"

struct heap_call {
	__u64 bytes;
	__u64 old_addr;		/* realloc: the object to free */
	__u64 call_site;
	/* posix_memalign: address at which the function stores the result; 0: returns the result */
	__u64 result_at;
	__u64 sp;		/* stack pointer at the entry */
	__u32 depth;
	__u32 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct heap_call);
} heap_calls SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define ARG0(ctx) ((ctx)->di)
#define ARG1(ctx) ((ctx)->si)
#define ARG2(ctx) ((ctx)->dx)
#define RESULT(ctx) ((ctx)->ax)
#define STACK(ctx) ((ctx)->sp)
static __always_inline __u64 return_address(struct pt_regs *ctx)
{
	__u64 ret = 0;

	bpf_probe_read_user(&ret, sizeof(ret), (void *)ctx->sp);
	return ret;
}
#elif defined(__TARGET_ARCH_arm64)
#define ARG0(ctx) ((ctx)->user_regs.regs[0])
#define ARG1(ctx) ((ctx)->user_regs.regs[1])
#define ARG2(ctx) ((ctx)->user_regs.regs[2])
#define RESULT(ctx) ((ctx)->user_regs.regs[0])
#define STACK(ctx) ((ctx)->user_regs.sp)
static __always_inline __u64 return_address(struct pt_regs *ctx)
{
	return ctx->user_regs.regs[30];
}
#endif

static __always_inline void send_free(__u32 tid, __u64 addr)
{
	struct wire_heap_free *r;
	struct emit e;

	r = emit_begin(&e, WIRE_HEAP_FREE, sizeof(*r), tid, 0);
	if (!r)
		return;
	r->addr = addr;
	emit_submit(&e, r);
}

/*
 * Returns cnt * bytes. Products of 2^47 and more, which no allocator can provide, become the
 * maximum.
 */
static __always_inline __u64 product(__u64 cnt, __u64 bytes)
{
	__u64 most = cnt > bytes ? cnt : bytes, least = cnt > bytes ? bytes : cnt;

	if (least >> 32 || (most >> 32) * least >> 15)
		return ~0ULL;
	return cnt * bytes;
}

static __always_inline bool is_inside(struct pt_regs *ctx, const struct heap_call *c)
{
	return c && c->depth && STACK(ctx) < c->sp;
}

static __always_inline void count_missed(void)
{
	struct emit e;

	if (!emit_find(&e, WIRE_HEAP_ALLOC, false))
		return;
	emit_count(WIRE_HEAP_ALLOC, &e.tally->attempted[WIRE_HEAP_ALLOC]);
	emit_count(WIRE_HEAP_ALLOC, &e.tally->lost_other[WIRE_HEAP_ALLOC]);
}

static __always_inline int enter(struct pt_regs *ctx, __u64 bytes, __u64 old_addr, __u64 result_at)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = id;
	struct heap_call call = {}, *c;

	if (!filter_is_target(id >> 32))
		return 0;
	c = bpf_map_lookup_elem(&heap_calls, &tid);
	if (is_inside(ctx, c)) {
		c->depth++;
		return 0;
	}
	if (c && c->depth)
		count_missed();
	call.bytes = bytes;
	call.old_addr = old_addr;
	call.result_at = result_at;
	call.call_site = return_address(ctx);
	call.sp = STACK(ctx);
	call.depth = 1;
	bpf_map_update_elem(&heap_calls, &tid, &call, BPF_ANY);
	return 0;
}

SEC("uprobe")
int heap_malloc(struct pt_regs *ctx)
{
	return enter(ctx, ARG0(ctx), 0, 0);
}

SEC("uprobe")
int heap_calloc(struct pt_regs *ctx)
{
	return enter(ctx, product(ARG0(ctx), ARG1(ctx)), 0, 0);
}

SEC("uprobe")
int heap_realloc(struct pt_regs *ctx)
{
	return enter(ctx, ARG1(ctx), ARG0(ctx), 0);
}

SEC("uprobe")
int heap_reallocarr(struct pt_regs *ctx)
{
	return enter(ctx, product(ARG1(ctx), ARG2(ctx)), ARG0(ctx), 0);
}

/* memalign and aligned_alloc have the arguments (alignment, bytes). */
SEC("uprobe")
int heap_aligned(struct pt_regs *ctx)
{
	return enter(ctx, ARG1(ctx), 0, 0);
}

/* posix_memalign has the arguments (result, alignment, bytes). */
SEC("uprobe")
int heap_posix(struct pt_regs *ctx)
{
	return enter(ctx, ARG2(ctx), 0, ARG0(ctx));
}

SEC("uretprobe")
int heap_return(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), addr = RESULT(ctx);
	__u32 tid = id;
	struct wire_heap_alloc *r;
	struct heap_call *c, call;
	struct emit e;

	c = bpf_map_lookup_elem(&heap_calls, &tid);
	if (!c || !c->depth)
		return 0;
	if (--c->depth)
		return 0;
	call = *c;
	bpf_map_delete_elem(&heap_calls, &tid);
	if (call.result_at) {
		if (addr)	/* posix_memalign returned an error number: the allocation failed */
			return 0;
		if (bpf_probe_read_user(&addr, sizeof(addr), (void *)call.result_at))
			return 0;
	}
	/* A failed realloc leaves the old block unchanged; realloc(p, 0) frees it. */
	if (call.old_addr && (addr || !call.bytes))
		send_free(tid, call.old_addr);
	if (!addr)
		return 0;
	r = emit_begin(&e, WIRE_HEAP_ALLOC, sizeof(*r), tid, 0);
	if (!r)
		return 0;
	r->addr = addr;
	r->bytes = call.bytes;
	r->call_site = call.call_site;
	emit_submit(&e, r);
	stack_send(ctx, &e, addr, call.bytes, call.call_site, true);
	return 0;
}

SEC("uprobe")
int heap_free(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), addr = ARG0(ctx);
	__u32 tid = id;
	struct heap_call *c;

	if (!addr || !filter_is_target(id >> 32))
		return 0;
	c = bpf_map_lookup_elem(&heap_calls, &tid);
	if (is_inside(ctx, c))	/* inside a call of realloc, whose return probe sends the free */
		return 0;
	send_free(tid, addr);
	return 0;
}
