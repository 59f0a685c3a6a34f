/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * run_queue: how long each thread waited for a CPU.
 *
 *     wakeups, switches --[run_queue]--> at each switch-in: start of the wait, and its reason
 *
 * A wait begins when a sleeping thread is woken (RUN_QUEUE_WAKEUP), or when a thread leaves a CPU
 * while still runnable (RUN_QUEUE_PREEMPT, which includes a yield). The wait ends when the thread
 * is switched in. A wake-up of a thread that is still on its CPU counts from the instant the thread
 * left the CPU, if it left to sleep and was not woken again. If the start was not recorded, the
 * wait is RUN_QUEUE_UNKNOWN. So is one whose end was not recorded: a thread leaves a CPU to which
 * no switch brought it, since a task that is hidden from BPF gave it the CPU, or events were lost.
 *
 * The caller numbers threads densely. 0 .. EVENT_ID_FIRST - 1 are the pseudo ids, which never wait.
 * Calls come in time order, from the trace's start or from a saved state. Memory is proportional to
 * the number of threads. Threads: one.
 */
#ifndef RUN_QUEUE_H
#define RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"

struct run_queue;

enum run_queue_reason {
	RUN_QUEUE_UNKNOWN = 0,
	RUN_QUEUE_WAKEUP = 1,
	RUN_QUEUE_PREEMPT = 2,
	RUN_QUEUE_REASON_CNT = 3,
};

struct run_queue_wait {
	uint32_t thread;		/* never a pseudo id */
	uint32_t cpu;			/* CPU of the switch-in */
	uint64_t from_ns, to_ns;	/* runnable since, switched in; equal when unknown */
	uint8_t reason;			/* enum run_queue_reason */
	uint8_t migrated;		/* 1: it ran on another CPU before */
};

/* The known state of one thread at an instant. */
struct run_queue_state {
	uint64_t since_ns;		/* start of the state; 0: the thread has no event yet */
	uint32_t thread;
	uint16_t cpu;			/* the last CPU it ran on, plus one; 0: not known */
	uint8_t state;
};

int run_queue_new(struct run_queue **ret, uint32_t thread_cnt);
void run_queue_free(struct run_queue *q);

/* A WAKEUP event of the thread, a number below thread_cnt. 0 or -ENOMEM. */
int run_queue_wake(struct run_queue *q, uint32_t thread, uint64_t ts_ns);
/*
 * Before run_queue_switch(). true: the switch that brought prev to the CPU was not recorded;
 * *ret_wait is that unknown wait, at the instant of ev.
 */
bool run_queue_missed(const struct run_queue *q, const struct event *ev, uint32_t prev,
		      struct run_queue_wait *ret_wait);
/* A SWITCH event between two threads. 1: next is switched in, *ret_wait is set; 0; -ENOMEM. */
int run_queue_switch(struct run_queue *q, const struct event *ev, uint32_t prev, uint32_t next,
		     struct run_queue_wait *ret_wait);

/*
 * After run_queue_begin_notes(), the queue notes the state that each thread had at that call, when
 * the thread first matters. run_queue_notes() gives these notes, valid until the next call. A queue
 * that gets these notes by run_queue_set() handles the following events as this queue did.
 */
void run_queue_begin_notes(struct run_queue *q);
const struct run_queue_state *run_queue_notes(const struct run_queue *q, size_t *ret_cnt);
/* The current state of one thread. False: the queue knows nothing of the thread. */
bool run_queue_get(const struct run_queue *q, uint32_t thread, struct run_queue_state *ret);
/* False: the state is invalid. */
bool run_queue_set(struct run_queue *q, const struct run_queue_state *s);

const char *run_queue_reason_name(unsigned int reason);

#endif /* RUN_QUEUE_H */
