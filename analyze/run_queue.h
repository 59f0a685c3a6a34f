/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * run_queue: how long each thread waited for a CPU.
 *
 *     wakeups, switches --[run_queue]--> at each switch-in: since when it was runnable, and why
 *
 * A wait begins when a sleeping thread is woken (RUN_QUEUE_WAKEUP) or when it leaves a CPU still
 * runnable (RUN_QUEUE_PREEMPT, which includes a yield), and ends when it is switched in. A
 * wake-up of a thread that is still on its CPU counts from the instant it left, if it left to sleep
 * and was not woken again. When the beginning was not recorded the wait is RUN_QUEUE_UNKNOWN.
 *
 * Calls come in time order, from the trace's start: state reaches back any length. Memory is
 * proportional to threads. Threads: one.
 */
#ifndef RUN_QUEUE_H
#define RUN_QUEUE_H

#include <stdint.h>

#include "analyze/ident.h"
#include "analyze/index.h"
#include "event/event.h"

struct run_queue;

enum run_queue_reason {
	RUN_QUEUE_UNKNOWN = 0,
	RUN_QUEUE_WAKEUP = 1,
	RUN_QUEUE_PREEMPT = 2,
};

struct run_queue_wait {
	uint32_t thread;		/* ident_thread() number; never a pseudo id */
	uint32_t cpu;			/* where it is switched in */
	uint64_t from_ns, to_ns;	/* runnable since, switched in; equal when unknown */
	uint8_t reason;			/* enum run_queue_reason */
	uint8_t migrated;		/* 1: it ran on another CPU before */
};

/* d must outlive it. */
int run_queue_new(struct run_queue **ret, const struct ident *d);
void run_queue_free(struct run_queue *q);

/* SWITCH and WAKEUP events; others are ignored. Returns 1 when ev switches a thread in: *ret_wait
 * is set. */
int run_queue_event(struct run_queue *q, const struct event *ev, struct run_queue_wait *ret_wait);

/*
 * States for an index (part INDEX_WAIT_STATE). After run_queue_begin_cell() the state of each thread,
 * as it was at from_ns, is noted when it first matters; run_queue_take_cell() gives those notes.
 * run_queue_save() gives the state of all threads at ts_ns. run_queue_load() takes either: a queue
 * loaded with a cell's notes handles that cell's events as the one that made them did.
 */
void run_queue_begin_cell(struct run_queue *q, uint64_t from_ns);
const struct buf *run_queue_take_cell(const struct run_queue *q);
void run_queue_save(const struct run_queue *q, uint64_t ts_ns, struct buf *out);
int run_queue_load(struct run_queue *q, struct index_in *in, uint64_t ts_ns);	/* 0 or -EBADMSG */

const char *run_queue_reason_name(unsigned int reason);

#endif /* RUN_QUEUE_H */
