/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* folds: all folds, their findings, and their sums. Those of memory are in fold_memory.h. */
#pragma once

#include "analyze/fold/fold.h"
#include "model/quantile.h"
#include "model/cpu_timeline.h"
#include "model/irq_track.h"
#include "model/mem_levels.h"
#include "model/request_track.h"
#include "model/thread_states.h"

/*
 * Finds the thread on each CPU, and how often threads left it. Found: struct cpu_piece. Sums:
 * struct cpu_sum per key (thread, cpu); thread is dense. For every CPU the sums of an interval of
 * time add up to the interval, exactly.
 */
extern const struct fold_def fold_cpu;
/* The columns of switches that a CPU timeline needs. */
#define FOLD_CPU_COLUMNS                                                                           \
	(EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT_UTID | 1u << EV_SWITCH_STAY_NS)

struct cpu_sum {
	uint64_t oncpu_ns, switches, preempted, steal_ns;
};

/*
 * Keep the state of threads, requests and interrupts that a cut carries over, by enum
 * checkpoint_part up to CHECKPOINT_IRQ. They have no findings, and are for the index's checkpoints.
 */
extern const struct fold_def fold_carried[];

/*
 * Finds the state of each thread during its life, and its waits for a CPU as they end. Found:
 * struct states_found, whose threads are dense. Sums: struct state_sum per key of state_key(). A
 * piece counts in each interval it overlaps; a wait or sleep counts where it ends, with its whole
 * length.
 */
extern const struct fold_def fold_states;
/* The same without requests: no state is THREAD_DISK. Its sums are exact if they are decoded. */
extern const struct fold_def fold_waits;
/* As fold_waits, with the wakers of sleeps. The index has no sums of it. */
extern const struct fold_def fold_sleeps;
/* As fold_states, with the wakers of sleeps. The index has no sums of it. */
extern const struct fold_def fold_ends;
/* As fold_states, with the events of waits off the CPU. The index has no sums of it. */
extern const struct fold_def fold_offcpu;

struct states_found {		/* exactly one member is set */
	const struct thread_piece *piece;
	const struct thread_sleep *sleep;	/* with its waker: fold_sleeps, fold_ends; dense */
	const struct thread_wait *wait;
	const struct event *offcpu;		/* fold_offcpu */
	const struct cpu_piece *ran;	/* reported after the thread's own findings of that time */
};

/*
 * A thread has one sum for its life, except sleeps and throttling; in it, waits are for a CPU. For
 * sleeps and throttling it has one for each state and call (model/call.h).
 */
static inline struct fold_key state_key(uint32_t thread, unsigned int state, uint32_t call)
{
	bool is_own = state >= THREAD_THROTTLED && state != THREAD_UNKNOWN;

	return (struct fold_key){ thread, is_own ? call << 4 | state : 0 };
}

struct state_sum {
	struct quantile waits;		/* of waits whose beginning is known */
	uint64_t ns[THREAD_STATE_CNT];
	uint64_t by_reason[THREAD_WAIT_REASON_CNT];
	uint64_t migrations;
	uint64_t timeouts, timeout_ns;	/* waits that ended because their time was up */
};

/*
 * Finds how many CPUs were busy at once with threads of the scope, without idle, and with which
 * threads. Found: struct parallel_piece. Sums: struct parallel_sum per key (thread, busy); thread
 * is dense. The time with that many busy CPUs is the sum of all threads' time, divided by their
 * number, exactly. The index has no sums, since the scope is unknown when it is made.
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
 * Finds the interrupts that were served. Found: struct irq_found, a run by the time it ends. A run
 * is found when it ends, so the findings before a time are complete if no interrupt that began
 * before it is still open.
 *
 * Where events are missing (a hole between blocks, a damaged block, sched.irq off) no interrupt is
 * assumed to continue. An interrupt that is open at the end of the trace is broken; in a trace that
 * was cut short, it is a run that lasts until the end. The index has no sums: interrupts are few
 * among the events of a trace, and decoded fast.
 */
extern const struct fold_def fold_irq;

struct irq_found {
	const struct irq_run *run;
	bool is_broken;		/* an entry or exit without its partner */
};

/*
 * Finds block requests, as they end. Found: struct block_request. Sums: struct request_sum per key
 * of request_key().
 */
extern const struct fold_def fold_requests;

struct request_sum {
	struct quantile latency, queue, device;
	uint64_t ios, bytes, errors, merges, requeues;
	/* of bytes, those of the key's owner; other owners have a key with is_share, and 0 bytes */
	uint64_t part_bytes;
	uint64_t unknown_owner_ios;
	bool owner_is_unknown;	/* of the next request added; the target sets it */
};

/* Returns the key of a request: its owner and kind. Equal keys are treated alike by every query. */
struct fold_key request_key(const struct dense_ids *d, const struct block_request *r);
/* Sums of fold_requests by these keys and the size's power of two; always decoded. */
extern const struct fold_sums_def fold_sized_requests;
/* The same, with the partition as dev. */
extern const struct fold_sums_def fold_partition_requests;
/* Converts a key to a request; all other members are zero. bytes: the least of its class, or 0. */
void request_of_key(const struct fold_key *key, struct block_request *ret);
/* Returns the requests of a machine of fold_requests. */
struct request_track *fold_requests_track(void *machine);

/*
 * Finds the same requests, and the number in flight. Found: struct request_step. Requests in flight
 * where reading begins are reported there.
 */
extern const struct fold_def fold_in_flight;

/* One event of a device, or one request that this event ended. */
struct request_step {
	const struct block_request *ended;	/* NULL: an event */
	uint64_t ts_ns;
	uint32_t dev;
	int32_t more_in_flight;		/* 1, 0 or -1 */
};

/*
 * Finds the resident and mapped memory of each process, counter by counter. Found: struct
 * level_found, for each change and for each process in a keyframe. Reading begins at a block whose
 * keyframe has every process's counters, so the index keeps no state of this fold.
 */
extern const struct fold_def fold_levels;

struct level_found {
	uint64_t ts_ns;
	uint32_t process;		/* dense */
	bool is_exec;			/* the process called exec */
	const struct mem_process *mem;	/* the new levels; valid during the call */
};
