/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * folds: the folds there are, what each one finds, and its sums. Those of memory are in
 * fold_memory.h.
 */
#pragma once

#include "analyze/fold/fold.h"
#include "model/quantile.h"
#include "model/cpu_timeline.h"
#include "model/irq_track.h"
#include "model/mem_levels.h"
#include "model/request_track.h"
#include "model/thread_states.h"

/*
 * This fold finds who had each CPU, and how often threads left it. Found: struct cpu_piece. Sums:
 * struct cpu_sum per key (thread, cpu); thread is dense. For every CPU the sums of an interval of
 * time add up to the interval, exactly.
 */
extern const struct fold_def fold_cpu;
/* The columns of switches from which a CPU timeline is made. */
#define FOLD_CPU_COLUMNS                                                                           \
	(EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT_UTID | 1u << EV_SWITCH_STAY_NS)

struct cpu_sum {
	uint64_t oncpu_ns, switches, preempted, steal_ns;
};

/*
 * The folds keep what a cut takes over of threads, requests and interrupts, by enum checkpoint_part
 * up to CHECKPOINT_IRQ. They find nothing, and are for the index's checkpoints.
 */
extern const struct fold_def fold_carried[];

/*
 * This fold finds what each thread did at every instant of its life, and its waits for a CPU as
 * they end. Found: struct states_found, whose threads are dense. Sums: struct state_sum per key
 * of state_key(). A piece counts where it lies; a wait or sleep counts where it ends, with its
 * whole length.
 */
extern const struct fold_def fold_states;
/* The same without requests: no state is THREAD_DISK. Its sums are exact when they are decoded. */
extern const struct fold_def fold_waits;
/* As fold_waits, and wakers of sleeps are known. The index has no sums of it. */
extern const struct fold_def fold_sleeps;
/* As fold_states, and wakers of sleeps are known. The index has no sums of it. */
extern const struct fold_def fold_ends;
/* As fold_states, and the events of waits off the CPU. The index has no sums of it. */
extern const struct fold_def fold_offcpu;

struct states_found {		/* one of these */
	const struct thread_piece *piece;
	const struct thread_sleep *sleep;	/* the waker: fold_sleeps, fold_ends; dense */
	const struct thread_wait *wait;
	const struct event *offcpu;		/* fold_offcpu */
	const struct cpu_piece *ran;	/* behind what it says of its thread */
};

/*
 * A thread has one sum for its life but sleeps and throttling; there, waits are for a CPU. Of the
 * others it has one for each state with each call that it did (model/call.h).
 */
static inline struct fold_key state_key(uint32_t thread, unsigned int state, uint32_t call)
{
	bool is_own = state >= THREAD_THROTTLED && state != THREAD_UNKNOWN;

	return (struct fold_key){ thread, is_own ? call << 4 | state : 0 };
}

struct state_sum {
	struct quantile waits;		/* of those whose beginning is known */
	uint64_t ns[THREAD_STATE_CNT];
	uint64_t by_reason[THREAD_WAIT_REASON_CNT];
	uint64_t migrations;
};

/*
 * This fold finds how many CPUs were busy at once with threads of the scope, idle apart, and whose
 * they were. Found: struct parallel_piece. Sums: struct parallel_sum per key (thread, busy); thread
 * is dense. The time in which that many were busy is the sum of all threads' time, divided by their
 * number, exactly. The index has no sums, since the scope is not known when it is made.
 */
extern const struct fold_def fold_parallel;

struct parallel_piece {
	uint32_t thread, busy;
	uint64_t from_ns, to_ns;
};

struct parallel_sum {
	uint64_t oncpu_ns;
};

/*
 * The interrupts that were served. Found: struct irq_found, a run by the instant it ends. A run is
 * found when it is over, so what lies before an instant is known when nothing that began before it
 * is still being served.
 *
 * Where events are missing (a hole between blocks, a damaged block, sched.irq being off) nothing
 * is taken to go on. At the end of the trace, what is still being served is broken; in a trace
 * that was cut short, it is a run that lasts until the end. The index has no sums: interrupts are
 * few among the events of a trace, and decoded fast.
 */
extern const struct fold_def fold_irq;

struct irq_found {
	const struct irq_run *run;
	bool is_broken;		/* an entry or exit without its partner */
};

/*
 * Block requests, as they end. Found: struct block_request. Sums: struct request_sum per key of
 * request_key().
 */
extern const struct fold_def fold_requests;

struct request_sum {
	struct quantile latency, queue, device;
	uint64_t ios, bytes, errors, merges, requeues;
	/* of bytes, those of the key's owner; other owners have a key with is_share, and 0 bytes */
	uint64_t part_bytes;
	uint64_t unknown_owner_ios;
	bool owner_is_unknown;	/* of what is added next; the target sets it */
};

/*
 * Returns the key of a request, which says whose it is and of which kind. Equal keys are the same
 * in every question.
 */
struct fold_key request_key(const struct dense_ids *d, const struct block_request *r);
/* Sums of fold_requests by these keys and the class of the size, by powers of two; a window is
 * decoded for them. */
extern const struct fold_sums_def fold_sized_requests;
/* The request of a key, all else in which is zero. bytes: the least of its class, or 0. */
void request_of_key(const struct fold_key *key, struct block_request *ret);
/* Returns the requests of a machine of fold_requests. */
struct request_track *fold_requests_track(void *machine);

/*
 * The same events, and how many requests are in flight. Found: struct request_step. Where reading
 * begins, those that are in flight by then are found.
 */
extern const struct fold_def fold_in_flight;

/* One event of a device, or one request that this event ended. */
struct request_step {
	const struct block_request *ended;	/* NULL: it is an event */
	uint64_t ts_ns;
	uint32_t dev;
	int32_t more_in_flight;		/* 1, 0 or -1 */
};

/*
 * This fold finds what each process has resident and mapped, counter by counter. Found: struct
 * level_found, for each change and for each process that a keyframe names. Reading begins at a
 * block whose keyframe has every process's counters, so the index needs nothing of this fold.
 */
extern const struct fold_def fold_levels;

struct level_found {
	uint64_t ts_ns;
	uint32_t process;		/* dense */
	bool is_exec;			/* the process called exec */
	const struct mem_process *mem;	/* from now on; valid during the call */
};

/* Sets *ret to what is known of a process (dense) before its baseline and its first event. */
void fold_levels_fresh(const struct analysis *a, uint32_t process, struct mem_process *ret);
