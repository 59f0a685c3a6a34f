/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_makers: who made a thread. A trace says which process did, and not which of its threads:
 * its first one counts.
 *
 *     threads and processes of the trace --[thread_makers]--> a thread, by dense number
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/context/dense_ids.h"

struct thread_makers {
	const struct dense_ids *ids;
	uint32_t *first_of;	/* by dense process: its first thread; 0: not known */
	bool is_read;
};

/* The numbers must outlive it. -ENOMEM. */
int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids);
void thread_makers_done(struct thread_makers *m);

/*
 * Returns the first thread of the thread's process, or of its parent if it is that itself; 0:
 * nobody that is known. *ret_start_ns: when the thread was made, by CLOCK_MONOTONIC; 0: unknown.
 */
uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns);
