/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_makers: the thread that created a thread. The thread that calls clone or fork also wakes
 * the new thread first. If this wake-up is unknown, the trace only has the process that created the
 * thread, and that process's first thread is used.
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
	uint32_t *first_of;	/* by dense process: its first thread; 0: unknown */
	uint32_t *waker_of;	/* by dense thread: its first waker; 0: unknown */
	uint64_t held_to_ns;	/* just before the recorder released COMMAND; 0: unknown */
	bool is_read;
};

/* ids must outlive m. -ENOMEM. */
int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids);
void thread_makers_done(struct thread_makers *m);

/* Processes a thread's wait for a CPU, which may be its first. */
void thread_makers_note(struct thread_makers *m, const struct thread_wait *w);

/*
 * Returns the thread's first waker; otherwise the first thread of its process or, if it is that
 * thread itself, of the parent; 0: unknown. *ret_start_ns: when the thread was created, or COMMAND
 * released, by CLOCK_MONOTONIC; 0: unknown.
 */
uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns);
