/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span: requests of unmodified programs (record --request), as calls of a function or as pairs of
 * USDT probes. The programs run in task context, in a trap that costs much more than they do.
 *
 * Probes of returns are attached first: a return may be recorded without its call, but no call
 * without its return.
 */
#define __VMLINUX_H__	/* makes bpf_tracing.h use the kernel's names of registers */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include <bpf/usdt.bpf.h>

/* Probes have cookies (since 5.15). Without cookies there is one request, number 1. */
const volatile __u32 conf_cookie = 0;

static __always_inline int span_send(__u32 action, __u32 nr, __u64 span_id)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct wire_span *r;
	struct emit e;

	if (filter_drops(id >> 32))
		return 0;
	r = emit_begin(&e, WIRE_SPAN, sizeof(*r), (__u32)id, 0);
	if (!r)
		return 0;
	r->id = span_id;
	r->action = action;
	r->nr = nr;
	r->zero = 0;
	__builtin_memset(r->name, 0, sizeof(r->name));
	emit_submit(&e, r);
	return 0;
}

/*
 * Lower half of a cookie: number of the request. Upper half: index of a USDT argument + 1, or 1 for
 * a Go function.
 */
static __always_inline __u64 function_cookie(void *ctx)
{
	return conf_cookie ? bpf_get_attach_cookie(ctx) : 1;
}

/*
 * Go moves goroutines between threads. Therefore the id is the goroutine's address, which is in a
 * register since Go 1.17.
 */
static __always_inline __u64 function_id(struct pt_regs *ctx, __u64 cookie)
{
	if (!(cookie >> 32))
		return 0;
	/*
	 * the request's number distinguishes calls of several functions by one goroutine; addresses
	 * have 47 bits
	 */
#if defined(__TARGET_ARCH_x86)
	return ctx->r14 ^ (__u64)(__u16)cookie << 47;
#else
	return ctx->user_regs.regs[28] ^ (__u64)(__u16)cookie << 47;
#endif
}

SEC("uretprobe")
int span_return(struct pt_regs *ctx)
{
	__u64 cookie = function_cookie(ctx);

	return span_send(EVENT_SPAN_END, cookie, function_id(ctx, cookie));
}

SEC("uprobe")
int span_enter(struct pt_regs *ctx)
{
	__u64 cookie = function_cookie(ctx);

	return span_send(EVENT_SPAN_BEGIN, cookie, function_id(ctx, cookie));
}

static __always_inline int usdt_send(struct pt_regs *ctx, __u32 action)
{
	__u64 cookie = bpf_usdt_cookie(ctx);
	long id = 0;

	if (cookie >> 32)
		bpf_usdt_arg(ctx, (cookie >> 32) - 1, &id);
	return span_send(action, cookie, id);
}

SEC("usdt")
int span_usdt_end(struct pt_regs *ctx)
{
	return usdt_send(ctx, EVENT_SPAN_END);
}

SEC("usdt")
int span_usdt_begin(struct pt_regs *ctx)
{
	return usdt_send(ctx, EVENT_SPAN_BEGIN);
}
