/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* folds: all folds with their findings and sums, except those of memory (fold_memory.h). */
#pragma once

#include "analyze/fold/fold.h"
#include "model/quantile.h"
#include "model/cpu_timeline.h"
#include "model/irq_track.h"
#include "model/mem_levels.h"
#include "model/request_track.h"
#include "model/thread_states.h"

/*
 * Finds the thread that runs on each CPU, and the switches away from it. Found: struct cpu_piece.
 * Sums: struct cpu_sum per key (thread, cpu); thread is dense. The sums of a CPU over an interval
 * add up exactly to the interval's length.
 */
extern const struct fold_def fold_cpu;
/* Columns of switches that a CPU timeline needs. */
#define FOLD_CPU_COLUMNS                                                                           \
	(EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT_UTID | 1u << EV_SWITCH_STAY_NS)

struct cpu_sum {
	uint64_t oncpu_ns, switches, preempted, steal_ns;
};

/*
 * Keep the state of threads, requests and interrupts that a cut trace starts with; indexed by enum
 * checkpoint_part up to CHECKPOINT_IRQ. These folds have no findings, and are used for the index's
 * checkpoints.
 */
extern const struct fold_def fold_carried[];

/*
 * Finds the state of each thread during its life, and its waits for a CPU when they end. Found:
 * struct states_found, whose threads are dense. Sums: struct state_sum per key of state_key(). A
 * piece is divided among the intervals it overlaps; a wait or sleep counts in the interval in which
 * it ends, with its whole length.
 */
extern const struct fold_def fold_states;
/*
 * As fold_states, but without requests: no state is THREAD_DISK. Order statistics are exact if all
 * events are decoded.
 */
extern const struct fold_def fold_waits;
/* As fold_waits, and finds sleeps with their wakers. Not summed in the index. */
extern const struct fold_def fold_sleeps;
/* As fold_states, and finds sleeps with their wakers. Not summed in the index. */
extern const struct fold_def fold_ends;
/* As fold_states, and finds the events of waits off the CPU. Not summed in the index. */
extern const struct fold_def fold_offcpu;

struct states_found {		/* exactly one member is set */
	const struct thread_piece *piece;
	/* only of fold_sleeps and fold_ends: a sleep with its waker, in dense ids */
	const struct thread_sleep *sleep;
	const struct thread_wait *wait;
	const struct event *offcpu;		/* only fold_offcpu */
	/* reported after the thread's other findings for the same time */
	const struct cpu_piece *ran;
};

/*
 * Returns the key of a thread's sum. Each kind of sleep or throttling (state and call, see
 * model/call.h) has its own sum; all other time of a thread has a single sum, whose waits are waits
 * for a CPU.
 */
static inline struct fold_key state_key(uint32_t thread, unsigned int state, uint32_t call)
{
	bool is_own = state >= THREAD_THROTTLED && state != THREAD_UNKNOWN;

	return (struct fold_key){ thread, is_own ? call << 4 | state : 0 };
}

struct state_sum {
	struct quantile waits;		/* lengths of waits whose beginning is known */
	uint64_t ns[THREAD_STATE_CNT];
	uint64_t by_reason[THREAD_WAIT_REASON_CNT];
	uint64_t migrations;
	uint64_t timeouts, timeout_ns;	/* waits that ended by timeout, and their time */
};

/*
 * Finds which threads of the scope ran, without idle, and how many CPUs ran them at once. Found:
 * struct parallel_piece. Sums: struct parallel_sum per key (thread, busy); thread is dense. The
 * time during which `busy` CPUs ran is exactly the sum over all threads with this `busy`, divided
 * by `busy`. Not in the index, because the scope is unknown when the index is made.
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
 * Finds interrupts when they end. Found: struct irq_found. All findings before an instant have been
 * reported only when all interrupts that began before the instant have ended.
 *
 * Where events are missing (a hole between blocks, a damaged block, sched.irq off), no interrupt is
 * assumed to continue. An interrupt that is open at the end of the trace is broken, except in a
 * trace that was cut short, where the interrupt is a run that lasts until the end. Not summed in
 * the index: interrupts are a small part of the events, and fast to decode.
 */
extern const struct fold_def fold_irq;

struct irq_found {
	const struct irq_run *run;
	bool is_broken;		/* an entry or exit without its partner */
};

/*
 * Finds block requests when they end. Found: struct block_request. Sums: struct request_sum per key
 * of request_key().
 */
extern const struct fold_def fold_requests;

struct request_sum {
	struct quantile latency, queue, device;
	uint64_t ios, bytes, errors, merges, requeues;
	/*
	 * bytes of the parts that belong to the key's owner. If a request has several owners,
	 * `bytes` counts it only for the first; keys of the others have is_share
	 */
	uint64_t part_bytes;
	uint64_t unknown_owner_ios;
	bool owner_is_unknown;	/* applies to the next request added; set by the target */
};

/*
 * Returns the key of a request: its owner and kind. Every query treats requests with equal keys
 * alike.
 */
struct fold_key request_key(const struct dense_ids *d, const struct block_request *r);
/* Sums of fold_requests whose keys also contain the size's power of two. Always decoded. */
extern const struct fold_sums_def fold_sized_requests;
/* As fold_sized_requests, with the partition as dev. */
extern const struct fold_sums_def fold_partition_requests;
/*
 * Converts a key to a request. bytes is the lower limit of the key's size class, or 0; members that
 * are not in the key are zero.
 */
void request_of_key(const struct fold_key *key, struct block_request *ret);
/* Returns the request tracker of a machine of fold_requests. */
struct request_track *fold_requests_track(void *machine);

/*
 * Finds the requests of fold_requests, and changes of the number in flight. Found: struct
 * request_step. Requests that are in flight when reading begins are reported at the beginning.
 */
extern const struct fold_def fold_in_flight;

/* A change of the number in flight on a device, or a request that ended. */
struct request_step {
	const struct block_request *ended;	/* NULL: the number in flight changed */
	uint64_t ts_ns;
	uint32_t dev;
	int32_t more_in_flight;		/* 1, 0 or -1 */
};

/*
 * Finds the resident and mapped memory of each process, per counter. Found: struct level_found, for
 * each change and for each process in a keyframe. Reading begins at a block whose keyframe has the
 * counters of all processes, so the index keeps no state of this fold.
 */
extern const struct fold_def fold_levels;

struct level_found {
	uint64_t ts_ns;
	uint32_t process;		/* dense */
	bool is_exec;			/* the process called exec */
	const struct mem_process *mem;	/* the new levels; valid during the call */
};
