/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * carry_code: what is carried over at an instant (trace_carry.h), as bytes and back. Layout: schema/INDEX.md, carry.idx.
 * By columns, each value minus the one before in its kind, so that it packs well. Threads: any.
 */
#ifndef CARRY_CODE_H
#define CARRY_CODE_H

#include "base/buf.h"
#include "event/trace_carry.h"

/* The events before at_ns, in order. A failed out is out of memory. */
int carry_encode(const struct trace_carry *c, uint64_t at_ns, struct buf *out); /* 0 or -ENOMEM */
/*
 * *ret is for trace_carry_done(). -EBADMSG: no such bytes, or events that cannot be: not before at_ns and in order, or
 * of no CPU of cpu_cnt.
 */
int carry_decode(const void *bytes, size_t cnt, uint64_t at_ns, unsigned int cpu_cnt,
		 struct trace_carry *ret);

#endif /* CARRY_CODE_H */
