/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* object_text: texts for the objects that threads wait for. Threads: any. No errors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/context/dense_ids.h"
#include "model/call.h"
#include "model/thread_states.h"
#include "trace/trace.h"

#define OBJECT_TEXT_BYTES 256

/*
 * Writes the text for `object` of a switch of thread utid with this `call`: a lock in a variable of
 * a mapped file ("audit_lock (server)", "locks+0x28 (server)"), in a file without symbols
 * ("7f33a0012018 (libx.so)"), or elsewhere ("7f33a0012018"); "pipe:[4711]" as in /proc/PID/fd, a
 * socket by its name ("tcp 127.0.0.1:80 > 127.0.0.1:40112"), or "socket:[4711]" if it has none.
 * False, and "": the object is 0, that is, unknown.
 */
bool object_text(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint32_t call,
		 uint64_t object, char ret[OBJECT_TEXT_BYTES]);

/*
 * Returns whether the text is of a socket whose ends have the same address: both on this machine.
 */
bool object_text_is_local(const char *text);

/*
 * Returns the thread that ended a sleep; 0: an interrupt did. If the other end of a socket is on
 * the same machine, the kernel delivers its data in a soft interrupt within the sender's call. A
 * thread that was interrupted by the soft interrupt therefore counts only if it was in a call that
 * sends.
 */
uint32_t object_waker(const struct trace *t, enum call_machine machine,
		      const struct thread_sleep *s);

/*
 * Returns the thread whose release of a lock ended a wait for it; 0: a signal, a time-out or the
 * like did, or the thread is unknown.
 */
uint32_t object_releaser(enum call_machine machine, const struct thread_sleep *s);

/*
 * thread_makers: the thread that created a thread. The thread that calls clone or fork also wakes
 * the new thread first. If this wake-up is unknown, the trace only has the process that created the
 * thread, and that process's first thread is used.
 *
 *     threads, processes, first wake-ups --[thread_makers]--> a thread, by dense number
 *
 * Threads: one at a time.
 */
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
