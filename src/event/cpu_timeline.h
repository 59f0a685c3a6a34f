/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_timeline: who had each CPU, from switch events and block keyframes.
 *
 *     switches, block edges --[cpu_timeline]--> pieces that fill every CPU without hole or overlap
 *
 * The rule, block by block (the block writer's summaries follow the same one):
 *   - At a block's start the keyframe says who runs.
 *   - The time between two switches of a CPU is that of the former's next when the latter's prev
 *     is the same thread, and EVENT_ID_UNKNOWN otherwise: a switch between them was lost.
 *   - A thread has one CPU at a time. If another CPU's switch goes to it, or takes it off that CPU,
 *     strictly inside what would be its piece, a switch was lost: all of the piece is
 *     EVENT_ID_UNKNOWN's, and who runs is not known at the next boundary.
 *   - Under --only, after a switch to a thread that is not recorded: EVENT_ID_FILTERED.
 *   - The block's end cuts: up to there the last one known to run has it.
 * A piece depends on its block alone, hence windows add up exactly wherever they are cut.
 *
 * Calls come in time order: boundary, switches, boundary, switches, ..., boundary. An instant
 * before the last one of a CPU is taken as that one. Threads: one.
 */
#ifndef CPU_TIMELINE_H
#define CPU_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

struct cpu_timeline;

struct cpu_piece {
	uint32_t cpu;
	uint32_t utid;			/* who had it; may be a pseudo id */
	uint64_t from_ns, to_ns;	/* from == to: two switches at one instant */
	/* What ended it: a switch (at to_ns; its utid leaves, which may not be ours), or NULL: a
	 * boundary. */
	const struct event *end;
};

/* Says who runs on cpu at a boundary: a utid or pseudo id. */
typedef uint32_t (*cpu_timeline_runner)(void *ctx, unsigned int cpu);
/* 0, or a negative value that ends the call with it. */
typedef int (*cpu_timeline_sink)(void *ctx, const struct cpu_piece *piece);

int cpu_timeline_new(struct cpu_timeline **ret, unsigned int cpu_cnt, cpu_timeline_sink sink,
		     void *ctx);
void cpu_timeline_free(struct cpu_timeline *tl);

/*
 * Ends all open pieces at ts_ns. runner, when not NULL, replaces what is known of who runs from
 * there on. The first call only starts the timeline. CPUs of the runner's view: 0 .. cpu_cnt-1.
 */
int cpu_timeline_boundary(struct cpu_timeline *tl, uint64_t ts_ns, cpu_timeline_runner runner,
			  void *runner_ctx);

/* ev->kind is EVENT_SWITCH. An event of a CPU >= cpu_cnt is ignored. */
int cpu_timeline_switch(struct cpu_timeline *tl, const struct event *ev);

/* What cpu does since its last switch is known from elsewhere (FORMAT.md, CPU_END): utid has it. */
void cpu_timeline_settle(struct cpu_timeline *tl, unsigned int cpu, uint32_t utid);

/* Nobody knows who runs, from the last instant of each CPU on: what told of it is damaged. */
void cpu_timeline_forget(struct cpu_timeline *tl);

#endif /* CPU_TIMELINE_H */
