/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_cpu: who had each CPU, and how often threads left it. Found: struct cpu_piece
 * (model/cpu_timeline.h). Sums: struct cpu_sum per key (thread, cpu); thread is dense.
 *
 * For every CPU the sums of an interval of time add up to the interval, exactly.
 */
#ifndef FOLD_CPU_H
#define FOLD_CPU_H

#include "analyze/fold/fold.h"
#include "model/cpu_timeline.h"

struct cpu_sum {
	uint64_t oncpu_ns, switches, preempted;
};

#endif /* FOLD_CPU_H */
