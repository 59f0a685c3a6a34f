/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_timeline: the thread that had each CPU, from switch events and block keyframes.
 *
 *     switches, block edges --[cpu_timeline]--> pieces that fill every CPU without hole or overlap
 *
 * The rule, block by block (schema/FORMAT.md, "CPU time"):
 *   - At a block's start, its keyframe has the thread that runs on each CPU.
 *   - The time between two switches of a CPU belongs to the thread that the first switch enters,
 *     if the second switch leaves this thread. Otherwise a switch was lost, and the time
 *     belongs to EVENT_ID_UNKNOWN.
 *   - If the second switch reports how long its thread has had the CPU, the thread gets that
 *     time, limited to the time since the first switch.
 *   - A thread has one CPU at a time. If a switch of another CPU enters or leaves the thread
 *     strictly within its piece, a switch was lost: the whole piece belongs to EVENT_ID_UNKNOWN,
 *     and the running thread is unknown at the next boundary.
 *   - Under --only, the time after a switch to a thread that is not recorded belongs to
 *     EVENT_ID_FILTERED.
 *   - A block's end ends all pieces: until then the last known thread has the CPU.
 * A piece depends on its block alone; therefore windows add up exactly wherever they are cut.
 *
 * Calls come in order of time: boundary, switches, boundary, switches, ..., boundary. A timestamp
 * before the CPU's last timestamp is replaced by the latter. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/event.h"

struct cpu_timeline;

struct cpu_piece {
	uint32_t cpu;
	uint32_t utid;			/* the thread that had the CPU; may be a pseudo id */
	uint64_t from_ns, to_ns;	/* from == to: two switches at the same time */
	/*
	 * The event that ended the piece: a switch at to_ns (the thread that leaves may differ from
	 * utid), or NULL: a boundary.
	 */
	const struct event *end;
	/* The switch to utid is missing; the switch away from utid reported its time on the CPU. */
	bool is_restored;
	uint64_t steal_ns;	/* steal time that the piece's end reports; may exceed the piece */
};

/*
 * Returns the part of steal_ns in the piece. Steal time counts as the last part of the thread's
 * time on the CPU: a window never has more steal time than time on the CPU. If a switch is missing
 * since the last report, the steal time may be another thread's: returns 0.
 */
uint64_t cpu_piece_own_steal_ns(const struct cpu_piece *p);

/* Returns the thread that runs on cpu at a boundary: a utid or pseudo id. */
typedef uint32_t (*cpu_timeline_runner)(void *ctx, unsigned int cpu);
/* Returns 0, or a negative value, which ends the caller's function and becomes its result. */
typedef int (*cpu_timeline_sink)(void *ctx, const struct cpu_piece *piece);

int cpu_timeline_new(struct cpu_timeline **ret, unsigned int cpu_cnt, cpu_timeline_sink sink,
		     void *ctx);
void cpu_timeline_free(struct cpu_timeline *tl);

/*
 * Ends all open pieces at ts_ns. runner, if not NULL, returns the thread that runs on each of CPUs
 * 0 .. cpu_cnt-1 from ts_ns on. The first call only starts the timeline.
 */
int cpu_timeline_boundary(struct cpu_timeline *tl, uint64_t ts_ns, cpu_timeline_runner runner,
			  void *runner_ctx);

/* ev->kind is EVENT_SWITCH. Ignores events of CPUs >= cpu_cnt. */
int cpu_timeline_switch(struct cpu_timeline *tl, const struct event *ev);

/* Sets the thread that has a CPU until the next boundary, by the rule for CPU_END in FORMAT.md. */
int cpu_timeline_finalize(struct cpu_timeline *tl, const struct row_cpu_end *last);

/* For damaged data: marks the running threads as unknown, from each CPU's last timestamp on. */
void cpu_timeline_forget(struct cpu_timeline *tl);
