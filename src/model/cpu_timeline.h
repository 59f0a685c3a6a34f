/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_timeline: the thread that had each CPU, from switch events and block keyframes.
 *
 *     switches, block edges --[cpu_timeline]--> pieces that fill every CPU without hole or overlap
 *
 * The rule, block by block (schema/FORMAT.md, "CPU time"):
 *   - The keyframe names the thread that runs on each CPU at a block's start.
 *   - The time between two switches of a CPU belongs to the first one's next thread, if that thread
 *     is the second one's prev. Otherwise a switch was lost, and the time belongs to
 *     EVENT_ID_UNKNOWN.
 *   - If the second switch reports how long its thread has had the CPU, the thread gets that time,
 *     limited to the time since the first switch.
 *   - A thread has one CPU at a time. If another CPU's switch goes to the thread, or takes it off
 *     that CPU, strictly inside its piece, a switch was lost: the whole piece belongs to
 *     EVENT_ID_UNKNOWN, and the running thread is unknown at the next boundary.
 *   - Under --only, the time after a switch to a thread that is not recorded belongs to
 *     EVENT_ID_FILTERED.
 *   - The block's end cuts: until then the last known thread has the CPU.
 * A piece depends on its block alone; therefore windows add up exactly wherever they are cut.
 *
 * Calls come in order of time: boundary, switches, boundary, switches, ..., boundary. A timestamp
 * before a CPU's last one is treated as equal to it. Threads: one.
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
	 * the piece's), or NULL: a boundary.
	 */
	const struct event *end;
	/* The switch to utid is missing; the switch away from utid reported when it took place. */
	bool is_restored;
	uint64_t steal_ns;	/* steal time that the piece's end reports; may exceed the piece */
};

/*
 * Returns the part of steal_ns in the piece. Steal counts as the last part of the stay, so a window
 * never has more of it than of the stay. If a switch is missing since the last report, the steal
 * may be another thread's: 0.
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
 * Ends all open pieces at ts_ns. runner, if not NULL, returns the thread that runs on each of CPUs
 * 0 .. cpu_cnt-1 from there on. The first call only starts the timeline.
 */
int cpu_timeline_boundary(struct cpu_timeline *tl, uint64_t ts_ns, cpu_timeline_runner runner,
			  void *runner_ctx);

/* ev->kind is EVENT_SWITCH. An event of a CPU >= cpu_cnt is ignored. */
int cpu_timeline_switch(struct cpu_timeline *tl, const struct event *ev);

/* Sets the thread that has a CPU until the next boundary, as FORMAT.md's CPU_END says. */
int cpu_timeline_finalize(struct cpu_timeline *tl, const struct row_cpu_end *last);

/*
 * Marks the running threads as unknown from the last instant of each CPU on: the data is damaged.
 */
void cpu_timeline_forget(struct cpu_timeline *tl);
