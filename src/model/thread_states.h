/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_states: the state of each thread during its life, its waits for a CPU and its sleeps.
 *
 *     switches, wake-ups, time on CPUs, requests --[thread_states]--> pieces, sleeps, waits
 *
 *   - Time on a CPU comes from the CPU timeline (cpu_timeline.h) alone.
 *   - A thread that leaves its CPU is preempted if it is still ready to run, throttled if the
 *     quota of its control group was used up, and otherwise in the state that the kernel reports. A
 *     wake-up makes it runnable; a switch to it ends the time off the CPU.
 *   - An uninterruptible sleep is a wait for a disk while a block request that the thread
 *     submitted is in flight.
 *   - A wake-up while the thread is on its CPU belongs to the following sleep, if the thread then
 *     enters a CPU without another wake-up: the thread was runnable since it left its CPU, or since
 *     the last end of a block.
 *   - Time off the CPUs is reported when it ends, or when a block ends. If a stay on a CPU within
 *     that time is discovered before the report, the stay counts as time on the CPU: the switch to
 *     the thread may be missing, because a task that is hidden from BPF had the CPU before.
 *   - If a thread that waits for a CPU is woken again, it has run unseen, because the kernel does
 *     not wake a thread that waits for a CPU. Its time is unknown from its first wake-up until it
 *     is seen on a CPU.
 *   - All other time is THREAD_UNKNOWN: a thread older than the trace until its first event,
 *     unless the trace has its state at the start; and a thread that should be on a CPU although it
 *     is not in the CPU timeline.
 *   - A wait ends when the thread gets a CPU. It began when the thread became runnable, so its
 *     length is the sum of its pieces. It is THREAD_WAIT_UNKNOWN if its beginning is unknown, or if
 *     the thread has run unseen since then.
 *   - A sleep ends with the first wake-up or, without one, when the thread is on a CPU. Its
 *     length is the sum of its pieces. A sleep without a wake-up is not reported if its beginning
 *     is unknown, or if the thread next leaves a CPU that it did not enter.
 * A life begins with the thread's first event, or with thread_states_begin(). It ends when the
 * thread leaves its CPU for the last time, or when the sink reports its end. A thread that was off
 * the CPUs at its end has lost an event: its time until its next event is unknown.
 *
 * The caller numbers threads densely; numbers below EVENT_ID_FIRST are pseudo ids without states.
 * Calls come in order of time, except time on CPUs, which comes when it ends. Memory is
 * proportional to the number of threads. Functions return 0, -ENOMEM or the sink's result. Threads:
 * one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/event.h"

struct thread_states;

enum thread_state {
	THREAD_RUNNING = 0,
	THREAD_RUNNABLE = 1,		/* after a wake-up */
	THREAD_PREEMPTED = 2, /* runnable since it left its CPU, including after a yield */
	THREAD_THROTTLED = 3, /* as preempted, but the quota of its control group was used up */
	THREAD_DISK = 4,
	THREAD_UNINTERRUPTIBLE = 5,
	THREAD_SLEEPING = 6, /* including the idle sleep of kernel threads, and parked threads */
	THREAD_STOPPED = 7,		/* stopped or traced */
	THREAD_UNKNOWN = 8,
	THREAD_STATE_CNT = 9,
};

struct thread_piece {
	uint32_t thread;
	uint8_t state;			/* enum thread_state */
	bool is_behind;			/* an event of the thread occurred after the thread's end */
	uint16_t call;			/* sleeps: the thread's activity (model/call.h) */
	uint64_t from_ns, to_ns;	/* from < to */
};

enum thread_wait_reason {
	THREAD_WAIT_UNKNOWN = 0,
	THREAD_WAIT_WAKEUP = 1,
	THREAD_WAIT_PREEMPT = 2,	/* including a yield */
	THREAD_WAIT_THROTTLED = 3,	/* for quota rather than for a CPU */
	THREAD_WAIT_REASON_CNT = 4,
};

/* A wait for a CPU that has ended. */
struct thread_wait {
	uint32_t thread;
	uint32_t cpu;			/* the CPU that the thread got */
	uint64_t from_ns, to_ns;	/* equal if the reason is unknown */
	uint8_t reason;			/* enum thread_wait_reason */
	uint8_t slept; /* state of the sleep that preceded it; THREAD_RUNNING: none */
	uint32_t waker;			/* thread whose wake-up began the wait; 0: unknown */
	bool is_migrated;		/* the thread ran on another CPU before */
};

/* A sleep that has ended. */
struct thread_sleep {
	uint32_t thread;
	/* as passed to thread_states_wake(); with is_irq, only the interrupted thread */
	uint32_t waker;
	uint64_t left_ns, end_ns;	/* left_ns 0: began before the trace (only if is_seen) */
	/* enum thread_state; THREAD_DISK: at least half of the sleep was a wait for a disk */
	uint8_t state;
	bool is_seen;			/* the wake-up was seen */
	bool is_irq;			/* an interrupt woke the thread */
	bool is_waker_unseen; /* the waker is a thread that, by the events so far, had no CPU */
	uint16_t waker_call;		/* the waker's activity (model/call.h) */
	uint16_t call;			/* the thread's activity (model/call.h) */
	/* the object that the thread waited for (call_object_of()); 0: unknown */
	uint64_t object;
};

struct thread_states_sink {
	void *ctx;
	/*
	 * Returns the time when the thread ended, if the caller has it; 0: the thread did not end.
	 * May be NULL.
	 */
	uint64_t (*end_ns)(void *ctx, uint32_t thread);
	/* Called for each piece. Returns 1 to end the thread's life here; otherwise 0 or -errno. */
	int (*piece)(void *ctx, const struct thread_piece *p);
	/* Called after the pieces of a sleep, before the wait that follows. 0 or -errno. */
	int (*slept)(void *ctx, const struct thread_sleep *x);	/* may be NULL */
	/* Called after the pieces of a wait. 0 or -errno. May be NULL. */
	int (*waited)(void *ctx, const struct thread_wait *w);
};

int thread_states_new(struct thread_states **ret, uint32_t thread_cnt,
		      const struct thread_states_sink *sink);
/* Makes room for thread_cnt threads; *s may move. 0 or -ENOMEM. */
int thread_states_grow(struct thread_states **s, uint32_t thread_cnt);
void thread_states_free(struct thread_states *s);
/* Time before from_ns is not reported: earlier events only set states. */
void thread_states_start(struct thread_states *s, uint64_t from_ns);

/*
 * Begins the thread's life. start_state: 1 + the kernel's state bits if the thread is off the CPUs,
 * start_call: its activity then; 0: unknown.
 */
int thread_states_begin(struct thread_states *s, uint32_t thread, uint64_t ts_ns,
			uint32_t start_state, uint32_t start_call);
bool thread_states_lives(const struct thread_states *s, uint32_t thread);
/* If the thread's state is unknown, sets it to running. */
void thread_states_on_cpu(struct thread_states *s, uint32_t thread);
/* Adds the time [from_ns, to_ns), during which the thread had the CPU. */
int thread_states_ran(struct thread_states *s, uint32_t thread, uint32_t cpu, uint64_t from_ns,
		      uint64_t to_ns);
/* Apply a switch: to the thread that leaves the CPU, and to the thread that enters it. */
int thread_states_leave(struct thread_states *s, const struct event *ev, uint32_t prev);
int thread_states_enter(struct thread_states *s, uint32_t next, uint32_t cpu, uint64_t ts_ns);
/*
 * Applies a wake-up of `thread`. waker: any number; call: the waker's activity. If a thread and an
 * interrupt wake it at the same time, the thread counts as the waker.
 */
int thread_states_wake(struct thread_states *s, uint32_t thread, uint64_t ts_ns, uint32_t waker,
		       bool is_irq, uint16_t call);
/*
 * Applies a change of the block requests in flight. more: 1: the thread has one more, -1: one
 * fewer.
 */
void thread_states_flight(struct thread_states *s, uint32_t thread, int more, uint64_t ts_ns);
/* Call this at the edges of blocks: reports all time before ts_ns. */
int thread_states_until(struct thread_states *s, uint64_t ts_ns);
/* Sets the state of all threads to unknown, from their last timestamps on. */
void thread_states_forget(struct thread_states *s);

/*
 * Saves the state after thread_states_until(at_ns); id_of() maps numbers of threads to ids.
 * Requests in flight are not saved: call thread_states_flight() for them after load().
 */
typedef uint32_t (*thread_states_number)(void *ctx, uint32_t number);
void thread_states_save(struct thread_states *s, uint64_t at_ns, thread_states_number id_of,
			void *ctx, struct buf *out);
/*
 * Loads a state into a new struct, after start(at_ns). Skips a thread for which thread_of() returns
 * EVENT_ID_UNKNOWN: a trace opened again may have lost the thread's rows. -EBADMSG: the bytes are
 * not from save().
 */
int thread_states_load(struct thread_states *s, thread_states_number thread_of, void *ctx,
		       struct packed_in *in);

/* Decodes the kernel's task state bits of a thread that left its CPU; 0: preempted. */
enum thread_state thread_state_of_bits(uint64_t prev_state);
const char *thread_state_name(unsigned int state);
const char *thread_wait_reason_name(unsigned int reason);

/*
 * task_state: decodes the kernel's task state bits (TASK_*, include/linux/sched.h) of a thread that
 * leaves its CPU. The bits have been the same since 4.14.
 */
enum task_state {
	TASK_STATE_RUNNABLE = 0,	/* ready to run: preempted or yielded */
	TASK_STATE_SLEEPING,		/* interruptible, or a parked kernel thread */
	TASK_STATE_IDLE, /* idle kernel thread: uninterruptible, but not counted in the load */
	TASK_STATE_UNINTERRUPTIBLE,	/* including waits for a real-time lock, and frozen tasks */
	TASK_STATE_STOPPED,
	TASK_STATE_TRACED,		/* stopped by a debugger */
	TASK_STATE_DEAD,
};

static inline enum task_state task_state_of_bits(uint64_t bits)
{
	if (!bits)
		return TASK_STATE_RUNNABLE;
	if (bits & (0x0010u | 0x0020u | 0x0080u))	/* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
		return TASK_STATE_DEAD;
	if (bits & 0x0008u)				/* __TASK_TRACED */
		return TASK_STATE_TRACED;
	if (bits & 0x0004u)				/* __TASK_STOPPED */
		return TASK_STATE_STOPPED;
	if ((bits & 0x0402u) == 0x0402u)		/* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
		return TASK_STATE_IDLE;
	/* TASK_UNINTERRUPTIBLE, TASK_RTLOCK_WAIT, TASK_FROZEN */
	return bits & (0x0002u | 0x1000u | 0x8000u) ? TASK_STATE_UNINTERRUPTIBLE :
						      TASK_STATE_SLEEPING;
}
