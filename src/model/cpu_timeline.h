/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_timeline: who had each CPU, from switch events and block keyframes.
 *
 *     switches, block edges --[cpu_timeline]--> pieces that fill every CPU without hole or overlap
 *
 * The rule, block by block (schema/FORMAT.md, "CPU time"):
 *   - At a block's start the keyframe says which thread runs.
 *   - The time between two switches of a CPU belongs to the first one's next thread, if that thread
 *     is the second one's prev. Otherwise a switch was lost, and the time belongs to
 *     EVENT_ID_UNKNOWN.
 *   - But where the second one says for how long its thread has had the CPU, that time, as far as
 *     it lies behind the first one, belongs to that thread.
 *   - A thread has one CPU at a time. If another CPU's switch goes to the thread, or takes it off
 *     that CPU, strictly inside its piece, a switch was lost: the whole piece belongs to
 *     EVENT_ID_UNKNOWN, and the running thread is unknown at the next boundary.
 *   - Under --only, the time after a switch to a thread that is not recorded belongs to
 *     EVENT_ID_FILTERED.
 *   - The block's end cuts: until then the last known thread has the CPU.
 * A piece depends on its block alone; therefore windows add up exactly wherever they are cut.
 *
 * Calls come in order of time: boundary, switches, boundary, switches, ..., boundary. An instant
 * before a CPU's last one counts as that one. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/event.h"

struct cpu_timeline;
struct row_cpu_end;

struct cpu_piece {
	uint32_t cpu;
	uint32_t utid;			/* the thread that had the CPU; may be a pseudo id */
	uint64_t from_ns, to_ns;	/* from == to: two switches at one instant */
	/*
	 * The event that ended the piece: a switch at to_ns (its utid leaves and may differ from
	 * ours), or NULL: a boundary.
	 */
	const struct event *end;
	/* The switch to utid is missing; the switch away from it told how long ago that was. */
	bool is_restored;
	uint64_t steal_ns;	/* what the piece's end told of steal; may exceed the piece */
};

/*
 * The part of steal_ns that lies in the piece. It is taken for the last part of the stay, so no
 * window has more of it than of the stay. Where a switch is missing since the last one that told,
 * none of it is known to be the thread's.
 */
uint64_t cpu_piece_own_steal_ns(const struct cpu_piece *p);

/* Returns the thread that runs on cpu at a boundary: a utid or pseudo id. */
typedef uint32_t (*cpu_timeline_runner)(void *ctx, unsigned int cpu);
/* Returns 0, or a negative value, which ends the call and becomes its result. */
typedef int (*cpu_timeline_sink)(void *ctx, const struct cpu_piece *piece);

int cpu_timeline_new(struct cpu_timeline **ret, unsigned int cpu_cnt, cpu_timeline_sink sink,
		     void *ctx);
void cpu_timeline_free(struct cpu_timeline *tl);

/*
 * Ends all open pieces at ts_ns. runner, if not NULL, gives the thread that runs on each CPU from
 * there on. The first call only starts the timeline. runner answers for CPUs 0 .. cpu_cnt-1.
 */
int cpu_timeline_boundary(struct cpu_timeline *tl, uint64_t ts_ns, cpu_timeline_runner runner,
			  void *runner_ctx);

/* ev->kind is EVENT_SWITCH. An event of a CPU >= cpu_cnt is ignored. */
int cpu_timeline_switch(struct cpu_timeline *tl, const struct event *ev);

/* Decides who has a CPU up to the next boundary, as FORMAT.md's CPU_END says. */
int cpu_timeline_finalize(struct cpu_timeline *tl, const struct row_cpu_end *last);

/*
 * The threads that run are unknown from the last instant of each CPU on, because the data is
 * damaged.
 */
void cpu_timeline_forget(struct cpu_timeline *tl);
