/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_makers: who made a thread. The thread that calls clone or fork also wakes the new thread
 * first. Where this wake-up is not known, a trace tells only which process made the thread, and
 * the first thread of that counts.
 *
 *     threads, processes, first wake-ups --[thread_makers]--> a thread, by dense number
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/context/dense_ids.h"
#include "model/thread_states.h"

struct thread_makers {
	const struct dense_ids *ids;
	uint32_t *first_of;	/* by dense process: its first thread; 0: not known */
	uint32_t *waker_of;	/* by dense thread: who woke it first; 0: not known */
	uint64_t held_to_ns;	/* before the recorder let COMMAND go; 0: not known */
	bool is_read;
};

/* The numbers must outlive it. -ENOMEM. */
int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids);
void thread_makers_done(struct thread_makers *m);

/* Tells of a thread's wait for a CPU, which may be its first. */
void thread_makers_note(struct thread_makers *m, const struct thread_wait *w);

/*
 * Returns who woke the thread first; otherwise the first thread of its process, or of the parent if
 * it is that itself; 0: nobody that is known. *ret_start_ns: when the thread was made, or
 * COMMAND let go, by CLOCK_MONOTONIC; 0: unknown.
 */
uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns);
