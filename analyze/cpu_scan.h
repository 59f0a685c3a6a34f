/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_scan: runs the CPU timeline over the part of a trace that a window needs.
 *
 *     trace blocks, switch events --[cpu_scan]--> pieces (and events), block by block
 *
 * Begins at the last block edge at or before "from" where the keyframe tells all, and goes on to
 * the end of the block that holds the window's last instant, since a piece is known when its block
 * is over. Pieces are not cut at the window. Threads: one.
 */
#ifndef CPU_SCAN_H
#define CPU_SCAN_H

#include "analyze/context.h"
#include "event/cpu_timeline.h"

struct cpu_scan;

struct cpu_scan_config {
	uint64_t from_ns, to_ns;	/* inside the trace's span; from < to */
	bool from_start;		/* begin at the trace's start all the same */
	bool want_wakeups;		/* event gets wake-ups too */
	cpu_timeline_sink piece;
	/* Each SWITCH (after its piece) and WAKEUP in time order; NULL: not wanted, nor is
	 * EV_SWITCH_PREV_STATE. */
	int (*event)(void *ctx, const struct event *ev);
	void *ctx;
};

int cpu_scan_open(struct cpu_scan **ret, struct analysis *a, const struct cpu_scan_config *c,
		  struct err *e);
void cpu_scan_close(struct cpu_scan *s);

/* Where the scan began: pieces that are open there may have begun before. */
uint64_t cpu_scan_begin_ns(const struct cpu_scan *s);

/* One block on. 1: there is more; 0: all done. *ret_decided_ns: all pieces up to there were given
 * out. */
int cpu_scan_step(struct cpu_scan *s, uint64_t *ret_decided_ns, struct err *e);

#endif /* CPU_SCAN_H */
