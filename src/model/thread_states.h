/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_states: the state of each thread during its life, its waits for a CPU and its sleeps.
 *
 *     switches, wake-ups, time on CPUs, requests --[thread_states]--> pieces, sleeps, waits
 *
 *   - Time on a CPU comes from the CPU timeline (cpu_timeline.h) alone.
 *   - A thread that leaves its CPU is preempted if it could have gone on, or throttled if the quota
 *     of its control group was used up; otherwise the kernel reports its state. A wake-up makes it
 *     runnable, and a switch-in ends both.
 *   - An uninterruptible sleep is a wait for a disk while a block request that the thread submitted
 *     is in flight.
 *   - A wake-up that comes while the thread is on its CPU belongs to the sleep that follows if the
 *     thread then enters a CPU without another wake-up: it was runnable all the time, or since the
 *     last end of a block.
 *   - Time off the CPUs is reported when it ends, or when a block ends. Until then a stay on a CPU
 *     that is discovered late takes its part of that time: a switch to the thread may be missing,
 *     since a task that is hidden from BPF gave it the CPU.
 *   - If a thread that waits for a CPU is woken again, it has run unseen: the kernel does not wake
 *     a thread that waits for a CPU. From its first wake-up on, its time is unknown until it is
 *     seen on a CPU.
 *   - All other time is THREAD_UNKNOWN: a thread older than the trace until its first event, unless
 *     the trace has its state at the start; and a thread that should be on a CPU although the
 *     timeline has no time of it there.
 *   - A wait ends when the thread gets a CPU. It is as long as its pieces together: it began when
 *     the thread became runnable. It is THREAD_WAIT_UNKNOWN if that time is unknown, or if the
 *     thread has run unseen since.
 *   - A sleep ends with the first wake-up or, if no wake-up was seen before, when the thread is on
 *     a CPU. It is as long as its pieces together. A sleep whose beginning is unknown, or after
 *     which the thread is seen to leave a CPU that it was not on, has no end.
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

#include "base/packed.h"
#include "format/event.h"

struct thread_states;

enum thread_state {
	THREAD_RUNNING = 0,
	THREAD_RUNNABLE = 1,		/* after a wake-up */
	THREAD_PREEMPTED = 2,		/* runnable since it left its CPU; also after a yield */
	THREAD_THROTTLED = 3,		/* the same, but its control group has used up its quota */
	THREAD_DISK = 4,
	THREAD_UNINTERRUPTIBLE = 5,
	THREAD_SLEEPING = 6,		/* also the idle sleep of kernel threads, and parked ones */
	THREAD_STOPPED = 7,		/* or traced */
	THREAD_UNKNOWN = 8,
	THREAD_STATE_CNT = 9,
};

struct thread_piece {
	uint32_t thread;
	uint8_t state;			/* enum thread_state */
	bool is_behind;			/* an event of the thread came after its end */
	uint16_t call;			/* of a sleep: the thread's activity (model/call.h) */
	uint64_t from_ns, to_ns;	/* from < to */
};

enum thread_wait_reason {
	THREAD_WAIT_UNKNOWN = 0,
	THREAD_WAIT_WAKEUP = 1,
	THREAD_WAIT_PREEMPT = 2,	/* also a yield */
	THREAD_WAIT_THROTTLED = 3,	/* for the quota rather than for a CPU */
	THREAD_WAIT_REASON_CNT = 4,
};

/* A wait for a CPU that has ended. */
struct thread_wait {
	uint32_t thread;
	uint32_t cpu;			/* where it ended */
	uint64_t from_ns, to_ns;	/* equal when the reason is unknown */
	uint8_t reason;			/* enum thread_wait_reason */
	uint8_t slept;			/* state of the sleep before it; THREAD_RUNNING: none */
	uint32_t waker;			/* the thread whose wake-up began it; 0: unknown */
	bool is_migrated;		/* the thread ran on another CPU before */
};

/* A sleep that has ended. */
struct thread_sleep {
	uint32_t thread;
	uint32_t waker;			/* as passed to thread_states_wake(); may be interrupted */
	uint64_t left_ns, end_ns;	/* left_ns 0: before the trace; then is_seen */
	/* enum thread_state; THREAD_DISK: at least half of it was */
	uint8_t state;
	bool is_seen;			/* the wake-up was seen */
	bool is_irq;			/* an interrupt woke the thread */
	bool is_waker_unseen;		/* the waker is a thread that was not seen on a CPU */
	uint16_t waker_call;		/* the waker's activity (model/call.h) */
	uint16_t call;			/* the thread's activity (model/call.h) */
	/* the object that it waited for (call_object_of()); 0: unknown */
	uint64_t object;
};

struct thread_states_sink {
	void *ctx;
	/* Returns when the thread ended, if the caller knows it; 0: it did not. May be NULL. */
	uint64_t (*end_ns)(void *ctx, uint32_t thread);
	/* Receives a piece. 1: the thread has ended, so its life stops here; 0; -errno. */
	int (*piece)(void *ctx, const struct thread_piece *p);
	/* Called after the pieces of the sleep, before the wait that follows. 0 or -errno. */
	int (*slept)(void *ctx, const struct thread_sleep *x);	/* may be NULL */
	/* Called after the pieces of the wait. 0 or -errno. May be NULL. */
	int (*waited)(void *ctx, const struct thread_wait *w);
};

int thread_states_new(struct thread_states **ret, uint32_t thread_cnt,
		      const struct thread_states_sink *sink);
/* Makes room for thread_cnt threads; *s may move. 0 or -ENOMEM. */
int thread_states_grow(struct thread_states **s, uint32_t thread_cnt);
void thread_states_free(struct thread_states *s);
/* Reports no time before from_ns: earlier events only set states. */
void thread_states_start(struct thread_states *s, uint64_t from_ns);

/*
 * Begins the thread's life. start_state is 1 + the kernel's bits of its state off the CPUs, and
 * start_call its activity there; 0: unknown.
 */
int thread_states_begin(struct thread_states *s, uint32_t thread, uint64_t ts_ns,
			uint32_t start_state, uint32_t start_call);
bool thread_states_lives(const struct thread_states *s, uint32_t thread);
/* Sets the thread's state to on a CPU, if it is unknown. */
void thread_states_on_cpu(struct thread_states *s, uint32_t thread);
/* The thread had a CPU from from_ns to to_ns. */
int thread_states_ran(struct thread_states *s, uint32_t thread, uint32_t cpu, uint64_t from_ns,
		      uint64_t to_ns);
/* The thread that a switch leaves, and the thread that it goes to. */
int thread_states_leave(struct thread_states *s, const struct event *ev, uint32_t prev);
int thread_states_enter(struct thread_states *s, uint32_t next, uint32_t cpu, uint64_t ts_ns);
/*
 * A wake-up. The waker may be any number, and call is its activity. Of several wake-ups at one
 * instant, a thread's has priority over an interrupt's.
 */
int thread_states_wake(struct thread_states *s, uint32_t thread, uint64_t ts_ns, uint32_t waker,
		       bool is_irq, uint16_t call);
/* The thread has one more block request in flight (more: 1), or one fewer (-1): request_track.h. */
void thread_states_flight(struct thread_states *s, uint32_t thread, int more, uint64_t ts_ns);
/* An edge of a block: reports all time before ts_ns. */
int thread_states_until(struct thread_states *s, uint64_t ts_ns);
/* Marks all threads as unknown, from their last timestamp on. */
void thread_states_forget(struct thread_states *s);

/*
 * Saves the state after thread_states_until(at_ns), with ids of threads by id_of(). Requests in
 * flight are not saved: call thread_states_flight() for them after load().
 */
typedef uint32_t (*thread_states_number)(void *ctx, uint32_t number);
void thread_states_save(struct thread_states *s, uint64_t at_ns, thread_states_number id_of,
			void *ctx, struct buf *out);
/*
 * Loads a state into a new struct that has started at at_ns. Skips a thread for which thread_of()
 * returns EVENT_ID_UNKNOWN: a trace opened again may have lost its rows. -EBADMSG: save() did not
 * write this.
 */
int thread_states_load(struct thread_states *s, thread_states_number thread_of, void *ctx,
		       struct packed_in *in);

/* Decodes the kernel's task state bits of a thread that left its CPU; 0: preempted. */
enum thread_state thread_state_of_bits(uint64_t prev_state);
const char *thread_state_name(unsigned int state);
const char *thread_wait_reason_name(unsigned int reason);
