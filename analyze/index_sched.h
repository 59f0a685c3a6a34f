/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_sched: CPU time and waits in an index: rows of the parts INDEX_CPU and INDEX_WAITS.
 * Threads: one.
 */
#ifndef INDEX_SCHED_H
#define INDEX_SCHED_H

#include "analyze/index.h"

struct index_cpu_row {
	uint32_t utid, cpu;
	uint64_t oncpu_ns, switches, preempted;
};

/* Before the quantile (quantile_merge()) of the lengths of its waits. */
struct index_wait_row {
	uint32_t utid;
	uint64_t by_reason[3];	/* enum run_queue_reason */
	uint64_t migrations;
};

/* 1: a row; 0: no more; -EBADMSG. */
int index_cpu_next(struct index_in *in, struct index_cpu_row *ret);
int index_wait_next(struct index_in *in, struct index_wait_row *ret);

#endif /* INDEX_SCHED_H */
