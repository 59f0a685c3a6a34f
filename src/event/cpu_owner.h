/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_owner: whose a CPU's time is at an instant, known from all that came before it and after.
 *
 * That may be another one than who was thought to run then: a switch that came later can tell that
 * one before was lost (FORMAT.md, "CPU time"). Threads: one.
 */
#ifndef CPU_OWNER_H
#define CPU_OWNER_H

#include "event/trace.h"

/* ret: trace_cpu_cnt() entries, a utid or pseudo id by CPU. Decodes the switches of the block around ts_ns. */
int cpu_owners_at(struct trace *t, uint64_t ts_ns, uint32_t *ret, struct err *e);

#endif /* CPU_OWNER_H */
