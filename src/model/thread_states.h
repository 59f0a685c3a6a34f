/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_states: what each thread did at every instant of its life, and the waits for a CPU and
 * sleeps that ended.
 *
 *     switches, wake-ups, time on CPUs, requests --[thread_states]--> pieces, sleeps, waits
 *
 *   - Time on a CPU is what the CPU timeline says (cpu_timeline.h), and nothing else.
 *   - A thread that leaves its CPU is preempted if it could have gone on, or throttled if the
 *     quota of its control group was used up; otherwise it is in the state that the kernel gives. A
 *     wake-up makes it runnable, and a switch-in ends both.
 *   - An uninterruptible sleep is a wait for a disk while a block request that the thread submitted
 *     is in flight.
 *   - A wake-up that comes while the thread is on its CPU belongs to the sleep that follows if the
 *     thread then enters a CPU without another wake-up: it was runnable all the time, or since the
 *     last end of a block.
 *   - Time off the CPUs is given out when it is over, or when a block ends. Until then a stay on a
 *     CPU that comes to light late takes its part of it: a switch to the thread may be missing,
 *     since a task that is hidden from BPF gave it the CPU.
 *   - A thread that waits for a CPU and is woken again has run unseen: the kernel wakes nobody who
 *     waits for a CPU. From its first wake-up on, its time is unknown until it is seen on a CPU.
 *   - Everything else is THREAD_UNKNOWN: a thread of the time before the trace until its first
 *     event, unless the trace has its state at the start; and a thread that should be on a CPU
 *     for which the timeline has no time of it.
 *   - A wait ends when the thread gets a CPU. It is as long as its pieces together: it began where
 *     the thread became runnable, or is THREAD_WAIT_UNKNOWN if that is not known, or if the
 *     thread has run unseen since.
 *   - A sleep ends with the first wake-up, or where the thread is on a CPU if no wake-up was seen
 *     before. It is as long as its pieces together. A sleep whose beginning is not known, or behind
 *     which the thread is seen to leave a CPU that it was not on, has no end.
 * A life begins with the thread's first event, or where thread_states_begin() says, and ends when
 * the thread leaves its CPU for the last time, or when the sink says so. A thread that was off the
 * CPUs at its end has lost an event: of what it did before its next event nothing is known.
 *
 * The caller numbers threads densely; numbers below EVENT_ID_FIRST are no threads and have no
 * states. Calls come in order of time, but for time on CPUs, which comes when it ends. Memory is
 * proportional to the number of threads. Functions return 0, -ENOMEM or what the sink returned.
 * Threads: one.
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
	bool is_behind;			/* an event of the thread came behind its end */
	uint16_t call;			/* of a sleep: what the thread did (model/call.h) */
	uint64_t from_ns, to_ns;	/* from < to */
};

enum thread_wait_reason {
	THREAD_WAIT_UNKNOWN = 0,
	THREAD_WAIT_WAKEUP = 1,
	THREAD_WAIT_PREEMPT = 2,	/* also a yield */
	THREAD_WAIT_THROTTLED = 3,	/* for the quota rather than for a CPU */
	THREAD_WAIT_REASON_CNT = 4,
};

/* A wait for a CPU that is over. */
struct thread_wait {
	uint32_t thread;
	uint32_t cpu;			/* where it ended */
	uint64_t from_ns, to_ns;	/* equal when the reason is unknown */
	uint8_t reason;			/* enum thread_wait_reason */
	uint8_t slept;			/* state of the sleep before it; THREAD_RUNNING: none */
	uint32_t waker;			/* the thread whose wake-up began it; 0: none is known */
	bool is_migrated;		/* the thread ran on another CPU before */
};

/* A sleep that is over. */
struct thread_sleep {
	uint32_t thread;
	uint32_t waker;			/* as thread_states_wake() was told; may be interrupted */
	uint64_t left_ns, end_ns;	/* left_ns 0: before the trace; then is_seen */
	uint8_t state;			/* enum thread_state; THREAD_DISK: half of it or more was */
	bool is_seen;			/* the wake-up was */
	bool is_irq;			/* an interrupt woke the thread */
	bool is_waker_unseen;		/* a thread woke it that nobody saw come to a CPU */
	uint16_t waker_call;		/* what the waker was doing (model/call.h) */
	uint16_t call;			/* what the thread did (model/call.h) */
	uint64_t object;		/* what it waited for (call_object_of()); 0: not known */
};

struct thread_states_sink {
	void *ctx;
	/* When the thread ended, as far as the caller knows; 0: it did not. May be NULL. */
	uint64_t (*end_ns)(void *ctx, uint32_t thread);
	/* 1: the thread is known to have ended, so its life does not go on; 0; -errno. */
	int (*piece)(void *ctx, const struct thread_piece *p);
	/* After the pieces that are the sleep, before the wait that follows. 0 or -errno. */
	int (*slept)(void *ctx, const struct thread_sleep *x);	/* may be NULL */
	/* After the pieces that are the wait. 0 or -errno. May be NULL. */
	int (*waited)(void *ctx, const struct thread_wait *w);
};

int thread_states_new(struct thread_states **ret, uint32_t thread_cnt,
		      const struct thread_states_sink *sink);
/* Makes room for thread_cnt threads; *s may move. 0 or -ENOMEM. */
int thread_states_grow(struct thread_states **s, uint32_t thread_cnt);
void thread_states_free(struct thread_states *s);
/* Nothing before from_ns is given out: events of that time only make states. */
void thread_states_start(struct thread_states *s, uint64_t from_ns);

/*
 * The thread lives. start_state is 1 + the kernel's bits of its state off the CPUs, and start_call
 * what it did there; or 0: nothing is known of it yet.
 */
int thread_states_begin(struct thread_states *s, uint32_t thread, uint64_t ts_ns,
			uint32_t start_state, uint32_t start_call);
bool thread_states_lives(const struct thread_states *s, uint32_t thread);
/* The thread is on a CPU, if nothing else is known of it. */
void thread_states_on_cpu(struct thread_states *s, uint32_t thread);
/* The thread had a CPU. */
int thread_states_ran(struct thread_states *s, uint32_t thread, uint32_t cpu, uint64_t from_ns,
		      uint64_t to_ns);
/* The two threads of a switch. */
int thread_states_leave(struct thread_states *s, const struct event *ev, uint32_t prev);
int thread_states_enter(struct thread_states *s, uint32_t next, uint32_t cpu, uint64_t ts_ns);
/*
 * The waker may be any number, and call is what it was doing. Of several wake-ups at one instant
 * that by a thread is the one that counts.
 */
int thread_states_wake(struct thread_states *s, uint32_t thread, uint64_t ts_ns, uint32_t waker,
		       bool is_irq, uint16_t call);
/* The thread has one more block request in flight (more: 1), or one fewer (-1): request_track.h. */
void thread_states_flight(struct thread_states *s, uint32_t thread, int more, uint64_t ts_ns);
/* An edge of a block: everything before ts_ns is given out. */
int thread_states_until(struct thread_states *s, uint64_t ts_ns);
/* Nothing is known any more of any thread, from its last instant on. */
void thread_states_forget(struct thread_states *s);

/*
 * All that is known after thread_states_until(at_ns), with ids of threads by id_of(); and back. But
 * for what is in flight: thread_states_flight() tells that behind load().
 */
typedef uint32_t (*thread_states_number)(void *ctx, uint32_t number);
void thread_states_save(struct thread_states *s, uint64_t at_ns, thread_states_number id_of,
			void *ctx, struct buf *out);
/*
 * Into a new one that has started at at_ns. What is of a thread that is EVENT_ID_UNKNOWN to
 * thread_of(), since a trace opened anew has lost its rows, is left out. -EBADMSG: not what save()
 * wrote.
 */
int thread_states_load(struct thread_states *s, thread_states_number thread_of, void *ctx,
		       struct packed_in *in);

/*
 * Returns what the kernel's task state bits of a thread that left its CPU mean; 0: it is preempted.
 */
enum thread_state thread_state_of_bits(uint64_t prev_state);
const char *thread_state_name(unsigned int state);
const char *thread_wait_reason_name(unsigned int reason);
